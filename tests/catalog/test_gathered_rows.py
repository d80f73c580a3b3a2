"""Many rows that the catalog keeps, which its database gives together."""

import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

import tidelake
from tidelake.catalog.database.address import parse_url
from tidelake.catalog.database.database import Database
from tidelake.catalog.database.duckdb.connections import DuckDBSession
from tidelake.catalog.database.postgresql.session import PostgreSQLSession
from tidelake.catalog.database.sqlite.connections import KeptSession, SQLiteSession
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
    monkeypatch.setattr(SQLiteSession, "gather", lambda *_: None)
    monkeypatch.setattr(KeptSession, "gather", lambda *_: None)
    one_by_one = _kept(place, lake)
    assert isinstance(one_by_one.rows, ColumnarRows)
    assert len(together.rows) == len(one_by_one.rows) == MANY
    assert list(together.rows) == list(one_by_one.rows)
    assert {type(value) for row in together.rows for value in row[2:]} == {str, type(None)}


_AT_ONE_MOMENT = """
import sqlite3, sys, tidelake
from contextlib import closing
from tidelake.catalog.database.address import parse_url
from tidelake.catalog.database.database import Database
from tidelake.catalog.read import inlined_data
from tidelake.model.file import GatheredRows
url, path, journal, writer_waits = sys.argv[1:]
name = "ducklake_inlined_data_1_1"
with tidelake.connect(url) as lake:
    lake.set_option("data_inlining_row_limit", 100_000)
    t = lake.create_table("t", "i BIGINT, v VARCHAR")
    expected = []
    for first in range(0, 45_000, 1_500):
        made = t.append([{"i": n, "v": f"é{n}"} for n in range(first, first + 1_500)])
        expected += [(n, made.snapshot_id, str(n), f"é{n}") for n in range(first, first + 1_500)]
    t.delete("i = 31000")
    del expected[31_000]
    at = lake.snapshots()[-1].snapshot_id
    writer = sqlite3.connect(path, timeout=0, isolation_level=None)
    writer.execute(f"PRAGMA journal_mode = {journal}").fetchall()
    database = Database(parse_url(url))
    with closing(writer), database.reading() as reader:
        assert reader.rows(f"SELECT count(*) FROM {name}") == [(45_000,)]
        writer.execute("BEGIN IMMEDIATE")
        writer.execute(f"DELETE FROM {name} WHERE row_id > 100")
        if journal == "wal" or writer_waits == "yes":
            try:
                writer.execute("COMMIT")
            except sqlite3.OperationalError:
                assert journal != "wal"
        (found,) = inlined_data.inlined_rows(reader, at, 1, {1, 2})
        assert isinstance(found.rows, GatheredRows)
        assert [(a, b, str(i), v) for a, b, i, v in found.rows] == expected
    database.close()
    print("as expected")
"""


@pytest.mark.parametrize(
    ("journal", "writer_waits"), [("delete", "no"), ("delete", "yes"), ("wal", "no")]
)
def test_threads_read_one_moment(tmp_path: Path, journal: str, writer_waits: str) -> None:
    """Beside a writer that lets others begin to read, one that does not, and one that commits. In a
    process of its own: in this one DuckDB may have brought its SQLite."""
    path = tmp_path / "lake.db"
    told = (f"sqlite:///{path}", str(path), journal, writer_waits)
    done = subprocess.run(
        [sys.executable, "-c", _AT_ONE_MOMENT, *told], capture_output=True, text=True, check=False
    )
    assert done.stdout == "as expected\n", done.stderr


def test_row_ids_with_gaps_and_snapshots_are_as_they_are(
    place: Place, lake: tidelake.Lake, duck: Duck, agree: Agree
) -> None:
    """Some parts have rows that follow one another and came together, others have not."""
    lake.create_table("t", "i BIGINT, v VARCHAR")
    duck.execute("CALL lake.set_option('data_inlining_row_limit', 100000)")
    for first, count in ((0, 25_000), (25_000, 3), (25_003, 20_000), (45_003, 9_000)):
        duck.execute(f"INSERT INTO t SELECT i + {first}, 'é' || i FROM range({count}) AS r(i)")
    duck.execute("DELETE FROM t WHERE i IN (24000, 25001, 54002)")
    duck.execute("UPDATE t SET v = 'new' WHERE i = 44000")
    ids = [row[0] for row in _kept(place, lake).rows]
    assert ids == sorted(ids)
    assert sorted(set(range(54_003)) - set(ids)) == [24_000, 25_001, 54_002]
    found = lake.table("t").scan(["i"]).to_arrow().column("i").to_pylist()
    assert sorted(found) == sorted(ids)
    agree()


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
