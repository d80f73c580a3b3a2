"""The change feed: laws, DuckDB's own, and what it reads."""

from datetime import date
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import tidelake
from tests.cases import every
from tests.history.feed import check_all, check_law, check_steps, events, snapshot_ids
from tests.history.growth import FLUSH, MERGE, REWRITE, grown, numbers, written
from tidelake.errors import Invalid, NotFound
from tidelake.history.values_diff import RowDifference
from tidelake.testing.place import Place

Duck = duckdb.DuckDBPyConnection


def theirs(duck: Duck, since: int, until: int) -> list[tuple[Any, ...]]:
    rows = duck.sql(
        "SELECT snapshot_id, rowid, change_type, id, v"
        f" FROM ducklake_table_changes('lake', 'main', 't', {since + 1}, {until})"
    ).fetchall()
    return sorted((at, row_id, kind, repr(tuple(rest))) for at, row_id, kind, *rest in rows)


@pytest.mark.slow
def test_as_duckdb_tells_them(lake: tidelake.Lake, duck: Duck) -> None:
    written(lake)
    ids = snapshot_ids(lake)
    for since in ids[::3]:
        for until in ids[1::2]:
            if since < until:
                ours = sorted(events(lake.table("t").changes(since, until)))
                assert ours == theirs(duck, since, until), (since, until)
    check_steps(lake)


@pytest.mark.slow
def test_as_duckdb_tells_them_of_merged_files(lake: tidelake.Lake, duck: Duck) -> None:
    t = lake.create_table("t", "id BIGINT, v VARCHAR")
    for start in range(0, 90, 30):
        t.append(numbers(start, start + 30))
    duck.execute(MERGE)
    t.append(numbers(200, 230))
    ids = snapshot_ids(lake)
    assert len(t.files()) == 2
    for since in ids:
        assert sorted(events(t.changes(since))) == (
            theirs(duck, since, ids[-1]) if since < ids[-1] else []
        )
    t.delete("id % 2 = 0")  # DuckDB would show the rows as updated when they were inserted
    check_all(lake)


@pytest.mark.slow
@pytest.mark.parametrize(
    "steps",
    every(3, [[FLUSH, MERGE, REWRITE, MERGE], [MERGE, REWRITE, FLUSH, MERGE], [REWRITE, MERGE]]),
)
def test_maintenance_by_duckdb_is_not_seen(
    lake: tidelake.Lake, duck: Duck, steps: list[str]
) -> None:
    written(lake)
    ids = snapshot_ids(lake)
    before = events(lake.table("t").changes(ids[0], ids[-1]))
    for step in steps:
        duck.execute(step)
        assert events(lake.table("t").changes(ids[0])) == before
    check_steps(lake)
    lake.table("t").update({"v": "'after'"}, where="id > 20")
    lake.table("t").delete("id = 26")
    for step in steps:
        duck.execute(step)
    check_steps(lake)


@pytest.mark.slow
def test_columns_that_come_go_and_change(lake: tidelake.Lake, duck: Duck) -> None:
    t = lake.create_table("t", "id INTEGER, v VARCHAR, s STRUCT(a INTEGER)")
    t.append(pa.table({"id": pa.array(range(20), pa.int32()), "v": ["x"] * 20}))
    t.append([{"id": 100, "v": "y", "s": {"a": 1}}])
    t.evolve(add={"n": "INTEGER DEFAULT 7"}, rename={"v": "w"}, widen={"id": "BIGINT"})
    t.update({"w": "'new'"}, where="id IN (1, 2, 100)")
    t.evolve(add={"s.b": "VARCHAR"})
    t.delete("id % 5 = 0")
    t.set_partitioning(["id"])
    t.append(pa.table({"id": pa.array(range(50, 70), pa.int64()), "w": ["z"] * 20}))
    t.evolve(drop="w")
    t.delete("id IN (60, 3)")
    t.evolve(add={"w": "INTEGER"})
    t.update({"w": "n"}, where="id > 10")
    for step in (FLUSH, MERGE, REWRITE):
        duck.execute(step)
    check_steps(lake)
    lake.rename("t", "u")
    lake.table("u").delete("id > 60")
    *before, last = snapshot_ids(lake, "u")
    for since in (None, *before):
        check_law(lake, since, last, "u")
    assert lake.table("u").changes().to_arrow().column_names[:4] == [
        "snapshot_id",
        "snapshot_time",
        "rowid",
        "change_type",
    ]


