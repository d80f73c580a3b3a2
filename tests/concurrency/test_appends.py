"""Many processes append one row at a time: all land, none twice, and nobody sees an error."""

from collections.abc import Callable
from functools import partial

import pytest

from tests.concurrency import audit
from tests.concurrency.crowd import shares, together
from tests.concurrency.workers import append_one_by_one, duck_insert_one_by_one
from tidelake.testing.place import Place


def create(place: Place) -> None:
    with place.open() as lake:
        lake.create_table("t", "n BIGINT, who VARCHAR")


def numbers(place: Place) -> list[int]:
    with place.open() as lake:
        return sorted(lake.table("t").to_arrow()["n"].to_pylist())


@pytest.mark.parametrize("rows", [320, pytest.param(800, marks=pytest.mark.slow)])
def test_sixteen_processes(place: Place, rows: int) -> None:
    create(place)
    jobs = [partial(append_one_by_one, place, share) for share in shares(rows, 16)]
    snapshots = sorted(snapshot for made in together(*jobs) for snapshot in made)
    assert snapshots == list(range(snapshots[0], snapshots[0] + rows))
    assert numbers(place) == list(range(rows))
    audit.check(place, "t")


@pytest.mark.slow
@pytest.mark.parametrize("rows", [160, pytest.param(400, marks=pytest.mark.slow)])
def test_beside_duckdb(new_place: Callable[[str], Place], rows: int) -> None:
    place = new_place("postgresql")
    create(place)
    ours, theirs = shares(rows, 8)[:4], shares(rows, 8)[4:]
    together(
        *(partial(append_one_by_one, place, share) for share in ours),
        *(partial(duck_insert_one_by_one, place, share) for share in theirs),
    )
    assert numbers(place) == list(range(rows))
    audit.check(place, "t")
