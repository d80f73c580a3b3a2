"""All writes mixed with all maintenance: every snapshot that is left, after every step."""

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

import tidelake
from tests.reading import canonical
from tests.writing.actions import spelled
from tests.writing.check import expected_arrow
from tests.writing.model import Model, Table
from tests.writing.place import place
from tests.writing.upkeep import UpkeepTrial, plan_of, run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LENGTH = 16
seeds = st.integers(0, 1 << 20)


@pytest.mark.parametrize("seed", [2, 28])
def test_a_few_histories(seed: int, tmp_path: Path) -> None:
    run(plan_of(seed, LENGTH), place("sqlite", tmp_path), kept=seed % 4 == 0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 300))
def test_many_histories(seed: int, tmp_path: Path) -> None:
    run(plan_of(seed, LENGTH), place("sqlite", tmp_path), kept=seed % 2 == 0)


@pytest.mark.spark
def test_spark_reads_what_is_left(tmp_path: Path, spark: "SparkSession") -> None:
    here = place("sqlite", tmp_path)
    model = run(plan_of(31, LENGTH), here)
    assert_spark_agrees(here.url, model, spark)


def assert_spark_agrees(url: str, model: Model, spark: "SparkSession") -> None:
    """At the oldest and the newest snapshot, and at some between."""
    ids = sorted(model.snapshots)
    with tidelake.connect(url) as lake:
        for at in {*ids[:: max(1, len(ids) // 3)], ids[-1]}:
            state = model.snapshots[at]
            for name, table in state.tables.items():
                shown = [c for c in table.columns if c.kind != "TIMESTAMP_NS"]
                scan = lake.known_at(at).table(spelled(name)).scan([c.name for c in shown])
                expected = canonical.rows(expected_arrow(Table(shown, table.rows)))
                assert canonical.rows(scan.to_spark(spark).toArrow()) == expected, (at, name)


class Keepers(RuleBasedStateMachine):
    """Hypothesis chooses what is done; every rule is one step of a trial."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="keepers-"))
        self.trial: UpkeepTrial | None = None

    @initialize(kept=st.booleans())
    def open(self, kept: bool) -> None:
        self.trial = UpkeepTrial(place("sqlite", self.folder), kept=kept)

    def _step(self, kind: str, seed: int) -> None:
        assert self.trial is not None
        self.trial.step(kind, seed)

    @rule(kind=st.sampled_from(["tide", "tide transaction", "option"]), seed=seeds)
    def tidelake_writes(self, kind: str, seed: int) -> None:
        self._step(kind, seed)

    @rule(kind=st.sampled_from(["duck", "duck transaction", "tide beside duck"]), seed=seeds)
    def duckdb_writes(self, kind: str, seed: int) -> None:
        self._step(kind, seed)

    @rule(kind=st.sampled_from(["compact", "expire", "cleanup", "tag"]), seed=seeds)
    def tidelake_keeps_house(self, kind: str, seed: int) -> None:
        self._step(kind, seed)

    @rule(
        kind=st.sampled_from(["flush", "merge", "rewrite", "duck expire", "duck cleanup"]),
        seed=seeds,
    )
    def duckdb_keeps_house(self, kind: str, seed: int) -> None:
        self._step(kind, seed)

    def teardown(self) -> None:
        if self.trial is not None:
            self.trial.close()
        shutil.rmtree(self.folder, ignore_errors=True)


_SETTINGS = settings(
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    print_blob=True,
)


class TestKeepers(Keepers.TestCase):
    settings = settings(_SETTINGS, max_examples=3, stateful_step_count=10, derandomize=True)


@pytest.mark.slow
@pytest.mark.timeout(3600)
class TestManyKeepers(Keepers.TestCase):
    settings = settings(_SETTINGS, max_examples=150, stateful_step_count=20)
