"""Groups: each table is one member's, and what is committed of it is given once."""

import random
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import tidelake
from tests.concurrency.crowd import start
from tests.history.copying import COPY, copy_once, share_for_ever, write_at_random
from tests.history.test_consumers_that_begin import wait_for
from tidelake.errors import Conflict, Invalid, NotFound
from tidelake.history.allotment import Allotment
from tidelake.history.consumer_group import GroupMember
from tidelake.history.group_records import Share
from tidelake.model.changes_made import touched_tables
from tidelake.testing.place import Place

KINDS = ["sqlite", "duckdb", "postgresql", "mariadb"]
NAMES = ("a", "b", "c", "d")


@pytest.fixture
def lake(place: Place) -> Iterator[tidelake.Lake]:
    """Snapshots 1 to 4 create tables, 5 to 8 append a row to each."""
    with place.open() as lake:
        for name in NAMES:
            lake.create_table(name, {"i": "int64"})
        for name in NAMES:
            lake.table(name).append([{"i": 1}])
        yield lake


def taken(member: GroupMember, **wishes: Any) -> dict[str, list[Any]]:
    """All that there is for a member, committed: what came from each table, in order."""
    found: dict[str, list[Any]] = {}
    while batch := member.poll(**wishes):
        (name,) = batch.tables
        rows = batch.changes(name).to_arrow()["i"].to_pylist()
        found.setdefault(name.removeprefix("main."), []).extend(rows)
        member.commit()
    return found


@pytest.mark.parametrize("place", KINDS, indirect=True)
def test_members_share_tables(lake: tidelake.Lake, place: Place) -> None:
    with lake.consumer_group("g") as one:
        assert taken(one) == {name: [1] for name in NAMES}
        assert one.tables == ("main.a", "main.b", "main.c", "main.d")
        with place.open() as elsewhere, elsewhere.consumer_group("g") as two:
            assert two.poll() is None
            assert one.poll() is None
            assert len(one.tables) == 2
            assert two.poll() is None
            assert sorted(one.tables + two.tables) == [f"main.{name}" for name in NAMES]
            for name in NAMES:
                lake.table(name).append([{"i": 2}])
            mine, theirs = taken(one), taken(two)
            assert mine | theirs == {name: [2] for name in NAMES}
            assert len(mine) == len(theirs) == 2
            (state,) = lake.consumers()
            assert state.members == tuple(sorted((one.owner, two.owner)))
            assert {each.owner for each in state.tables} == {one.owner, two.owner}
        lake.table("a").append([{"i": 3}])
        assert taken(one, limit=1) == {"a": [3]}
        assert one.poll() is None
    (state,) = lake.consumers()
    assert (state.members, state.snapshot_id, state.lag) == ((), 13, 0)
    assert "shared by 0" in str(state)


def test_parts_are_even() -> None:
    """Whatever members see: together they hold all, nothing twice, and differ by one at most."""
    chance = random.Random(1)
    for _ in range(300):
        members = [f"m{n}" for n in range(chance.randint(1, 6))]
        owners = [*members, "dead", None]
        shares = {n: Share(n, 0, chance.choice(owners)) for n in range(chance.randint(0, 9))}
        for _ in range(2):
            for me in chance.sample(members, len(members)):
                parts = Allotment.of(me, members, list(shares.values()), None)
                for n in parts.give:
                    assert shares[n].owner == me
                    shares[n] = Share(n, 0, None)
                for n in parts.take:
                    assert shares[n].owner in ("dead", None)
                    shares[n] = Share(n, 0, me)
        held = [sum(each.owner == me for each in shares.values()) for me in members]
        assert sum(held) == len(shares)
        assert max(held) - min(held) <= 1


def test_what_is_worked_at_is_not_given_back(lake: tidelake.Lake) -> None:
    """Whoever of the two is to have the only table in the end."""
    with lake.consumer_group("g", tables=["a"]) as one:
        batch = one.poll()
        assert batch is not None
        with lake.consumer_group("g") as two:
            assert two.poll() is None
            assert one.poll() == batch
            one.commit()
            assert (one.tables, two.tables) == (("main.a",), ())
            assert (one.poll(), two.poll()) == (None, None)
            assert sorted(one.tables + two.tables) == ["main.a"]


