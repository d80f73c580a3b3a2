"""Rollups: reads begin with them, and no answer changes, whatever happens afterwards."""

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
from tests.event_time.rollup_trial import run
from tests.writes.place import Place
from tidelake.errors import Conflict, Denied, Invalid, Unsupported

KINDS = ["sqlite", "duckdb", "postgresql", "mariadb"]
DAYS = ["2024-01-15", "2024-02-01", "2024-02-15", "2024-03-15", "2024-04-15"]


def fact(key: int, day: str, value: int | None, *, gone: bool = False) -> dict[str, Any]:
    return {"id": key, "ts": datetime.fromisoformat(day), "v": value, "gone": gone}


def month(number: int, keys: int = 20) -> list[dict[str, Any]]:
    return [
        fact(key, f"2024-{number:02d}-{key + 1:02d}", 100 * number + key) for key in range(keys)
    ]


@pytest.fixture
def t(lake: tidelake.Lake) -> tidelake.Table:
    """Three months of facts, a file each."""
    table = lake.create_table(
        "facts",
        "id INTEGER, ts TIMESTAMP, v INTEGER, gone BOOLEAN",
        key=["id"],
        event_time="ts",
        tombstone="gone",
    )
    for number in (1, 2, 3):
        table.append(month(number))
    return table


def state(table: tidelake.Table, day: str, known_at: int | None = None) -> list[Any]:
    rows = table.scan(as_of=day, known_at=known_at).to_arrow().to_pylist()
    return sorted(tuple(row.values()) for row in rows)


def used(table: tidelake.Table, day: str, known_at: int | None = None) -> str | None:
    """The moment of the rollup that a read begins with."""
    rollup = table.scan(as_of=day, known_at=known_at).explain().rollup
    return None if rollup is None else str(rollup)[len("as of ") :][:10]


def check(table: tidelake.Table) -> None:
    """Without its rollups, the table answers the same at every snapshot."""
    ids = [s.snapshot_id for s in table._lake.snapshots()]
    first = table.snapshots()[0].snapshot_id
    grid = [(day, at) for day in DAYS for at in ids if at >= first]
    before = {place: state(table, *place) for place in grid}
    table.drop_rollups()
    assert {place: state(table, *place) for place in grid} == before


def head(table: tidelake.Table) -> int:
    return table._lake.snapshots()[-1].snapshot_id


@pytest.mark.parametrize("place", KINDS, indirect=True)
def test_a_read_begins_with_the_best_rollup(t: tidelake.Table) -> None:
    made = t.rollup(as_of="2024-02-01")
    assert (made.rows, len(made.files), made.snapshot_id) == (20, 1, head(t))
    t.rollup(as_of="2024-03-01")
    assert [used(t, day) for day in DAYS] == [
        None,
        "2024-02-01",
        "2024-02-01",
        "2024-03-01",
        "2024-03-01",
    ]
    explained = t.scan(as_of="2024-03-15").explain()
    assert (explained.files, explained.total_files) == (1, 3)
    assert explained.rollup is not None
    assert (explained.rollup.saved_files, explained.rollup.saved_rows) == (2, 40)
    assert "rollup   as of 2024-03-01T00:00:00Z" in str(explained)
    assert "in place of 2 files (40 rows)" in str(explained)
    assert [each.usable for each in t.rollups()] == [True, True]
    check(t)
    assert t.rollups() == []
    assert used(t, "2024-03-15") is None


def test_late_data_after_a_rollup(t: tidelake.Table) -> None:
    t.rollup(as_of="2024-03-01")
    t.append([fact(1, "2024-02-25", 7), fact(2, "2024-01-01", 8), fact(77, "2024-01-01", 9)])
    assert used(t, "2024-03-01") == "2024-03-01"
    assert (1, datetime(2024, 2, 25), 7, False) in state(t, "2024-03-01")
    assert (77, datetime(2024, 1, 1), 9, False) in state(t, "2024-03-01")
    assert 8 not in {row[2] for row in state(t, "2024-03-01")}
    check(t)


