"""Histories by seed. A seed that fails is replayed with `run(plan_of(seed, LENGTH), place(…))`."""

from pathlib import Path

import pytest

from tests.writing.place import place
from tests.writing.trial import plan_of, run

LENGTH = 12


@pytest.mark.parametrize("seed", range(4))
def test_a_few_histories(seed: int, tmp_path: Path) -> None:
    run(plan_of(seed, LENGTH), place("sqlite", tmp_path), kept=seed % 2 == 0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 400))
def test_many_histories(seed: int, tmp_path: Path) -> None:
    run(plan_of(seed, LENGTH), place("sqlite", tmp_path), kept=seed % 2 == 0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1010))
def test_long_histories(seed: int, tmp_path: Path) -> None:
    run(plan_of(seed, 60), place("sqlite", tmp_path), kept=seed % 2 == 0)