def test_a_silent_member_loses_its_tables(lake: tidelake.Lake, place: Place) -> None:
    slow = lake.consumer_group("g", lease_seconds=0.05)
    batch = slow.poll()
    assert batch is not None
    time.sleep(0.1)
    with lake.consumer_group("g") as quick:
        assert taken(quick) == {name: [1] for name in NAMES}
        for call in (slow.commit, partial(slow.commit, batch)):
            with place.refuses(Conflict, "no longer held here"):
                call()
        tx = lake.transaction()
        tx.table("a").append([{"i": 9}])
        slow.commit(batch, within=tx)
        with pytest.raises(Conflict, match="no longer held here"):
            tx.commit()
        assert slow.poll() is None
        slow.close()
        assert quick.poll() is None
        assert len(quick.tables) == 4


@pytest.mark.parametrize("place", ["sqlite", "postgresql"], indirect=True)
def test_tables_that_come_and_go(lake: tidelake.Lake) -> None:
    with lake.consumer_group("g", start="now") as member:
        assert member.poll() is None
        lake.create_table("e", {"i": "int64"}).append([{"i": 5}])
        lake.table("a").append([{"i": 2}])
        lake.drop("a")
        lake.create_table("f", {"i": "int64"}).append([{"i": 6}])
        lake.drop("f")
        lake.rename("b", "bb")
        lake.create_table("b", {"i": "int64"}).append([{"i": 7}])
        assert taken(member) == {"e": [5], "a": [2], "f": [6], "bb": [], "b": [7]}
        assert member.poll() is None
        head = lake.snapshots()[-1].snapshot_id
        assert [each.snapshot_id for each in lake.consumers()] == [head]
        lake.undrop("a")
        lake.table("a").append([{"i": 3}])
        assert taken(member) == {"a": [3]}
        with lake.transaction() as tx:
            tx.drop("c")
            tx.create_table("c", {"i": "int64"}).append([{"i": 8}])
        assert taken(member) == {"c": [8]}


def test_rows_first(lake: tidelake.Lake) -> None:
    lake.table("a").delete("true")
    with lake.consumer_group("g", start="rows", tables=["a", "b"]) as member:
        batch = member.poll(limit=1)
        assert batch is not None
        assert (batch.is_bootstrap, batch.until) == (True, 9)
        lake.table("b").append([{"i": 2}])
        assert taken(member, limit=1) == {"a": [], "b": [1, 2]}
        lake.table("c").append([{"i": 2}])
        assert member.poll() is None
        assert lake.consumers()[0].snapshot_id == 11


def test_expiry_waits_for_the_slowest_table(lake: tidelake.Lake) -> None:
    with lake.consumer_group("g", tables=["a", "b"]) as member:
        with pytest.raises(Conflict, match="at the beginning"):
            lake.expire(keep_last=1)
        first = member.poll()
        assert first is not None
        member.commit()
        with pytest.raises(Conflict):
            lake.expire(keep_last=1)
        assert len(taken(member)) == 1
        lake.table("a").append([{"i": 2}])
        lake.table("c").append([{"i": 2}])
        batch = member.poll()
        assert batch is not None
        with pytest.raises(Conflict):
            lake.expire(keep_last=1)
        assert batch.changes("a").count() == 1
        member.commit()
        assert member.poll() is None
        lake.expire(keep_last=1)
        lake.table("a").append([{"i": 3}])
        lake.table("a").append([{"i": 4}])
        lake.expire(keep_last=1, force=True)
        with pytest.raises(NotFound, match="expired"):
            member.poll()
        member.seek(None)
        assert taken(member)["a"] == [1, 2, 3, 4]


