"""Rows become the same sets of buckets whichever way is taken."""

import json
import random
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

import tidelake
from tidelake.coverage import from_rows as cover
from tidelake.coverage.bucket_sets import Portions, buckets_by_bits, buckets_of_rows, span_of
from tidelake.coverage.pieces_of_file import pieces_of_file
from tidelake.coverage.values.bitmaps import by_entity
from tidelake.coverage.values.clock import COUNT, Clock
from tidelake.coverage.values.series import Series
from tidelake.engine.local.engine import LocalEngine
from tidelake.model.names import text_literal
from tidelake.model.schema import Column

NAME, PLACE = Column(1, "na'me", "varchar"), Column(2, "place", "int32")
CLOCKS = [
    ("timestamp", "1m"),
    ("timestamp_ms", "5s"),
    ("timestamp_ns", "1ms"),
    ("timestamptz", "1w"),
    ("timestamp_s", "1mo"),
    ("date", "3d"),
    ("int64", 7),
    ("uint64", 3),
]
SQL_TYPES = {"timestamptz": "TIMESTAMPTZ", "int64": "BIGINT", "uint64": "UBIGINT"}
START = datetime(1969, 12, 30, 11)


def series(kind: str, width: str | int, *entity: Column) -> Series:
    return Series(entity, Column(9, "at", kind), Clock.of(width, kind))


def moments(of: Series, seed: int) -> list[Any]:
    """Close together, some often, some far off, on both sides of zero where there are two."""
    drawn_ = random.Random(seed)
    steps = [drawn_.randrange(40) for _ in range(50)] + [drawn_.randrange(4000) for _ in range(9)]
    if of.clock.kind == COUNT:
        return [step * 5 - (60 if of.clock.signed else 0) for step in steps]
    days = 1 if of.clock.width > 10**11 or of.clock.width < 10 or of.time.type == "date" else 0
    seconds = 7 if of.clock.width > 10**7 else 0.007
    found = [START + timedelta(days=days * step, seconds=step * seconds) for step in steps]
    return [each.date() for each in found] if of.time.type == "date" else found


def rows_of(of: Series, seed: int = 1) -> list[tuple[Any, ...]]:
    drawn_ = random.Random(seed)
    entities = [("a", 1), ("a", None), (None, 1), ('"', -3), ("", 0)]
    found = [(*drawn_.choice(entities), at) for at in moments(of, seed)]
    return [*found, ("nowhere", 5, None)]


def sql_of(of: Series, rows: list[tuple[Any, ...]]) -> str:
    kind = SQL_TYPES.get(of.time.type, of.time.type.upper())
    values = ", ".join(f"({_literal(a)}, {_literal(b)}, {_literal(t)})" for a, b, t in rows)
    return (
        f'SELECT CAST(a AS VARCHAR) AS "na\'me", CAST(b AS INTEGER) AS place,'
        f" CAST(t AS {kind}) AS at FROM (VALUES {values}) AS v(a, b, t)"
    )


def _literal(value: Any) -> str:
    if isinstance(value, datetime | date):
        return text_literal(value.isoformat())
    return "NULL" if value is None else text_literal(str(value))


def naive(of: Series, rows: list[tuple[Any, ...]]) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {}
    for name, place, at in rows:
        if at is not None:
            by_column = {NAME: name, PLACE: place}
            key = json.dumps([by_column[column] for column in of.entity], separators=(",", ":"))
            number = of.clock.number(of.position(at, "at"))
            found.setdefault(key, set()).add(of.clock.id(number))
    return found


def sets(found: Any) -> dict[str, set[int]]:
    return {entity: set(ids) for entity, _, ids in found}


@pytest.fixture(scope="module")
def work():
    return LocalEngine().workbench()


@pytest.mark.parametrize("entity", [(), (NAME,), (NAME, PLACE)], ids=len)
@pytest.mark.parametrize(("kind", "width"), CLOCKS)
def test_all_ways_agree(work, kind, width, entity):
    of = series(kind, width, *entity)
    rows = rows_of(of)
    sql, expected = sql_of(of, rows), naive(of, rows)
    work.connection.execute("SET TimeZone = 'UTC'")
    span = span_of(work.connection, sql, of)
    assert sets(buckets_of_rows(work.connection, sql, of, rows=len(rows))) == expected
    assert sets(buckets_of_rows(work.connection, sql, of, rows=None)) == expected
    assert sets(buckets_by_bits(work.connection, sql, of, span)) == expected
    small = Portions(rows=13, bits=24, run=4)
    assert sets(buckets_by_bits(work.connection, sql, of, span, small)) == expected
    assert len(list(span.parts(len(rows), small.rows))) > 3
    assert (
        sets(buckets_of_rows(work.connection, sql, of, rows=len(rows), portions=small)) == expected
    )


