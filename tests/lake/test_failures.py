"""What goes wrong comes out as an error of our tree that says what to do."""

import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import tidelake
from tidelake.errors import (
    Corrupt,
    Denied,
    Invalid,
    NotFound,
    TidelakeError,
    Unavailable,
    Unsupported,
)
from tidelake.testing.place import Place

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from tests.servers.mariadb import MariadbServer
    from tests.servers.postgres import PostgresServer

DuckFactory = Callable[[], "duckdb.DuckDBPyConnection"]


@pytest.fixture
def lake_path(tmp_path: Path, new_duck: DuckFactory) -> Path:
    """A SQLite lake with one table of 100 rows in one file, and a view."""
    connection = new_duck()
    connection.execute(
        f"ATTACH 'ducklake:sqlite:{tmp_path}/c.db' AS lake (DATA_PATH '{tmp_path}/data/')"
    )
    connection.execute(
        "CREATE TABLE lake.t AS SELECT range AS i, 's' || range AS s FROM range(100)"
    )
    connection.execute("CREATE VIEW lake.v AS SELECT i FROM lake.t WHERE i < 10")
    connection.execute("DETACH lake")
    return tmp_path


def open_lake(path: Path, **limits: Any) -> tidelake.Lake:
    place = Place("sqlite", f"sqlite:///{path}/c.db", path)
    return place.tuned(**limits).open(read_only=True)


def data_file(path: Path) -> Path:
    (file,) = (path / "data").rglob("*.parquet")
    return file


def test_a_missing_data_file(lake_path: Path) -> None:
    data_file(lake_path).unlink()
    with open_lake(lake_path) as lake, pytest.raises(Corrupt, match=r"missing.*\.parquet"):
        lake.table("t").to_arrow()


def test_a_corrupt_data_file(lake_path: Path) -> None:
    data_file(lake_path).write_bytes(b"PAR1 this is not a Parquet file")
    with open_lake(lake_path) as lake, pytest.raises(Corrupt, match=r"\.parquet"):
        lake.table("t").to_arrow()


def test_a_truncated_data_file(lake_path: Path) -> None:
    file = data_file(lake_path)
    file.write_bytes(file.read_bytes()[:-200])
    with open_lake(lake_path) as lake, pytest.raises(TidelakeError) as caught:
        list(lake.table("t").to_batches())
    assert ".parquet" in str(caught.value)


def test_a_file_without_field_ids_is_not_read_as_nulls(lake_path: Path) -> None:
    import pyarrow.parquet as parquet

    file = data_file(lake_path)
    parquet.write_table(_without_metadata(parquet.read_table(file)), file)
    with open_lake(lake_path) as lake, pytest.raises(Corrupt, match="neither field ids nor"):
        lake.table("t").to_arrow()


def _without_metadata(table: "pa.Table") -> "pa.Table":
    import pyarrow as pa

    return pa.table({name: table.column(name).to_pylist() for name in table.column_names})


def test_another_format_version(lake_path: Path) -> None:
    database = sqlite3.connect(lake_path / "c.db")
    database.execute("UPDATE ducklake_metadata SET value = '1.1' WHERE key = 'version'")
    database.commit()
    database.close()
    with pytest.raises(Unsupported, match=r"format 1\.1"):
        open_lake(lake_path)


def test_a_catalog_that_comes_to_another_format_while_it_is_open(place) -> None:
    """Nothing is written that the newer format would take for something else."""
    with place.open() as lake:
        table = lake.create_table("t", "a INTEGER")
        table.append([{"a": 1}])
        with lake.transaction() as tx:
            tx.table("t").append([{"a": 2}])
        _bring_to(place, "1.1")
        for write in (
            lambda: table.append([{"a": 3}]),
            lambda: table.delete("a = 1"),
            lambda: lake.create_table("u", "a INTEGER"),
            lambda: lake.compact(),
        ):
            with pytest.raises(Unsupported, match=r"format 1\.1; Tidelake reads and writes 1\.0"):
                write()
    with pytest.raises(Unsupported, match=r"format 1\.1"):
        place.open(read_only=True)
    _bring_to(place, "1.0")
    with place.open() as lake:
        assert lake.table("t").to_dicts() == [{"a": 1}, {"a": 2}]


def _bring_to(place: Place, version: str) -> None:
    place.catalog("UPDATE ducklake_metadata SET value = ? WHERE key = 'version'", version)


