"""Compaction in each of its forms. Whatever is done, every snapshot stays what it was."""

import json
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tidelake
from tests.cases import every
from tests.upkeep.compaction import kinds, many
from tests.upkeep.unchanged import nothing_changes
from tidelake.errors import Denied, Invalid, NotFound, TidelakeWarning, Unsupported
from tidelake.model.names import TableName
from tidelake.testing.agreement import rows
from tidelake.testing.place import Place
from tidelake.upkeep import compact as compaction
from tidelake.upkeep.choose import actions
from tidelake.upkeep.pieces import look, situation
from tidelake.upkeep.values import Kind

KINDS = ("sqlite", "duckdb", "postgresql", "mariadb")
Duck = duckdb.DuckDBPyConnection


@pytest.fixture
def t(lake: tidelake.Lake) -> tidelake.Table:
    return lake.create_table("t", "a BIGINT, b VARCHAR")


# Merging


def test_small_files_become_one(lake, t, duck):
    for first in range(0, 200, 50):
        t.append(many(first))
    with nothing_changes(lake, duck):
        result = t.compact()
    assert kinds(result) == ["merge"]
    assert (result.files_before, result.files_after, result.files_merged) == (4, 1, 4)
    assert result.snapshots == (lake.snapshots()[-1].snapshot_id,)
    (file,) = t.files()
    assert (file.begin_snapshot, file.partial_max, file.row_id_start) == (2, 5, None)
    assert lake.snapshots()[-1].changes == ("merge_adjacent:1", "inline_flush:1")


def test_nothing_to_do_makes_no_snapshot(lake, t):
    t.append(many(0))
    before = lake.snapshots()
    result = t.compact()
    assert (result.actions, result.snapshots, str(result)) == ((), (), "nothing to do")
    assert lake.snapshots() == before


def test_a_dry_run_does_nothing_and_says_what_a_run_does(place, lake, t):
    t.append(many(0))
    t.append(many(50))
    t.append([{"a": 1000, "b": "kept"}])
    t.delete("a < 30")
    t.delete("a = 70")
    before = place.state()
    would = t.compact(dry_run=True)
    assert place.state() == before
    done = t.compact()
    shape = [(a.kind, a.files, a.rows, a.files_after) for a in would.actions]
    assert shape == [(a.kind, a.files, a.rows, a.files_after) for a in done.actions]
    assert {a.outcome for a in would.actions} == {"planned"}
    assert {a.outcome for a in done.actions} == {"done"}
    assert (would.files_before, would.files_after) == (done.files_before, done.files_after)
    assert would.dry_run
    assert not done.dry_run
    assert would.snapshots == ()


def test_files_that_are_large_enough_stay(lake, t):
    for first in range(0, 20_000, 5_000):
        t.append(many(first, 5_000))
    lake.set_option("target_file_size", 2 * min(file.bytes for file in t.files()), table="t")
    assert t.compact().actions == ()
    lake.set_option("target_file_size", 3 * max(file.bytes for file in t.files()), table="t")
    assert [action.files for action in t.compact().actions] == [3]


def test_deletes_go_along_with_their_snapshots(lake, t, duck, place):
    t.append(many(0))
    t.append(many(50))
    lake.set_option("data_inlining_row_limit", 0)
    t.delete("a = 3")
    t.delete("a IN (4, 60)")
    with nothing_changes(lake, duck):
        t.compact()
    (file,) = t.files()
    assert [delete.rows for delete in file.deletes] == [3]
    assert place.catalog(
        "SELECT begin_snapshot, end_snapshot, delete_count, partial_max FROM ducklake_delete_file"
    ) == [(4, None, 3, 5)]
    t.delete("a = 5")
    with nothing_changes(lake, duck):
        t.append(many(100))
        t.compact()
    assert len(t.files()) == 1
    assert t.count() == 146


def test_a_merged_file_is_sorted_as_the_table_says(lake, duck):
    t = lake.create_table("t", "a BIGINT, b VARCHAR", sort_by=["b DESC", "a"])
    t.append(many(0))
    t.append(many(50))
    with nothing_changes(lake, duck):
        t.compact()
    (file,) = t.files()
    found = pq.read_table(file.path).column("b").to_pylist()
    assert found == sorted(found, reverse=True)