def test_names_and_tables_that_do_not_go_together(lake: tidelake.Lake, place: Place) -> None:
    lake.consumer("alone").close()
    member = lake.consumer_group("g", tables=["a", "b"])
    with place.refuses(Conflict, "shared by a group"):
        lake.consumer("g")
    with place.refuses(Conflict, "is not one that is shared"):
        lake.consumer_group("alone")
    with place.refuses(Invalid, "follows other tables"):
        lake.consumer_group("g", tables=["a"])
    with lake.consumer_group("g", tables=["b", "a"]):
        for call in (member.drop, partial(member.seek, 3)):
            with place.refuses(Conflict, "others take part"):
                call()
    with place.refuses(Invalid, "nothing to commit"):
        member.commit()
    member.drop()
    assert [each.name for each in lake.consumers()] == ["alone"]
    with lake.consumer_group("g") as fresh:
        assert len(taken(fresh)) == 4
        place.catalog("DELETE FROM tidelake_consumer_group")
        with pytest.raises(NotFound, match="no group"):
            fresh.poll()


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("place", "kills"),
    [
        ("sqlite", 2),
        ("postgresql", 2),
        *(pytest.param(kind, 25, marks=pytest.mark.slow) for kind in ("sqlite", "postgresql")),
        pytest.param("mariadb", 8, marks=pytest.mark.slow),
    ],
    indirect=["place"],
)
def test_copies_by_whoever_lives(place: Place, tmp_path: Path, kills: int) -> None:
    """Writers go on all the time, members come and are killed at any moment: in the end each copy
    has each row once, as the table has it, and between two batches nothing happened to a table.
    """
    chance = random.Random(kills)
    tables = ("t", "u", "v")
    with place.open() as lake:
        for name in tables:
            lake.create_table(name, "k BIGINT, v BIGINT").append([{"k": 1, "v": 0}])
            lake.create_table("copy" if name == "t" else f"copy_{name}", COPY)
            lake.create_table(f"log_{name}", "since BIGINT, until BIGINT")
    stop, living = tmp_path / "stop", []
    writers = [
        start(partial(write_at_random, place, tables, stop, n)) for n in range(kills // 8 + 1)
    ]
    for kill in range(kills):
        sign = tmp_path / f"began-{kill}"
        living.append(start(partial(share_for_ever, place, sign, tables)))
        wait_for(sign)
        time.sleep(chance.uniform(0, 0.4))
        if len(living) == min(kills, 3):
            victim = living.pop(chance.randrange(len(living)))
            assert victim.is_alive()
            victim.kill()
            victim.join()
    stop.touch()
    for writer in writers:
        writer.join(60)
        assert writer.exitcode == 0
    for victim in living:
        victim.kill()
        victim.join()
    with place.open() as lake:
        check_copies(lake, tables)


@pytest.mark.parametrize("place", ["sqlite", "duckdb"], indirect=True)
def test_members_that_fall_silent_in_one_process(place: Place) -> None:
    """A DuckDB file has one process. Members are left where they are, with what they polled."""
    chance = random.Random(7)
    tables = ("t", "u", "v")
    with place.open() as lake:
        for name in tables:
            lake.create_table(name, "k BIGINT, v BIGINT")
            lake.create_table("copy" if name == "t" else f"copy_{name}", COPY)
            lake.create_table(f"log_{name}", "since BIGINT, until BIGINT")

        def take_part(number: int) -> None:
            member = lake.consumer_group("copy", lease_seconds=0.1, start="rows", tables=tables)
            for _ in range(4):
                with suppress(Conflict):
                    copy_once(lake, member, limit=1 + number % 2)
            member.poll()

        def write(name: str) -> None:
            for number in range(6):
                lake.table(name).append([{"k": number, "v": 0}])
                lake.table(name).update({"v": "v + 1"}, where=f"k = {chance.randrange(6)}")

        with ThreadPoolExecutor(6) as pool:
            for done in [*pool.map(write, tables), *pool.map(take_part, range(6))]:
                assert done is None
        check_copies(lake, tables)


def check_copies(lake: tidelake.Lake, tables: tuple[str, ...]) -> None:
    deadline = time.monotonic() + 120
    with lake.consumer_group("copy", start="rows", tables=tables) as member:
        head = lake.snapshots()[-1].snapshot_id
        while copy_once(lake, member) or (lake.consumers()[0].snapshot_id or 0) < head:
            assert time.monotonic() < deadline
    for name in tables:
        copy = "copy" if name == "t" else f"copy_{name}"
        copied, there = lake.table(copy).to_arrow(), lake.table(name).to_arrow()
        assert sorted(zip(*(copied[c].to_pylist() for c in "kv"), strict=True)) == sorted(
            zip(*(there[c].to_pylist() for c in "kv"), strict=True)
        )
        log = lake.table(f"log_{name}").to_arrow().to_pylist()
        steps = sorted(((each["since"] or -1), each["until"]) for each in log)
        for (_, end), (begin, _) in pairwise(steps):
            assert end <= begin, steps
            if end < begin:  # what it went on over while it had nothing to do
                assert lake.table(name).changes(since=end, until=begin).count() == 0


def test_a_poll_looks_at_each_commit_once(tmp_path: Path) -> None:
    """However many tables the group follows."""
    tables, commits = 30, 40
    looks = 0

    def watch(frame: Any, event: str, _: object) -> None:
        nonlocal looks
        looks += event == "call" and frame.f_code is touched_tables.__code__

    with Place.at("sqlite", tmp_path).open() as lake:
        with lake.transaction() as tx:
            for number in range(tables):
                tx.create_table(f"t{number}", {"i": "int64"})
        for number in range(commits):
            lake.table(f"t{number % tables}").append([{"i": number}])
        with lake.consumer_group("g") as member:
            sys.setprofile(watch)
            try:
                assert member.poll() is not None
            finally:
                sys.setprofile(None)
    assert commits <= looks <= 3 * commits
