"""Back to an earlier snapshot: rows, ids and columns as they were, and the past as it is."""

from collections.abc import Callable
from typing import Any

import duckdb
import pytest

import tidelake
from tests.history.states import state
from tidelake.errors import Denied, Invalid, NotFound
from tidelake.testing.place import Place

Agree = Callable[[], None]


def numbers(start: int, end: int) -> list[dict[str, Any]]:
    return [{"id": n, "v": f"v{n}"} for n in range(start, end)]


@pytest.mark.parametrize("place", ["sqlite", "duckdb", "postgresql", "mariadb"], indirect=True)
def test_rows_and_columns_come_back(lake: tidelake.Lake, place: Place, request: Any) -> None:
    t = lake.create_table("t", "id BIGINT, v VARCHAR, x DOUBLE")
    t.append([{"id": n, "v": f"v{n}", "x": n / 2} for n in range(30)])
    then = t.append([{"id": 100, "v": "few", "x": -0.0}]).snapshot_id
    before = state(t)
    t.append([{"id": n} for n in range(200, 230)])
    t.update({"x": "0.0"}, where="id = 100")
    t.delete("id < 10")
    t.evolve(drop=["v"])
    t.append([{"id": 500}])
    t.evolve(add={"v": "int64"})
    t.update({"v": "7"}, where="id = 500 OR id = 11")
    after = state(t)
    head = lake.snapshots()[-1].snapshot_id
    done = t.rollback(to=then)
    assert (done.snapshot_id, done.inserted, done.updated, done.deleted) == (head + 1, 10, 2, 31)
    assert state(t) == before
    assert state(t.known_at(head)) == after
    if place.kind in ("sqlite", "postgresql"):
        request.getfixturevalue("agree")()


def test_what_was_only_added_is_not_read(lake: tidelake.Lake, agree: Agree) -> None:
    t = lake.create_table("t", "id BIGINT, v VARCHAR")
    then = t.append(numbers(0, 50)).snapshot_id
    kept = {file.path for file in t.files()}
    t.append(numbers(50, 100))
    lake.session.local.store.delete([file.path for file in t.files() if file.path not in kept])
    done = t.rollback(to=then)
    assert (done.files, done.deleted, done.inserted) == (0, 50, 0)
    assert {file.path for file in t.files()} == kept
    assert t.count() == 50


def test_nothing_to_do_makes_no_snapshot(lake: tidelake.Lake) -> None:
    t = lake.create_table("t", "id BIGINT, v VARCHAR")
    head = t.append(numbers(0, 3)).snapshot_id
    assert t.rollback(to=head).snapshot_id == head
    assert lake.snapshots()[-1].snapshot_id == head


def test_an_overwritten_table(lake: tidelake.Lake, agree: Agree) -> None:
    t = lake.create_table("t", "id BIGINT, v VARCHAR")
    then = t.append(numbers(0, 50)).snapshot_id
    before = state(t)
    t.overwrite(numbers(1000, 1040))
    done = t.rollback(to=then)
    assert (done.inserted, done.deleted) == (50, 40)
    assert state(t) == before
    agree()


def test_types_become_narrow_again(lake: tidelake.Lake, agree: Agree) -> None:
    t = lake.create_table("t", "id INTEGER, l INTEGER[]")
    t.append([{"id": n, "l": [n]} for n in range(20)])
    then = t.append([{"id": 99, "l": None}]).snapshot_id
    before = state(t)
    t.evolve(widen={"id": "int64", "l.element": "int64"})
    t.append([{"id": 2**40 + n, "l": [2**40]} for n in range(20)])
    t.rollback(to=then)
    assert [column.duckdb_type for column in t.schema] == ["INTEGER", "INTEGER[]"]
    assert state(t) == before
    t.append([{"id": 5, "l": [1, 2]}])
    agree()


