"""Facts by seed: late, doubled, corrected, taken back, compacted and rolled up, by Tidelake and
by DuckDB; every pair of moments is held against a list.

A seed that fails is replayed with `run(plan_of(seed, LENGTH), Place.at(…), seed)`.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from tests.event_time.trial import EventTrial, plan_of, run
from tidelake.testing.histories.machine import SEEDS, OnTrial, run_seeded
from tidelake.testing.place import Place

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LENGTH = 16


@pytest.mark.parametrize("seed", [1, 3])
def test_a_few_histories(seed: int, tmp_path: Path) -> None:
    run(plan_of(seed, 9), Place.at("sqlite", tmp_path), seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 250))
def test_many_histories(seed: int, tmp_path: Path) -> None:
    run(plan_of(seed, LENGTH), Place.at("sqlite", tmp_path), seed)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["duckdb", "postgresql", "mariadb"])
@pytest.mark.parametrize("seed", range(1000, 1005))
def test_histories_on_other_catalogs(
    kind: str, seed: int, new_place: Callable[[str], Place]
) -> None:
    run(plan_of(seed, LENGTH), new_place(kind), seed)


@pytest.mark.spark
def test_a_history_on_spark(tmp_path: Path, spark: "SparkSession") -> None:
    run(plan_of(7, 6), Place.at("sqlite", tmp_path), 7, spark=spark)


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("seed", range(500, 510))
def test_histories_on_spark(seed: int, tmp_path: Path, spark: "SparkSession") -> None:
    run(plan_of(seed, LENGTH), Place.at("sqlite", tmp_path), seed, spark=spark)


class Historians(OnTrial):
    """Hypothesis chooses what is done; every rule is one step of a trial."""

    trial: EventTrial | None

    @initialize(seed=SEEDS)
    def open(self, seed: int) -> None:  # type: ignore[override]
        self.trial = EventTrial(Place.at("sqlite", self.folder), seed)

    @rule(kind=st.sampled_from(["tide", "tide transaction"]), seed=SEEDS)
    def facts_come(self, kind: str, seed: int) -> None:
        self.step(kind, seed)

    @rule(kind=st.sampled_from(["duck", "tide beside duck"]), seed=SEEDS)
    def duckdb_writes(self, kind: str, seed: int) -> None:
        self.step(kind, seed)

    @rule(kind=st.sampled_from(["compact", "rollup", "expire", "cleanup", "option"]), seed=SEEDS)
    def tidelake_keeps_house(self, kind: str, seed: int) -> None:
        self.step(kind, seed)

    @rule(kind=st.sampled_from(["flush", "merge", "rewrite", "duck expire"]), seed=SEEDS)
    def duckdb_keeps_house(self, kind: str, seed: int) -> None:
        self.step(kind, seed)

    def teardown(self) -> None:
        try:
            if self.trial is not None:
                self.trial.compare_all()
        finally:
            super().teardown()


@pytest.mark.slow
@pytest.mark.parametrize("number", range(10))
def test_many_historians(number: int) -> None:
    run_seeded(Historians, number, steps=16)
