"""Consumers that begin with all rows and go on with every change, none twice and none missed."""

import random
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import tidelake
from tests.concurrency.crowd import start
from tests.history.copying import COPY, copy_for_ever, copy_once, write_at_random
from tidelake.errors import Conflict, Invalid
from tidelake.testing.place import Place

KINDS = ["sqlite", "duckdb", "postgresql", "mariadb"]


@pytest.fixture
def lake(place: Place) -> Iterator[tidelake.Lake]:
    """With a past that a new consumer need not hear of."""
    with place.open() as lake:
        lake.create_table("t", {"i": "int64"})
        lake.create_table("u", {"i": "int64"})
        lake.table("t").append([{"i": 1}, {"i": 2}, {"i": 3}])
        lake.table("t").delete("i = 2")
        lake.table("t").update({"i": "i + 10"}, where="i = 3")
        yield lake


def rows(batch: Any, table: str) -> list[tuple[Any, ...]]:
    found = batch.changes(table).to_arrow().to_pylist()
    return sorted((each["change_type"], each["i"]) for each in found)


@pytest.mark.parametrize("place", KINDS, indirect=True)
def test_rows_first_then_changes(lake: tidelake.Lake) -> None:
    with lake.consumer("c", start="rows") as consumer:
        batch = consumer.poll(limit=1)
        assert batch is not None
        assert (batch.since, batch.until, batch.is_bootstrap) == (None, 5, True)
        assert batch.tables == ("main.t", "main.u")
        assert [each.snapshot_id for each in batch.snapshots] == [5]
        assert rows(batch, "t") == [("insert", 1), ("insert", 13)]
        assert rows(batch, "u") == []
        times = batch.changes("t").to_arrow()["snapshot_time"].to_pylist()
        assert None not in times
        lake.table("t").append([{"i": 4}])
        assert consumer.poll() == batch
        assert rows(consumer.poll(), "t") == [("insert", 1), ("insert", 13)]
        consumer.commit()
        lake.table("t").delete("i = 1")
        batch = consumer.poll()
        assert batch is not None
        assert (batch.since, batch.until, batch.is_bootstrap) == (5, 7, False)
        assert rows(batch, "t") == [("delete", 1), ("insert", 4)]
        consumer.commit()
    with lake.consumer("c", start="rows", tables=["u"]) as consumer:
        assert consumer.poll() is None
        consumer.seek(None)
        lake.drop("u")
        lake.create_table("u", {"i": "int64"})
        assert consumer.poll() is None
        assert consumer.position == 9


def test_whoever_dies_before_the_first_commit_begins_anew(lake: tidelake.Lake) -> None:
    with lake.consumer("c", start="rows", tables=["t"]) as consumer:
        batch = consumer.poll()
        assert batch is not None
    lake.table("t").append([{"i": 4}])
    with lake.consumer("c", start="rows", tables=["t"]) as consumer:
        later = consumer.poll()
        assert later is not None
        assert (later.until, later.is_bootstrap) == (6, True)
        assert rows(later, "t") == [("insert", 1), ("insert", 4), ("insert", 13)]
        consumer.commit()
        with pytest.raises(Conflict, match="is at 6"):
            consumer.commit(batch)


def test_from_now_on(lake: tidelake.Lake, place: Place) -> None:
    with lake.consumer("c", start="now") as consumer:
        assert (consumer.poll(), consumer.position) == (None, 5)
        lake.table("t").append([{"i": 4}])
        assert rows(consumer.poll(), "t") == [("insert", 4)]
    with lake.consumer("c", start="now") as consumer:
        assert consumer.position == 5
    for wrong in ("all", None, 5):
        with place.refuses(Invalid, "no way to begin"):
            lake.consumer("d", start=wrong)  # type: ignore[arg-type]
    with place.refuses(Invalid, "does not start with 'rows'"):
        lake.consumer("d", since=2, start="rows")


def test_a_first_batch_keeps_what_it_needs(lake: tidelake.Lake) -> None:
    with lake.consumer("c", start="rows", tables=["t"]) as consumer:
        batch = consumer.poll()
        lake.table("t").delete("true")
        with pytest.raises(Conflict, match="'c' \\(at the beginning"):
            lake.expire(keep_last=1)
        assert rows(batch, "t") == [("insert", 1), ("insert", 13)]
        lake.expire(keep_last=1, force=True)
        again = consumer.poll()
        assert again is not None
        assert (again.until, again.is_bootstrap) == (6, True)
        consumer.commit()
    assert not lake.expire(keep_last=1).overtaken


def test_a_batch_is_committed_with_one_transaction(lake: tidelake.Lake) -> None:
    """Or what a second one writes would be there twice."""
    lake.create_table("copy", {"i": "int64"})
    with lake.consumer("c", start="rows", tables=["t"]) as consumer:
        batch = consumer.poll()
        assert batch is not None
        for _ in range(2):
            tx = lake.transaction()
            tx.table("copy").append(batch.changes("t").to_arrow().select(["i"]))
            consumer.commit(batch, within=tx)
            if lake.table("copy").count():
                with pytest.raises(Conflict, match="committed before"):
                    tx.commit()
            else:
                tx.commit()
    assert lake.table("copy").count() == 2


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("place", "kills"),
    [
        ("sqlite", 3),
        ("postgresql", 3),
        *(pytest.param(kind, 12, marks=pytest.mark.slow) for kind in ("sqlite", "postgresql")),
        pytest.param("mariadb", 6, marks=pytest.mark.slow),
    ],
    indirect=["place"],
)
def test_a_copy_by_whoever_lives(place: Place, tmp_path: Path, kills: int) -> None:
    """A writer goes on all the time, and whoever copies is killed at any moment: in the end the
    copy has each row once, as the table has it."""
    chance = random.Random(kills)
    with place.open() as lake:
        lake.create_table("t", "k BIGINT, v BIGINT").append([{"k": k, "v": 0} for k in range(20)])
        lake.create_table("copy", COPY)
    stop = tmp_path / "stop"
    writer = start(partial(write_at_random, place, ["t"], stop, kills))
    for kill in range(kills):
        sign = tmp_path / f"began-{kill}"
        copier = start(partial(copy_for_ever, place, sign))
        wait_for(sign)
        time.sleep(chance.uniform(0, 0.5))
        copier.kill()
        copier.join()
    stop.touch()
    writer.join(60)
    assert writer.exitcode == 0
    with place.open() as lake:
        with take(lake) as consumer:
            while copy_once(lake, consumer):
                pass
        copied = [(row["k"], row["v"]) for row in lake.table("copy").to_arrow().to_pylist()]
        there = [(row["k"], row["v"]) for row in lake.table("t").to_arrow().to_pylist()]
        assert sorted(copied) == sorted(there)


def take(lake: tidelake.Lake) -> Any:
    deadline = time.monotonic() + 60
    while True:
        try:
            return lake.consumer("copy", start="rows", tables=["t"])
        except Conflict:
            assert time.monotonic() < deadline
            time.sleep(0.05)


def wait_for(sign: Path) -> None:
    deadline = time.monotonic() + 60
    while not sign.exists():
        assert time.monotonic() < deadline
        time.sleep(0.005)
