"""Histories of series by seed: whatever happens, by Tidelake or by DuckDB, what is kept says what
the rows do, at every snapshot that is left.

A seed that fails is replayed with `run(place(…), seed, LENGTH)`.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.coverage.trial import run
from tests.histories.place import place

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LENGTH = 20
SERVERS = {"postgresql": "postgres_server", "mariadb": "mariadb_server"}


def on(kind: str, folder: Path, request: pytest.FixtureRequest) -> Any:
    server = request.getfixturevalue(SERVERS[kind]) if kind in SERVERS else None
    return place(kind, folder, server)


@pytest.mark.parametrize("seed", [1, 2])
def test_a_few_histories(seed: int, tmp_path: Path) -> None:
    run(place("sqlite", tmp_path), seed, 12)


@pytest.mark.parametrize("kind", ["duckdb", "postgresql", "mariadb"])
def test_a_history_on_other_catalogs(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    run(on(kind, tmp_path, request), 7, 6)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 250))
def test_many_histories(seed: int, tmp_path: Path) -> None:
    run(place("sqlite", tmp_path), seed, LENGTH)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["duckdb", "postgresql", "mariadb"])
@pytest.mark.parametrize("seed", range(1000, 1015))
def test_histories_on_other_catalogs(
    kind: str, seed: int, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    run(on(kind, tmp_path, request), seed, LENGTH)


@pytest.mark.spark
def test_a_history_on_spark(tmp_path: Path, spark: "SparkSession") -> None:
    run(place("sqlite", tmp_path), 4, 5, spark)


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("seed", range(500, 510))
def test_histories_on_spark(seed: int, tmp_path: Path, spark: "SparkSession") -> None:
    run(place("sqlite", tmp_path), seed, 12, spark)
