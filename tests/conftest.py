"""The real things that tests run against. Each starts when a test first asks, once per run."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

pytest_plugins = ["tests.run"]

if TYPE_CHECKING:
    import duckdb
    from pyspark.sql import SparkSession

    from tests.servers.delta_spark import DeltaSpark
    from tests.servers.mariadb import MariadbServer
    from tests.servers.postgres import PostgresServer
    from tests.servers.s3 import S3Server
    from tests.servers.spark import ConnectServer, SparkCluster


@pytest.fixture
def duck() -> "Iterator[Callable[[], duckdb.DuckDBPyConnection]]":
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
