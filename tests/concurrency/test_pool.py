"""Many threads on one lake whose connections are few: nobody waits for a second connection while
he holds one, so that all come to an end."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

import tidelake
from tidelake.errors import Unavailable
from tidelake.testing.place import Place

KINDS = ("postgresql", "mariadb")


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest, new_place: Callable[[str], Place]) -> Place:
    """Whose lakes open two connections to the catalog, and no more."""
    return new_place(request.param).tuned(pool_size=1, pool_more=1)


@pytest.fixture
def lake(place: Place) -> tidelake.Lake:
    lake = place.open()
    lake.create_table("counters", "id INT, n INT").append([{"id": 0, "n": 0}])
    return lake


@pytest.mark.slow
def test_more_threads_than_connections(lake: tidelake.Lake) -> None:
    """They overtake each other until one after the other does it inside the lock, where it needs
    to read."""
    threads, times = 12, 2
    gate = Barrier(threads)

    def count_up(_: int) -> None:
        gate.wait()
        for _ in range(times):
            lake.table("counters").update({"n": "n + 1"})

    with lake, ThreadPoolExecutor(threads) as pool:
        list(pool.map(count_up, range(threads)))
        assert lake.table("counters").to_arrow()["n"].to_pylist() == [threads * times]


def test_a_read_inside_of_a_read_needs_no_other_connection(lake: tidelake.Lake) -> None:
    """As many readers as connections, each in the middle of a read when it begins another."""
    gate = Barrier(2)

    def read(_: int) -> int:
        with lake.session.reading():
            gate.wait()
            return lake.table("counters").count()

    with lake, ThreadPoolExecutor(2) as pool:
        assert list(pool.map(read, range(2))) == [1, 1]


def test_connections_that_do_not_come_back(place: Place) -> None:
    lake = place.tuned(lock_wait_s=0.05).open()
    gate, over = Barrier(3), Barrier(3)

    def hold(_: int) -> None:
        with lake.session.reading():
            gate.wait()
            over.wait()

    with lake, ThreadPoolExecutor(2) as pool:
        holders = [pool.submit(hold, number) for number in range(2)]
        gate.wait()
        with pytest.raises(Unavailable, match="all 2 connections") as caught:
            lake.tables()
        over.wait()
        assert "DuckLake" not in str(caught.value)
        assert [holder.result() for holder in holders] == [None, None]