def test_a_correction_with_the_same_event_time(t: tidelake.Table) -> None:
    t.rollup(as_of="2024-03-01")
    t.append([fact(1, "2024-02-02", 7)])
    assert (1, datetime(2024, 2, 2), 7, False) in state(t, "2024-03-01")
    assert used(t, "2024-03-01") == "2024-03-01"
    check(t)


def test_a_tombstone_in_a_rollup_and_a_late_row_before_it(t: tidelake.Table) -> None:
    t.append([fact(1, "2024-02-20", None, gone=True)])
    made = t.rollup(as_of="2024-03-01")
    assert made.rows == 20
    t.append([fact(1, "2024-02-10", 7)])
    assert used(t, "2024-03-01") == "2024-03-01"
    assert 1 not in {row[0] for row in state(t, "2024-03-01")}
    assert 1 in {row[0] for row in state(t, "2024-03-15")}
    check(t)


@pytest.mark.parametrize("rows", [0, 10])
@pytest.mark.parametrize(
    "change",
    [
        lambda t: t.delete("id = 3"),
        lambda t: t.update({"v": "-1"}, where="id = 3"),
        lambda t: t.merge([fact(3, "2024-02-04", -1)], on=["id", "ts"]),
        lambda t: t.overwrite([fact(3, "2024-02-04", -1)], where="id = 3"),
        lambda t: t.overwrite([fact(3, "2024-02-04", -1)]),
    ],
    ids=["delete", "update", "merge", "overwrite some", "overwrite"],
)
def test_a_change_of_what_a_rollup_rests_on(
    lake: tidelake.Lake, t: tidelake.Table, change: Callable[[tidelake.Table], Any], rows: int
) -> None:
    lake.set_option("data_inlining_row_limit", rows)
    t.rollup(as_of="2024-03-01")
    before = head(t)
    change(t)
    assert used(t, "2024-03-15") is None
    assert used(t, "2024-03-15", before) == "2024-03-01"
    assert [each.usable for each in t.rollups()] == [False]
    check(t)


@pytest.mark.parametrize("rows", [0, 10])
def test_a_change_of_rows_that_came_later_disturbs_nothing(
    lake: tidelake.Lake, t: tidelake.Table, rows: int
) -> None:
    lake.set_option("data_inlining_row_limit", rows)
    t.rollup(as_of="2024-03-01")
    t.append([fact(3, "2024-02-20", 7), fact(4, "2024-02-20", 8)])
    t.update({"v": "70"}, where="v = 7")
    t.delete("v = 8")
    t.update({"v": "71"}, where="v = 70")
    assert used(t, "2024-03-15") == "2024-03-01"
    assert (3, datetime(2024, 2, 20), 71, False) in state(t, "2024-03-01")
    check(t)


@pytest.mark.parametrize("by", ["us", "DuckDB"])
def test_a_delete_from_a_file_that_was_rewritten_since(
    lake: tidelake.Lake, t: tidelake.Table, duck: Any, by: str
) -> None:
    lake.set_option("data_inlining_row_limit", 0)
    t.delete("v < 110")
    t.rollup(as_of="2024-02-01")
    if by == "us":
        t.compact()
    else:
        duck.execute("CALL ducklake_rewrite_data_files('lake', delete_threshold => 0.1)")
    t.append([fact(50, "2024-01-05", 1)])
    assert used(t, "2024-02-01") == "2024-02-01"
    t.delete("v = 1")
    assert used(t, "2024-02-01") == "2024-02-01"
    t.delete("v = 115")
    assert used(t, "2024-02-01") is None
    check(t)


def test_compaction_leaves_a_rollup_usable(t: tidelake.Table) -> None:
    t.rollup(as_of="2024-02-01")
    t.append([fact(1, "2024-01-30", 7), fact(2, "2024-02-20", 8)])
    t.compact()
    assert used(t, "2024-02-15") == "2024-02-01"
    assert (1, datetime(2024, 1, 30), 7, False) in state(t, "2024-02-01")
    check(t)