def test_a_type_that_became_narrower_again(lake: tidelake.Lake) -> None:
    t = lake.create_table("t", "id INTEGER, s STRUCT(a INTEGER)")
    t.append([{"id": n, "s": {"a": n}} for n in range(20)])
    then = t.snapshots()[-1].snapshot_id
    t.evolve(widen={"id": "BIGINT", "s.a": "BIGINT"})
    t.append([{"id": 2**40, "s": {"a": 2**40}}])
    wide = t.snapshots()[-1].snapshot_id
    t.rollback(to=then)
    assert t.schema.column("id").type == "int32"
    values = [change[-1] for change in events(t.changes())]
    assert f"({2**40}, {{'a': {2**40}}})" in values
    assert str(t.changes(until=then).to_arrow().schema.field("id").type) == "int32"
    assert t.diff(wide).counts.deleted == 1
    assert t.diff(then).counts == RowDifference()
    for since in (None, then):
        check_law(lake, since, snapshot_ids(lake)[-1])


@pytest.mark.parametrize("place", ["duckdb", "postgresql", "mariadb"], indirect=True)
def test_on_other_catalogs(place: Place, lake: tidelake.Lake) -> None:
    written(lake)
    t = lake.table("t")
    t.evolve(add={"n": "INTEGER DEFAULT 7"}, rename={"v": "w"})
    t.update({"n": 8}, where="id > 20")
    t.compact()
    t.delete("id IN (21, 22)")
    first, *_, last = snapshot_ids(lake)
    assert check_law(lake, None, last)
    assert check_law(lake, first + 3, last)
    assert t.diff(first + 3, last).counts


def test_a_table_with_the_feeds_own_names(lake: tidelake.Lake) -> None:
    t = lake.create_table("t", "snapshot_id INTEGER, ROWID VARCHAR, _rowid INTEGER")
    t.append([{"snapshot_id": 7, "ROWID": "x", "_rowid": 1}])
    t.update({"snapshot_id": 8})
    names = t.changes().to_arrow().column_names
    assert names == [
        "_snapshot_id",
        "snapshot_time",
        "__rowid",
        "change_type",
        "snapshot_id",
        "ROWID",
        "_rowid",
    ]
    found = t.changes(since=2).to_arrow().to_pylist()
    assert [(row["_snapshot_id"], row["__rowid"], row["snapshot_id"]) for row in found] == [
        (3, 0, 7),
        (3, 0, 8),
    ]
    check_all(lake)


def test_only_files_touched_in_between_are_read(lake: tidelake.Lake, duck: Duck) -> None:
    t = lake.create_table("t", "id BIGINT, v VARCHAR")
    for start in range(0, 400, 100):
        t.append(numbers(start, start + 100))
    t.delete("id BETWEEN 0 AND 20")
    files = {file.id: file.path for file in t.files()}
    one, two, three, four = files
    assert t.changes(since=2, until=3).files() == [
        file for file in t.changes(since=2, until=3).plan().came.files if file.id == two
    ]
    assert [file.id for file in t.changes(since=4, until=5).files()] == [four]
    assert [file.id for file in t.changes(since=5).files()] == [one]
    assert [file.id for file in t.changes(since=3).files()] == [one, three, four]
    assert t.changes(since=6).files() == []
    head = t.snapshots()[-1].snapshot_id
    duck.execute(REWRITE)
    assert t.changes(since=head).files() == []
    for path in (files[two], files[three], files[four]):
        with Path(path).open("r+b") as data:
            data.truncate(4)
    assert t.changes(since=5).count() == 21
    assert t.changes(since=1, until=2).count() == 100


@pytest.mark.slow
def test_deletes_in_cumulative_files_are_told_once(
    place: Place, lake: tidelake.Lake, duck: Duck
) -> None:
    """The specification's way, in which DuckDB's own feed repeats the first deletes."""
    t = lake.create_table("t", "id BIGINT, v VARCHAR")
    t.append(numbers(0, 50))
    t.delete("id < 20")
    (file,) = t.files()
    second = f"{place.data}/main/t/second.parquet"
    duckdb.sql(f"SELECT '{file.path}' AS file_path, range AS pos FROM range(30)").write_parquet(
        second
    )
    lake.create_schema("next")
    place.catalog("UPDATE ducklake_delete_file SET end_snapshot = 4")
    place.catalog(
        "INSERT INTO ducklake_delete_file SELECT 90, table_id, 4, NULL, data_file_id,"
        " 'second.parquet', 1, format, 30, 0, NULL, NULL, NULL FROM ducklake_delete_file"
    )
    place.catalog("UPDATE ducklake_snapshot SET next_file_id = 91 WHERE snapshot_id = 4")
    with place.open() as again:
        assert [row_id for _, row_id, _, _ in events(again.table("t").changes(3))] == list(
            range(20, 30)
        )
        check_all(again)


