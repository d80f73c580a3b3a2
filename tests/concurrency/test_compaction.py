"""Compaction while others write, and compaction that is killed: no row is lost, none comes back."""

import random
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial

import duckdb
import pytest

import tidelake
from tests.concurrency import audit
from tests.concurrency.crowd import start, together
from tests.concurrency.workers import append_batches, delete_one_by_one
from tests.upkeep.unchanged import shown
from tidelake.testing.place import Place

ROWS = 400


def keep_compacting(place: Place, seconds: float) -> list[str]:
    """Again and again, until something has been merged; what was done and what had to be left."""
    done: list[str] = []
    deadline = time.monotonic() + seconds
    with place.open() as lake:
        while time.monotonic() < deadline or "merge done" not in done:
            done += [f"{a.kind} {a.outcome}" for a in lake.table("t").compact().actions]
    return done


def duck_delete_one_by_one(place: Place, numbers: Iterable[int]) -> None:
    with place.duck() as duck:
        duck.execute("SET ducklake_max_retry_count = 100")
        for number in numbers:
            while True:
                with suppress(duckdb.Error):  # we came first
                    duck.execute(f"DELETE FROM lake.t WHERE id = {number}")
                    break


def filled(place: Place) -> None:
    with place.open() as lake:
        t = lake.create_table("t", "id BIGINT, who BIGINT")
        for first in range(0, ROWS, 40):
            t.append([{"id": number, "who": 1} for number in range(first, first + 40)])


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("kind", "seconds"),
    [
        ("sqlite", 2),
        ("postgresql", 2),
        pytest.param("mariadb", 2, marks=pytest.mark.slow),
        pytest.param("sqlite", 20, marks=pytest.mark.slow),
        pytest.param("postgresql", 20, marks=pytest.mark.slow),
    ],
)
def test_others_write_meanwhile(new_place: Callable[[str], Place], kind: str, seconds: int) -> None:
    place = new_place(kind)
    filled(place)
    mine, theirs = range(0, 9 * seconds, 3), range(1, 6 * seconds, 3)
    sizes = [3, 20] * seconds
    fresh = [range(1000 + 20 * n, 1000 + 20 * n + count) for n, count in enumerate(sizes)]
    jobs = [
        partial(keep_compacting, place, seconds),
        partial(delete_one_by_one, place, mine),
        partial(append_batches, place, fresh),
    ]
    if place.shared:
        jobs.append(partial(duck_delete_one_by_one, place, theirs))
    compacted, *_ = together(*jobs)
    gone = {*mine, *(theirs if place.shared else ())}
    left = [n for n in range(ROWS) if n not in gone] + [n for part in fresh for n in part]
    with place.open() as lake:
        assert ids(lake.table("t")) == sorted(left)
        lake.table("t").compact()
        assert ids(lake.table("t")) == sorted(left)
        assert ids(lake.known_at(11).table("t")) == list(range(ROWS))
        check_each_step(lake, gone)
    assert "merge done" in compacted
    audit.check(place, "t")


def ids(table: tidelake.Table) -> list[int]:
    return sorted(table.scan(["id"]).to_arrow()["id"].to_pylist())


def check_each_step(lake: tidelake.Lake, gone: set[int]) -> None:
    """Every snapshot has what the one before it had, but for one row or those of one append."""
    before = set(range(ROWS))
    for snapshot in lake.snapshots():
        if snapshot.snapshot_id <= 11:
            continue
        found = ids(lake.known_at(snapshot.snapshot_id).table("t"))
        now = set(found)
        assert len(now) == len(found)
        assert before - now <= gone
        assert len(before - now) <= 1
        assert not (before - now and now - before)
        before = now


def compact_until_killed(place: Place) -> None:
    with place.open() as lake:
        while True:
            lake.table("t").append([{"id": number, "who": 2} for number in range(5000, 5020)])
            lake.table("t").append([{"id": 6000, "who": 2}])
            lake.table("t").delete("id IN (5003, 6000) OR id % 7 = 3 AND who = 2")
            lake.table("t").compact()


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    ("kind", "kills"),
    [
        ("sqlite", 3),
        pytest.param("postgresql", 10, marks=pytest.mark.slow),
        pytest.param("sqlite", 40, marks=pytest.mark.slow),
    ],
)
def test_killed_at_any_moment(new_place: Callable[[str], Place], kind: str, kills: int) -> None:
    place = new_place(kind)
    filled(place)
    moments = random.Random(kills)
    for _ in range(kills):
        with place.open() as lake:
            known = [snapshot.snapshot_id for snapshot in lake.snapshots()]
            before = shown(lake, known[-12:])
        process = start(partial(compact_until_killed, place))
        time.sleep(moments.uniform(0.3, 1.5))
        process.kill()
        process.join()
        with place.open() as lake:
            assert shown(lake, known[-12:]) == before
            audit.check_files(place, lake)
    with place.open() as lake:
        known = [snapshot.snapshot_id for snapshot in lake.snapshots()]
        before = shown(lake, known[-12:])
        lake.compact()
        assert shown(lake, known[-12:]) == before
        assert not lake.compact(dry_run=True).actions
    audit.check(place, "t")
