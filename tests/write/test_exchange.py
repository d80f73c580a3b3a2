"""Writes that take rows away and bring others: on Spark a single task writes all files of it, if
they are few, and the rows are what they are on the local engine."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tidelake
from tidelake.testing import canonical
from tidelake.testing.place import Place

pytestmark = pytest.mark.spark

DDL = (
    "id BIGINT, g INTEGER, s VARCHAR, v DOUBLE,"
    ' "odd.one" STRUCT("a b" BIGINT, c VARCHAR[]), ts TIMESTAMP'
)
_APPENDS = 5
"""After so many snapshots the table has all of its first rows."""
TABLES: dict[str, dict[str, Any]] = {
    "plain": {},
    "partitioned": {"partition_by": ["g"]},
    "sorted": {"sort_by": ["s DESC"]},
    "facts": {"key": ["id"], "event_time": "ts"},
    "series": {"event_time": "ts", "entity": ["g"], "bucket": "1 minute"},
}


def rows(ids: Any, sign: int = 1) -> pa.Table:
    ids = list(ids)
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "g": pa.array([n % 3 for n in ids], pa.int32()),
            "s": [None if n % 7 == 0 else f"s{n % 50}" for n in ids],
            "v": [sign * (float("nan") if n % 11 == 0 else n / 4) for n in ids],
            "odd.one": [None if n % 5 == 0 else {"a b": n, "c": [f"{n}"]} for n in ids],
            "ts": pa.array([1_700_000_000_000_000 + n * 10**6 for n in ids], pa.timestamp("us")),
        }
    )


def write(lake: tidelake.Lake, **options: Any) -> None:
    """Files that lose some rows, all of them, a few, and some once more."""
    t = lake.create_table("t", DDL, **options)
    for first in range(0, 400, 100):
        t.append(rows(range(first, first + 100)))
    t.merge(rows(range(150, 450), -1), on="id")
    t.merge(rows([*range(40), *range(500, 530)], -2), on=["id"])
    found = rows(range(30, 330, 2), 9)
    found = found.append_column("gone", pa.array([True, False] * (len(found) // 2)))
    (
        t.merge_builder(found, on="id")
        .when_matched_delete(condition="source.gone AND target.id % 3 = 0")
        .when_matched_update({"v": "target.v + source.v", "s": "'m'"}, condition="target.g < 2")
        .when_not_matched_insert(condition="source.id > 310")
        .execute()
    )
    t.merge(rows([*range(60, 80), 1001, 1002, 1003], 4), on="id")
    t.merge(rows([*range(77, 80), *range(1000, 1030)], 5), on="id")
    (
        t.merge_builder(rows(range(190, 212), 6), on="id")
        .when_matched_delete(condition="target.id IN (199, 200)")
        .execute()
    )
    t.update({"v": "v * 2", "s": "coalesce(s, 'was null')"}, where="id % 3 = 0")
    t.update({"s": "'some'"}, where="id < 103")
    t.update({"s": "'one'"}, where="id = 7")
    t.append(rows(range(2_000, 2_050)))
    t.delete("id % 13 = 5")
    t.delete("id BETWEEN 2000 AND 2099")
    t.delete("id = 8 OR id = 501")
    t.append(rows(range(2_100, 2_103)))
    t.delete("id IN (2101, 9, 12)")
    t.update({"s": "'catalog too'"}, where="id = 2102 OR id % 17 = 4")
    t.delete("id = -1")
    t.update({"s": "'none'"}, where="id = -1")
    with lake.transaction() as tx:
        staged = tx.table("t")
        staged.delete("id IN (301, 302)")
        staged.delete("id IN (303, 304) OR id = 601")
        staged.delete("id % 19 = 1 AND id < 350")
        staged.delete("id IN (310, 311)")
        staged.update({"s": "'zeroth'"}, where="id % 5 = 1")
        staged.update({"s": "'first'"}, where="id % 5 = 0")
        staged.update({"s": "'second'"}, where="id % 10 = 0")
        staged.merge(rows(range(300, 700, 5), 3), on="id")


def ids(lake: tidelake.Lake) -> dict[int, int]:
    """Of the rows that were appended."""
    found = lake.table("t").scan(columns=["id", "rowid"], where="id < 400").to_arrow()
    return dict(zip(*found.to_pydict().values(), strict=True))


def layout(lake: tidelake.Lake) -> list[tuple[int, int, int]]:
    """Of each file its rows, and how many are gone as delete files and as the catalog say."""
    return sorted(
        (file.rows, sum(delete.rows for delete in file.deletes), len(file.deleted_positions))
        for file in lake.table("t").files()
    )


@pytest.mark.parametrize("options", TABLES.values(), ids=TABLES)
def test_the_rows_are_those_of_the_local_engine(
    tmp_path: Path, spark: Any, options: dict[str, Any]
) -> None:
    agree(tmp_path, spark, options)


@pytest.mark.slow
def test_the_rows_are_the_same_over_connect(tmp_path: Path, spark_connect: Any) -> None:
    agree(tmp_path, spark_connect, {})


def agree(tmp_path: Path, spark: Any, options: dict[str, Any]) -> None:
    """Both engines write the same, snapshot by snapshot."""
    here, there = (Place.at("sqlite", tmp_path / name) for name in ("here", "there"))
    with here.open() as lake:
        write(lake, **options)
        numbers = [each.snapshot_id for each in lake.snapshots()]
    with there.open(engine="spark", spark=spark) as lake:
        write(lake, **options)
    with here.open() as one, there.open() as other:
        assert [each.snapshot_id for each in other.snapshots()] == numbers
        first = [ids(lake.known_at(numbers[_APPENDS])) for lake in (one, other)]
        for number in numbers[_APPENDS:]:
            ours, theirs = (lake.known_at(number) for lake in (one, other))
            found = [canonical.rows(each.table("t").to_arrow()) for each in (ours, theirs)]
            assert found[0] == found[1], number
            lasting = {k for k, row_id in ids(ours).items() if first[0].get(k) == row_id}
            assert lasting == {k for k, n in ids(theirs).items() if first[1].get(k) == n}, number
            if not options:
                assert layout(ours) == layout(theirs), number
        assert other.verify(deep=True).ok


@contextmanager
def jobs(spark: Any, name: str) -> Iterator[list[int]]:
    """The jobs that Spark runs meanwhile."""
    found: list[int] = []
    context = spark.sparkContext
    context.setLocalProperty("spark.jobGroup.id", name)
    try:
        yield found
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)
        found += context.statusTracker().getJobIdsForGroup(name)


def test_few_jobs_are_run(tmp_path: Path, spark: Any) -> None:
    with Place.at("sqlite", tmp_path / "lake").open(engine="spark", spark=spark) as lake:
        t = lake.create_table("t", DDL)
        t.append(rows(range(5_000)))
        frame = spark.createDataFrame(rows(range(4_000, 6_000)))
        with jobs(spark, "merge") as merge:
            assert t.merge(frame, on="id").rows == 2_000
        with jobs(spark, "update") as update:
            assert t.update({"v": "v + 1"}, where="id % 10 = 3").updated == 600
        with jobs(spark, "delete") as delete:
            assert t.delete("id % 10 = 4").deleted == 600
        with jobs(spark, "nothing") as nothing:
            assert t.delete("id % 10 = 4").deleted == 0
        assert t.count() == 5_400
    assert len(merge) <= 8
    assert len(update) == len(delete) == len(nothing) == 1


def test_what_is_too_much_for_one_task_is_done_by_many(tmp_path: Path, spark: Any) -> None:
    """The same rows, whether the first task takes them or gives up."""
    with Place.at("sqlite", tmp_path / "lake").open(engine="spark", spark=spark) as lake:
        lake.set_option("parquet_row_group_size", 5)
        t = lake.create_table("t", DDL)
        for first in range(0, 800, 400):
            t.append(rows(range(first, first + 400)))
        assert t.delete("id % 2 = 0").deleted == 400
        t.rollback(to=lake.snapshots()[-2].snapshot_id)
        assert t.delete("id < 321").deleted == 321
        assert t.update({"s": "'many'"}, where="id < 364").updated == 43
        assert t.update({"s": "'few'"}, where="id BETWEEN 350 AND 379").updated == 30
        assert t.count() == 479
        assert t.scan(where="s = 'many'").count() == 29
        assert t.scan(where="s = 'few'").count() == 30
        assert lake.verify(deep=True).ok


def test_tasks_that_each_see_some_files(tmp_path: Path, spark: Any) -> None:
    """What each leaves for the catalog is few for all of them together, else in delete files."""
    here, there = (Place.at("sqlite", tmp_path / name) for name in ("here", "there"))
    for place in (here, there):
        with place.open() as lake:
            t = lake.create_table("t", DDL)
            for first in range(0, 800, 20):
                t.append(rows(range(first, first + 20)))
            t.append(rows(range(900, 903)))
    ways = (here.open(), there.open(engine="spark", spark=spark))
    for where, count in {
        "id IN (1, 2, 799)": 3,
        "id % 20 = 3 AND (id < 160 OR id >= 640 OR id = 901)": 16,
        "id % 20 = 4 OR id = 902": 41,
        "id BETWEEN 30 AND 790": 709,
    }.items():
        assert [lake.table("t").delete(where).deleted for lake in ways] == [count, count]
        left = [canonical.rows(lake.table("t").to_arrow()) for lake in ways]
        assert left[0] == left[1]
        assert layout(ways[0]) == layout(ways[1]), where
    assert ways[1].verify(deep=True).ok
    for lake in ways:
        lake.close()


def in_many_files(tmp_path: Path, **options: Any) -> tuple[Place, Place]:
    """Two tables alike, of more files than one task reads."""
    here, there = (Place.at("sqlite", tmp_path / name) for name in ("here", "there"))
    for place in (here, there):
        with place.open() as lake:
            t = lake.create_table("t", DDL, **options)
            for first in range(0, 800, 20):
                t.append(rows(range(first, first + 20)))
            t.append(rows(range(900, 903)))
    return here, there


@pytest.mark.parametrize("options", TABLES.values(), ids=TABLES)
def test_updates_by_tasks_that_each_see_some_files(
    tmp_path: Path, spark: Any, options: dict[str, Any]
) -> None:
    """Few rows of them all together are for the catalog, more are in one file, many in several."""
    here, there = in_many_files(tmp_path, **options)
    ways = (here.open(), there.open(engine="spark", spark=spark))
    before = ids(ways[1])
    for group_rows, where, count in [
        (1_000, "id IN (1, 2, 799, 901)", 4),
        (1_000, "id % 40 = 3", 20),
        (1_000, "id = 5 OR id > 900", 3),
        (1_000, "id = -1", 0),
        (50, "id % 2 = 1 OR id = 6", 402),
        (1_000, "true", 803),
    ]:
        found = []
        for lake in ways:
            lake.set_option("parquet_row_group_size", group_rows)
            found.append(lake.table("t").update({"v": "v + 1", "s": "s || '!'"}, where=where))
        assert [each.updated for each in found] == [count, count]
        left = [canonical.rows(lake.table("t").to_arrow()) for lake in ways]
        assert left[0] == left[1], where
        assert ids(ways[1]) == before
        if not options and count < 100:
            assert layout(ways[0]) == layout(ways[1]), where
    assert ways[1].verify(deep=True).ok
    assert not ways[1].cleanup(older_than="0 seconds", dry_run=True).orphans
    for lake in ways:
        lake.close()


def test_an_update_of_many_files_is_one_job(tmp_path: Path, spark: Any) -> None:
    """Two more put together what is little of each task: positions, and rows."""
    _, there = in_many_files(tmp_path)
    with there.open(engine="spark", spark=spark) as lake:
        lake.set_option("parquet_row_group_size", 200)
        t = lake.table("t")
        with jobs(spark, "many") as many:
            assert t.update({"v": "v + 1"}, where="id % 2 = 0").updated == 402
        with jobs(spark, "few") as few:
            assert t.update({"v": "v + 1"}, where="id % 40 = 3").updated == 20
        assert max(file.rows for file in t.files()) < 402
    assert (len(many), len(few)) == (1, 3)


def test_if_one_of_several_tasks_fails_all_take_their_files_back(
    tmp_path: Path, spark: Any
) -> None:
    """One has written its files before, or after."""
    _, there = in_many_files(tmp_path)
    with there.open(engine="spark", spark=spark) as lake:
        lake.set_option("data_inlining_row_limit", 0)
        for bad in (5, 795):
            number = f"CAST(CASE WHEN id = {bad} THEN 'no number' ELSE '1' END AS INTEGER)"
            with there.refuses(match="no number"):
                lake.table("t").delete(f"id % 10 = {number}")
            with there.refuses(match="no number"):
                lake.table("t").update({"g": number}, where="id % 10 <> 7")
        assert lake.table("t").delete("id % 10 = 1").deleted == 81


def test_a_task_that_fails_leaves_no_files(tmp_path: Path, spark: Any) -> None:
    """By then it has written those of what is deleted."""
    place = Place.at("sqlite", tmp_path / "lake")
    with place.open(engine="spark", spark=spark) as lake:
        t = lake.create_table("t", "id BIGINT, n INTEGER NOT NULL")
        t.append({"id": n, "n": n} for n in range(100))
        emptied = {"n": "CASE WHEN target.id = 77 THEN NULL ELSE 1 END"}
        merge = t.merge_builder(rows(range(50, 150)).select(["id"]), on="id")
        with place.refuses(match="may not be null"):
            t.update({"n": "CASE WHEN id = 77 THEN NULL ELSE n END"}, where="id > 20")
        with place.refuses(match="may not be null"):
            merge.when_matched_update(emptied).execute()


def test_a_struct_with_odd_names_becomes_null(tmp_path: Path, spark: Any) -> None:
    """Of such a NULL Spark has to be told the type."""
    found = []
    for name, engine in {"here": {}, "there": {"engine": "spark", "spark": spark}}.items():
        with Place.at("sqlite", tmp_path / name).open(**engine) as lake:
            t = lake.create_table("t", DDL)
            t.append(rows(range(60)))
            merge = t.merge_builder(rows(range(40, 80)), on="id")
            emptied = merge.when_not_matched_by_source_update(
                {"odd.one": "NULL"}, condition="target.id % 3 = 0"
            )
            assert emptied.when_matched_update().execute().updated == 34
            found.append(canonical.rows(t.scan().to_arrow()))
    assert found[0] == found[1]


def test_rows_of_the_same_transaction_change_by_any_expression(tmp_path: Path, spark: Any) -> None:
    """Those of which Spark knows nothing too."""
    with Place.at("sqlite", tmp_path / "lake").open(engine="spark", spark=spark) as lake:
        lake.set_option("data_inlining_row_limit", 0)
        t = lake.create_table("t", DDL)
        t.append(rows(range(30)))
        with lake.transaction() as tx:
            staged = tx.table("t")
            staged.append(rows(range(30, 60)))
            moment = "TIMESTAMP '2024-01-01 00:00:00'"
            staged.update({"s": "upper(list_sort([s, 'z'])[1])", "ts": moment}, where="id % 7 = 0")
            merge = staged.merge_builder(rows(range(50, 70)), on="id")
            merge.when_matched_update({"ts": moment, "v": "list_sum([target.g, 1])"}).execute()
        assert t.scan(where=f"ts = {moment}").count() == 18
        assert t.scan(where="v = g + 1 AND id >= 50").count() == 10