def test_a_locked_sqlite_file(lake_path: Path) -> None:
    other = sqlite3.connect(lake_path / "c.db", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    try:
        with pytest.raises(Unavailable, match="is locked"):
            open_lake(lake_path, busy_timeout_s=0.1)
    finally:
        other.close()


def test_a_lock_that_is_given_up_is_waited_for(lake_path: Path) -> None:
    other = sqlite3.connect(lake_path / "c.db", isolation_level=None, check_same_thread=False)
    other.execute("BEGIN EXCLUSIVE")
    timer = threading.Timer(0.5, other.close)
    timer.start()
    with open_lake(lake_path) as lake:
        assert lake.tables() == ["main.t"]
    timer.join()


def test_not_a_database(tmp_path: Path) -> None:
    (tmp_path / "c.db").write_text("hello, this is just some text and no database at all" * 20)
    with pytest.raises(Invalid, match="not an SQLite database"):
        open_lake(tmp_path)
    with pytest.raises(Invalid, match="not a DuckDB database"):
        tidelake.connect(f"duckdb:///{tmp_path}/c.db", read_only=True)


def test_a_database_without_a_lake(tmp_path: Path) -> None:
    sqlite3.connect(tmp_path / "c.db").execute("CREATE TABLE x (i)")
    with pytest.raises(NotFound, match="no lake at"):
        open_lake(tmp_path)


def test_an_unreachable_server(unused_port: int) -> None:
    with pytest.raises(Unavailable, match="cannot be reached"):
        tidelake.connect(f"postgresql://me@127.0.0.1:{unused_port}/lake")
    with pytest.raises(Unavailable, match="cannot be reached"):
        tidelake.connect(f"mysql://me@127.0.0.1:{unused_port}/lake")


@pytest.fixture
def unused_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_a_database_that_does_not_exist(
    postgres_server: "PostgresServer", mariadb_server: "MariadbServer"
) -> None:
    for url in (postgres_server.new_database(), mariadb_server.new_database()):
        with pytest.raises(NotFound, match="does not exist"):
            tidelake.connect(f"{url}_missing")


def test_wrong_credentials(
    postgres_server: "PostgresServer", mariadb_server: "MariadbServer"
) -> None:
    postgres = postgres_server.new_database().replace("postgres@", "nobody_known@")
    mysql = mariadb_server.new_database().replace("root@", "root:wrong@")
    for url in (postgres, mysql):
        with pytest.raises(Denied, match="refused the credentials"):
            tidelake.connect(url)


def test_unknown_tables_columns_and_snapshots(lake_path: Path) -> None:
    with open_lake(lake_path) as lake:
        with pytest.raises(NotFound, match=r"no table main\.nope.*main\.t"):
            lake.table("nope")
        with pytest.raises(NotFound, match=r"no column 'zz'.*i, s"):
            lake.table("t").scan(columns=["zz"]).to_arrow()
        with pytest.raises(TidelakeError, match="zz"):
            lake.table("t").scan(where="zz > 1").to_arrow()
        with pytest.raises(NotFound, match="no snapshot 99"):
            lake.known_at(99)
        with pytest.raises(NotFound, match="at or before"):
            lake.known_at("2001-01-01")
        with pytest.raises(NotFound, match="at snapshot 0"):
            lake.table("t").known_at(0)
        with pytest.raises(NotFound, match="neither a snapshot id nor a time"):
            lake.known_at("yesterday")
        with pytest.raises(Invalid, match="is a view"):
            lake.table("v")
        with pytest.raises(Invalid, match="not a table name"):
            lake.table("a.b.c")


@pytest.mark.parametrize(
    "query",
    [
        "DELETE FROM t",
        "INSERT INTO t VALUES (1, 'x')",
        "DROP TABLE t",
        "SELECT 1; SELECT 2",
        "SELEC i FROM t",
        "SELECT * FROM nope",
        "SELECT nope FROM t",
        "",
        "COPY t TO 'x.csv'",
        "ATTACH 'x.db'",
        "SELECT * FROM t VERSION AS OF 99",
    ],
)
def test_sql_that_is_no_read_of_this_lake(lake_path: Path, query: str) -> None:
    with open_lake(lake_path) as lake, pytest.raises(TidelakeError):
        lake.sql(query).to_arrow()
