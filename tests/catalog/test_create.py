"""A new lake: the same on every database, and DuckDB attaches it without complaint."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import tidelake
from tidelake.catalog.layout import TABLES, columns
from tidelake.errors import Invalid

if TYPE_CHECKING:
    import duckdb

    from tests.servers.mariadb import MariadbServer
    from tests.servers.postgres import PostgresServer

DuckFactory = Callable[[], "duckdb.DuckDBPyConnection"]


@pytest.fixture(params=["sqlite", "duckdb", "postgresql", "mysql"])
def catalog_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgresql":
        return str(request.getfixturevalue("postgres_server").new_database())
    if request.param == "mysql":
        return str(request.getfixturevalue("mariadb_server").new_database())
    return f"{request.param}:///{tmp_path}/catalog.db"


def attach(duck: "duckdb.DuckDBPyConnection", url: str) -> None:
    address = url
    if url.startswith("postgresql://"):
        host, database = url.removeprefix("postgresql://postgres@").split("/")
        name, port = host.split(":")
        address = f"postgres:dbname={database} host={name} port={port} user=postgres"
    else:
        kind, path = url.split(":///")
        address = f"{kind}:{path}" if kind == "sqlite" else path
    duck.execute(f"ATTACH 'ducklake:{address}' AS lake")


def test_new_lake_is_empty(catalog_url: str, tmp_path: Path) -> None:
    with tidelake.connect(catalog_url, data_path=str(tmp_path / "data")) as lake:
        assert lake.schemas() == ["main"]
        assert lake.tables() == []
        (first,) = lake.snapshots()
    assert first.snapshot_id == 0
    assert first.changes == ('created_schema:"main"',)
    assert first.time.tzinfo is not None


def test_opening_again_finds_the_same_lake(catalog_url: str, tmp_path: Path) -> None:
    with tidelake.connect(catalog_url, data_path=str(tmp_path / "data")) as lake:
        before = lake.snapshots()
    with tidelake.connect(catalog_url) as lake:
        assert lake.snapshots() == before
        assert lake.data_path == f"{tmp_path}/data/"


def test_many_may_create_at_once(catalog_url: str, tmp_path: Path) -> None:
    def open_and_look(_: int) -> list[str]:
        with tidelake.connect(catalog_url, data_path=str(tmp_path / "data")) as lake:
            return [change for s in lake.snapshots() for change in s.changes]

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(open_and_look, range(4))) == [['created_schema:"main"']] * 4


@pytest.mark.parametrize("kind", ["sqlite", "duckdb", "postgresql"])
def test_duckdb_writes_to_it_and_we_read_it_back(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path, new_duck: DuckFactory
) -> None:
    url = f"{kind}:///{tmp_path}/catalog.db"
    if kind == "postgresql":
        url = request.getfixturevalue("postgres_server").new_database()
    tidelake.connect(url, data_path=str(tmp_path / "data")).close()
    connection = new_duck()
    attach(connection, url)
    connection.execute("CREATE TABLE lake.t (i INTEGER, s VARCHAR, ts TIMESTAMPTZ)")
    connection.execute("INSERT INTO lake.t SELECT i, 's' || i, now() FROM range(100) r(i)")
    connection.execute("INSERT INTO lake.t VALUES (-1, 'inlined', NULL)")
    connection.execute("DELETE FROM lake.t WHERE i < 50 AND i >= 0")
    connection.execute("CREATE SCHEMA lake.other")
    connection.execute("CALL lake.merge_adjacent_files()")
    truth = connection.execute("SELECT i, s FROM lake.t ORDER BY i").fetchall()
    connection.execute("DETACH lake")
    connection.close()
    with tidelake.connect(url, read_only=True) as lake:
        assert lake.schemas() == ["main", "other"]
        rows = lake.table("t").scan(columns=["i", "s"]).to_arrow().sort_by("i").to_pylist()
    assert [(row["i"], row["s"]) for row in rows] == truth


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_layout_is_duckdbs_own(kind: str, tmp_path: Path, new_duck: DuckFactory) -> None:
    ours, theirs = new_duck(), new_duck()
    tidelake.connect(f"{kind}:///{tmp_path}/ours.db", data_path=str(tmp_path / "a")).close()
    attach(ours, f"{kind}:///{tmp_path}/ours.db")
    prefix = "sqlite:" if kind == "sqlite" else ""
    theirs.execute(
        f"ATTACH 'ducklake:{prefix}{tmp_path}/theirs.db' AS lake (DATA_PATH '{tmp_path}/b/')"
    )
    found = "SELECT table_name, column_name, data_type FROM duckdb_columns()"
    found += " WHERE database_name = '__ducklake_metadata_lake' ORDER BY table_name, column_index"
    assert ours.execute(found).fetchall() == theirs.execute(found).fetchall()


def test_every_table_of_the_specification_is_declared() -> None:
    assert len(TABLES) == 28
    assert columns("ducklake_snapshot") == [
        "snapshot_id",
        "snapshot_time",
        "schema_version",
        "next_catalog_id",
        "next_file_id",
    ]


def test_a_server_catalog_needs_a_data_path(postgres_server: "PostgresServer") -> None:
    with pytest.raises(Invalid, match="needs a place for its files"):
        tidelake.connect(postgres_server.new_database())


def test_a_cut_off_creation_on_mysql_is_finished(
    mariadb_server: "MariadbServer", tmp_path: Path
) -> None:
    import pymysql

    url = mariadb_server.new_database()
    host, database = url.removeprefix("mysql://root@").split("/")
    raw = pymysql.connect(
        host=host.split(":")[0], port=int(host.split(":")[1]), user="root", database=database
    )
    with raw.cursor() as cursor:
        cursor.execute(
            "CREATE TABLE ducklake_metadata (`key` TEXT, `value` TEXT, scope TEXT, scope_id BIGINT)"
        )
    raw.close()
    with tidelake.connect(url, data_path=str(tmp_path)) as lake:
        assert lake.schemas() == ["main"]
