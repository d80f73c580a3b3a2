"""Making rollups, keeping them up, and letting them go."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

import tidelake
from tests.event_time.rolled_up import KINDS, check, fact, head, month, state, used
from tidelake.errors import Conflict, Denied, Invalid, Unsupported
from tidelake.event_time.values.rollup import Rollup
from tidelake.testing.place import Place


@pytest.mark.parametrize("place", KINDS, indirect=True)
def test_expiry_of_its_snapshot(lake: tidelake.Lake, t: tidelake.Table) -> None:
    t.rollup(as_of="2024-03-01")
    t.append([fact(1, "2024-02-27", 7)])
    t.append([fact(2, "2024-02-27", 8)])
    lake.expire(keep_last=1)
    assert used(t, "2024-03-15") == "2024-03-01"
    (rollup,) = t.rollups()
    assert rollup.valid_through == head(t) > rollup.snapshot_id
    assert lake.verify(deep=True).ok
    t.update({"v": "9"}, where="v = 8")
    assert used(t, "2024-03-15") == "2024-03-01"
    t.update({"v": "9"}, where="id = 4")
    assert used(t, "2024-03-15") is None
    check(t)


def test_expiry_drops_what_had_been_disturbed(lake: tidelake.Lake, t: tidelake.Table) -> None:
    t.rollup(as_of="2024-03-01")
    t.delete("id = 3")
    t.append(month(4))
    lake.expire(keep_last=1)
    assert t.rollups() == []
    assert used(t, "2024-03-15") is None
    check(t)


def test_a_tag_leaves_a_hole(lake: tidelake.Lake, t: tidelake.Table) -> None:
    t.rollup(as_of="2024-03-01")
    lake.tag("here")
    t.append([fact(1, "2024-02-27", 7)])
    t.append([fact(2, "2024-02-27", 8)])
    lake.expire(keep_last=1)
    assert used(t, "2024-03-15") == "2024-03-01"
    assert used(t, "2024-03-15", lake.tags()[0].snapshot_id) is None
    check(t)


@pytest.mark.slow
def test_traces_that_duckdb_has_expired(lake: tidelake.Lake, t: tidelake.Table, duck: Any) -> None:
    """A delete of which nothing is left: its snapshot has gone, and the file was rewritten."""
    lake.set_option("data_inlining_row_limit", 0)
    t.rollup(as_of="2024-03-01")
    t.delete("id BETWEEN 3 AND 10")
    deleted = head(t)
    duck.execute("CALL ducklake_rewrite_data_files('lake', delete_threshold => 0.1)")
    duck.execute(f"CALL ducklake_expire_snapshots('lake', versions => [{deleted}])")
    assert used(t, "2024-03-15") is None
    assert [each.usable for each in t.rollups()] == [False]
    assert {row[0] for row in state(t, "2024-03-01")}.isdisjoint(range(3, 11))
    check(t)


@pytest.mark.slow
def test_expiry_by_duckdb_of_all_but_the_newest(t: tidelake.Table, duck: Any) -> None:
    t.rollup(every="1mo", keep=2)
    t.append([fact(1, "2024-02-27", 7)])
    duck.execute("CALL ducklake_expire_snapshots('lake', older_than => now() + INTERVAL 1 hour)")
    assert used(t, "2024-03-15") is None
    result = t.compact()
    assert (result.rollups_made, result.rollups_dropped) == (2, 2)
    assert used(t, "2024-03-15") == "2024-03-01"
    check(t)


def test_the_same_again_takes_its_place(
    place: Place, lake: tidelake.Lake, t: tidelake.Table
) -> None:
    first = t.rollup(as_of="2024-03-01")
    t.append([fact(1, "2024-02-27", 7)])
    second = t.rollup(as_of="2024-03-01")
    assert [each.id for each in t.rollups()] == [second.id] != [first.id]
    assert Path(first.files[0].path).exists()  # somebody may still be reading it
    kept = lake.cleanup()
    assert (kept.files, [each.files for each in kept.kept]) == (0, [1])
    gone = lake.cleanup(older_than="0 seconds")
    assert gone.paths == (first.files[0].path,)
    assert used(t, "2024-03-15") == "2024-03-01"
    assert place.catalog("SELECT count(*) FROM tidelake_rollup_file") == [(1,)]
    check(t)


@pytest.mark.parametrize("place", ["sqlite", "postgresql"], indirect=True)
def test_two_made_at_once(place: Place, t: tidelake.Table) -> None:
    outcomes: list[object] = []

    def make() -> None:
        with place.open() as lake:
            try:
                outcomes.append(lake.table("facts").rollup(as_of="2024-03-01"))
            except Conflict as error:
                outcomes.append(error)

    threads = [Thread(target=make) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert any(isinstance(each, Rollup) for each in outcomes)
    assert len(t.rollups()) == 1
    assert used(t, "2024-03-15") == "2024-03-01"
    check(t)


_KILLED = """
import os, signal, sys, tidelake
from tidelake.event_time.rollups import records as rollups
def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)
rollups.put = die
with tidelake.connect(sys.argv[1], sys.argv[2]) as lake:
    lake.table("facts").rollup(as_of="2024-03-01")
