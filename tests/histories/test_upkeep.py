"""All writes mixed with all maintenance: every snapshot that is left, after every step."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import rule

import tidelake
from tests.histories.upkeep import UpkeepTrial, plan_of, run
from tidelake.testing import canonical
from tidelake.testing.histories.action import qualified_name
from tidelake.testing.histories.check import expected_arrow
from tidelake.testing.histories.machine import SEEDS, SETTINGS, OnTrial, run_seeded
from tidelake.testing.histories.model import Model, Table
from tidelake.testing.place import Place

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LENGTH, SHORT = 16, 8


@pytest.mark.parametrize("seed", [2])
def test_a_few_histories(seed: int, tmp_path: Path) -> None:
    run(plan_of(seed, SHORT), Place.at("sqlite", tmp_path), kept=seed % 4 == 0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2, 28, *range(100, 300)])
def test_many_histories(seed: int, tmp_path: Path) -> None:
    run(plan_of(seed, LENGTH), Place.at("sqlite", tmp_path), kept=seed % 2 == 0)


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("seed", [31, 32])
def test_spark_reads_what_is_left(seed: int, tmp_path: Path, spark: "SparkSession") -> None:
    here = Place.at("sqlite", tmp_path)
    model = run(plan_of(seed, LENGTH), here)
    assert_spark_agrees(here.url, model, spark)


def assert_spark_agrees(url: str, model: Model, spark: "SparkSession") -> None:
    """At the oldest and the newest snapshot, and at some between."""
    ids = sorted(model.snapshots)
    with tidelake.connect(url) as lake:
        for at in {*ids[:: max(1, len(ids) // 3)], ids[-1]}:
            state = model.snapshots[at]
            for name, table in state.tables.items():
                shown = [c for c in table.columns if c.kind != "TIMESTAMP_NS"]
                scan = lake.known_at(at).table(qualified_name(name)).scan([c.name for c in shown])
                expected = canonical.rows(expected_arrow(Table(shown, table.rows)))
                assert canonical.rows(scan.to_spark(spark).toArrow()) == expected, (at, name)


class Keepers(OnTrial):
    """Hypothesis chooses what is done; every rule is one step of a trial."""

    trials = UpkeepTrial

    @rule(kind=st.sampled_from(["tide", "tide transaction", "option"]), seed=SEEDS)
    def tidelake_writes(self, kind: str, seed: int) -> None:
        self.step(kind, seed)

    @rule(kind=st.sampled_from(["duck", "duck transaction", "tide beside duck"]), seed=SEEDS)
    def duckdb_writes(self, kind: str, seed: int) -> None:
        self.step(kind, seed)

    @rule(kind=st.sampled_from(["compact", "expire", "cleanup", "tag"]), seed=SEEDS)
    def tidelake_keeps_house(self, kind: str, seed: int) -> None:
        self.step(kind, seed)

    @rule(
        kind=st.sampled_from(["flush", "merge", "rewrite", "duck expire", "duck cleanup"]),
        seed=SEEDS,
    )
    def duckdb_keeps_house(self, kind: str, seed: int) -> None:
        self.step(kind, seed)


@pytest.mark.slow
class TestKeepers(Keepers.TestCase):
    settings = settings(SETTINGS, max_examples=2, stateful_step_count=9, derandomize=True)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(25))
def test_many_keepers(number: int) -> None:
    run_seeded(Keepers, number, steps=20)
