from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

import tidelake
from tests.read.oracle import Oracle
from tests.write.place import Place, assert_same

SERVERS = {"postgresql": "postgres_server", "mariadb": "mariadb_server"}


@pytest.fixture
def new_place(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], Place]:
    """Makes an address for a lake that does not exist yet, on a kind of catalog."""

    def make(kind: str) -> Place:
        folder = tmp_path / "lake"
        folder.mkdir()
        if kind == "sqlite":
            path = f"{folder}/lake.db"
            return Place(kind, f"sqlite:///{path}", f"ducklake:sqlite:{path}", folder)
        if kind == "duckdb":
            path = f"{folder}/lake.duckdb"
            return Place(kind, f"duckdb:///{path}", f"ducklake:{path}", folder)
        server: Any = request.getfixturevalue(SERVERS[kind])
        url = server.new_database()
        return Place(kind, url, f"ducklake:postgres:{url}", folder)

    return make


@pytest.fixture
def place(new_place: Callable[[str], Place], request: pytest.FixtureRequest) -> Place:
    """SQLite, unless the test is parametrized over kinds of catalogs."""
    return new_place(getattr(request, "param", "sqlite"))


@pytest.fixture
def lake(place: Place) -> Iterator[tidelake.Lake]:
    with place.open() as lake:
        yield lake


@pytest.fixture(scope="package")
def _duckdb() -> Iterator[duckdb.DuckDBPyConnection]:
    from tidelake.testing.duck import duck_connection

    with duck_connection() as connection:
        connection.execute("SET threads = 1")
        yield connection


@pytest.fixture
def duck(
    _duckdb: duckdb.DuckDBPyConnection, place: Place, lake: tidelake.Lake
) -> Iterator[duckdb.DuckDBPyConnection]:
    """DuckDB in the test's lake, attached as `lake`."""
    _duckdb.execute(f"ATTACH '{place.ducklake}' AS lake")
    _duckdb.execute("USE lake")
    yield _duckdb
    _duckdb.execute("USE memory")
    _duckdb.execute("DETACH lake")


@pytest.fixture(scope="package")
def oracle() -> Iterator[Oracle]:
    oracle = Oracle()
    yield oracle
    oracle.close()


@pytest.fixture
def agree(place: Place, lake: tidelake.Lake, oracle: Oracle) -> Callable[[], None]:
    """Asserts that Tidelake and DuckDB read the same, at every snapshot."""
    return lambda: assert_same(place, oracle, lake)
