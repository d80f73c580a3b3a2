"""What mirrors do, one thing at a time: logs, statuses, files that come and go."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tidelake
from tests.delta.readers import Readers
from tidelake.delta.values.actions import (
    Action,
    Add,
    CommitInfo,
    Metadata,
    Protocol,
    Remove,
    parse_commit,
)
from tidelake.errors import TidelakeWarning
from tidelake.testing.duck import duck_connection
from tidelake.testing.faults import watch_store


def log_of(table: tidelake.Table) -> Path:
    return Path(table.info.path) / "_delta_log"


def commit(table: tidelake.Table, version: int) -> list[Action]:
    path = log_of(table) / f"{version:020d}.json"
    return parse_commit(path.read_bytes(), str(path))


def of(actions: list[Action], kind: Any) -> list[Any]:
    return [action for action in actions if isinstance(action, kind)]


def versions(table: tidelake.Table) -> list[int]:
    return sorted(int(path.stem) for path in log_of(table).glob("*.json"))


def keys(readers: Readers, root: str, version: int | None = None) -> list[int]:
    found = {
        name: [row[0] for row in rows] for name, (_, rows) in readers.read(root, version).items()
    }
    assert found["delta-rs"] == found["duckdb"]
    return sorted(found["duckdb"])


def test_the_first_version_says_all(lake: tidelake.Lake) -> None:
    table = lake.create_table("t", "k BIGINT, s VARCHAR", comment="what it is for")
    table.append([{"k": 1, "s": "x"}])
    lake.mirror("t")
    info, protocol, metadata, *_ = commit(table, 0)
    assert isinstance(info, CommitInfo)
    assert info.said["inCommitTimestamp"] == info.said["timestamp"]
    assert protocol == Protocol(1, 7, None, frozenset({"inCommitTimestamp", "tidelake.sqlMirror"}))
    assert isinstance(metadata, Metadata)
    assert (metadata.name, metadata.description) == ("main.t", "what it is for")
    assert metadata.partition_columns == ()
    (add,) = of(commit(table, 0), Add)
    assert json.loads(add.stats)["numRecords"] == 1


def test_metadata_is_said_again_only_when_it_changes(lake: tidelake.Lake) -> None:
    table = lake.create_table("t", "k BIGINT, s VARCHAR")
    lake.mirror("t")
    table.append([{"k": 1}])
    assert not of(commit(table, 1), (Metadata, Protocol))
    table.set_comment("new")
    (metadata,) = of(commit(table, 2), Metadata)
    assert metadata.description == "new"
    assert not of(commit(table, 2), Protocol)
    lake.sql("COMMENT ON COLUMN t.s IS 'words'")
    (metadata,) = of(commit(table, 3), Metadata)
    assert "words" in metadata.schema
    table.evolve(rename={"s": "word"})
    (protocol,) = of(commit(table, 4), Protocol)
    assert protocol.reader_features == {"columnMapping"}


def test_times_are_those_of_snapshots_and_grow(lake: tidelake.Lake) -> None:
    table = lake.create_table("t", "k BIGINT")
    lake.mirror("t")
    for number in range(5):
        table.append([{"k": number}])
    said = [of(commit(table, v), CommitInfo)[0].said["inCommitTimestamp"] for v in versions(table)]
    assert said == sorted(set(said))
    for version, at in enumerate(said):
        path = log_of(table) / f"{version:020d}.json"
        assert path.stat().st_mtime_ns == at * 1_000_000
    history = deltalake.DeltaTable(table.info.path).history()
    assert [each["timestamp"] for each in reversed(history)] == said


def test_compaction_changes_no_data(lake: tidelake.Lake, readers: Readers) -> None:
    table = lake.create_table("t", "k BIGINT")
    lake.mirror("t")
    for number in range(4):
        table.append([{"k": number}])
    table.compact()
    moved = of(commit(table, versions(table)[-1]), (Add, Remove))
    assert len(moved) == 5
    assert not any(each.data_change for each in moved)
    assert keys(readers, table.info.path) == [0, 1, 2, 3]


def test_deletes_become_vectors_in_the_log_or_beside_it(
    lake: tidelake.Lake, readers: Readers
) -> None:
    table = lake.create_table("t", "k BIGINT")
    lake.mirror("t")
    table.append(pa.table({"k": range(100_000)}))
    table.delete("k < 10")
    (add,) = of(commit(table, 2), Add)
    assert add.vector.storage == "i"
    assert not json.loads(add.stats)["tightBounds"]
    table.delete("k % 7 = 3")
    (gone,), (add,) = of(commit(table, 3), Remove), of(commit(table, 3), Add)
    assert gone.vector.storage == "i"
    assert add.vector.storage == "u"
    assert list(Path(table.info.path).glob("deletion_vector_*.bin"))
    wanted = [k for k in range(10, 100_000) if k % 7 != 3]
    assert keys(readers, table.info.path) == wanted
    assert len(keys(readers, table.info.path, 2)) == 99_990
    table.delete("true")
    assert not of(commit(table, 4), Add)


def test_a_transaction_of_several_tables_bears_one_snapshot(lake: tidelake.Lake) -> None:
    tables = [lake.create_table(name, "k BIGINT") for name in "ab"]
    for name in "ab":
        lake.mirror(name)
    with lake.transaction() as tx:
        for name in "ab":
            tx.table(name).append([{"k": 1}])
    said = [of(commit(table, 1), CommitInfo)[0].said["tidelakeSnapshotId"] for table in tables]
    assert said == [tx.result.snapshot_id] * 2  # type: ignore[union-attr]


def test_all_that_is_left_of_history(lake: tidelake.Lake, readers: Readers) -> None:
    lake.set_option("data_inlining_row_limit", 10)
    table = lake.create_table("t", "k BIGINT")
    table.append([{"k": 1}])
    table.append([{"k": number} for number in range(2, 30)])
    table.delete("k = 1")
    lake.create_table("u", "k BIGINT")
    lake.rename("t", "v")
    lake.mirror("v", history=True)
    root = lake.table("v").info.path
    wanted = [[], [1], [*range(1, 30)], [*range(2, 30)]]
    assert [keys(readers, root, version) for version in range(4)] == wanted
    assert keys(readers, root) == wanted[-1]


def test_history_after_expiry(lake: tidelake.Lake, readers: Readers) -> None:
    table = lake.create_table("t", "k BIGINT")
    for number in range(6):
        table.append([{"k": number}])
    lake.expire(keep_last=3)
    lake.mirror("t", history=True)
    assert keys(readers, table.info.path, 0) == [0, 1, 2, 3]
    assert keys(readers, table.info.path) == [0, 1, 2, 3, 4, 5]


def test_drop_shows_an_empty_table_and_recreating_goes_on_in_its_log(
    lake: tidelake.Lake, readers: Readers
) -> None:
    table = lake.create_table("t", "k BIGINT")
    mirror = lake.mirror("t")
    table.append([{"k": 1}])
    root = table.info.path
    lake.drop("t")
    assert mirror.state.status == "stopped"
    assert keys(readers, root) == []
    again = lake.create_table("t", "k BIGINT, w VARCHAR")
    again.append([{"k": 5, "w": "x"}])
    assert again.info.path == root
    assert lake.mirror("t").state.status == "active"
    assert keys(readers, root) == [5]
    assert keys(readers, root, 1) == [1]


def test_the_log_of_a_table_that_could_never_be_shown_does_not_begin_with_its_end(
    lake: tidelake.Lake, readers: Readers
) -> None:
    table = lake.create_table("t", "k BIGINT, moment TIMESTAMP_NS")
    assert lake.mirror("t").status.status == "blocked"
    table.append([{"k": 1}])
    log = log_of(table)
    lake.drop("t")
    assert not log.exists()
    again = lake.create_table("t", "k BIGINT")
    again.append([{"k": 2}])
    assert keys(readers, lake.mirror("t").root) == [2]


@pytest.mark.slow
def test_a_renamed_table_keeps_its_log_and_its_folder(
    lake: tidelake.Lake, readers: Readers
) -> None:
    lake.create_table("t", "k BIGINT")
    lake.mirror("t")
    root = lake.table("t").info.path
    lake.rename("t", "u")
    lake.table("u").append([{"k": 1}])
    other = lake.create_table("t", "k BIGINT")
    lake.mirror("t")
    other.append([{"k": 2}])
    assert lake.table("u").info.path == root
    assert keys(readers, root) == [1]
    assert keys(readers, other.info.path) == [2]


def test_rollback(lake: tidelake.Lake, readers: Readers) -> None:
    table = lake.create_table("t", "k BIGINT, s VARCHAR")
    lake.mirror("t")
    before = table.append([{"k": 1, "s": "x"}]).snapshot_id
    table.evolve(drop=["s"])
    table.overwrite([{"k": 2}])
    table.rollback(to=before)
    assert readers.read(table.info.path)["duckdb"] == (["k", "s"], [(1, "x")])
    assert keys(readers, table.info.path) == [1]


@pytest.mark.slow
def test_new_tables_are_mirrored_where_that_is_the_default(
    lake: tidelake.Lake, tmp_path: Path, readers: Readers
) -> None:
    lake.create_schema("s")
    lake.set_option("tidelake.mirror", "delta", schema="s")
    ours = lake.create_table("s.ours", "k BIGINT")
    ours.append([{"k": 1}])
    lake.create_table("other", "k BIGINT")
    with duck_connection() as duck:
        duck.execute(f"ATTACH 'ducklake:sqlite:{tmp_path}/lake.db' AS lake")
        duck.execute("CREATE TABLE lake.s.theirs AS SELECT 2::BIGINT AS k")
    assert keys(readers, ours.info.path) == [1]
    lake.sync_mirrors()
    assert keys(readers, lake.table("s.theirs").info.path) == [2]
    assert not log_of(lake.table("other")).exists()
    with pytest.raises(tidelake.errors.Invalid):
        lake.set_option("tidelake.mirror", "iceberg")


def test_files_of_others_are_shown_as_copies(
    lake: tidelake.Lake, tmp_path: Path, readers: Readers
) -> None:
    table = lake.create_table("t", "k BIGINT, s VARCHAR")
    lake.mirror("t")
    pq.write_table(pa.table({"k": [1, 2], "s": ["a", "b"]}), tmp_path / "found.parquet")
    table.add_files(str(tmp_path / "found.parquet"))
    assert keys(readers, table.info.path) == [1, 2]
    table.delete("k = 1")
    assert keys(readers, table.info.path) == [2]
    assert len(list(Path(table.info.path).glob("*.delta"))) == 1


def test_rows_and_a_default_in_one_transaction(lake: tidelake.Lake, readers: Readers) -> None:
    """The file is as old as the column, and does not have it."""
    table = lake.create_table("t", "k INTEGER")
    lake.mirror("t")
    with lake.transaction() as tx:
        tx.table("t").append([{"k": 1}])
        tx.table("t").evolve(add="d VARCHAR DEFAULT 'x'", widen={"k": "BIGINT"})
    for _, rows in readers.read(table.info.path).values():
        assert rows == [(1, "x")]


def test_a_dropped_field_leaves_the_names_of_others_alone(
    lake: tidelake.Lake, readers: Readers
) -> None:
    table = lake.create_table("t", "a BIGINT, s STRUCT(a BIGINT, b BIGINT)")
    lake.mirror("t")
    table.evolve(drop=["s.a"])
    table.append([{"a": 1, "s": {"b": 2}}])
    for _, rows in readers.read(table.info.path).values():
        assert rows == [(1, (("b", 2),))]


def test_duckdb_writes_after_it_renamed_a_column(
    lake: tidelake.Lake, tmp_path: Path, readers: Readers
) -> None:
    """DuckDB gives columns the names that they have when it writes; Delta goes by names."""
    table = lake.create_table("t", "k BIGINT, s VARCHAR, n STRUCT(a BIGINT)")
    mirror = lake.mirror("t")
    table.append([{"k": 1, "s": "one", "n": {"a": 1}}])
    with duck_connection() as duck:
        duck.execute(f"ATTACH 'ducklake:sqlite:{tmp_path}/lake.db' AS lake")
        duck.execute("ALTER TABLE lake.t RENAME COLUMN s TO word")
        duck.execute("ALTER TABLE lake.t RENAME COLUMN n.a TO b")
        duck.execute("INSERT INTO lake.t SELECT i, 'duck', {'b': i} FROM range(2, 40) r(i)")
    mirror.sync()
    for columns, rows in readers.read(table.info.path).values():
        assert columns == ["k", "word", "n"]
        assert {row[1] for row in rows} == {"one", "duck"}
        assert {row[2][0][1] for row in rows} == set(range(1, 40))


def test_duckdb_rewrites_a_file_that_is_older_than_a_default(
    lake: tidelake.Lake, tmp_path: Path, readers: Readers
) -> None:
    """The file is new, and has the columns of the old one."""
    lake.set_option("data_inlining_row_limit", 0)
    table = lake.create_table("t", "k INTEGER")
    mirror = lake.mirror("t")
    table.append([{"k": each} for each in range(9)])
    table.evolve(add="d VARCHAR DEFAULT 'x'", widen={"k": "BIGINT"})
    with duck_connection() as duck:
        duck.execute(f"ATTACH 'ducklake:sqlite:{tmp_path}/lake.db' AS lake")
        duck.execute("DELETE FROM lake.t WHERE k = 3")
        duck.execute("CALL ducklake_rewrite_data_files('lake', delete_threshold => 0.01)")
    mirror.sync()
    for _, rows in readers.read(table.info.path).values():
        assert sorted(rows) == [(each, "x") for each in range(9) if each != 3]


def test_copies_and_vectors_go_when_nobody_needs_them(
    lake: tidelake.Lake, readers: Readers
) -> None:
    table = lake.create_table("t", "k INTEGER")
    lake.mirror("t")
    table.append(pa.table({"k": pa.array(range(50_000), pa.int32())}))
    table.delete("k % 3 = 0")
    table.evolve(widen={"k": "BIGINT"})
    made = set(_made(table))
    assert len(made) == 2
    lake.cleanup(older_than=timedelta(0))
    assert set(_made(table)) <= made
    assert len(keys(readers, table.info.path)) == 33_333
    table.compact()
    lake.cleanup(older_than=timedelta(days=1))
    assert set(_made(table)) == set(_made(table))
    lake.expire(keep_last=1)
    lake.cleanup(older_than=timedelta(0))
    assert len(keys(readers, table.info.path)) == 33_333
    table.overwrite([{"k": 1}])
    lake.expire(keep_last=1)
    result = lake.cleanup(older_than=timedelta(0))
    assert not _made(table), result
    assert keys(readers, table.info.path) == [1]
    assert lake.verify().ok


def _made(table: tidelake.Table) -> list[str]:
    folder = Path(table.info.path)
    return [path.name for path in folder.iterdir() if path.suffix in (".delta", ".bin")]


def test_cleanup_leaves_what_a_log_still_shows(lake: tidelake.Lake, readers: Readers) -> None:
    """A log that cannot be written to lags behind: readers still see the old files."""
    table = lake.create_table("t", "k BIGINT")
    lake.mirror("t")
    for number in range(3):
        table.append([{"k": number}])
    with watch_store(lake, _unreachable):
        with pytest.warns(TidelakeWarning):
            table.compact()
        with pytest.warns(TidelakeWarning):
            lake.expire(keep_last=1)
        with pytest.warns(TidelakeWarning):
            kept = lake.cleanup(older_than=timedelta(0))
    assert "a Delta log shows them" in {each.reason for each in kept.kept}
    assert keys(readers, table.info.path) == [0, 1, 2]
    lake.cleanup(older_than=timedelta(0))
    assert keys(readers, table.info.path) == [0, 1, 2]
    assert len(list(Path(table.info.path).glob("*.parquet"))) == 1


often = pytest.mark.parametrize("lake", [{"checkpoint_every": 3}], indirect=True, ids=["often"])
"""Checkpoints after every few versions."""


def _unreachable(what: str, uri: str) -> None:
    if what == "create" and "_delta_log" in uri:
        raise tidelake.errors.Unavailable("the store is away", hint="wait")


@often
def test_duckdb_does_not_take_checkpoints_for_orphans(
    lake: tidelake.Lake, tmp_path: Path, readers: Readers
) -> None:
    table = lake.create_table("t", "k BIGINT")
    mirror = lake.mirror("t")
    for number in range(5):
        table.append([{"k": number}])
    with duck_connection() as duck:
        duck.execute(f"ATTACH 'ducklake:sqlite:{tmp_path}/lake.db' AS lake")
        duck.execute("CALL ducklake_delete_orphaned_files('lake', cleanup_all => true)")
        assert keys(readers, table.info.path) == [0, 1, 2, 3, 4]
        duck.execute("CALL ducklake_cleanup_old_files('lake', cleanup_all => true)")
    mirror.sync()
    assert keys(readers, table.info.path) == [0, 1, 2, 3, 4]


@often
def test_checkpoints_remember_what_was_removed(lake: tidelake.Lake) -> None:
    table = lake.create_table("t", "k BIGINT")
    lake.mirror("t")
    for number in range(7):
        table.overwrite([{"k": number}])
    found = pq.read_table(max(log_of(table).glob("*.checkpoint.parquet")))
    adds = [row for row in found["add"].to_pylist() if row]
    removes = [row for row in found["remove"].to_pylist() if row]
    assert len(adds) == 1
    assert adds[0]["modificationTime"] > 0
    assert len(removes) >= 2
    assert all(row["deletionTimestamp"] > 0 for row in removes)
    hint = json.loads((log_of(table) / "_last_checkpoint").read_text())
    assert hint["size"] == found.num_rows


def test_a_foreign_commit_is_never_overwritten(lake: tidelake.Lake, readers: Readers) -> None:
    table = lake.create_table("t", "k BIGINT")
    mirror = lake.mirror("t")
    table.append([{"k": 1}])
    theirs = log_of(table) / f"{2:020d}.json"
    theirs.write_text('{"commitInfo":{"operation":"theirs"}}\n')
    table.append([{"k": 2}])
    assert mirror.state.status == "drifted"
    assert "somebody else" in (mirror.state.reason or "")
    table.append([{"k": 3}])
    assert theirs.read_text() == '{"commitInfo":{"operation":"theirs"}}\n'
    assert versions(table) == [0, 1, 2]
    assert sorted(table.to_arrow()["k"].to_pylist()) == [1, 2, 3]


def test_a_catalog_restored_from_a_backup_is_noticed(tmp_path: Path) -> None:
    place = f"sqlite:///{tmp_path}/lake.db"
    with tidelake.connect(place, str(tmp_path / "data")) as lake:
        lake.create_table("t", "k BIGINT")
        lake.mirror("t")
        lake.table("t").append([{"k": 1}])
    backup = (tmp_path / "lake.db").read_bytes()
    with tidelake.connect(place, str(tmp_path / "data")) as lake:
        lake.table("t").append([{"k": 2}])
        log = log_of(lake.table("t"))
    before = {path.name: path.read_bytes() for path in log.iterdir()}
    (tmp_path / "lake.db").write_bytes(backup)
    with tidelake.connect(place, str(tmp_path / "data")) as lake:
        mirror = lake.mirrored("t")
        assert mirror.sync().status == "drifted"
        assert "backup" in (mirror.state.reason or "")
        lake.table("t").append([{"k": 3}])
    assert {path.name: path.read_bytes() for path in log.iterdir()} == before


def test_names_that_differ_in_case_alone(lake: tidelake.Lake) -> None:
    table = lake.create_table("t", "k BIGINT, n STRUCT(a BIGINT)")
    mirror = lake.mirror("t")
    assert mirror.state.status == "active"
    with pytest.raises(tidelake.errors.Invalid):
        table.evolve(add={"K": "BIGINT"})


def test_verify_knows_mirrors(lake: tidelake.Lake) -> None:
    table = lake.create_table("t", "k BIGINT")
    lake.mirror("t")
    table.append([{"k": 1}])
    assert lake.verify().ok
    with lake.session.database.writing() as writer:
        writer.execute("DELETE FROM tidelake_mirror_commit WHERE version = 1")
    assert [problem.check for problem in lake.verify().problems] == ["mirrors"]
    with lake.session.database.writing() as writer:
        writer.execute("DELETE FROM tidelake_mirror_file")
    assert len(lake.verify().problems) == 2