def test_partitions_stay_apart(lake, duck):
    t = lake.create_table("t", "a BIGINT, b VARCHAR", partition_by=["bucket(2, a)"])
    t.append(many(0))
    t.append(many(50))
    t.append([{"a": n, "b": "few"} for n in range(3)])
    t.delete("a = 77")
    with nothing_changes(lake, duck):
        result = t.compact()
    assert kinds(result) == ["flush", "flush_deletes", "merge", "merge"]
    found = {file.partition_values: file.rows for file in t.files()}
    assert set(found) == {("0",), ("1",)}
    assert sum(found.values()) == 103
    for n in (0, 50, 99):
        assert len(t.scan(where=f"a = {n}").files()) == 1
        assert duck.sql(f"SELECT count(*) FROM t WHERE a = {n}").fetchall()[0] == (1 + (n < 3),)


@pytest.mark.slow
def test_a_partitioning_that_has_changed(lake, t, duck):
    t.append(many(0))
    t.append([{"a": 1, "b": "kept"}])
    t.set_partitioning(["a"])
    t.append([{"a": n % 2, "b": "x"} for n in range(40)])
    t.append([{"a": n % 2, "b": "y"} for n in range(40)])
    t.append([{"a": 1, "b": "kept too"}])
    t.set_partitioning([])
    t.append(many(500))
    t.append(many(600))
    with nothing_changes(lake, duck):
        t.compact()
    with nothing_changes(lake, duck):
        assert t.compact().actions == ()
    assert t.count() == 232


@pytest.mark.slow
def test_each_version_of_the_columns_keeps_its_own(lake, t, duck):
    t.append(many(0))
    t.append(many(50))
    t.delete("a = 7")
    t.evolve(drop="b")
    t.evolve(add={"c": "INTEGER DEFAULT 4"}, rename={"a": "n"})
    t.append([{"n": n, "c": n} for n in range(100, 130)])
    t.append([{"n": n} for n in range(130, 160)])
    t.evolve(widen={"c": "BIGINT"})
    t.append([{"n": n, "c": 1 << 40} for n in range(160, 190)])
    t.append([{"n": n, "c": 1 << 40} for n in range(190, 220)])
    with nothing_changes(lake, duck):
        result = t.compact()
    assert [a.files for a in result.actions if a.kind == "merge"] == [2, 2, 2]
    assert len(t.files()) == 3


@pytest.mark.slow
def test_sorting_by_a_column_that_older_files_lack(lake, t, duck):
    t.append(many(0))
    t.append(many(50))
    t.evolve(add={"c": "INTEGER"})
    t.set_sorting(["b", "c"])
    t.append([{"a": 1, "b": "x", "c": n} for n in range(20, 0, -1)])
    t.append([{"a": 1, "b": "x", "c": n} for n in range(40, 20, -1)])
    with nothing_changes(lake, duck):
        t.compact()
    old, new = sorted(t.files(), key=lambda file: file.begin_snapshot)
    assert pq.read_table(old.path).column("b").to_pylist()[:2] == ["v0", "v1"]
    assert pq.read_table(new.path).column("c").to_pylist() == list(range(1, 41))


def test_registered_files(lake, t, duck, tmp_path):
    for n in range(3):
        pq.write_table(many(100 * n), tmp_path / f"{n}.parquet")
        t.add_files(str(tmp_path / f"{n}.parquet"))
    t.delete("a = 101")
    with nothing_changes(lake, duck):
        t.compact()
    (file,) = t.files()
    assert file.mapping_id is None


def test_a_file_that_is_registered_twice_is_not_given_up(lake, t, place, tmp_path):
    path = tmp_path / "found.parquet"
    pq.write_table(many(0), path)
    t.add_files(str(path))
    t.append(many(100))
    lake.create_table("u", "a BIGINT, b VARCHAR").add_files(str(path))
    t.compact()
    scheduled = place.catalog("SELECT path FROM ducklake_files_scheduled_for_deletion")
    assert len(scheduled) == 1
    assert str(path) not in scheduled[0]


def test_what_is_replaced_is_scheduled_for_deletion(lake, t, place):
    t.append(many(0))
    t.append(many(50))
    lake.set_option("data_inlining_row_limit", 0)
    t.delete("a = 3")
    before = place.files()
    t.compact()
    assert place.unknown_files() == set()
    scheduled = place.catalog(
        "SELECT path, path_is_relative FROM ducklake_files_scheduled_for_deletion"
    )
    assert {f"data/{path}" for path, _ in scheduled} == before
    assert all(relative for _, relative in scheduled)


# Rewriting


