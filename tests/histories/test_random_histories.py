"""Histories by seed, each replayed with `run(plan_of(seed, LENGTH), Place.at(…))`."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import tidelake
from tidelake.testing import canonical
from tidelake.testing.histories.action import qualified_name
from tidelake.testing.histories.check import expected_arrow
from tidelake.testing.histories.model import Table
from tidelake.testing.histories.trial import plan_of, run
from tidelake.testing.place import Place

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LENGTH = 12


@pytest.mark.parametrize("seed", [1, *(pytest.param(n, marks=pytest.mark.slow) for n in (0, 2, 3))])
def test_a_few_histories(seed: int, tmp_path: Path) -> None:
    run(plan_of(seed, 8), Place.at("sqlite", tmp_path), kept=seed % 2 == 0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 400))
def test_many_histories(seed: int, tmp_path: Path) -> None:
    run(plan_of(seed, LENGTH), Place.at("sqlite", tmp_path), kept=seed % 2 == 0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1010))
def test_long_histories(seed: int, tmp_path: Path) -> None:
    run(plan_of(seed, 60), Place.at("sqlite", tmp_path), kept=seed % 2 == 0)


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("seed", range(500, 530))
def test_histories_that_spark_writes(seed: int, tmp_path: Path, spark: "SparkSession") -> None:
    """Every write of ours is Spark's; DuckDB and the local engine read every snapshot."""
    run(plan_of(seed, LENGTH), Place.at("sqlite", tmp_path), kept=seed % 2 == 0, spark=spark)


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("seed", [3])
def test_spark_reads_a_history(seed: int, tmp_path: Path, spark: "SparkSession") -> None:
    here = Place.at("sqlite", tmp_path)
    model = run(plan_of(seed, LENGTH), here)
    with tidelake.connect(here.url) as lake:
        for at, state in model.snapshots.items():
            for name, table in state.tables.items():
                shown = [c for c in table.columns if c.kind != "TIMESTAMP_NS"]
                wanted = Table(shown, table.rows)
                scan = lake.known_at(at).table(qualified_name(name)).scan([c.name for c in shown])
                rows = scan.to_spark(spark).toArrow()
                expected = canonical.rows(expected_arrow(wanted))
                assert canonical.rows(rows) == expected, (at, name)
