"""Very many short histories of facts, each compared at its end alone."""

from pathlib import Path

import pytest

from tests.event_time.short import run
from tidelake.testing.place import Place


@pytest.mark.parametrize("start", [0])
def test_a_few(tmp_path: Path, start: int) -> None:
    for seed in range(start, start + 12):
        run(Place.at("sqlite", tmp_path / str(seed)), seed)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(1000, 3000, 100))
def test_many(tmp_path: Path, start: int) -> None:
    for seed in range(start, start + 100):
        run(Place.at("sqlite", tmp_path / str(seed)), seed)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(5000, 5200, 20))
def test_with_duckdb_beside(tmp_path: Path, start: int) -> None:
    for seed in range(start, start + 20):
        place = Place.at("sqlite", tmp_path / str(seed))
        place.open().close()
        with place.duck() as duck:
            run(place, seed, duck)