def test_files_with_many_deletes_are_rewritten(lake, t, duck, place):
    t.append(many(0))
    t.append(many(50))
    lake.set_option("data_inlining_row_limit", 0)
    t.delete("a < 20")
    with nothing_changes(lake, duck):
        result = t.compact()
    assert kinds(result) == ["rewrite", "merge"]
    assert result.files_rewritten == 1
    (file,) = t.files()
    assert (file.rows, file.deletes) == (80, ())
    changes = [snapshot.changes for snapshot in lake.snapshots()[-2:]]
    assert changes[0] == ("rewrite_delete:1", "inline_flush:1")
    ended = place.catalog("SELECT count(*) FROM ducklake_data_file WHERE end_snapshot IS NOT NULL")
    assert ended == [(1,)]


def test_a_file_without_rows_just_ends(lake, t, duck):
    t.append(many(0))
    t.delete("a < 5")
    t.delete("true")
    assert len(t.files()) == 1
    with nothing_changes(lake, duck):
        result = t.compact()
    assert kinds(result) == ["flush_deletes", "rewrite"]
    assert (t.files(), result.files_after) == ([], 0)


def test_the_threshold_is_the_lakes(lake, t):
    t.append(many(0))
    t.delete("a < 20")
    lake.set_option("rewrite_delete_threshold", 0.5)
    assert "rewrite" not in kinds(t.compact())
    lake.set_option("rewrite_delete_threshold", 0.4, table="t")
    assert "rewrite" in kinds(t.compact())
    with pytest.raises(Invalid, match="no share"):
        lake.set_option("rewrite_delete_threshold", 2)


# Flushing


def test_rows_leave_the_catalog(lake, t, duck, place):
    t.append([{"a": n, "b": "x"} for n in range(4)])
    t.update({"b": "'y'"}, where="a = 1")
    t.delete("a = 2")
    t.append([{"a": 9, "b": None}])
    with nothing_changes(lake, duck):
        result = t.compact()
    assert result.rows_flushed == 6
    assert place.catalog("SELECT count(*) FROM ducklake_inlined_data_1_1") == [(0,)]
    assert [(r["a"], r["b"]) for r in rows(t, "a")] == [(0, "x"), (1, "y"), (3, "x"), (9, None)]
    t.append([{"a": 10, "b": "after"}])
    assert t.count() == 5
    assert duck.sql("SELECT max(a), count(*) FROM t").fetchall() == [(10, 5)]


def test_deletes_leave_the_catalog(lake, t, duck, place):
    t.append(many(0))
    t.delete("a = 1")
    t.delete("a = 2")
    lake.set_option("data_inlining_row_limit", 0)
    t.delete("a = 3")
    lake.set_option("data_inlining_row_limit", 10)
    t.delete("a = 4")
    with nothing_changes(lake, duck):
        result = t.compact()
    assert result.deletes_flushed == 3
    assert place.catalog("SELECT count(*) FROM ducklake_inlined_delete_1") == [(0,)]
    (file,) = t.files()
    assert [(d.rows, d.begin_snapshot) for d in file.deletes] == [(4, 3)]


def test_superseded_tables_of_the_catalog_are_no_longer_listed(lake, t, duck, place):
    t.append([{"a": 1, "b": "x"}])
    t.evolve(add={"c": "INTEGER"})
    t.append([{"a": 2, "b": "x", "c": 2}])
    assert duck.sql("SELECT count(*) FROM t").fetchall() == [(2,)]
    with nothing_changes(lake, duck):
        t.compact()
    listed = place.catalog("SELECT table_name FROM ducklake_inlined_data_tables")
    assert listed == [("ducklake_inlined_data_1_2",)]
    assert duck.sql("SELECT count(*) FROM t AT (VERSION => 2)").fetchall() == [(1,)]
    t.append([{"a": 3, "b": "x", "c": 3}])
    place.catalog("UPDATE ducklake_snapshot SET snapshot_time = '2020-01-01 00:00:00+00'")
    with pytest.warns(TidelakeWarning, match="days have passed since the last commit"):
        t.compact()
    place.catalog("UPDATE ducklake_snapshot SET snapshot_time = '2020-01-01 00:00:00+00'")
    t.compact()
    tables = place.catalog(
        "SELECT name FROM sqlite_master WHERE name LIKE 'ducklake_inlined_data_1_%'"
    )
    assert tables == [("ducklake_inlined_data_1_2",)]


# What others wrote


