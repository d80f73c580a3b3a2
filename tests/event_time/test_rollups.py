"""Reads begin with rollups, and no answer changes, whatever happens afterwards."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

import tidelake
from tests.event_time.rolled_up import KINDS, check, fact, head, month, state, used
from tests.event_time.rollup_trial import run

DAYS = ["2024-01-15", "2024-02-01", "2024-02-15", "2024-03-15", "2024-04-15"]


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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "rows"),
    [
        (lambda t: t.delete("id = 3"), 0),
        (lambda t: t.delete("id = 3"), 10),
        (lambda t: t.update({"v": "-1"}, where="id = 3"), 0),
        (lambda t: t.update({"v": "-1"}, where="id = 3"), 10),
        (lambda t: t.merge([fact(3, "2024-02-04", -1)], on=["id", "ts"]), 10),
        (lambda t: t.overwrite([fact(3, "2024-02-04", -1)], where="id = 3"), 0),
        (lambda t: t.overwrite([fact(3, "2024-02-04", -1)]), 0),
    ],
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", ["DATE", "TIMESTAMPTZ", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"]
)
def test_times_of_every_kind(lake: tidelake.Lake, kind: str) -> None:
    """A rollup's moment may lie between two values of the column, or be one of them."""
    t = lake.create_table("times", f"id INTEGER, ts {kind}, v INTEGER", key="id", event_time="ts")
    for day in range(1, 5):
        time = datetime(2024, 1, day).date() if kind == "DATE" else datetime(2024, 1, day)
        t.append([{"id": n, "ts": time, "v": day} for n in range(20)])
    moments = [f"2024-01-0{day}{rest}" for day in (2, 3) for rest in ("", "T12:00:00.000001001")]
    asked = ["2024-01-01T23:59:59.999999999", *moments, "2024-01-03T23:59:59.999999999"]
    before = [state(t, moment) for moment in asked]
    assert [found[0][2] for found in before] == [1, 2, 2, 3, 3, 3]
    for moment in moments[-2:]:
        t.rollup(as_of=moment)
        assert [state(t, each) for each in asked] == before
        assert used(t, asked[-1]) == moment[:10]
        t.drop_rollups()


def test_a_rollup_before_all_events(t: tidelake.Table) -> None:
    made = t.rollup(as_of="2020-01-01")
    assert (made.rows, made.files) == (0, ())
    assert used(t, "2024-01-15") == "2020-01-01"
    assert state(t, "2020-06-01") == []
    check(t)


def test_rollback_to_before_a_rollup(t: tidelake.Table) -> None:
    before = head(t)
    t.append(month(4))
    t.rollup(as_of="2024-04-01")
    t.rollback(to=before)
    assert used(t, "2024-04-15") is None
    check(t)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("DELETE FROM facts WHERE id = 3", 0),
        ("DELETE FROM facts WHERE id = 3", 10),
        ("UPDATE facts SET v = -1 WHERE id = 3", 0),
        ("UPDATE facts SET v = -1 WHERE id = 3", 10),
        ("DELETE FROM facts WHERE ts < TIMESTAMP '2024-02-01'", 0),
    ],
)
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


def test_inside_a_transaction(lake: tidelake.Lake, t: tidelake.Table) -> None:
    t.rollup(as_of="2024-03-01")
    with lake.transaction() as tx:
        table = tx.table("facts")
        assert used(table, "2024-03-15") == "2024-03-01"
        table.append([fact(1, "2024-02-25", 7)])
        assert used(table, "2024-03-15") is None
        assert 7 in {row[2] for row in state(table, "2024-03-01")}


def test_a_random_history(lake: tidelake.Lake, duck: Any) -> None:
    assert run(3, lake, duck, steps=15).used


def test_a_random_history_of_facts_that_end(lake: tidelake.Lake, duck: Any) -> None:
    assert run(4, lake, duck, steps=15, ends=True).used


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2000, 2020))
def test_many_random_histories_of_facts_that_end(lake: tidelake.Lake, duck: Any, seed: int) -> None:
    run(seed, lake, duck, steps=40, ends=True)


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
