"""The real things that tests run against, each started when a test first asks, once per run; and
lakes on them."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest_plugins = ["tests.run"]

if TYPE_CHECKING:
    import duckdb
    from pyspark.sql import SparkSession

    import tidelake
    from tests.servers.delta_spark import DeltaSpark
    from tests.servers.mariadb import MariadbServer
    from tests.servers.postgres import PostgresServer
    from tests.servers.s3 import S3Server
    from tests.servers.spark import ConnectServer, SparkCluster
    from tidelake.testing.oracle import Oracle
    from tidelake.testing.place import Place

_SERVERS = {"postgresql": "postgres_server", "mariadb": "mariadb_server"}


@pytest.fixture
def new_duck() -> "Iterator[Callable[[], duckdb.DuckDBPyConnection]]":
    """A factory of DuckDB connections that can attach DuckLake; all closed after the test."""
    from tidelake.testing.duck import duck_connection

    opened = []

    def connect() -> "duckdb.DuckDBPyConnection":
        opened.append(duck_connection())
        return opened[-1]

    yield connect
    for connection in opened:
        connection.close()


@pytest.fixture(scope="session")
def postgres_server() -> "Iterator[PostgresServer]":
    from tests.servers.postgres import PostgresServer

    server = PostgresServer()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def mariadb_server() -> "Iterator[MariadbServer]":
    from tests.servers.mariadb import MariadbServer

    server = MariadbServer()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def s3_server() -> "Iterator[S3Server]":
    from tests.servers.s3 import S3Server

    server = S3Server()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def spark() -> "Iterator[SparkSession]":
    from tests.servers.spark import local_session

    session = local_session(small=True)
    yield session
    session.stop()


@pytest.fixture(scope="session")
def delta_spark() -> "Iterator[DeltaSpark]":
    from tests.servers.delta_spark import DeltaSpark

    server = DeltaSpark()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def spark_connect_server() -> "Iterator[ConnectServer]":
    from tests.servers.spark import ConnectServer

    server = ConnectServer()
    yield server
    server.stop()


@pytest.fixture
def spark_connect(
    spark_connect_server: "ConnectServer", monkeypatch: pytest.MonkeyPatch
) -> "SparkSession":
    """A Connect session. `pyspark.sql.functions` speak Connect while the test runs, as they do in
    a process that has no other session."""
    monkeypatch.setenv("SPARK_CONNECT_MODE_ENABLED", "1")
    return spark_connect_server.session


@pytest.fixture(scope="session")
def spark_cluster() -> "Iterator[SparkCluster]":
    from tests.servers.spark import SparkCluster

    cluster = SparkCluster()
    yield cluster
    cluster.stop()


@pytest.fixture
def new_place(request: pytest.FixtureRequest, tmp_path: Path) -> "Callable[[str], Place]":
    """Makes an address for a lake that does not exist yet, on a kind of catalog."""
    from tidelake.testing.place import Place

    def make(kind: str) -> Place:
        server = request.getfixturevalue(_SERVERS[kind]) if kind in _SERVERS else None
        return Place.at(kind, tmp_path / "lake", server)

    return make


@pytest.fixture
def place(new_place: "Callable[[str], Place]", request: pytest.FixtureRequest) -> "Place":
    """SQLite, unless the test is parametrized over kinds of catalogs."""
    return new_place(getattr(request, "param", "sqlite"))


@pytest.fixture
def lake(place: "Place") -> "Iterator[tidelake.Lake]":
    with place.open() as lake:
        yield lake


@pytest.fixture(scope="session")
def _duckdb() -> "Iterator[duckdb.DuckDBPyConnection]":
    from tidelake.testing.duck import duck_connection

    with duck_connection() as connection:
        connection.execute("SET threads = 1")
        yield connection


@pytest.fixture
def duck(
    _duckdb: "duckdb.DuckDBPyConnection", place: "Place", lake: "tidelake.Lake"
) -> "Iterator[duckdb.DuckDBPyConnection]":
    """DuckDB in the test's lake, attached as `lake`."""
    _duckdb.execute(f"ATTACH '{place.ducklake}' AS lake")
    _duckdb.execute("USE lake")
    yield _duckdb
    _duckdb.execute("USE memory")
    _duckdb.execute("DETACH lake")


@pytest.fixture(scope="session")
def oracle() -> "Iterator[Oracle]":
    from tidelake.testing.oracle import Oracle

    oracle = Oracle()
    yield oracle
    oracle.close()


@pytest.fixture
def agree(
    place: "Place", lake: "tidelake.Lake", oracle: "Oracle", request: pytest.FixtureRequest
) -> Callable[[], None]:
    """Asserts that Tidelake and DuckDB read the same, at every snapshot; where slow tests are left
    out, at the first and the last few."""
    from tidelake.testing.agreement import assert_same

    most = 4 if "not slow" in request.config.getoption("markexpr") else None
    return lambda: assert_same(place, oracle, lake, most=most)
