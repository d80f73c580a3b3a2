"""Whoever comes with the same token, from whichever process, and whatever became of the first who
did: it is done once."""

import os
import signal
from collections.abc import Callable, Iterator
from functools import partial

import pytest

import tidelake
from tests.concurrency import audit
from tests.concurrency.crowd import start, together
from tidelake.errors import Unavailable
from tidelake.model.change import WriteResult
from tidelake.testing.faults import watch_database
from tidelake.testing.place import Place

CATALOGS = ("sqlite", "postgresql", "mariadb", "duckdb")


@pytest.fixture(params=CATALOGS)
def place(request: pytest.FixtureRequest, new_place: Callable[[str], Place]) -> Place:
    place: Place = new_place(request.param)
    with place.open() as lake:
        lake.create_table("t", "n BIGINT").append([{"n": -1}])
        lake.create_table("u", "n BIGINT")
    return place


def load(place: Place, batches: int) -> list[WriteResult]:
    """Every batch in a transaction over both tables, and then a row by itself; again where
    somebody else has the catalog, as a DuckDB file admits one process at a time."""
    results: list[WriteResult] = []
    while len(results) < 2 * batches:
        number = len(results) // 2
        try:
            with place.open() as lake:
                results = [*results[: 2 * number], *load_batch(lake, number)]
        except Unavailable:
            assert place.kind == "duckdb"
    return results


def load_batch(lake: tidelake.Lake, number: int) -> Iterator[WriteResult]:
    with lake.transaction(once=f"load/{number}") as tx:
        tx.table("t").append([{"n": number}] * 30)
        tx.table("u").append([{"n": number}])
    assert tx.result is not None
    yield tx.result
    yield lake.table("u").append([{"n": -1}], once=f"one/{number}")


@pytest.mark.parametrize("batches", [2, pytest.param(10, marks=pytest.mark.slow)])
def test_several_at_once(place: Place, batches: int) -> None:
    told = together(*(partial(load, place, batches) for _ in range(3)))
    for results in zip(*told, strict=True):
        assert [each.duplicate for each in results].count(False) == 1
        assert len({(each.snapshot_id, each.rows, each.files, each.bytes) for each in results}) == 1
    with place.open() as lake:
        assert len(lake.snapshots()) == 4 + 2 * batches
        assert lake.table("t").count() == 1 + 30 * batches
        assert lake.table("u").count() == 2 * batches
        assert audit.check_files(place, lake) == 0
    audit.check(place, "t", "u")


def die_before_the_reply(place: Place) -> None:
    """Once the commit that keeps the token is done."""
    kept = []

    def tell(what: str, text: str) -> None:
        if what == "insert" and text == "tidelake_once":
            kept.append(text)
        if what == "done" and kept:
            os.kill(os.getpid(), signal.SIGKILL)

    with place.open() as lake, watch_database(lake, tell):
        append(lake)


def append(lake: tidelake.Lake) -> WriteResult:
    return lake.table("t").append([{"n": n} for n in range(40)], once="killed/1")


def test_killed_between_the_commit_and_the_reply(place: Place) -> None:
    process = start(partial(die_before_the_reply, place))
    process.join()
    assert process.exitcode == -signal.SIGKILL
    with place.open() as lake:
        assert lake.table("t").count() == 41
        done = append(lake)
        assert (done.duplicate, done.rows, done.snapshot_id) == (True, 40, 4)
        assert lake.table("t").count() == 41
    audit.check(place, "t")