@pytest.mark.slow
@pytest.mark.parametrize("count", [0, 30])
def test_files_with_wider_values_end_though_rows_of_them_are_deleted(
    lake: tidelake.Lake, agree: Agree, count: int
) -> None:
    """With all of their rows deleted they would be read by the narrow type, and could not be."""
    t = lake.create_table("t", "id INTEGER, v VARCHAR")
    t.append(numbers(0, count))
    then = lake.snapshots()[-1].snapshot_id
    before = state(t)
    t.evolve(widen={"id": "int64"})
    far = [1 << 40 | n for n in range(30)]
    t.append([{"id": n, "v": "far"} for n in far])
    t.delete("id % 7 = 3")
    left = t.rollback(to=then).snapshot_id
    assert state(t) == before
    assert lake.verify(deep=True).ok
    assert t.compact().actions == ()
    told = t.changes(left - 1, left).to_arrow()["change_type"].to_pylist()
    assert told.count("delete") == sum(n % 7 != 3 for n in far)
    agree()


@pytest.mark.parametrize(
    ("narrow", "wide", "value"),
    [
        ("INTEGER", "BIGINT", "1099511627776"),
        ("DECIMAL(9,2)", "DECIMAL(38,10)", "-9999999999999999999999999999.9999999999"),
    ],
)
def test_values_that_went_with_a_wider_type(
    lake: tidelake.Lake, narrow: str, wide: str, value: str
) -> None:
    """They are still in files, which compaction has made, and do not get in the way."""
    t = lake.create_table("t", f"id INTEGER, v {narrow}")
    t.append([{"id": n, "v": 1} for n in range(5)])
    then = lake.snapshots()[-1].snapshot_id
    t.evolve(widen={"v": wide})
    lake.sql(f"INSERT INTO t VALUES (10, {value}), (11, {value})")
    t.rollback(to=then)
    t.append([{"id": 7, "v": 1}])
    known = {s.snapshot_id: state(t.known_at(s.snapshot_id)) for s in t.snapshots()}
    t.compact()
    assert {at: state(t.known_at(at)) for at in known} == known
    assert t.scan(where="v = 1").count() == 6


def test_seconds_that_were_milliseconds_for_a_while(lake: tidelake.Lake) -> None:
    """DuckDB has no cast back, so that each value goes another way in merged files."""
    t = lake.create_table("t", "id INTEGER, v TIMESTAMP_S")
    t.append([{"id": n, "v": f"2024-01-01 00:00:{n:02d}"} for n in range(5)])
    then = lake.snapshots()[-1].snapshot_id
    t.evolve(widen={"v": "timestamp_ms"})
    t.append([{"id": n, "v": "2024-01-01 00:00:00.123"} for n in range(10, 12)])
    t.rollback(to=then)
    t.append([{"id": 7, "v": "2024-01-02 00:00:00"}])
    known = {s.snapshot_id: state(t.known_at(s.snapshot_id)) for s in t.snapshots()}
    assert t.compact().rows_flushed
    assert {at: state(t.known_at(at)) for at in known} == known


def test_layout_and_settings_come_back(lake: tidelake.Lake, agree: Agree) -> None:
    t = lake.create_table(
        "t",
        "id BIGINT, day DATE, v VARCHAR",
        partition_by=["bucket(3, id)"],
        sort_by=["v"],
        comment="first",
        key="id",
        event_time="day",
    )
    rows = [{"id": n, "day": f"2024-01-{n + 1:02}", "v": f"v{n}"} for n in range(20)]
    then = t.append(rows).snapshot_id
    info, before = t.info, state(t)
    t.set_partitioning([])
    t.set_sorting(["id"])
    t.set_comment("second")
    t.append([{"id": n, "day": "2025-01-01", "v": "w"} for n in range(50, 70)])
    t.rollback(to=then)
    assert t.partitioning is not None
    assert info.partitioning is not None
    assert t.partitioning.keys == info.partitioning.keys
    assert (t.sorting, t.tags, state(t)) == (info.sorting, info.tags, before)
    agree()


