"""Hypothesis chooses the steps: Tidelake, DuckDB and the model agree after each of them."""

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from tests.writing.place import place
from tests.writing.trial import Trial

seeds = st.integers(0, 1 << 20)


class Writers(RuleBasedStateMachine):
    """Every rule is one step of a trial, which compares all there is when the step is done."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="writers-"))
        self.trial: Trial | None = None

    @initialize(kept=st.booleans())
    def open(self, kept: bool) -> None:
        self.trial = Trial(place("sqlite", self.folder), kept=kept)

    def _step(self, kind: str, seed: int) -> None:
        assert self.trial is not None
        self.trial.step(kind, seed)

    @rule(seed=seeds)
    def tidelake_writes(self, seed: int) -> None:
        self._step("tide", seed)

    @rule(seed=seeds)
    def tidelake_in_a_transaction(self, seed: int) -> None:
        self._step("tide transaction", seed)

    @rule(seed=seeds)
    def a_transaction_that_raises(self, seed: int) -> None:
        self._step("tide failure", seed)

    @rule(seed=seeds)
    def duckdb_commits_meanwhile(self, seed: int) -> None:
        self._step("tide beside duck", seed)

    @rule(seed=seeds)
    def duckdb_writes(self, seed: int) -> None:
        self._step("duck", seed)

    @rule(seed=seeds)
    def duckdb_in_a_transaction(self, seed: int) -> None:
        self._step("duck transaction", seed)

    @rule(kind=st.sampled_from(["flush", "merge", "rewrite"]))
    def duckdb_keeps_house(self, kind: str) -> None:
        self._step(kind, 0)

    @rule(seed=seeds)
    def inlining_limit(self, seed: int) -> None:
        self._step("option", seed)

    def teardown(self) -> None:
        if self.trial is not None:
            self.trial.close()
        shutil.rmtree(self.folder, ignore_errors=True)


_SETTINGS = settings(
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    print_blob=True,
)


class TestWriters(Writers.TestCase):
    settings = settings(_SETTINGS, max_examples=5, stateful_step_count=10, derandomize=True)


@pytest.mark.slow
@pytest.mark.timeout(3600)
class TestManyWriters(Writers.TestCase):
    settings = settings(_SETTINGS, max_examples=150, stateful_step_count=20)
