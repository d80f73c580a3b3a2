"""The log: what our commits say of themselves, and what DuckDB's still show."""

import json

import duckdb
import pytest

import tidelake
from tidelake.history.values import LogEntry, read_commit_note
from tidelake.model.changes_made import operation_of, touched_tables
from tidelake.testing.place import Place

KINDS = ["sqlite", "duckdb", "postgresql", "mariadb"]


def counts(entry: LogEntry) -> tuple[int | None, ...]:
    return entry.inserted, entry.updated, entry.deleted, entry.files


def many(first: int, count: int) -> list[dict[str, int]]:
    return [{"i": number, "n": 0} for number in range(first, first + count)]


def our_history(lake: tidelake.Lake) -> None:
    table = lake.create_table("t", {"i": "int64", "n": "int64"})
    table.append(many(0, 1000))
    table.append(many(1000, 2))
    table.update({"n": "n + 1"}, where="i < 3")
    table.delete("i >= 990")
    table.merge([{"i": 0, "n": 9}, {"i": -1, "n": 9}], on="i")
    table.overwrite(many(0, 5))
    table.evolve(add={"x": "varchar"})
    with lake.transaction(author="ann", message="both") as tx:
        tx.table("t").append([{"i": 7, "n": 7}])
        tx.table("t").delete("i = 1")
    lake.rename("t", "u")
    lake.table("u").rollback(to=2)
    lake.drop("u")


@pytest.mark.parametrize("place", KINDS, indirect=True)
def test_what_our_commits_say(lake: tidelake.Lake) -> None:
    our_history(lake)
    log = lake.log()
    assert [(e.operation, e.tables, counts(e)) for e in log] == [
        ("create schema", (), (0, 0, 0, 0)),
        ("create table", ("main.t",), (0, 0, 0, 0)),
        ("append", ("main.t",), (1000, 0, 0, 1)),
        ("append", ("main.t",), (2, 0, 0, 0)),
        ("update", ("main.t",), (0, 3, 0, 0)),
        ("delete", ("main.t",), (0, 0, 12, 0)),
        ("merge", ("main.t",), (1, 1, 0, 0)),
        ("overwrite", ("main.t",), (5, 0, 991, 0)),
        ("alter table", ("main.t",), (0, 0, 0, 0)),
        ("transaction", ("main.t",), (1, 0, 1, 0)),
        ("rename table", ("main.u",), (0, 0, 0, 0)),
        ("rollback", ("main.u",), counts(log[11])),
        ("drop table", ("main.u",), (0, 0, 0, 0)),
    ]
    assert [entry.snapshot_id for entry in log] == list(range(13))
    assert log[2].bytes == lake.known_at(2).table("t").files()[0].bytes
    assert all(entry.seconds is not None and 0 < entry.seconds < 60 for entry in log[1:])
    assert (log[9].author, log[9].message) == ("ann", "both")
    assert log[9].changes == lake.snapshots()[9].changes
    assert log[9].time == lake.snapshots()[9].time
    assert lake.log(limit=2) == log[-2:]
    assert lake.known_at(4).log() == log[:5]


def test_upkeep_changes_no_rows(lake: tidelake.Lake) -> None:
    table = lake.create_table("t", {"i": "int64", "n": "int64"})
    for first in (0, 1000, 2000):
        table.append(many(first, 1000))
    table.append(many(3000, 2))
    table.compact()
    upkeep = lake.log()[6:]
    assert {entry.operation for entry in upkeep} == {"compact"}
    for entry in upkeep:
        assert (entry.inserted, entry.updated, entry.deleted) == (0, 0, 0)
        assert entry.tables == ("main.t",)
        assert entry.files
        assert entry.seconds


def test_of_one_table(lake: tidelake.Lake) -> None:
    our_history(lake)
    lake.create_table("other", {"i": "int64"}).append([{"i": 1}])
    table = lake.known_at(11).table("u")
    assert table.snapshots() == lake.log()[1:12]
    assert table.log(limit=3) == lake.log()[9:12]
    assert lake.table("other").log() == lake.log()[13:]


def test_a_line_of_it(lake: tidelake.Lake) -> None:
    lake.create_table("t", {"i": "int64"})
    with lake.transaction(author="ann", message="late") as tx:
        tx.table("t").append([{"i": 1}])
    entry = lake.log()[-1]
    moment = f"{entry.time:%Y-%m-%d %H:%M:%S}"
    assert str(entry) == f"2 {moment} by ann append main.t (1 inserted): late"