@pytest.mark.slow
@pytest.mark.parametrize(
    "call",
    [
        "ducklake_merge_adjacent_files('lake')",
        "ducklake_rewrite_data_files('lake', delete_threshold => 0.01)",
        "ducklake_flush_inlined_data('lake')",
    ],
)
def test_across_maintenance(
    call: str, lake: tidelake.Lake, duck: duckdb.DuckDBPyConnection, agree: Agree
) -> None:
    t = lake.create_table("t", "id BIGINT, v VARCHAR")
    t.append(numbers(0, 20))
    t.append(numbers(20, 40))
    t.append(numbers(40, 42))
    then = t.delete("id % 3 = 0").snapshot_id
    before = state(t)
    t.append(numbers(50, 70))
    t.delete("id = 41 OR id = 50")
    duck.execute(f"CALL {call}")
    t.update({"v": "'x'"}, where="id % 5 = 0")
    done = t.rollback(to=then)
    assert done.updated == 6
    assert state(t) == before
    agree()


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("upkeep", [None, "merge_adjacent_files", "rewrite_data_files"])
def test_on_spark(
    upkeep: str | None, place: Place, duck: duckdb.DuckDBPyConnection, agree: Agree, spark: Any
) -> None:
    """Rows that files have lost, rows that were updated, files that came and files that went; and
    once a file that holds rows of then and of later."""
    with place.open(engine="spark", spark=spark) as lake:
        t = lake.create_table("t", "id BIGINT, v VARCHAR")
        t.append(numbers(0, 40))
        then = t.delete("id % 3 = 0").snapshot_id
        before = state(t)
        t.append(numbers(100, 130))
        t.merge([{"id": n, "v": "merged"} for n in range(10, 35)], on="id")
        t.delete("id % 7 = 1")
        if upkeep:
            threshold = ", delete_threshold => 0.01" if upkeep.startswith("rewrite") else ""
            duck.execute(f"CALL ducklake_{upkeep}('lake'{threshold})")
        after, head = state(t), lake.snapshots()[-1].snapshot_id
        done = t.rollback(to=then)
        assert done.inserted - done.deleted == len(before) - len(after)
        assert state(t) == before
        assert state(t.known_at(head)) == after
        assert t.rollback(to=head).snapshot_id == done.snapshot_id + 1
        assert state(t) == after
    agree()


@pytest.mark.slow
@pytest.mark.parametrize("limit", [0, 50])
def test_after_deletes_of_the_same_transaction(
    lake: tidelake.Lake, agree: Agree, limit: int
) -> None:
    lake.set_option("data_inlining_row_limit", limit)
    t = lake.create_table("t", "id BIGINT, v VARCHAR")
    t.append(numbers(0, 100))
    then = t.delete("id < 5").snapshot_id
    before = state(t)
    t.delete("id > 90")
    with lake.transaction() as tx:
        x = tx.table("t")
        x.delete("id % 3 = 0")
        x.update({"v": "'x'"}, where="id % 7 = 1")
        x.rollback(to=then)
    assert state(t) == before
    agree()


def test_a_renamed_table_keeps_its_name(lake: tidelake.Lake, agree: Agree) -> None:
    t = lake.create_table("t", "id BIGINT, v VARCHAR")
    then = t.append(numbers(0, 3)).snapshot_id
    lake.rename("t", "u")
    lake.table("u").append(numbers(3, 6))
    lake.table("u").rollback(to=then)
    assert lake.tables() == ["main.u"]
    assert lake.table("u").count() == 3
    agree()


def test_several_tables_in_one_commit(lake: tidelake.Lake, agree: Agree) -> None:
    for name in ("a", "b"):
        then = lake.create_table(name, "id BIGINT, v VARCHAR").append(numbers(0, 20)).snapshot_id
    for name in ("a", "b"):
        lake.table(name).delete("id > 3")
    with lake.transaction() as tx:
        tx.table("a").append(numbers(100, 120))
        for name in ("a", "b"):
            tx.table(name).rollback(to=then)
        tx.table("b").append(numbers(200, 201))
        assert (tx.table("a").count(), tx.table("b").count()) == (20, 21)
    assert (lake.table("a").count(), lake.table("b").count()) == (20, 21)
    agree()


def test_refusals(lake: tidelake.Lake) -> None:
    t = lake.create_table("t", "id BIGINT, v VARCHAR")
    head = t.append(numbers(0, 3)).snapshot_id
    with pytest.raises(NotFound, match="no snapshot 99"):
        t.rollback(to=99)
    with pytest.raises(NotFound, match="not there at snapshot 0"):
        t.rollback(to=0)
    with pytest.raises(NotFound, match="neither"):
        t.rollback(to="some day")
    with pytest.raises(Denied):
        t.known_at(head).rollback(to=head)
    with pytest.raises(Invalid, match="no past"), lake.transaction() as tx:  # noqa: PT012
        tx.create_table("new", "id BIGINT")
        tx.table("new").rollback(to=head)
    assert lake.snapshots()[-1].snapshot_id == head
