"""Many rows that the catalog keeps, which its database gives together."""

import pickle
from collections.abc import Callable

import duckdb
import pytest

import tidelake
from tidelake.catalog.database.address import parse_url
from tidelake.catalog.database.database import Database
from tidelake.catalog.database.dialect import Dialect
from tidelake.catalog.database.duckdb.connections import DuckDBSession
from tidelake.catalog.database.postgresql.session import PostgreSQLSession
from tidelake.catalog.database.sqlite.dialect import SQLiteDialect
from tidelake.catalog.read import inlined_data
from tidelake.errors import Corrupt
from tidelake.model.file import ArrowRows, ColumnarRows, GatheredRows, InlinedRows, PackedRows
from tidelake.testing.place import Place

Agree = Callable[[], None]
Duck = duckdb.DuckDBPyConnection

MANY = 12_000
_TYPES = {
    "i": "BIGINT",
    "flag": "BOOLEAN",
    "wide": "UBIGINT",
    "f": "DOUBLE",
    "d": "DECIMAL(38, 10)",
    "ts": "TIMESTAMPTZ",
    "v": "VARCHAR",
    "n": "STRUCT(a INTEGER, l VARCHAR[])",
    "tiny": "TINYINT",
    "half": "FLOAT",
    "day": "DATE",
    "plain": "TIMESTAMP",
    "ns": "TIMESTAMP_NS",
    "hour": "TIME",
    "u": "UUID",
    "j": "JSON",
    "none": "BIGINT",
    "no_text": "VARCHAR",
}
_VALUES = """
    CASE i % 5 WHEN 0 THEN NULL WHEN 1 THEN -9223372036854775808 ELSE i END AS i, i % 3 = 0 AS flag,
    18446744073709551615 - i AS wide,
    CASE i % 4 WHEN 0 THEN 'nan' WHEN 1 THEN '-inf' WHEN 2 THEN NULL ELSE i / 7 END AS f,
    CAST('1234567890123456789012345678.' || i AS DECIMAL(38, 10)) AS d,
    TIMESTAMPTZ '1969-12-31 23:59:59.999999+00' + INTERVAL 1 HOUR * i AS ts,
    CASE i % 6 WHEN 0 THEN '' WHEN 1 THEN NULL WHEN 2 THEN '"\\/ it''s [1, null]' || i
               WHEN 3 THEN chr(10) || chr(9) || chr(1) || chr(127) || chr(8232)
               WHEN 4 THEN '\\u0041 🦆 é' ELSE 'null' END AS v,
    {a: i % 9, l: ['"', NULL, 'x, ' || i]} AS n, i % 256 - 128 AS tiny,
    CASE i % 4 WHEN 0 THEN 'nan' WHEN 1 THEN '-inf' WHEN 2 THEN 0.1 ELSE i / 7 END AS half,
    CASE i % 5 WHEN 0 THEN 'infinity' WHEN 1 THEN NULL WHEN 2 THEN '0044-03-15 (BC)'
               ELSE DATE '1969-12-01' + CAST(i AS INTEGER) END AS day,
    CASE i % 5 WHEN 0 THEN '-infinity' WHEN 1 THEN NULL WHEN 2 THEN '290309-12-22 (BC) 00:00:00'
               ELSE TIMESTAMP '1969-12-31 23:59:59.999999' + INTERVAL 1 HOUR * i END AS plain,
    TIMESTAMP_NS '1969-12-31 23:59:59.999999999' AS ns,
    TIME '23:59:59.999999' - INTERVAL 1 SECOND * i AS hour,
    CAST(md5(i::VARCHAR) AS UUID) AS u,
    CASE i % 3 WHEN 0 THEN NULL ELSE '{"a": [1, null]}' END AS j,
    NULL AS none, NULL AS no_text
"""


def _fill(duck: Duck) -> None:
    duck.execute(f"CALL lake.set_option('data_inlining_row_limit', {MANY})")
    duck.execute(f"INSERT INTO t SELECT {_VALUES} FROM range({MANY}) AS r(i)")