"""


def test_killed_before_it_is_registered(
    place: Place, lake: tidelake.Lake, t: tidelake.Table
) -> None:
    before = place.files()
    done = subprocess.run([sys.executable, "-c", _KILLED, place.url, f"{place.data}/"])
    assert done.returncode == -signal.SIGKILL
    left = place.files() - before
    assert [name.endswith(".rollup") for name in left] == [True]
    assert t.rollups() == []
    assert lake.verify().ok
    assert lake.cleanup().files == 0
    assert lake.cleanup(older_than="0 seconds").orphans == 1
    assert place.files() == before


def test_a_dropped_table_takes_its_rollups_along(
    place: Place, lake: tidelake.Lake, t: tidelake.Table
) -> None:
    t.rollup(as_of="2024-03-01")
    t.drop()
    lake.create_table("other", "n INTEGER")
    lake.expire(keep_last=1)
    assert place.catalog("SELECT count(*) FROM tidelake_rollup") == [(0,)]
    lake.cleanup(older_than="0 seconds")
    assert not [name for name in place.files() if name.endswith(".rollup")]


def test_cleanup_by_duckdb_leaves_them(
    place: Place, lake: tidelake.Lake, t: tidelake.Table, duck: Any
) -> None:
    t.rollup(as_of="2024-03-01")
    t.append([fact(1, "2024-02-27", 7)])
    duck.execute("CALL ducklake_flush_inlined_data('lake')")
    duck.execute("CALL ducklake_merge_adjacent_files('lake')")
    duck.execute("CALL ducklake_cleanup_old_files('lake', cleanup_all => true)")
    duck.execute("CALL ducklake_delete_orphaned_files('lake', cleanup_all => true)")
    assert [name.endswith(".rollup") for name in place.files()].count(True) == 1
    assert used(t, "2024-03-15") == "2024-03-01"
    assert 7 in {row[2] for row in state(t, "2024-03-01")}
    check(t)


def test_a_policy(lake: tidelake.Lake, t: tidelake.Table) -> None:
    made = t.rollup(every="1mo", keep=2)
    assert [str(each)[6:16] for each in made] == ["2024-02-01", "2024-03-01"]
    assert json.loads(t.tags["tidelake.rollup"]) == {"every": "1mo", "keep": 2}
    assert t.rollup(every="1mo", keep=2) == []
    t.append(month(4))
    would = lake.compact(dry_run=True)
    assert (would.rollups_made, would.rollups_dropped) == (1, 1)
    assert "facts: rollup as of 2024-04-01T00:00:00Z" in str(would)
    assert len(t.rollups()) == 2
    done = lake.compact()  # it merges all files, and the rollup that stays is made anew
    assert (done.rollups_made, done.rollups_dropped) == (2, 1)
    assert [str(each)[6:16] for each in t.rollups()] == ["2024-03-01", "2024-04-01"]
    assert lake.compact().rollups == ()
    t.delete("id = 3")
    assert t.compact().rollups_made == 2
    assert [each.usable for each in t.rollups()] == [True, True]
    check(t)
    assert t.drop_rollups(policy=True) == 0
    assert t.compact().rollups == ()


def test_what_compaction_has_mixed_up_is_made_anew(t: tidelake.Table) -> None:
    t.rollup(every="1mo", keep=2)
    t.append([fact(key, "2024-03-20", 7) for key in range(20)])
    t.compact()
    assert {each.snapshot_id for each in t.rollups()} == {head(t)}
    plan = t.scan(as_of="2024-02-15").plan()
    assert [len(part.files) for part in plan.parts] == [1, 1, 0]
    check(t)


def test_one_wrong_date_does_not_stop_a_policy(t: tidelake.Table) -> None:
    t.append([fact(1, "9999-12-31", 7)])
    made = t.rollup(every="1y", keep=2)
    assert all(each.as_of < datetime(2100, 1, 1).timestamp() * 1e9 for each in made)


def test_a_policy_that_makes_too_many(t: tidelake.Table) -> None:
    with pytest.raises(Invalid, match="more than 10,000 rollups"):
        t.rollup(every="1s")
    assert "tidelake.rollup" not in t.tags


def test_who_may_not(lake: tidelake.Lake, place: Place, t: tidelake.Table) -> None:
    for pinned in (
        t.known_at(head(t)),
        t.as_of("2024-01-01"),
        lake.known_at(head(t)).table("facts"),
    ):
        with pytest.raises(Denied):
            pinned.rollup(as_of="2024-03-01")
        with pytest.raises(Denied):
            pinned.drop_rollups()
    with place.open(read_only=True) as reading, pytest.raises(Denied):
        reading.table("facts").rollup(as_of="2024-03-01")
    with lake.transaction() as tx, pytest.raises(Invalid, match="transaction"):
        tx.table("facts").rollup(as_of="2024-03-01")
    plain = lake.create_table("plain", "id INTEGER")
    with pytest.raises(Invalid, match="no key and event time"):
        plain.rollup(as_of="2024-03-01")
    for odd in ({}, {"as_of": "2024-01-01", "every": "1d"}, {"as_of": "2024-01-01", "keep": 3}):
        with pytest.raises(Invalid):
            t.rollup(**odd)  # type: ignore[call-overload]
    for odd in ({"every": "1 fortnight"}, {"every": "0d"}, {"every": "1d", "keep": 0}):
        with pytest.raises(Invalid):
            t.rollup(**odd)  # type: ignore[call-overload]


def test_no_plain_text_beside_an_encrypted_lake(place: Place, duck: Any) -> None:
    duck.execute("USE memory")
    duck.execute(f"ATTACH 'ducklake:{place.folder}/e.duckdb' AS e (ENCRYPTED)")
    duck.execute("CREATE TABLE e.facts (id INTEGER, ts TIMESTAMP)")
    duck.execute("DETACH e")
    with (
        tidelake.connect(f"duckdb:///{place.folder}/e.duckdb") as lake,
        pytest.raises(Unsupported, match="encrypted"),
    ):
        lake.table("facts").rollup(as_of="2024-03-01")


_DAMAGE = {
    "a table that is not there": "UPDATE tidelake_rollup SET table_id = 4242",
    "a file without its rollup": "UPDATE tidelake_rollup_file SET rollup_id = 4242",
    "a snapshot to come": "UPDATE tidelake_rollup SET valid_through = 4242",
    "rows that are not there": "UPDATE tidelake_rollup SET record_count = 4242",
}


@pytest.mark.parametrize("damage", _DAMAGE)
def test_verify_finds(place: Place, lake: tidelake.Lake, t: tidelake.Table, damage: str) -> None:
    t.rollup(as_of="2024-03-01")
    assert lake.verify(deep=True).ok
    place.catalog(_DAMAGE[damage])
    assert {problem.check for problem in lake.verify().problems} == {"rollups"}
    assert state(t, "2024-03-15")


def test_verify_compares_deeply(place: Place, lake: tidelake.Lake, t: tidelake.Table) -> None:
    t.rollup(as_of="2024-02-01")
    t.rollup(as_of="2024-03-01")
    ((both,),) = place.catalog("SELECT sum(rollup_id) FROM tidelake_rollup")
    for change in ("-rollup_id", f"{both} + rollup_id"):
        place.catalog(f"UPDATE tidelake_rollup_file SET rollup_id = {change}")
    place.catalog(
        "UPDATE tidelake_rollup SET file_size_bytes = (SELECT file_size_bytes"
        " FROM tidelake_rollup_file f WHERE f.rollup_id = tidelake_rollup.rollup_id)"
    )
    assert lake.verify().ok
    found = [problem.what for problem in lake.verify(deep=True).problems]
    assert len(found) == 2
    assert "differs from the table at snapshot" in found[0]


@pytest.mark.parametrize("damage", [lambda p: p.unlink(), lambda p: os.truncate(p, 100)])
def test_a_file_that_is_missing_or_cut_off(
    lake: tidelake.Lake, t: tidelake.Table, damage: Callable[[Path], None]
) -> None:
    made = t.rollup(as_of="2024-03-01")
    before = state(t, "2024-03-15")
    assert used(t, "2024-03-15") == "2024-03-01"
    damage(Path(made.files[0].path))
    assert state(t, "2024-03-15") == before
    assert used(t, "2024-03-15") is None
    assert [each.usable for each in t.rollups()] == [False]
    report = lake.verify()
    assert [problem.check for problem in report.problems] == ["rollups"]
    assert "drop_rollups" in report.problems[0].mend
    t.drop_rollups()
    assert lake.verify().ok