@pytest.mark.slow
def test_deletes_that_have_ended_stay_where_they_are(lake, t, duck, place):
    """Somebody else may bring rows back; no other file could tell that they had been gone."""
    lake.set_option("data_inlining_row_limit", 0)
    for first in range(0, 150, 50):
        t.append(many(first))
    t.delete("a = 3")
    t.append(many(150))
    place.catalog("UPDATE ducklake_delete_file SET end_snapshot = 6")
    assert [lake.known_at(at).table("t").count() for at in (4, 5, 6)] == [150, 149, 200]
    with nothing_changes(lake, duck, feed=False):
        t.compact()
    assert sorted(file.rows for file in t.files()) == [50, 150]


@pytest.mark.slow
def test_what_duckdb_wrote_merged_and_flushed(lake, duck):
    for sql in (
        "CREATE TABLE d(a BIGINT, b VARCHAR)",
        "INSERT INTO d SELECT i, 'x' FROM range(50) r(i)",
        "INSERT INTO d SELECT i, 'y' FROM range(50, 100) r(i)",
        "DELETE FROM d WHERE a % 10 = 3",
        "CALL ducklake_merge_adjacent_files('lake')",
        "INSERT INTO d VALUES (1000, 'few')",
        "UPDATE d SET b = 'u' WHERE a IN (1000, 7)",
        "CALL ducklake_flush_inlined_data('lake')",
        "INSERT INTO d SELECT i, 'z' FROM range(200, 250) r(i)",
        "CALL ducklake_merge_adjacent_files('lake')",
        "DELETE FROM d WHERE a = 201",
        "UPDATE d SET b = 'w' WHERE a = 202",
    ):
        duck.execute(sql)
    t = lake.table("d")
    with nothing_changes(lake, duck, feed=False):
        t.compact()
    with nothing_changes(lake, duck, feed=False):
        duck.execute("CALL ducklake_merge_adjacent_files('lake')")
        duck.execute("CALL ducklake_rewrite_data_files('lake', delete_threshold => 0.01)")
    duck.execute("DELETE FROM d WHERE a = 203")
    duck.execute("UPDATE d SET b = 'last' WHERE a > 245")
    with nothing_changes(lake, duck, feed=False):
        t.compact()
    assert duck.sql("SELECT count(*) FROM d").fetchall()[0] == (t.count(),)


def test_bounds_that_duckdb_made_too_narrow_are_mended(lake, duck):
    """Its rewrite puts NULL for the bounds of a column where a file has none, and its next insert
    the bounds of its own rows: from then on it passes over all others."""
    for sql in (
        "CALL lake.set_option('data_inlining_row_limit', 0)",
        "CREATE TABLE d(a BIGINT, b BIGINT)",
        "INSERT INTO d SELECT i, i FROM range(50) r(i)",
        "INSERT INTO d SELECT i, NULL FROM range(50, 60) r(i)",
        "DELETE FROM d WHERE a = 7",
        "CALL ducklake_rewrite_data_files('lake', delete_threshold => 0.01)",
        "INSERT INTO d VALUES (100, 20)",
    ):
        duck.execute(sql)
    assert duck.sql("SELECT a FROM d WHERE b = 45").fetchall() == []
    lake.table("d").compact()
    assert duck.sql("SELECT a FROM d WHERE b = 45").fetchall() == [(45,)]
    assert lake.verify().ok


@pytest.mark.parametrize("place", ["postgresql"], indirect=True)
def test_a_duckdb_that_began_before_gives_up_its_delete(lake, t, duck):
    t.append(many(0))
    t.append(many(50))
    duck.execute("BEGIN")
    duck.execute("DELETE FROM t WHERE a = 5")
    t.compact()
    with pytest.raises(duckdb.Error, match=r"[Cc]onflict|compacted|flushed"):
        duck.execute("COMMIT")
    assert t.count() == 100


@pytest.mark.parametrize("place", ["postgresql"], indirect=True)
def test_a_duckdb_that_began_before_may_insert(lake, t, duck):
    t.append(many(0))
    t.append(many(50))
    duck.execute("BEGIN")
    duck.execute("INSERT INTO t VALUES (5000, 'mine')")
    t.compact()
    duck.execute("COMMIT")
    assert t.count() == 101
    assert duck.sql("SELECT count(*) FROM t").fetchall() == [(101,)]


# Others meanwhile


