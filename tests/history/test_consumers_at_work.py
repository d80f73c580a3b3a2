"""Consumers that wait, that follow some tables, and whose work is done exactly once."""

from collections.abc import Iterator
from threading import Thread

import pytest

import tidelake
from tidelake.errors import Conflict, Invalid, NotFound
from tidelake.history.consumer import Consumer
from tidelake.testing.place import Place

KINDS = ["sqlite", "postgresql"]


@pytest.fixture
def lake(place: Place) -> Iterator[tidelake.Lake]:
    """Snapshots 1 and 2 create tables, 3 appends to one of them."""
    with place.open() as lake:
        lake.create_table("t", {"i": "int64"})
        lake.create_table("copy", {"i": "int64"})
        lake.table("t").append([{"i": 1}])
        yield lake


@pytest.mark.parametrize("place", KINDS, indirect=True)
def test_waiting_for_what_comes(lake: tidelake.Lake, place: Place) -> None:
    def write() -> None:
        with place.open() as other:
            other.table("t").append([{"i": 2}])

    with lake.consumer("billing", since=3) as consumer:
        assert consumer.poll(timeout=0) is None
        assert consumer.poll(timeout=0.05) is None
        writer = Thread(target=write)
        writer.start()
        batch = consumer.poll(timeout=60)
        writer.join()
        assert batch is not None
        assert batch.changes("t").count() == 1
        assert consumer.poll(timeout=60) == batch
        for wrong in (-1, "long", float("nan")):
            with pytest.raises(Invalid, match="timeout"):
                consumer.poll(timeout=wrong)  # type: ignore[arg-type]


def test_what_happens_to_other_tables_is_passed_over(lake: tidelake.Lake) -> None:
    with lake.consumer("billing", tables=["main.T"]) as consumer:
        batch = consumer.poll()
        assert batch is not None
        assert batch.tables == ("main.t",)
        consumer.commit()
        lake.table("copy").append([{"i": 7}])
        assert consumer.poll() is None
        assert consumer.position == 4
        lake.table("copy").append([{"i": 8}])
        lake.table("t").append([{"i": 2}])
        lake.table("copy").append([{"i": 9}])
        batch = consumer.poll(limit=1)
        assert batch is not None
        assert (batch.since, batch.until, batch.tables) == (5, 6, ("main.t",))
        consumer.commit()
        assert consumer.poll() is None
    for wrong in ("t", [], ["nothing"]):
        with pytest.raises((Invalid, NotFound)) as told:
            lake.consumer("other", tables=wrong)
        assert told.value.hint


@pytest.mark.parametrize("place", KINDS, indirect=True)
def test_exactly_once_into_a_table(lake: tidelake.Lake, place: Place) -> None:
    def work(consumer: Consumer, *, fails: bool = False) -> None:
        while batch := consumer.poll():
            with lake.transaction() as tx:
                rows = batch.changes("t").to_arrow().select(["i"])
                if rows.num_rows:
                    tx.table("copy").append(rows)
                consumer.commit(batch, within=tx)
                if fails:
                    raise RuntimeError

    with lake.consumer("billing", tables=["t"]) as consumer:
        with pytest.raises(RuntimeError):
            work(consumer, fails=True)
        assert consumer.position is None
        work(consumer)
        assert lake.table("copy").to_arrow()["i"].to_pylist() == [1]
        lake.table("t").append([{"i": 2}, {"i": 3}])
        work(consumer)
        assert sorted(lake.table("copy").to_arrow()["i"].to_pylist()) == [1, 2, 3]
        lake.table("t").set_comment("nothing to copy")
        before = len(lake.snapshots())
        work(consumer)
        assert (consumer.poll(), len(lake.snapshots())) == (None, before)
        assert consumer.position == before - 1


def test_who_has_lost_the_consumer_writes_nothing(lake: tidelake.Lake, place: Place) -> None:
    slow = lake.consumer("billing", lease_seconds=0.01)
    batch = slow.poll()
    with place.open() as other:
        tx = lake.transaction()
        tx.table("copy").append([{"i": 1}])
        slow.commit(batch, within=tx)
        fast = _take(other)
        fast.poll()
        fast.commit()
        with pytest.raises(Conflict, match="no longer held here"):
            tx.commit()
        assert lake.table("copy").count() == 0
        fast.close()
    with pytest.raises(Invalid, match="no transaction"):
        slow.commit(batch, within=lake)  # type: ignore[arg-type]


def _take(lake: tidelake.Lake) -> Consumer:
    """As soon as the lease before is over."""
    while True:
        try:
            return lake.consumer("billing")
        except Conflict:
            continue
