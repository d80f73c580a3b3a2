"""Expiry and cleanup that are killed at any moment, and beside others who write, tag and read."""

import random
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

import tidelake
from tests.concurrency.audit import settle
from tests.concurrency.crowd import start, together
from tests.upkeep import together as work
from tidelake.testing.agreement import past
from tidelake.testing.place import Place, files_below

CATALOGS = ("sqlite", "postgresql", "mariadb")


def some_and_many(some: float, many: float, *quick: str) -> pytest.MarkDecorator:
    """A little on a few catalogs, and much on all of them when there is time."""
    slow = [pytest.param(kind, many, marks=pytest.mark.slow, id=kind) for kind in CATALOGS]
    return pytest.mark.parametrize(("kind", "much"), [*((kind, some) for kind in quick), *slow])


def some_history(lake: tidelake.Lake, number: int) -> None:
    """Files, rows in the catalog, deletes of both kinds, and a table that is dropped."""
    if number == 0:
        lake.create_table("t", "i BIGINT, s VARCHAR")
    t = lake.table("t")
    first = number * 1000
    t.append([{"i": first + n, "s": "many"} for n in range(40)])
    t.append([{"i": first + 100 + n, "s": "few"} for n in range(4)])
    t.delete(f"i BETWEEN {first + 5} AND {first + 25}")
    t.update({"s": "'changed'"}, where=f"i >= {first + 100}")
    t.delete(f"i < {first}")
    lake.create_table(f"gone{number}", "a BIGINT").append([{"a": n} for n in range(20)])
    lake.table(f"gone{number}").delete("a = 3")
    lake.drop(f"gone{number}")


@pytest.mark.timeout(1200)
@some_and_many(2, 40, "sqlite", "postgresql")
def test_killed_at_any_moment(
    new_place: Callable[[str], Place], tmp_path: Path, kind: str, much: int
) -> None:
    """What remains reads the same, and a second run finishes what the first began."""
    place, moments = new_place(kind), random.Random(much)
    with place.open() as lake:
        for kill in range(much):
            some_history(lake, kill)
            tagged = [each.snapshot_id for each in lake.snapshots()][3::5]
            for each in tagged:
                lake.tag(f"kept {each} for {kill}", each)
            before = past(lake)
            page = tmp_path / f"page-{kill}"
            page.touch()
            killed_while_expiring(place, page, moments.uniform(0, 0.25))
            settle(lake)
            there = [each.snapshot_id for each in lake.snapshots()]
            assert {*tagged, max(before)} <= set(there)
            assert past(lake) == {each: before[each] for each in there}
            for tag in lake.tags():
                lake.untag(tag.name)
            lake.expire(keep_last=2)
            lake.cleanup("0 seconds")
            assert past(lake) == {each: before[each] for each in there[-2:]}
            assert nothing_is_left(lake)
    assert_clean(place)


def killed_while_expiring(place: Place, page: Path, seconds: float) -> None:
    process = start(partial(work.keep_expiring, place, page, 1))
    deadline = time.monotonic() + 60
    while not page.stat().st_size:
        assert process.is_alive()
        assert time.monotonic() < deadline
        time.sleep(0.001)
    time.sleep(seconds)
    assert process.is_alive()
    process.kill()
    process.join()


def nothing_is_left(lake: tidelake.Lake) -> bool:
    """Nothing that no snapshot sees, in the catalog or on disk."""
    again = lake.expire(keep_last=2, dry_run=True)
    swept = lake.cleanup("0 seconds", dry_run=True)
    return (again.files, again.tables, again.rows, swept.files, swept.missing) == (0, (), 0, 0, 0)


def assert_clean(place: Place) -> None:
    with place.open() as lake, lake.session.reading() as reader:
        known = {
            Path(row[0]).name
            for kind in ("data", "delete")
            for row in reader.rows(f"SELECT path FROM ducklake_{kind}_file")
        }
    assert {path.name for path in files_below(place.data)} == known


@pytest.mark.slow
@pytest.mark.timeout(900)
@some_and_many(1, 15, "postgresql")
def test_beside_writers_taggers_and_readers(
    new_place: Callable[[str], Place], kind: str, much: float
) -> None:
    place = new_place(kind)
    with place.open() as lake:
        lake.create_table("t", "who BIGINT, n BIGINT")
        lake.table("t").append([{"who": 0, "n": n} for n in range(work.ROWS)])
    first, second, gone, tagged, read = together(
        partial(work.write_on, place, 1, much),
        partial(work.write_on, place, 2, much),
        partial(work.expire_on, place, much),
        partial(work.tag_on, place, much),
        partial(work.read_on, place, much),
    )
    assert all([gone, tagged, read])
    with place.open() as lake:
        t = lake.table("t")
        for who, count in ((0, work.ROWS), (1, first), (2, second)):
            assert t.scan(where=f"who = {who}").to_arrow().num_rows == count
        for name, count in tagged.items():
            assert lake.known_at(name).table("t").to_arrow().num_rows == count
        lake.expire(keep_last=1)
        lake.cleanup("0 seconds")
        for name, count in tagged.items():
            assert lake.known_at(name).table("t").to_arrow().num_rows == count


@pytest.mark.timeout(900)
@some_and_many(1, 15, "sqlite")
def test_cleanup_beside_a_slow_writer(
    new_place: Callable[[str], Place], kind: str, much: float
) -> None:
    place = new_place(kind)
    with place.open() as lake:
        lake.create_table("slow", "n BIGINT")
    done = together(
        partial(work.append_slowly, place, much),
        partial(work.append_slowly, place, much),
        partial(work.clean_on, place, much),
    )
    assert done[2] > 1
    with place.open() as lake:
        commits = len(lake.table("slow").snapshots()) - 1
        assert commits > 2
        assert lake.table("slow").to_arrow().num_rows == commits * work.ROWS
