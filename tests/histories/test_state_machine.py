"""Hypothesis chooses the steps: Tidelake, DuckDB and the model agree after each of them."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import rule

from tidelake.testing.histories.machine import SEEDS, SETTINGS, OnTrial, run_seeded


class Writers(OnTrial):
    """Every rule is one step of a trial, which compares all there is when the step is done."""

    @rule(seed=SEEDS)
    def tidelake_writes(self, seed: int) -> None:
        self.step("tide", seed)

    @rule(seed=SEEDS)
    def tidelake_in_a_transaction(self, seed: int) -> None:
        self.step("tide transaction", seed)

    @rule(seed=SEEDS)
    def a_transaction_that_raises(self, seed: int) -> None:
        self.step("tide failure", seed)

    @rule(seed=SEEDS)
    def duckdb_commits_meanwhile(self, seed: int) -> None:
        self.step("tide beside duck", seed)

    @rule(seed=SEEDS)
    def duckdb_writes(self, seed: int) -> None:
        self.step("duck", seed)

    @rule(seed=SEEDS)
    def duckdb_in_a_transaction(self, seed: int) -> None:
        self.step("duck transaction", seed)

    @rule(kind=st.sampled_from(["flush", "merge", "rewrite"]))
    def duckdb_keeps_house(self, kind: str) -> None:
        self.step(kind, 0)

    @rule(seed=SEEDS)
    def inlining_limit(self, seed: int) -> None:
        self.step("option", seed)


class TestWriters(Writers.TestCase):
    settings = settings(SETTINGS, max_examples=3, stateful_step_count=7, derandomize=True)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(25))
def test_many_writers(number: int) -> None:
    run_seeded(Writers, number, steps=20)