@pytest.mark.parametrize("place", ["sqlite", "postgresql"], indirect=True)
def test_what_duckdbs_commits_show(lake: tidelake.Lake, duck: duckdb.DuckDBPyConnection) -> None:
    for sql in [
        "CREATE TABLE t AS SELECT range AS i FROM range(100)",
        "INSERT INTO t SELECT range FROM range(100, 150)",
        "INSERT INTO t VALUES (1000)",
        "CALL lake.set_option('data_inlining_row_limit', 0)",
        "DELETE FROM t WHERE i BETWEEN 10 AND 19",
        "DELETE FROM t WHERE i BETWEEN 20 AND 29",
        "DELETE FROM t WHERE i BETWEEN 100 AND 149",
        "UPDATE t SET i = -1 WHERE i = 0",
        "ALTER TABLE t ADD COLUMN x INTEGER",
        "CREATE VIEW v AS SELECT 1 AS i",
        "DROP TABLE t",
    ]:
        duck.execute(sql)
    found = [(e.operation, e.tables, counts(e)) for e in lake.log()[1:]]
    assert found == [
        ("create table", ("main.t",), (100, 0, 0, 1)),
        ("append", ("main.t",), (50, 0, 0, 1)),
        ("append", ("main.t",), (None, 0, 0, 0)),
        ("delete", ("main.t",), (0, 0, None, 0)),  # its delete file was replaced by the next
        ("delete", ("main.t",), (0, 0, None, 0)),
        ("delete", ("main.t",), (0, 0, None, 0)),  # it ended a file
        ("update", ("main.t",), (None, None, None, None)),
        ("alter table", ("main.t",), (0, 0, 0, 0)),
        ("create view", (), (0, 0, 0, 0)),
        ("drop table", ("main.t",), (0, 0, 0, 0)),
    ]
    assert all(entry.seconds is None for entry in lake.log()[1:])
    assert all(entry.bytes for entry in lake.log()[1:3])


def test_what_was_merged_since_is_not_guessed(
    lake: tidelake.Lake, duck: duckdb.DuckDBPyConnection
) -> None:
    duck.execute("CREATE TABLE t (i INTEGER)")
    for first in (0, 100, 200):
        duck.execute(f"INSERT INTO t SELECT range FROM range({first}, {first + 100})")
    duck.execute("DELETE FROM t WHERE i BETWEEN 10 AND 40")
    assert [counts(e) for e in lake.log()[2:]] == [(100, 0, 0, 1)] * 3 + [(0, 0, 31, 0)]
    duck.execute("CALL ducklake_merge_adjacent_files('lake')")
    log = lake.log()
    assert [counts(e) for e in log[2:5]] == [(100, 0, 0, 1)] + [(None, 0, 0, None)] * 2
    assert (log[6].operation, counts(log[6])) == ("merge files", (0, 0, 0, None))
    duck.execute("CALL ducklake_rewrite_data_files('lake', delete_threshold => 0)")
    assert (lake.log()[7].operation, counts(lake.log()[7])) == ("rewrite files", (0, 0, 0, 1))


def test_after_expiry(lake: tidelake.Lake, duck: duckdb.DuckDBPyConnection) -> None:
    duck.execute("CREATE TABLE gone AS SELECT range AS i FROM range(100)")
    duck.execute("DROP TABLE gone")
    duck.execute("CREATE TABLE t AS SELECT range AS i FROM range(100)")
    duck.execute("INSERT INTO t SELECT range FROM range(50)")
    duck.execute("CALL ducklake_expire_snapshots('lake', versions => [0, 1, 3])")
    assert [(e.snapshot_id, e.operation, e.tables, counts(e)) for e in lake.log()] == [
        (2, "drop table", ("table 1",), (0, 0, 0, 0)),
        (4, "append", ("main.t",), (None, 0, 0, None)),
    ]


def test_a_commit_from_before_there_were_counts(lake: tidelake.Lake, place: Place) -> None:
    lake.create_table("t", {"i": "int64"}).append([{"i": n} for n in range(1000)])
    place.catalog(
        "UPDATE ducklake_snapshot_changes SET commit_extra_info = ? WHERE snapshot_id = 2",
        json.dumps({"tidelake": {"token": "x"}}),
    )
    entry = lake.log()[2]
    assert (entry.operation, counts(entry), entry.seconds) == ("append", (1000, 0, 0, 1), None)


@pytest.mark.parametrize(
    "extra",
    [
        None,
        "",
        "free text",
        "{",
        '{"tidelake"',
        '{"tidelake": 1}',
        '{"tidelake": {"seconds": "x"}}',
    ],
)
def test_whatever_others_say_there(extra: str | None) -> None:
    assert read_commit_note(extra) is None


@pytest.mark.parametrize(
    ("changes", "operation"),
    [
        ([], "nothing"),
        (["inserted_into_table:1"], "append"),
        (["inlined_insert:1", "inserted_into_table:1"], "append"),
        (["deleted_from_table:1", "inlined_delete:1"], "delete"),
        (["inserted_into_table:1", "deleted_from_table:1"], "update"),
        (['created_table:"main"."t"', "inserted_into_table:1"], "create table"),
        (['created_table:"main"."t"', "deleted_from_table:1"], "transaction"),
        (["dropped_table:1", "dropped_schema:2"], "transaction"),
        (["merge_adjacent:1", "inline_flush:1"], "merge files"),
        (["rewrite_delete:1", "deleted_from_table:1"], "rewrite files"),
        (["inline_flush:1", "deleted_from_table:1"], "flush"),
        (['created_scalar_macro:"main"."m"'], "create macro"),
        (["something_new:1"], "something new"),
    ],
)
def test_operations_by_their_changes(changes: list[str], operation: str) -> None:
    assert operation_of(changes) == operation


def test_tables_that_upkeep_names_are_not_touched() -> None:
    changes = ["merge_adjacent:1", "inline_flush:1", "rewrite_delete:2", "deleted_from_table:2"]
    assert touched_tables([*changes, "inlined_insert:3", 'created_table:"main"."t"']) == {3}
