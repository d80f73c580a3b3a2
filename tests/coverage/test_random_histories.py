"""Histories of series by seed: whatever happens, by Tidelake or by DuckDB, what is kept says what
the rows do, at every snapshot that is left.

A seed that fails is replayed with `run(Place.at(…), seed, LENGTH)`.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.coverage.trial import run
from tidelake.testing.place import Place

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LENGTH = 20


@pytest.mark.parametrize("seed", [1, 2])
def test_a_few_histories(seed: int, tmp_path: Path) -> None:
    run(Place.at("sqlite", tmp_path), seed, 12)


@pytest.mark.parametrize("kind", ["duckdb", "postgresql", "mariadb"])
def test_a_history_on_other_catalogs(kind: str, new_place: Callable[[str], Place]) -> None:
    run(new_place(kind), 7, 6)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 250))
def test_many_histories(seed: int, tmp_path: Path) -> None:
    run(Place.at("sqlite", tmp_path), seed, LENGTH)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["duckdb", "postgresql", "mariadb"])
@pytest.mark.parametrize("seed", range(1000, 1015))
def test_histories_on_other_catalogs(
    kind: str, seed: int, new_place: Callable[[str], Place]
) -> None:
    run(new_place(kind), seed, LENGTH)


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("seed", [4, *range(500, 510)])
def test_histories_on_spark(seed: int, tmp_path: Path, spark: "SparkSession") -> None:
    run(Place.at("sqlite", tmp_path), seed, 12, spark)
