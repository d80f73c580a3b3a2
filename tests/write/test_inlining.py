"""Small writes go to the catalog itself: when, what, and what becomes of them."""

import uuid
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import tidelake
from tidelake.testing.agreement import assert_same, past, rows
from tidelake.testing.duck import duck_connection
from tidelake.testing.oracle import Oracle
from tidelake.testing.place import Place

Agree = Callable[[], None]
Duck = duckdb.DuckDBPyConnection
CATALOGS = ["sqlite", "postgresql", "duckdb", "mariadb"]


def ids(start: int, count: int) -> pa.Table:
    return pa.table({"id": pa.array(range(start, start + count), pa.int64())})


@pytest.mark.parametrize("limit", [0, 1, 10, 1000])
def test_the_limit_decides_between_catalog_and_file(
    place: Place, lake: tidelake.Lake, agree: Agree, limit: int
) -> None:
    t = lake.create_table("t", "id BIGINT")
    lake.set_option("data_inlining_row_limit", limit)
    assert t.append(ids(0, limit)).files == 0
    assert t.append(ids(2000, limit + 1)).files == 1
    assert len(place.files()) == 1
    assert t.update({"id": "id + 5000"}, where=f"id < {limit}").files == 0
    assert t.update({"id": "id + 5000"}, where="id >= 2000 AND id < 5000").files == 1
    assert t.count() == 2 * limit + 1
    agree()


def test_a_tables_own_limit_goes_before_the_lakes(
    place: Place, lake: tidelake.Lake, duck: Duck, agree: Agree
) -> None:
    for name in ("a", "b"):
        lake.create_table(name, "id BIGINT")
    lake.set_option("data_inlining_row_limit", 0)
    lake.set_option("data_inlining_row_limit", 3, table="b")
    assert lake.table("a").append(ids(0, 1)).files == 1
    assert lake.table("b").append(ids(0, 3)).files == 0
    assert lake.table("b").append(ids(0, 4)).files == 1
    lake.set_option("data_inlining_row_limit", 5)
    assert lake.table("a").append(ids(0, 5)).files == 0
    assert lake.table("b").append(ids(0, 4)).files == 1
    assert duck.execute("SELECT count(*) FROM a").fetchall() == [(6,)]
    agree()


def test_a_row_is_one_snapshot_and_no_file(place: Place, lake: tidelake.Lake) -> None:
    t = lake.create_table("t", "id BIGINT, v VARCHAR")
    before = len(lake.snapshots())
    result = t.append({"id": 1, "v": "x"})
    assert (result.rows, result.files, result.bytes, result.attempts) == (1, 0, 0, 1)
    assert len(lake.snapshots()) == before + 1
    assert place.files() == set()
    assert lake.snapshots()[-1].changes == ("inlined_insert:1",)
    t.update({"v": "'y'"})
    t.merge({"id": 1, "v": "z"}, on="id")
    t.delete("id = 1")
    assert place.files() == set()
    assert len(lake.snapshots()) == before + 4


def test_many_small_writes_of_one_transaction_become_a_file(
    place: Place, lake: tidelake.Lake, agree: Agree
) -> None:
    lake.create_table("t", "id BIGINT")
    with lake.transaction() as tx:
        for n in range(11):
            tx.table("t").append([{"id": n}])
    assert tx.result is not None
    assert tx.result.files == len(place.files()) == 1
    with lake.transaction() as tx:
        for n in range(100, 110):
            tx.table("t").append([{"id": n}])
    assert tx.result is not None
    assert tx.result.files == 0
    assert lake.table("t").count() == 21
    agree()


