"""Histories by seed, with erasures in them; replay one with `run(plan_of(seed, LENGTH), …)`."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.erasure.trial import plan_of, run
from tidelake.testing.place import Place

LENGTH, SHORT = 16, 5


@pytest.mark.parametrize("seed", [3])
def test_a_history(seed: int, tmp_path: Path) -> None:
    run(plan_of(seed, SHORT), Place.at("sqlite", tmp_path))


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", range(100, 160))
def test_many_histories(seed: int, tmp_path: Path) -> None:
    run(plan_of(seed, LENGTH), Place.at("sqlite", tmp_path), kept=seed % 2 == 0)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("kind", ["duckdb", "postgresql", "mariadb"])
@pytest.mark.parametrize("seed", range(200, 205))
def test_other_catalogs(seed: int, kind: str, new_place: Callable[[str], Place]) -> None:
    run(plan_of(seed, LENGTH), new_place(kind), kept=False)