@pytest.mark.parametrize("kind", ["timestamp", "timestamp_ms", "timestamp_ns", "timestamptz"])
@pytest.mark.parametrize("width", ["1s", "1m", "90s", "1d"])
def test_a_file_is_read_by_arrow_as_by_duckdb(work, tmp_path, kind, width):
    """Names that are in one row group only, no name, no moment, and both sides of 1970."""
    of = series(kind, width, NAME)
    work.connection.execute("SET TimeZone = 'UTC'")
    step = timedelta(seconds=1 if width == "1s" else 60)
    for seed, spread in ((1, 3_000), (2, 40_000), (3, 400)):
        drawn_ = random.Random(seed)
        rows = [
            (
                drawn_.choice([None, "", '"', "a", f"n{place // 4000}", "ü" * 300]),
                START + drawn_.randrange(spread) * step if place % 17 else None,
            )
            for place in range(20_000)
        ]
        given = pa.table({"name": [row[0] for row in rows], "at": [row[1] for row in rows]})
        work.connection.register("given", given)
        path = tmp_path / f"{seed}.parquet"
        sql = (
            f'SELECT name AS "na\'me", CAST("at" AS {SQL_TYPES.get(kind, kind)}) AS "at" FROM given'
        )
        work.connection.execute(f"COPY ({sql}) TO '{path}' (ROW_GROUP_SIZE 4096)")
        found = pieces_of_file(path, ("na'me", "at"), of)
        span = span_of(work.connection, sql, of)
        assert found is not None
        told = {entity: set(ids) for entity, ids in by_entity(found).items()}
        assert told == sets(buckets_by_bits(work.connection, sql, of, span))
        assert told == sets(buckets_of_rows(work.connection, sql, of, rows=len(rows)))


@pytest.mark.parametrize("value", ["'infinity'", "'-infinity'", "NULL", "'1000-01-01'"])
def test_what_arrow_cannot_tell_for_certain_it_leaves_to_duckdb(work, tmp_path, value):
    of, path = series("timestamp", "1s", NAME), tmp_path / "file.parquet"
    rows = (
        f"(VALUES ('a', {value}), ('a', '2024-01-01'))"
        if "1000" in value
        else f"(VALUES ('a', {value}))"
    )
    work.connection.execute(
        f'COPY (SELECT name AS "na\'me", CAST(t AS TIMESTAMP) AS at FROM {rows} AS v(name, t))'
        f" TO '{path}'"
    )
    assert pieces_of_file(path, ("na'me", "at"), of) is None


def test_what_stands_beside_stays_apart_in_parts(work):
    of = series("int64", 10)
    sql = "SELECT i AS at, i % 3 AS third FROM range(1000) AS r(i)"
    small = Portions(rows=100)
    found = list(buckets_of_rows(work.connection, sql, of, ["third"], rows=1000, portions=small))
    assert sorted(third for _, (third,), _ in found) == [0, 1, 2]
    assert all(len(ids) == 100 for _, _, ids in found)


@pytest.mark.parametrize("values", ["(NULL)", "('infinity')", "('2024-01-01'), ('-infinity')"])
def test_nothing_and_infinity_have_no_span(work, values):
    of = series("timestamp", "1m")
    sql = f"SELECT CAST(t AS TIMESTAMP) AS at FROM (VALUES {values}) AS v(t)"
    assert span_of(work.connection, sql, of) is None
    for rows in (2, None, 10**9):
        found = list(buckets_of_rows(work.connection, sql, of, rows=rows))
        assert [len(ids) for _, _, ids in found] == ([1] if "2024" in values else [])


def test_a_file_is_drawn_if_dense_and_listed_if_not(tmp_path, monkeypatch):
    """Both tell the truth of a whole append, and which of them does is decided by the rows."""
    many, taken = 60_000, []
    for name in ("pieces_of_file", "buckets_by_bits", "buckets_of_rows"):
        way = getattr(cover, name)
        monkeypatch.setattr(
            cover, name, lambda *a, _way=way, _name=name, **k: taken.append(_name) or _way(*a, **k)
        )
    with tidelake.connect(f"sqlite:///{tmp_path}/lake.db") as lake:
        first = datetime(2024, 1, 1, tzinfo=UTC)
        for kind, entity in (("VARCHAR", [f"n{n % 5}" for n in range(many)]), ("INT", None)):
            table = lake.create_table(
                f"t_{kind}",
                f"name {kind}, ts TIMESTAMPTZ",
                entity="name",
                bucket="1m",
                event_time="ts",
            )
            for step in (1, 997):
                times = [first + timedelta(minutes=n * step) for n in range(many)]
                names = entity or [n % 5 for n in range(many)]
                table.append(pa.table({"name": names, "ts": times}))
                found = table.coverage(entity=names[3])
                assert found.covered == many // 5 if step == 1 else found.covered > many // 4
    # Text is read by Arrow, if it can be; all else by DuckDB.
    by_duckdb = ["buckets_by_bits", "buckets_of_rows"]
    assert taken == ["pieces_of_file", "pieces_of_file", "buckets_of_rows", *by_duckdb]