def _kept(place: Place, lake: tidelake.Lake) -> InlinedRows:
    database = Database(parse_url(place.url))
    with database.reading() as reader:
        at = lake.snapshots()[-1].snapshot_id
        (found,) = inlined_data.inlined_rows(reader, at, 1, set(range(1, 20)))
    database.close()
    return found


def _edit(place: Place, *statements: str) -> None:
    database = Database(parse_url(place.url))
    with database.writing() as writer:
        for sql in statements:
            writer.execute(sql)
    database.close()


@pytest.mark.parametrize("place", ["sqlite", "postgresql"], indirect=True)
def test_many_rows_are_read_as_duckdb_reads_them(
    place: Place, lake: tidelake.Lake, duck: Duck, agree: Agree
) -> None:
    t = lake.create_table("t", _TYPES)
    _fill(duck)
    duck.execute("DELETE FROM t WHERE i % 7 = 2")
    duck.execute("UPDATE t SET v = 'new' WHERE i % 11 = 2")
    t.evolve(rename={"v": "w"}, add={"x": "INTEGER DEFAULT 4"})
    duck.execute("INSERT INTO t (i, w, x) SELECT i, 'later', i FROM range(3000) AS r(i)")
    assert not t.files()
    agree()


@pytest.mark.parametrize("place", ["postgresql", "duckdb"], indirect=True)
def test_by_column_they_are_as_one_by_one(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    with place.open() as lake:
        lake.create_table("t", _TYPES)
    spelled = "SELECT CAST(COLUMNS(*) AS VARCHAR) FROM t ORDER BY ALL"
    with place.duck() as duck:
        duck.execute("USE lake")
        _fill(duck)
        duck.execute("DELETE FROM t WHERE i % 7 = 2")
        expected = duck.sql(spelled).fetchall()
        duck.execute("INSERT INTO t SELECT * FROM t WHERE i % 7 = 3")
        snapshot = duck.sql("SELECT max(snapshot_id) - 1 FROM lake.snapshots()").fetchall()[0][0]
    with place.open() as lake:
        found = lake.known_at(snapshot).sql(spelled).to_arrow().to_pylist()
        assert [tuple(row.values()) for row in found] == expected
        by_column = _kept(place, lake)
        assert isinstance(by_column.rows, ArrowRows | PackedRows)
        monkeypatch.setattr(DuckDBSession, "gather", lambda *_: None)
        monkeypatch.setattr(PostgreSQLSession, "gather", lambda *_: None)
        one_by_one = _kept(place, lake)
    assert isinstance(one_by_one.rows, ColumnarRows)
    assert len(by_column.rows) == len(one_by_one.rows) > MANY - 2_000
    assert list(by_column.rows) == list(one_by_one.rows)
    assert list(pickle.loads(pickle.dumps(by_column.rows))) == list(by_column.rows)


@pytest.mark.parametrize("place", ["postgresql"], indirect=True)
def test_packed_rows_are_put_in_order(place: Place, lake: tidelake.Lake, duck: Duck) -> None:
    lake.create_table("t", "i BIGINT, v VARCHAR")
    duck.execute(f"CALL lake.set_option('data_inlining_row_limit', {MANY})")
    duck.execute("INSERT INTO t SELECT i, 'é' || i FROM range(4000) AS r(i)")
    name = "ducklake_inlined_data_1_1"
    _edit(
        place,
        f"CREATE TABLE turned AS SELECT * FROM {name}",
        f"DELETE FROM {name}",
        f"INSERT INTO {name} SELECT * FROM turned ORDER BY row_id DESC",
        "DROP TABLE turned",
    )
    kept = _kept(place, lake).rows
    assert isinstance(kept, PackedRows)
    assert [row[0] for row in kept] == list(range(4000))
    with place.open() as again:
        found = again.table("t").to_arrow().to_pylist()
    assert found == [{"i": n, "v": f"é{n}"} for n in range(4000)]


@pytest.mark.parametrize("place", ["postgresql"], indirect=True)
def test_bytes_that_are_no_text_are_not_taken_for_one(
    place: Place, lake: tidelake.Lake, duck: Duck
) -> None:
    lake.create_table("t", _TYPES)
    _fill(duck)
    _edit(place, "UPDATE ducklake_inlined_data_1_1 SET v = '\\xff'::bytea WHERE row_id = 11000")
    with pytest.raises(Corrupt, match="a text that cannot be read"):
        lake.table("t").scan(["v"]).to_dicts()


def test_together_they_are_as_one_by_one(
    place: Place, lake: tidelake.Lake, duck: Duck, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake.create_table("t", _TYPES)
    _fill(duck)
    together = _kept(place, lake)
    assert isinstance(together.rows, GatheredRows)
    monkeypatch.setattr(SQLiteDialect, "gathered", Dialect.gathered)
    one_by_one = _kept(place, lake)
    assert isinstance(one_by_one.rows, ColumnarRows)
    assert len(together.rows) == len(one_by_one.rows) == MANY
    assert list(together.rows) == list(one_by_one.rows)
    assert {type(value) for row in together.rows for value in row[2:]} == {str, type(None)}


def test_rows_out_of_order_are_put_in_order(
    place: Place, lake: tidelake.Lake, duck: Duck, agree: Agree
) -> None:
    lake.create_table("t", _TYPES)
    _fill(duck)
    spelled = "SELECT CAST(COLUMNS(*) AS VARCHAR) FROM t"
    whole = lake.sql(spelled).to_arrow()
    name = "ducklake_inlined_data_1_1"
    _edit(
        place,
        f"CREATE TABLE turned AS SELECT * FROM {name}",
        f"DELETE FROM {name}",
        f"INSERT INTO {name} SELECT * FROM turned ORDER BY row_id DESC",
        "DROP TABLE turned",
    )
    with place.open() as again:
        assert again.sql(spelled).to_arrow().to_pylist() == whole.to_pylist()
    assert [row[0] for row in _kept(place, lake).rows] == list(range(MANY))
    agree()


@pytest.mark.parametrize("column", ["rowid VARCHAR", "b BLOB", "b INTERVAL"])
def test_what_cannot_be_gathered_is_read_one_by_one(
    place: Place, lake: tidelake.Lake, duck: Duck, column: str
) -> None:
    duck.execute(f"CALL lake.set_option('data_inlining_row_limit', {MANY})")
    name, kind = column.split()
    lake.create_table("t", {"i": "BIGINT", name: kind})
    value = "INTERVAL 1 DAY * i" if kind == "INTERVAL" else f"CAST('a' || i AS {kind})"
    duck.execute(f"INSERT INTO t SELECT i, {value} FROM range(3000) AS r(i)")
    assert not lake.table("t").files()
    found = lake.table("t").to_arrow().to_pylist()
    assert len(found) == 3000
    assert found == duck.sql("FROM t").to_arrow_table().to_pylist()


def test_bytes_where_text_belongs_are_text(place: Place, lake: tidelake.Lake, duck: Duck) -> None:
    lake.create_table("t", _TYPES)
    _fill(duck)
    _edit(place, "UPDATE ducklake_inlined_data_1_1 SET v = X'6162' WHERE row_id = 11000")
    assert lake.table("t").scan(["v"], where="v = 'ab'").to_dicts() == [{"v": "ab"}]


@pytest.mark.parametrize("value", ["'x'", "1.5", "NULL"])
def test_a_row_id_that_is_no_number_is_told(
    place: Place, lake: tidelake.Lake, duck: Duck, value: str
) -> None:
    lake.create_table("t", _TYPES)
    _fill(duck)
    _edit(place, f"UPDATE ducklake_inlined_data_1_1 SET row_id = {value} WHERE row_id = 11000")
    with pytest.raises(Corrupt, match="as row_id, where a number must be"):
        lake.table("t").to_arrow()