def test_columns_change_after_a_rollup(t: tidelake.Table) -> None:
    t.rollup(as_of="2024-03-01")
    t.evolve(add="venue VARCHAR DEFAULT 'X'", rename={"v": "value"}, widen={"v": "BIGINT"})
    assert used(t, "2024-03-01") == "2024-03-01"
    assert state(t, "2024-03-01")[1] == (1, datetime(2024, 2, 2), 201, False, "X")
    check(t)
    t.rollup(as_of="2024-03-01")
    before = head(t)
    t.evolve(drop=["value"])
    assert used(t, "2024-03-01") == "2024-03-01"
    t.rollup(as_of="2024-02-01")
    t.rollback(to=before)
    assert used(t, "2024-02-15") is None  # made when the column was not there
    assert used(t, "2024-03-15") == "2024-03-01"
    check(t)


def test_settings_change_after_a_rollup(t: tidelake.Table) -> None:
    t.rollup(as_of="2024-03-01")
    before = head(t)
    t.set_event_time("ts", key=["id", "v"])
    assert used(t, "2024-03-15") is None
    assert len(state(t, "2024-03-15")) == 55
    assert used(t, "2024-03-15", before) == "2024-03-01"
    check(t)


def test_known_before_a_rollup(t: tidelake.Table) -> None:
    before = head(t)
    t.append([fact(1, "2024-02-25", 7)])
    t.rollup(as_of="2024-03-01")
    assert used(t, "2024-03-15", before) is None
    assert 7 not in {row[2] for row in state(t, "2024-03-01", before)}
    check(t)


def test_what_depends_on_where_rows_lie_uses_none(t: tidelake.Table) -> None:
    t.rollup(as_of="2024-03-01")
    scan = t.as_of("2024-03-15").scan
    assert scan(columns=["id", "snapshot_id"]).explain().rollup is None
    assert scan(where="snapshot_id > 2").explain().rollup is None
    assert scan(columns=["id", "rowid"]).explain().rollup is not None
    ids = scan(columns=["id", "rowid"]).to_arrow().to_pylist()
    t.drop_rollups()
    assert sorted(map(str, ids)) == sorted(
        map(str, scan(columns=["id", "rowid"]).to_arrow().to_pylist())
    )


def test_conditions_on_keys_and_on_values(t: tidelake.Table) -> None:
    t.rollup(as_of="2024-03-01")
    t.append([fact(3, "2024-02-27", None)])
    found = t.as_of("2024-03-01").scan(where="v IS NOT NULL AND id IN (3, 4)")
    assert found.explain().rollup is not None
    assert [row["id"] for row in found.to_arrow().to_pylist()] == [4]


def test_a_rollup_before_all_events(t: tidelake.Table) -> None:
    made = t.rollup(as_of="2020-01-01")
    assert (made.rows, made.files) == (0, ())
    assert used(t, "2024-01-15") == "2020-01-01"
    assert state(t, "2020-06-01") == []
    check(t)


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
    assert used(t, "2024-03-15") is None or state(t, "2024-03-15")
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


def test_expiry_by_duckdb_of_all_but_the_newest(t: tidelake.Table, duck: Any) -> None:
    t.rollup(every="1mo", keep=2)
    t.append([fact(1, "2024-02-27", 7)])
    duck.execute("CALL ducklake_expire_snapshots('lake', older_than => now() + INTERVAL 1 hour)")
    assert used(t, "2024-03-15") is None
    result = t.compact()
    assert (result.rollups_made, result.rollups_dropped) == (2, 2)
    assert used(t, "2024-03-15") == "2024-03-01"
    check(t)


def test_rollback_to_before_a_rollup(t: tidelake.Table) -> None:
    before = head(t)
    t.append(month(4))
    t.rollup(as_of="2024-04-01")
    t.rollback(to=before)
    assert used(t, "2024-04-15") is None
    check(t)


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
    assert any(isinstance(each, tidelake.model.rollup.Rollup) for each in outcomes)
    assert len(t.rollups()) == 1
    assert used(t, "2024-03-15") == "2024-03-01"
    check(t)


