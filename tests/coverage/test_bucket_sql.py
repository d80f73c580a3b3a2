"""Buckets by SQL are those of the model, for every type and width, to both ends of time."""

from datetime import date, timedelta
from random import Random

import duckdb
import pytest

from tests.coverage.oracle import UNITS, WIDTHS, bucket
from tidelake.coverage.bucket_sql import id_sql, placed_sql
from tidelake.coverage.values.clock import Clock
from tidelake.coverage.values.series import Series
from tidelake.errors import Invalid
from tidelake.model.schema import Column
from tidelake.model.types import INTEGERS

DAY = WIDTHS["d"]
TIMES = {
    "timestamp_s": ("s", "TIMESTAMP_S"),
    "timestamp_ms": ("ms", "TIMESTAMP_MS"),
    "timestamp": ("us", "TIMESTAMP"),
    "timestamp_us": ("us", "TIMESTAMP"),
    "timestamptz": ("us", "TIMESTAMPTZ"),
    "timestamp_ns": ("ns", "TIMESTAMP_NS"),
}
FROM_TICKS = {
    "s": "CAST(make_timestamp(n * 1000000) AS TIMESTAMP_S)",
    "ms": "CAST(make_timestamp(n * 1000) AS TIMESTAMP_MS)",
    "us": "make_timestamp(n)",
    "ns": "make_timestamp_ns(n)",
}
WIDTHS_OF_TIME = (
    *("1ms", "7ms", "250ms", "1s", "90s", "1m", "15m", "7h", "1d", "3d", "1w", "5w"),
    *("1mo", "5mo", "1y", "100y", "2900y"),
)
ENDS = (-9_223_372_022_400_000_000, 9_223_372_036_854_775_806)
"""The first and the last microsecond that DuckDB has a timestamp for."""


def numbers(connection: duckdb.DuckDBPyConnection, series: Series, source: str) -> list[int]:
    """Of the values, in their order, by SQL."""
    where = placed_sql(series.time, "x")
    rows = connection.execute(
        f"SELECT CASE WHEN {where} THEN {id_sql(series, 'x')} END FROM ({source}) ORDER BY place"
    ).fetchall()
    sign = 1 << 63
    ids = [None if row[0] is None else row[0] % (1 << 64) for row in rows]
    assert all(each is not None for each in ids)
    return [each - sign if series.clock.signed else each for each in ids if each is not None]


def some(chance: Random, low: int, high: int, width: int) -> list[int]:
    """At the ends, around nothing, at the edges of buckets, and anywhere."""
    near = [n * width + step for n in (-3, -1, 0, 1, 2, 1000) for step in (-1, 0, 1)]
    far = [chance.randint(low, high) for _ in range(40)]
    near += [n // width * width + step for n in far for step in (-1, 0)]
    return [n for n in (low, low + 1, high - 1, high, *near, *far) if low <= n <= high]


@pytest.mark.parametrize("kind", TIMES)
def test_times(kind: str) -> None:
    chance, (unit, spelled) = Random(1), TIMES[kind]
    low, high = (end // (UNITS[unit] // UNITS["us"] or 1) for end in ENDS)
    low += 1  # of whole seconds, the one before is no timestamp
    if unit == "ns":
        low = -9_223_286_400_000_000_000
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'America/New_York'")
        for width in WIDTHS_OF_TIME:
            try:
                series = Series((), Column(1, "x", kind), Clock.of(width, kind))
            except Invalid:
                assert (unit, width[-2:]) == ("s", "ms")
                continue
            step = max(1, series.clock.width // UNITS[unit]) if width[-1] not in "oy" else DAY
            ticks = some(chance, low, high, step)
            made = "make_timestamptz(n)" if kind == "timestamptz" else FROM_TICKS[unit]
            source = f"SELECT place, {made} AS x FROM (SELECT unnest({ticks}::BIGINT[]) AS n,"
            source += f" generate_subscripts({ticks}::BIGINT[], 1) AS place)"
            assert connection.sql(source).types[1] == spelled.replace("TZ", " WITH TIME ZONE")
            wanted = [series.clock.number(tick * UNITS[unit]) for tick in ticks]
            assert numbers(connection, series, source) == wanted, width
            for tick, number in zip(ticks, wanted, strict=True):
                position = tick * UNITS[unit]
                assert series.clock.start(number) <= position < series.clock.start(number + 1)
                if abs(position) < 1900 * 365 * DAY:
                    assert number == bucket(position, width)


@pytest.mark.parametrize("width", ["1d", "10d", "1w", "4w", "1mo", "7mo", "1y", "1000y"])
def test_dates(width: str) -> None:
    days = some(Random(2), -2_147_483_646, 2_147_483_646, 7)
    series = Series((), Column(1, "x", "date"), Clock.of(width, "date"))
    source = f"SELECT place, DATE '1970-01-01' + n AS x FROM (SELECT unnest({days}::INT[]) AS n,"
    source += f" generate_subscripts({days}::INT[], 1) AS place)"
    wanted = [series.clock.number(day * DAY) for day in days]
    with duckdb.connect() as connection:
        assert numbers(connection, series, source) == wanted
    for day, number in zip(days, wanted, strict=True):
        assert series.clock.start(number) <= day * DAY < series.clock.start(number + 1)


@pytest.mark.parametrize("kind", sorted(INTEGERS))
@pytest.mark.parametrize("width", [1, 2, 10, 1000, 10**17])
def test_integers(kind: str, width: int) -> None:
    bits = int(kind.lstrip("uint"))
    low, high = (0, 2**bits - 1) if kind[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    values = some(Random(3), low, high, width)
    spelled = {8: "TINYINT", 16: "SMALLINT", 32: "INTEGER", 64: "BIGINT"}[bits]
    spelled = f"U{spelled}" if kind[0] == "u" else spelled
    series = Series((), Column(1, "x", kind), Clock.of(width, kind))
    rows = ", ".join(f"({n}, CAST('{v}' AS {spelled}))" for n, v in enumerate(values))
    source = f"SELECT * FROM (VALUES {rows}) AS v(place, x)"
    with duckdb.connect() as connection:
        assert numbers(connection, series, source) == [value // width for value in values]
    assert [series.clock.number(value) for value in values] == [v // width for v in values]
    assert all(0 <= series.clock.id(value // width) < 1 << 64 for value in values)


def test_months_of_the_model_are_those_of_the_calendar() -> None:
    clock = Clock.of("1mo", "date")
    day = date(1, 1, 1)
    while day < date(9999, 1, 1):
        position = (day - date(1970, 1, 1)).days * DAY
        assert clock.number(position) == (day.year - 1970) * 12 + day.month - 1
        day += timedelta(days=29)


@pytest.mark.parametrize("kind", [*TIMES, "date"])
def test_nothing_and_infinity_lie_in_no_bucket(kind: str) -> None:
    spelled = TIMES.get(kind, ("", "DATE"))[1]
    column = Column(1, "x", kind)
    with duckdb.connect() as connection:
        for value in ("NULL", "'infinity'", "'-infinity'"):
            sql = f"SELECT {placed_sql(column, 'x')} FROM (SELECT CAST({value} AS {spelled}) AS x)"
            assert connection.execute(sql).fetchall() == [(False,)]