VALUES: dict[str, list[Any]] = {
    "boolean": [True, False],
    "int8": [-128, 127],
    "int16": [-(2**15), 2**15 - 1],
    "int32": [-(2**31), 2**31 - 1],
    "int64": [-(2**63), 2**63 - 1],
    "uint8": [0, 255],
    "uint16": [0, 2**16 - 1],
    "uint32": [0, 2**32 - 1],
    "uint64": [0, 2**64 - 1],
    "float32": [1.5, float("inf")],
    "float64": [0.1, float("nan")],
    "decimal(9,2)": [Decimal("-1234567.89"), Decimal("0.01")],
    "decimal(38,10)": [Decimal("9" * 28 + "." + "9" * 10), Decimal(0)],
    "date": [date(1, 1, 1), date(9999, 12, 31)],
    "time": [time(0), time(23, 59, 59, 999999)],
    "timestamp": [datetime(1, 1, 1), datetime(2024, 2, 29, 12, 0, 0, 1)],
    "timestamptz": [datetime(1969, 12, 31, tzinfo=UTC), datetime(2024, 2, 29, 1, tzinfo=UTC)],
    "timestamp_s": [datetime(2024, 2, 29, 12, 0, 1), None],
    "timestamp_ms": [datetime(2024, 2, 29, 12, 0, 1, 1000), None],
    "timestamp_ns": [datetime(2024, 2, 29, 12, 0, 1, 1), None],
    "interval": [timedelta(days=1, seconds=5), timedelta(0)],
    "varchar": ["", 'it\'s \\ "quoted" % _ é 🦆\n\t{}[]=,', "NULL"],
    "json": ['{"a": [1, null]}', "null"],
    "blob": [b"", b"\x00\xff'\\"],
    "uuid": [uuid.UUID(int=0), uuid.UUID(int=2**128 - 1)],
    "INTEGER[]": [[1, None], []],
    "VARCHAR[]": [["", "a, b", "it's", None, "NULL", "[x]", ' "q" '], None],
    "STRUCT(a INTEGER, b VARCHAR)": [{"a": 1, "b": "x, 'y': {z}"}, {"a": None, "b": None}],
    "MAP(VARCHAR, DOUBLE)": [{"k=1, {": 0.5, "": -1.0}, {}],
    "STRUCT(d DOUBLE)": [{"d": float("nan")}, {"d": float("-inf")}],
    "STRUCT(l STRUCT(t TIMESTAMP)[])": [{"l": [{"t": datetime(2024, 1, 1)}, None]}, {"l": []}],
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", CATALOGS)
def test_every_type_comes_back_from_every_catalog(
    new_place: Callable[[str], Place], oracle: Oracle, kind: str
) -> None:
    place = new_place(kind)
    names = {f"c{n}": type_name for n, type_name in enumerate(VALUES)}
    given = [
        {name: VALUES[k][n] if n < len(VALUES[k]) else None for name, k in names.items()}
        for n in range(4)
    ]
    with place.open() as lake:
        small, large = (
            lake.create_table(name, {"id": "BIGINT", **names}) for name in ("small", "large")
        )
        lake.set_option("data_inlining_row_limit", 0, table="large")
        for t in (small, large):
            t.append([{"id": n, **row} for n, row in enumerate(given)])
            t.update({"id": "id + 10"}, where="id < 2")
            t.merge([{"id": 3, **given[0]}], on="id")
            t.delete("id = 2")
        assert repr(rows(small, "id")) == repr(rows(large, "id"))
        assert not small.files()
        assert [r["id"] for r in rows(small, "id")] == [3, 10, 11]
    if kind != "mariadb":
        assert_same(place, oracle)


def test_what_text_cannot_hold_goes_to_a_file(
    place: Place, lake: tidelake.Lake, agree: Agree
) -> None:
    t = lake.create_table("t", "id BIGINT, v VARCHAR, m MAP(VARCHAR, VARCHAR)")
    assert t.append([{"id": 1, "v": "zero \0 byte"}]).files == 1
    assert t.append([{"id": 2, "v": "plain"}]).files == 0
    t.update({"v": "v || chr(0)"}, where="id = 2")
    t.append([{"id": 3, "m": {"a": "zero \0 byte"}}])
    found = {r["id"]: (r["v"], r["m"]) for r in rows(t)}
    assert found[1][0] == "zero \0 byte"
    assert found[2][0] == "plain\0"
    assert found[3][1] == [("a", "zero \0 byte")]
    agree()


def test_columns_that_no_catalog_table_can_have(
    place: Place, lake: tidelake.Lake, agree: Agree
) -> None:
    for name in ("row_id", "begin_snapshot", "END_SNAPSHOT"):
        t = lake.create_table(f"t_{name}", {name: "BIGINT", "v": "VARCHAR"})
        assert t.append([{name: 1, "v": "x"}]).files == 1
        t.delete("v = 'x'")
    agree()


@pytest.mark.parametrize("kind", ["sqlite", "postgresql", "duckdb"])
def test_duckdb_flushes_what_we_inlined(
    new_place: Callable[[str], Place], oracle: Oracle, kind: str
) -> None:
    place = new_place(kind)
    with place.open() as lake:
        t = lake.create_table("t", "id BIGINT, v VARCHAR, s STRUCT(a INTEGER)")
        t.append([{"id": n, "v": "a", "s": {"a": n}} for n in range(5)])
        t.append(pa.table({"id": range(100, 120), "v": ["file"] * 20}))
        t.update({"v": "'b'"}, where="id IN (1, 101)")
        t.delete("id IN (2, 102)")
        t.evolve(add={"n": "INTEGER DEFAULT 4"}, rename={"v": "w"})
        t.append([{"id": 7, "w": "c", "n": 1}])
        t.update({"w": "'d'"}, where="id = 3")
        before = past(lake)
    with duck_connection() as duck:
        duck.execute(f"ATTACH '{place.ducklake}' AS lake")
        duck.execute("CALL ducklake_flush_inlined_data('lake')")
        duck.execute("DETACH lake")
    with place.open() as lake:
        after = past(lake)
        assert {at: after[at] for at in before} == before
        t = lake.table("t")
        t.append([{"id": 8, "w": "e"}])
        t.update({"n": "n + 1"}, where="id < 10")
        t.delete("id = 0")
        assert sorted(r["id"] for r in rows(t) if r["id"] < 100) == [1, 3, 4, 7, 8]
    assert_same(place, oracle)


def test_rows_that_come_to_the_catalog_late_leave_the_past_to_duckdb(
    lake: tidelake.Lake, agree: Agree
) -> None:
    lake.set_option("data_inlining_row_limit", 0)
    for name in ("t", "u"):
        t = lake.create_table(name, "id BIGINT, gone INTEGER, v VARCHAR")
        t.append([{"id": 1, "gone": 1, "v": "a"}])
        t.evolve(drop="gone")
    lake.set_option("data_inlining_row_limit", 10)
    lake.table("t").append([{"id": 2, "v": "b"}])
    with lake.transaction() as tx:
        tx.rename("u", "w")
        tx.table("w").append([{"id": 2, "v": "b"}])
    lake.create_table("other", "id BIGINT")
    agree()


@pytest.mark.slow
@pytest.mark.parametrize("place", ["sqlite", "postgresql"], indirect=True)
def test_columns_evolve_while_rows_are_in_the_catalog(
    lake: tidelake.Lake, duck: Duck, agree: Agree
) -> None:
    t = lake.create_table("t", "id BIGINT, a INTEGER, b VARCHAR, s STRUCT(x INTEGER)")
    row = {"a": 1, "b": "b", "s": {"x": 1}}
    t.append([{"id": 0, **row}])
    t.evolve(rename={"a": "b", "b": "a"})
    t.append([{"id": 1, "b": 2, "a": "text", "s": {"x": 2}}])
    t.evolve(widen={"b": "BIGINT", "s.x": "BIGINT"}, add={"s.y": "VARCHAR"})
    t.append([{"id": 2, "b": 2**40, "s": {"x": 2**40, "y": "y"}}])
    duck.execute("INSERT INTO t VALUES (3, 5, 'duck', {x: 5, y: 'duck'})")
    t.evolve(drop="a", add={"n": "INTEGER NOT NULL DEFAULT 9"})
    t.append([{"id": 4}])
    t.update({"b": "b + 1"}, where="id IN (0, 3)")
    t.delete("id = 1")
    duck.execute("UPDATE t SET n = 10 WHERE id = 2")
    assert [(r["id"], r["b"], r["n"]) for r in rows(t, "id")] == [
        (0, 2, 9),
        (2, 2**40, 10),
        (3, 6, 9),
        (4, None, 9),
    ]
    agree()