_KILLED = """
import os, signal, sys, tidelake
from tidelake.catalog import rollups
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


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM facts WHERE id = 3",
        "UPDATE facts SET v = -1 WHERE id = 3",
        "DELETE FROM facts",
        "DELETE FROM facts WHERE ts < TIMESTAMP '2024-02-01'",
    ],
)
@pytest.mark.parametrize("rows", [0, 10])
def test_changes_by_duckdb(t: tidelake.Table, duck: Any, sql: str, rows: int) -> None:
    t.rollup(as_of="2024-03-01")
    duck.execute(f"CALL lake.set_option('data_inlining_row_limit', {rows})")
    duck.execute("INSERT INTO facts VALUES (60, TIMESTAMP '2024-02-02', 1, false)")
    assert used(t, "2024-03-15") == "2024-03-01"
    duck.execute("UPDATE facts SET v = 2 WHERE id = 60")
    duck.execute("DELETE FROM facts WHERE id = 60")
    assert used(t, "2024-03-15") == "2024-03-01"
    duck.execute(sql)
    assert used(t, "2024-03-15") is None
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
    done = lake.compact()
    assert (done.rollups_made, done.rollups_dropped) == (1, 1)
    assert [str(each)[6:16] for each in t.rollups()] == ["2024-03-01", "2024-04-01"]
    assert lake.compact().rollups == ()
    t.delete("id = 3")
    assert t.compact().rollups_made == 2
    assert [each.usable for each in t.rollups()] == [True, True]
    check(t)
    assert t.drop_rollups(policy=True) == 0
    assert t.compact().rollups == ()


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


def test_inside_a_transaction(lake: tidelake.Lake, t: tidelake.Table) -> None:
    t.rollup(as_of="2024-03-01")
    with lake.transaction() as tx:
        table = tx.table("facts")
        assert used(table, "2024-03-15") == "2024-03-01"
        table.append([fact(1, "2024-02-25", 7)])
        assert used(table, "2024-03-15") is None
        assert 7 in {row[2] for row in state(table, "2024-03-01")}


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
    for change in ("-rollup_id", "3 + rollup_id"):
        place.catalog(f"UPDATE tidelake_rollup_file SET rollup_id = {change}")
    place.catalog(
        "UPDATE tidelake_rollup SET file_size_bytes = (SELECT file_size_bytes"
        " FROM tidelake_rollup_file f WHERE f.rollup_id = tidelake_rollup.rollup_id)"
    )
    assert lake.verify().ok
    found = [problem.what for problem in lake.verify(deep=True).problems]
    assert len(found) == 2
    assert "differs from the table at snapshot" in found[0]


@pytest.mark.parametrize("seed", [3, 14])
def test_a_random_history(lake: tidelake.Lake, duck: Any, seed: int) -> None:
    assert run(seed, lake, duck, steps=20).used


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1020))
def test_many_random_histories(lake: tidelake.Lake, duck: Any, seed: int) -> None:
    run(seed, lake, duck, steps=40)


def test_rows_that_duckdb_has_renumbered(lake: tidelake.Lake, t: tidelake.Table, duck: Any) -> None:
    """Of two facts with one time the one with the greater row id wins. DuckDB's merge may give
    rows that it has updated greater ones, at every snapshot."""
    duck.execute("CALL lake.set_option('data_inlining_row_limit', 0)")
    t.overwrite([fact(1, "2024-02-10", 1), fact(9, "2024-02-10", 9)])
    t.append([fact(1, "2024-02-10", 2)])
    for value in (1, 9):
        duck.execute(f"UPDATE facts SET v = {value} WHERE v = {value}")
    made = head(t)
    t.rollup(as_of="2024-03-01")
    t.append([fact(5, "2024-03-10", 5)])
    assert used(t, "2024-03-01") == "2024-03-01"
    duck.execute("CALL ducklake_merge_adjacent_files('lake')")
    assert used(t, "2024-03-01") is None
    assert used(t, "2024-03-01", made) is None
    check(t)
