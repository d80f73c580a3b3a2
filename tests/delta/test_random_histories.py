"""Histories by seed, with all tables mirrored: delta-rs and DuckDB read at every version what the
lake held at that snapshot.

A seed that fails is replayed with `run(plan_of(seed, LENGTH), Place.at(…))`.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.delta.trial import plan_of, run
from tidelake.testing.place import Place

LENGTH = 24
CHECKPOINTS = 3
"""They come after so few versions."""


def often(place: Place) -> Place:
    return place.tuned(checkpoint_every=CHECKPOINTS)


@pytest.mark.parametrize(("seed", "lazy"), [(103, False), (115, True)])
def test_a_few_histories(seed: int, lazy: bool, tmp_path: Path) -> None:
    run(plan_of(seed, 12), often(Place.at("sqlite", tmp_path)), lazy=lazy)


@pytest.mark.slow
@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("seed", range(300, 330))
def test_many_histories(seed: int, lazy: bool, tmp_path: Path) -> None:
    run(plan_of(seed, LENGTH), often(Place.at("sqlite", tmp_path)), lazy=lazy)


@pytest.mark.parametrize(("kind", "seed"), [("duckdb", 115), ("postgresql", 115), ("mariadb", 105)])
def test_a_history_on_other_catalogs(
    kind: str, seed: int, new_place: Callable[[str], Place]
) -> None:
    run(plan_of(seed, 8), often(new_place(kind)))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["duckdb", "postgresql", "mariadb"])
@pytest.mark.parametrize("seed", range(400, 404))
def test_histories_on_other_catalogs(
    kind: str, seed: int, new_place: Callable[[str], Place]
) -> None:
    run(plan_of(seed, LENGTH), often(new_place(kind)), lazy=seed % 2 == 0)