def started(lake: tidelake.Lake, kind: Kind) -> tuple[Any, ...]:
    """A compaction of `t` whose files are written, and which has not committed yet."""
    name = TableName("main", "t")
    found = look(lake.session, name)
    run = compaction._Run(lake.session, name, lambda *_, **__: None)
    wanted = actions(situation(lake.session, found), [kind])
    return run, found, compaction._built(run, list(compaction._pieces(found, wanted)))


@pytest.mark.slow
def test_only_what_others_have_changed_is_given_up(lake, place, duck):
    t = lake.create_table("t", "a BIGINT, b VARCHAR", partition_by=["b"])
    for _ in range(2):
        t.append([{"a": n, "b": "one"} for n in range(20)] + [{"a": 1, "b": "two"}] * 20)
    run, found, built = started(lake, "merge")
    t.delete("b = 'one' AND a = 7")
    t.append([{"a": 5, "b": "one"}])
    with nothing_changes(lake, duck):
        left = compaction._commit(run, found, built)
    assert [(action.partition, action.outcome) for action in left] == [(("one",), "left")]
    assert [(action.partition, action.outcome) for action in run.done] == [(("two",), "done")]
    assert place.unknown_files() == set()
    with nothing_changes(lake, duck):
        t.compact()
    assert len(t.files()) == 2


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("flush", "DELETE FROM t WHERE a = 1000"),
        ("flush", "UPDATE t SET b = 'u' WHERE a = 1000"),
        ("flush_deletes", "DELETE FROM t WHERE a = 40"),
        ("rewrite", "DELETE FROM t WHERE a = 40"),
        ("rewrite", "DELETE FROM t"),
        ("rewrite", "ALTER TABLE t ADD COLUMN c INTEGER"),
        ("merge", "UPDATE t SET b = 'u' WHERE a = 70"),
        ("merge", "DROP TABLE t"),
        ("flush", "DROP TABLE t"),
    ],
)
def test_a_change_in_between_is_not_lost(lake, t, place, kind, change):
    t.append(many(0))
    t.append(many(50))
    t.append([{"a": 1000, "b": "kept"}, {"a": 1001, "b": "kept"}])
    t.delete("a < 20")
    t.delete("a = 30")
    run, found, built = started(lake, kind)
    lake.sql(change)
    after = place.state()[1]
    left = compaction._commit(run, found, built)
    assert [action.outcome for action in left] == ["left"] * len(built)
    assert run.done == []
    assert place.state()[1] == after
    assert place.unknown_files() == set()


@pytest.mark.slow
@pytest.mark.parametrize("kind", every(2, ["flush_deletes", "flush", "merge", "rewrite"]))
def test_rows_that_come_in_between_do_no_harm(lake, t, duck, kind):
    t.append(many(0))
    t.append(many(50))
    t.append([{"a": 1000, "b": "kept"}])
    t.delete("a < 20")
    t.delete("a = 30")
    run, found, built = started(lake, kind)
    t.append([{"a": 2000, "b": "new"}])
    t.append(many(3000))
    t.set_comment("something else")
    if kind != "rewrite":
        t.evolve(add={"c": "INTEGER"})
    with nothing_changes(lake, duck):
        assert compaction._commit(run, found, built) == []
        t.compact()


# Expired history


def test_rows_that_no_snapshot_sees_are_left_out(lake, t, duck):
    t.append(many(0))
    t.append(many(50))
    t.append([{"a": 500, "b": "short-lived"}])
    t.delete("a = 500")
    t.delete("a IN (3, 60)")
    t.append(many(100))
    lake.expire(keep_last=1)
    with nothing_changes(lake, duck, feed=False):
        t.compact()
    (file,) = t.files()
    assert (file.rows, file.deletes) == (148, ())
    t.append(many(200))
    assert duck.sql("SELECT count(*), max(a), min(rowid) FROM t").fetchall() == [(198, 249, 0)]


# Tables of every kind, all catalogs


@pytest.mark.slow
@pytest.mark.parametrize("place", KINDS, indirect=True)
def test_every_type_on_every_catalog(place: Place, lake: tidelake.Lake) -> None:
    from tidelake.testing.histories.kinds import NESTED, SCALARS, ddl

    columns = ", ".join(f"c{n} {ddl(kind)}" for n, kind in enumerate([*SCALARS, *NESTED]))
    t = lake.create_table("t", f"k BIGINT, {columns}")
    for first, count in ((0, 40), (40, 3), (50, 40)):
        t.append(_random_rows(first, count))
    t.delete("k = 1")
    t.update({"k": "k + 1000"}, where="k IN (41, 60)")
    with nothing_changes(lake):
        assert t.compact().rows_flushed == 5
    assert t.compact().actions == ()


