"""Odd names and odd values are only names and values, to us, to DuckDB and to the catalog."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import tidelake
from tidelake.errors import Invalid, TidelakeError
from tidelake.testing.agreement import assert_same_now, rows
from tidelake.testing.faces import lake_of
from tidelake.testing.place import Place

Agree = Callable[[], None]
Write = Callable[[tidelake.Table], Any]
DROP = "x'); DROP TABLE ducklake_snapshot; --"
MANY = 100


@pytest.fixture
def t(lake: tidelake.Lake) -> tidelake.Table:
    t = lake.create_table(
        "t", "id BIGINT NOT NULL, v VARCHAR, n INTEGER, d DECIMAL(10, 2), ts TIMESTAMP, b BOOLEAN"
    )
    t.append(pa.table({"id": range(MANY), "v": ["x"] * MANY}))
    t.append([{"id": 1000, "v": "row"}])
    return t


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, MANY])
def test_numbers_at_the_edge_are_kept_exactly(
    lake: tidelake.Lake, agree: Agree, count: int
) -> None:
    t = lake.create_table("t", "f DOUBLE, g FLOAT, d DECIMAL(38, 10), i BIGINT, u UBIGINT")
    digits = Decimal("9" * 28 + "." + "9" * 10)
    values = {
        "f": [float("nan"), float("inf"), float("-inf"), -0.0, 5e-324, 1.7976931348623157e308],
        "g": [float("nan"), float("inf"), float("-inf"), -0.0, 1.5, -1.5],
        "d": [digits, digits.copy_negate(), Decimal("1E-10"), Decimal(0), Decimal("-0.5"), None],
        "i": [2**63 - 1, -(2**63), 0, None, 1, -1],
        "u": [2**64 - 1, 0, 1, None, 2**63, 5],
    }
    kinds = [pa.float64(), pa.float32(), pa.decimal128(38, 10), pa.int64(), pa.uint64()]
    columns = [pa.array(v * count, k) for v, k in zip(values.values(), kinds, strict=True)]
    t.append(pa.table(columns, list(values)))
    t.update({"i": "i"}, where="u = 0")
    read = t.to_arrow()
    assert t.scan(where="isnan(f)").count() == count
    assert t.scan(where="f = 'inf'").count() == count
    assert t.scan(where="f > 1e308").count() == 3 * count
    assert sorted(map(repr, read["f"].to_pylist())) == sorted(map(repr, values["f"] * count))
    assert {v for v in read["d"].to_pylist() if v} == {v for v in values["d"] if v}
    agree()


@pytest.mark.slow
def test_a_thousand_columns(lake: tidelake.Lake, duck: Any) -> None:
    names = [f"column {n}" for n in range(1000)]
    t = lake.create_table("wide", dict.fromkeys(names, "int32"))
    t.append([{name: n for n, name in enumerate(names)}])
    t.append(pa.table({name: pa.array([n] * 20, pa.int32()) for n, name in enumerate(names)}))
    t.update({"column 999": 5}, where='"column 998" = 998')
    assert t.count() == 21
    assert set(t.scan(["column 0", "column 999"]).to_arrow()["column 999"].to_pylist()) == {5}
    assert_same_now(lake, duck)


ODD = [
    'quote " inside',
    "it's",
    "two words",
    " around ",
    "sélect ☃ 日本語",
    "🦆",
    "select",
    "../../up",
    "a/b\\c",
    "..",
    "a.b",
    "%s %20 :x ?",
    "CamelCase",
    "1st",
    "tab\tand\nnewline",
    DROP,
    "$var {brace}",
    "x" * 60,
]


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@pytest.mark.slow
@pytest.mark.parametrize("place", ["sqlite", "postgresql"], indirect=True)
def test_odd_names_are_written_and_read_by_all(
    place: Place, lake: tidelake.Lake, duck: Any
) -> None:
    for name in ODD:
        lake.create_schema(name)
        t = lake.create_table(
            f"{quoted(name)}.{quoted(name)}", {name: "BIGINT", f"{name} 2": "VARCHAR"}
        )
        t.append([{name: 1, f"{name} 2": name}])
        t.append(pa.table({f"{name} 2": [name] * 20, name: range(20)}))
        t.update({name: 100}, where=f"{quoted(name)} = 1")
        t.merge([{name: 5, f"{name} 2": "merged"}], on=name)
        assert t.scan([name], where=f"{quoted(f'{name} 2')} = 'merged'").count() == 1
        assert t.delete(f"{quoted(name)} = 7").deleted == 1
    for name in ODD:
        there = f"lake.{quoted(name)}.{quoted(name)}"
        duck.execute(f"INSERT INTO {there} VALUES (500, 'duck')")
        duck.execute(f"DELETE FROM {there} WHERE {quoted(name)} = 8")
        found = sorted(lake.table(f"{quoted(name)}.{quoted(name)}").to_arrow()[name].to_pylist())
        assert found == sorted([*range(2, 7), *range(9, 20), 0, 100, 100, 500])
    assert_same_now(lake, duck)
    outside = {p.name for p in place.folder.parent.iterdir()}
    assert outside == {place.folder.name}
    assert {p.name for p in place.folder.iterdir()} <= {"lake.db", "lake.db-journal", "data"}


@pytest.mark.slow
@pytest.mark.parametrize("place", ["sqlite", "postgresql"], indirect=True)
def test_odd_values_of_partitions_stay_inside_the_table(
    place: Place, lake: tidelake.Lake, agree: Agree
) -> None:
    t = lake.create_table("t", "p VARCHAR, n BIGINT", partition_by="p")
    values = [*ODD, "", None, "__HIVE_DEFAULT_PARTITION__", "/etc/passwd", "x" * 300]
    t.append(pa.table({"p": values * 2, "n": range(2 * len(values))}))
    for value in values:
        where = "p IS NULL" if value is None else f"p = '{value.replace(chr(39), chr(39) * 2)}'"
        assert t.scan(where=where).count() == 2, value
    t.delete("p LIKE '%/%' OR p IS NULL")
    agree()
    assert all(f.startswith("data/main/t/") for f in place.files())


def test_very_long_names(place: Place, lake: tidelake.Lake, agree: Agree) -> None:
    name = "long " * 60
    t = lake.create_table(quoted(name), {name: "BIGINT"})
    t.append([{name: 1}])
    t.append(pa.table({name: range(20)}))
    assert t.count() == 21
    agree()


BAD_NAMES = ["", '""', "a.b.c", '"unclosed', "a..b", ".", 'x"y', None, 5]


@pytest.mark.parametrize("name", BAD_NAMES)
def test_what_is_no_table_name(place: Place, t: tidelake.Table, name: Any) -> None:
    lake = lake_of(t)
    for call in (
        lambda: lake.create_table(name, "a BIGINT"),
        lambda: lake.create_view(name, "SELECT 1 AS a"),
        lambda: lake.drop(name),
        lambda: lake.rename("t", name),
        lambda: lake.rename(name, "u"),
        lambda: lake.table(name),
    ):
        with place.refuses(Invalid):
            call()


@pytest.mark.parametrize("name", ["", None, 5])
def test_what_is_no_schema_name(place: Place, lake: tidelake.Lake, name: Any) -> None:
    with place.refuses(Invalid):
        lake.create_schema(name)
    with place.refuses(TidelakeError):
        lake.drop_schema(name)


def test_text_that_looks_like_sql_is_only_text(
    place: Place, lake: tidelake.Lake, agree: Agree
) -> None:
    lake.create_schema(DROP)
    t = lake.create_table(
        quoted(DROP), {DROP: "VARCHAR"}, comment=DROP, sort_by=quoted(DROP), key=DROP
    )
    with lake.transaction(author=DROP, message=DROP) as tx:
        tx.table(quoted(DROP)).append([{DROP: DROP}])
    t.set_comment(DROP + DROP)
    t.evolve(comment={quoted(DROP): DROP}, default={quoted(DROP): DROP})
    t.update({DROP: "'" + DROP.replace("'", "''") + "'"})
    lake.create_view('"a view"', f"SELECT * FROM {quoted(DROP)}", columns=[DROP])
    with place.refuses(TidelakeError):
        t.known_at(DROP)
    with place.refuses(TidelakeError):
        t.add_files(DROP)
    with place.refuses(TidelakeError):
        lake.create_view(quoted("w"), DROP)
    assert rows(t) == [{DROP: DROP}]
    assert rows(lake.sql('SELECT * FROM "a view"')) == [{DROP: DROP}]
    agree()


WORDS = [
    "t",
    "s",
    "m",
    "o",
    "u",
    "r",
    "d",
    "f",
    "c",
    "gone",
    "target",
    "source",
    "kept",
    "incoming",
]


@pytest.mark.slow
def test_columns_called_as_things_inside_our_own_sql(lake: tidelake.Lake, agree: Agree) -> None:
    """Structs of such names would be taken for tables, and tables for them."""
    kinds = dict.fromkeys(WORDS, "STRUCT(id BIGINT, t BIGINT)")
    t = lake.create_table("t", {"id": "BIGINT", **kinds})

    def of_words(ids: Any) -> list[dict[str, Any]]:
        return [{"id": n, **{word: {"id": n, "t": -n} for word in WORDS}} for n in ids]

    t.append(of_words(range(30)))
    t.append(of_words([30]))
    t.update(
        {word: f"{{'id': {word}.id + 1000, 't': {word}.t}}" for word in WORDS}, where="t.id < 3"
    )
    assert rows(t.scan(["id", "s"], where="t.id = 1002 AND s.t = -2")) == [
        {"id": 2, "s": {"id": 1002, "t": -2}}
    ]
    t.delete("s.id = 5 OR m.t = -6")
    t.merge(of_words([*range(7, 20), *range(40, 60)]), on="id")
    t.merge_builder(of_words([8, 70]), on="id").when_matched_update(
        {"t": "{'id': source.t.id, 't': target.s.t + source.m.t}"}, condition="target.t.id = 8"
    ).when_not_matched_insert(condition="source.s.id = 70").when_not_matched_by_source_update(
        {"o": None}, condition="target.id = 9"
    ).when_not_matched_by_source_delete(condition="target.u.id = 10").execute()
    found = {r["id"]: r for r in rows(t)}
    assert sorted(found) == sorted({*range(31), *range(40, 60), 70} - {5, 6, 10})
    assert (found[8]["t"], found[9]["o"]) == ({"id": 8, "t": -16}, None)
    with lake.transaction() as tx:
        mine = tx.table("t")
        mine.append(of_words(range(100, 130)))
        mine.update({"s": "{'id': t.id, 't': 0}"}, where="s.id BETWEEN 105 AND 120")
        mine.delete("d.id = 101")
        mine.merge(of_words(range(110, 125)), on="id")
        mine.evolve(add={"more": "INTEGER", "t.more": "INTEGER"})
        mine.update({"more": "t.id"}, where="r.id > 100")
        assert mine.count() == len(found) + 29
    agree()
