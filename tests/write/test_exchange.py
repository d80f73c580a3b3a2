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
    with lake.transaction() as tx:
        staged = tx.table("t")
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
        assert t.count() == 6_000
    assert len(merge) <= 8
    assert len(update) <= 3