def _random_rows(first: int, count: int) -> pa.Table:
    from random import Random

    from tidelake.testing.histories.kinds import NESTED, SCALARS, any_value, arrow

    chance, kinds = Random(first), [*SCALARS, *NESTED]
    columns = {"k": pa.array(range(first, first + count), pa.int64())}
    for n, kind in enumerate(kinds):
        values = [any_value(chance, kind, 0.2) for _ in range(count)]
        columns[f"c{n}"] = pa.array(values, arrow(kind))
    return pa.table(columns)


def test_variants(lake, duck):
    duck.execute("CREATE TABLE v(k BIGINT, v VARIANT)")
    duck.execute("INSERT INTO v SELECT i, {'a': i}::VARIANT FROM range(40) r(i)")
    duck.execute("INSERT INTO v SELECT i, i::VARIANT FROM range(40, 80) r(i)")
    read = "SELECT k, v::VARCHAR FROM v ORDER BY k"
    before = duck.sql(read).fetchall()
    lake.table("v").compact()
    assert len(lake.table("v").files()) == 1
    assert duck.sql(read).fetchall() == before


def test_columns_named_like_what_we_say_of_rows(lake, duck):
    t = lake.create_table("t", 'rowid BIGINT, snapshot_id BIGINT, "odd ""name" VARCHAR')
    for n in range(2):
        t.append([{"rowid": n, "snapshot_id": 7, 'odd "name': "x"} for _ in range(30)])
    t.delete("rowid = 1")
    before = rows(t)
    t.compact()
    assert rows(t) == before
    assert len(lake.known_at(2).table("t").to_arrow()) == 30


# Refusals


def test_what_cannot_be_compacted(place, lake, t):
    t.append(many(0))
    with pytest.raises(Denied, match="pinned"):
        t.known_at(1).compact()
    with pytest.raises(Denied, match="pinned"):
        lake.known_at(1).compact()
    with lake.transaction() as tx, pytest.raises(Invalid, match="transaction"):
        tx.table("t").compact()
    with place.open(read_only=True) as reader:
        assert reader.compact(dry_run=True).actions == ()
        with pytest.raises(Denied, match="read-only"):
            reader.compact()


def test_an_encrypted_lake_is_duckdbs(tmp_path: Path) -> None:
    from tidelake.testing.duck import duck_connection

    with duck_connection() as duck:
        duck.execute(
            f"ATTACH 'ducklake:sqlite:{tmp_path}/e.db' AS e (DATA_PATH '{tmp_path}/e', ENCRYPTED)"
        )
        duck.execute("CREATE TABLE e.t(a INTEGER)")
    with tidelake.connect(f"sqlite:///{tmp_path}/e.db") as lake, pytest.raises(Unsupported):
        lake.table("t").compact()


def test_a_table_that_is_dropped_meanwhile_needs_nothing(lake, t):
    names = [TableName("main", "gone"), TableName("main", "t")]
    t.append(many(0))
    t.append(many(50))
    result = compaction.compact_all(lake.session, names, dry_run=False)
    assert result.files_after == 1
    with pytest.raises(NotFound):
        compaction.compact(lake.session, names[0], dry_run=True)


def test_the_whole_lake(lake, t):
    u = lake.create_table("u", "a BIGINT, b VARCHAR")
    for table in (t, u):
        table.append(many(0))
        table.append(many(50))
    result = lake.compact()
    assert [action.table for action in result.actions] == ["main.t", "main.u"]
    assert (result.files_before, result.files_after, len(result.snapshots)) == (4, 2, 2)


def test_a_lake_that_wants_messages(lake, t):
    t.append(many(0))
    t.append(many(50))
    lake.set_option("require_commit_message", True)
    t.compact()
    assert lake.snapshots()[-1].message == "compaction"


def test_the_command(place: Place, lake: tidelake.Lake, t: tidelake.Table) -> None:
    from click.testing import CliRunner

    from tidelake.cli import main

    def run(*words: str) -> str:
        done = CliRunner().invoke(main, ["compact", *words, "--catalog", place.url])
        assert done.exit_code == 0, done.output
        return done.output

    t.append(many(0))
    t.append(many(50))
    assert "would bring 2 files" in run("--dry-run")
    assert len(t.files()) == 2
    told = json.loads(run("t", "--json"))
    assert (told["files_merged"], told["files_after"]) == (2, 1)
    assert "nothing to do" in run()