@pytest.mark.parametrize("merged", [False, True])
def test_what_a_transaction_of_duckdb_takes_back_is_not_told(
    lake: tidelake.Lake, duck: Duck, merged: bool
) -> None:
    """Its files have rows that nobody ever saw; DuckDB's own feed tells them as updated."""
    t = lake.create_table("t", "id BIGINT, v VARCHAR, ts DATE", key="id", event_time="ts")
    since = "DATE '2024-03-01'"
    duck.execute(f"INSERT INTO lake.t SELECT range, 'old', {since} FROM range(20)")
    first = snapshot_ids(lake)[-1]
    for start in (100, 200):
        duck.execute("BEGIN")
        duck.execute(f"INSERT INTO lake.t SELECT {start} + range, 'a', {since} FROM range(20)")
        duck.execute(f"DELETE FROM lake.t WHERE id IN ({start + 1}, {start // 100})")
        for value in "bc":
            duck.execute(f"UPDATE lake.t SET v = '{value}' WHERE id IN ({start + 2}, 4)")
        duck.execute("COMMIT")
    if merged:
        duck.execute(MERGE)
    t.delete("id = 103")
    check_all(lake)
    told = t.changes(first).to_dicts()
    came = [row["id"] for row in told if row["change_type"] == "insert"]
    assert sorted(came) == [n for n in (*range(100, 120), *range(200, 220)) if n % 100 != 1]
    assert {row["id"] for row in told if row["change_type"].startswith("update")} == {4}
    assert t.changes(first).count() == len(told)
    for key, versions in ((101, []), (102, ["c"]), (4, ["old", "c", "c"])):
        assert [row["v"] for row in t.history(key).to_dicts()] == versions
        assert [row["v"] for row in t.versions().to_dicts() if row["id"] == key] == versions
    left = [{"id": key, "ts": date(2024, 4, 1), "at": first + 1} for key in (101, 102)]
    joined = tidelake.asof_join(left, t, left_time="ts", known_at="at").to_dicts()
    assert [row["v"] for row in joined] == [None, "c"]


@pytest.mark.slow
def test_expired_snapshots_in_between(lake: tidelake.Lake, duck: Duck) -> None:
    t = lake.create_table("t", "id BIGINT, v VARCHAR")
    t.append(numbers(0, 40))
    t.delete("id < 20")
    duck.execute(REWRITE)
    rewrite = lake.snapshots()[-1].snapshot_id
    t.update({"v": "'u'"}, where="id < 30")
    t.delete("id = 39")
    update = rewrite + 1
    duck.execute(f"CALL ducklake_expire_snapshots('lake', versions => [{rewrite}, {update}])")
    found = check_law(lake, rewrite - 1, rewrite + 2)
    assert {at for at, *_ in found} == {update, rewrite + 2}
    times = t.changes(since=rewrite - 1).to_arrow().to_pylist()
    assert {row["snapshot_id"]: row["snapshot_time"] is None for row in times} == {
        update: True,
        rewrite + 2: False,
    }
    check_all(lake)
    with pytest.raises(NotFound) as caught:
        t.changes(since=rewrite).to_arrow()
    assert "since=None" in (caught.value.hint or "")
    duck.execute("CALL ducklake_expire_snapshots('lake', versions => [0, 1, 2, 3])")
    check_all(lake)
    assert t.changes().count() == t.count() == 19


def test_between_a_tag_and_the_present(lake: tidelake.Lake) -> None:
    """Rows were updated, their old file was rewritten, the new one merged, and all snapshots of
    it are gone: the update is still before the end of the file."""
    t = lake.create_table("t", "id BIGINT, v VARCHAR")
    t.append(numbers(0, 30))
    lake.tag("then")
    t.append(numbers(30, 60))
    at = t.update({"v": "'b'"}, where="id BETWEEN 5 AND 38").snapshot_id
    t.delete("id % 5 = 1")
    t.compact()
    lake.expire(keep_last=1)
    (then, now) = snapshot_ids(lake)
    for since in (None, then):
        found = check_law(lake, since, now)
        assert {kind for when, row, kind, _ in found if row == 5 and when == at} == {
            "update_preimage",
            "update_postimage",
        }
    assert t.diff(then, now).counts == RowDifference(24, 20, 6)


def test_a_table_that_took_anothers_name(lake: tidelake.Lake) -> None:
    lake.create_table("t", "id BIGINT, v VARCHAR").append(numbers(0, 30))
    lake.drop("t")
    t = lake.create_table("t", "id BIGINT")
    t.append([{"id": 1}])
    with pytest.raises(NotFound, match="another table") as caught:
        t.changes(since=2).to_arrow()
    assert "since=None" in (caught.value.hint or "")
    assert len(events(t.changes())) == 1
    assert len(events(t.changes(since=3))) == 1
    lake.create_table("v", "id BIGINT").append([{"id": 5}])
    head = lake.snapshots()[-1].snapshot_id
    lake.drop("t")
    lake.rename("v", "t")
    t.append([{"id": 6}])
    assert [values for *_, values in events(lake.table("t").changes(since=head))] == ["(6,)"]


def test_windows(lake: tidelake.Lake) -> None:
    t = lake.create_table("t", "id BIGINT, v VARCHAR")
    for number in range(4):
        t.append(numbers(number, number + 1))
    lake.tag("middle", 3)
    assert t.changes(since=3, until=3).to_arrow().num_rows == 0
    assert [at for at, *_ in events(t.changes(since="middle"))] == [4, 5]
    middle = lake.snapshots()[3].time
    assert [at for at, *_ in events(t.changes(since=2, until=middle))] == [3]
    assert [at for at, *_ in events(t.known_at(4).changes(since=2))] == [3, 4]
    assert t.changes(since=1).count() == 4
    batches = t.changes(since=1).to_batches(2)
    assert batches.read_all().num_rows == 4
    assert t.changes(since=1).to_duckdb().aggregate("count(*)").fetchall() == [(4,)]
    assert list(t.changes(since=3).to_pandas()["id"]) == [2, 3]
    assert t.changes(since=3).to_polars()["change_type"].to_list() == ["insert"] * 2
    some = t.changes(columns=["ID"], where="rowid >= 2").to_arrow()
    assert some.column_names[4:] == ["id"]
    assert some["id"].to_pylist() == [2, 3]
    with pytest.raises(Invalid) as caught:
        t.changes(since=4, until=2).to_arrow()
    assert caught.value.hint
    with pytest.raises(NotFound):
        t.changes(columns=["nothing"]).to_arrow()
    with pytest.raises(NotFound):
        t.changes(until=99).to_arrow()


@pytest.mark.parametrize("seed", range(4))
def test_random_histories(lake: tidelake.Lake, duck: Duck, seed: int) -> None:
    chosen = grown(lake, duck, Random(seed), 14)
    print(chosen)
    check_steps(lake)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 160))
def test_more_random_histories(lake: tidelake.Lake, duck: Duck, seed: int) -> None:
    chosen = grown(lake, duck, Random(seed), 25)
    print(chosen)
    check_all(lake)


def test_rows_of_which_only_a_rewrite_is_left(lake: tidelake.Lake) -> None:
    """They came after the tag, into a file that was rewritten and is gone: the rewrite moved
    them, and is all that can tell that they are new."""
    t = lake.create_table("t", "id BIGINT, v VARCHAR")
    lake.tag("then")
    t.append(numbers(0, 30))
    t.delete("id < 20")
    t.compact()
    lake.expire(keep_last=1)
    (then, now) = snapshot_ids(lake)
    found = check_law(lake, then, now)
    assert [(when, row, kind) for when, row, kind, _ in found] == [
        (now, row, "insert") for row in range(20, 30)
    ]
    assert t.diff(then, now).counts == RowDifference(10, 0, 0)
    t.delete("id < 25")
    check_all(lake)


def test_rows_that_a_rollback_took_after_their_snapshots_had_gone(lake: tidelake.Lake) -> None:
    t = lake.create_table("t", "id BIGINT, v VARCHAR")
    lake.tag("then")
    t.append(numbers(0, 30))
    t.delete("id < 20")
    t.compact()
    rewrite = snapshot_ids(lake)[-1]
    t.append(numbers(30, 33))
    t.rollback("then")
    lake.expire(keep_last=len(snapshot_ids(lake)) - snapshot_ids(lake).index(rewrite))
    assert snapshot_ids(lake)[1] == rewrite
    check_all(lake)
