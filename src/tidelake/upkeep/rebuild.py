"""The same rows in other files: what compaction does with data, piece by piece.

A piece needs nothing but itself, so pieces run in this process one after the other, or on the
executors of Spark.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tidelake.engine.parquet.delete_files import write_dated
from tidelake.engine.parquet.deletions import DELETED_AT, deletions_sql
from tidelake.engine.parquet.writer import ROW_ID_NAME, SNAPSHOT_NAME, write_files
from tidelake.errors import Corrupt
from tidelake.model.change import NewDeleteFile, NewFile, RebuiltFiles
from tidelake.model.names import quote, text_literal
from tidelake.model.schema import (
    ROW_BEGAN,
    ROW_FILE,
    ROW_ID_FIELD,
    ROW_NUMBER,
    ROW_POSITION,
    ROW_SNAPSHOT_FIELD,
    Column,
)
from tidelake.model.table import SortKey
from tidelake.plan.expression import sort_sql
from tidelake.plan.partitioning.sql import allow_keys, key_sql
from tidelake.plan.scan import ScanPlan
from tidelake.plan.target import Target
from tidelake.store.files import is_local, local_path
from tidelake.upkeep.rebuild_task import Carry, Gather, Rebuild, Rewrite

if TYPE_CHECKING:
    from tidelake.engine.local.workbench import Workbench

_GONE = "gone_rows"
_UNSEEN = "unseen_rows"
_POINTERS = (ROW_FILE, ROW_POSITION, ROW_NUMBER, ROW_BEGAN)


def rebuild(work: Workbench, task: Rebuild) -> RebuiltFiles:
    """Do one piece. Requires: the workbench is used for nothing else before or after."""
    work.reach([task.target.path])
    if isinstance(task, Carry):
        return _carried(work, task)
    if isinstance(task, Rewrite):
        files = write_files(work, work.scan(task.plan), task.target, carries_row_ids=True)
        return RebuiltFiles(files, (None,) * len(files))
    return RebuiltFiles((), (_gathered(work, task),))


def _gathered(work: Workbench, task: Gather) -> NewDeleteFile | None:
    found = deletions_sql(work, [task.file])
    rows = f"SELECT {ROW_POSITION} AS pos, {DELETED_AT} FROM ({found})"
    made = write_dated(work, task.target, (task.file.id, task.file.path), rows)
    return None if made is None else replace(made, replaces=task.file.deletes)


def _carried(work: Workbench, task: Carry) -> RebuiltFiles:
    some = _find_gone(work, task)
    rows = f"SELECT {_columns(task)} FROM ({work.scan(task.plan)}) AS r"
    if some and _find_unseen(work, task.snapshots):
        rows += (
            f" ANTI JOIN {_UNSEEN} AS u ON u.number = r.{ROW_NUMBER} AND u.began = r.{ROW_BEGAN}"
        )
    target = replace(task.target, sorting=_usable(work, task.target))
    files = write_files(work, rows, target, carries_row_ids=True, carries_snapshots=True)
    try:
        return RebuiltFiles(
            files, _delete_files(work, target, files) if some else (None,) * len(files)
        )
    except BaseException:
        work.store.delete([file.path for file in files])
        raise


def _columns(task: Carry) -> str:
    names = [quote(column.name) for column in task.target.columns]
    return ", ".join(f"r.{name}" for name in [*names, ROW_NUMBER, ROW_BEGAN])


def _find_gone(work: Workbench, task: Carry) -> bool:
    """Rows that are gone by now, each by its id and the snapshot it is from; whether there are
    any."""
    parts = []
    if task.files:
        bare = tuple(file.as_written() for file in task.files)
        plan = replace(task.plan, columns=(), output=_POINTERS, files=bare, inlined=())
        parts.append(
            f"SELECT r.{ROW_NUMBER}, r.{ROW_BEGAN}, d.{DELETED_AT} FROM ({work.scan(plan)}) AS r"
            f" JOIN ({deletions_sql(work, task.files)}) AS d USING ({ROW_FILE}, {ROW_POSITION})"
        )
    if task.ends:
        lists = (f"unnest({list(values)}::BIGINT[])" for values in zip(*task.ends, strict=True))
        parts.append(f"SELECT {', '.join(lists)}")
    if not parts:
        return False
    work.connection.execute(
        f"CREATE TEMP TABLE {_GONE} AS"
        f" SELECT * FROM ({' UNION ALL '.join(parts)}) AS g(number, began, {DELETED_AT})"
    )
    return True


def _find_unseen(work: Workbench, snapshots: Sequence[int]) -> bool:
    """Move rows that came and went between two snapshots that are left out of those gone."""
    spans = work.connection.execute(f"SELECT DISTINCT began, {DELETED_AT} FROM {_GONE}").fetchall()
    hidden = [(began, ended) for began, ended in spans if not _sees(snapshots, began, ended)]
    if not hidden:
        return False
    listed = ", ".join(f"({began}, {ended})" for began, ended in hidden)
    unseen = f"(began, {DELETED_AT}) IN ({listed})"
    work.connection.execute(f"CREATE TEMP TABLE {_UNSEEN} AS FROM {_GONE} WHERE {unseen}")
    work.connection.execute(f"DELETE FROM {_GONE} WHERE {unseen}")
    return True


def _sees(snapshots: Sequence[int], began: int, ended: int) -> bool:
    place = bisect_left(snapshots, began)
    return place < len(snapshots) and snapshots[place] < ended


def _usable(work: Workbench, target: Target) -> tuple[SortKey, ...]:
    """The keys that these columns can be sorted by: older ones may lack some that the table has
    now. What comes after such a key means nothing."""
    import duckdb

    nothing = ", ".join(f"NULL::{c.duckdb_type} AS {quote(c.name)}" for c in target.columns)
    for place, key in enumerate(target.sorting):
        try:
            work.connection.execute(f"FROM (SELECT {nothing}) AS s ORDER BY {sort_sql(key)}")
        except duckdb.Error:
            return target.sorting[:place]
    return target.sorting


def _delete_files(
    work: Workbench, target: Target, files: Iterable[NewFile]
) -> tuple[NewDeleteFile | None, ...]:
    """Delete files for new data files, in which rows lie wherever they came to lie."""
    found = []
    fields = ", ".join(
        f"{field}: {{name: '{name}', type: 'BIGINT', default_value: NULL}}"
        for field, name in ((ROW_ID_FIELD, ROW_ID_NAME), (ROW_SNAPSHOT_FIELD, SNAPSHOT_NAME))
    )
    for file in files:
        path = str(local_path(file.path)) if is_local(file.path) else file.path
        rows = (
            f"SELECT f.file_row_number AS pos, g.{DELETED_AT} FROM read_parquet("
            f"{text_literal(path)}, schema = MAP {{{fields}}}) AS f"
            f" JOIN {_GONE} AS g ON g.number = f.{ROW_ID_NAME} AND g.began = f.{SNAPSHOT_NAME}"
        )
        found.append(write_dated(work, target, (0, file.path), rows))
    expected = work.connection.execute(f"SELECT count(*) FROM {_GONE}").fetchall()[0][0]
    if sum(delete.rows for delete in found if delete) != expected:
        work.store.delete([delete.path for delete in found if delete])
        raise Corrupt(
            f"{target.table} has several rows with the same id from the same snapshot",
            hint="lake.verify() tells which; such files cannot be merged",
        )
    return tuple(found)


def partition_sizes(
    work: Workbench, plan: ScanPlan, columns: Sequence[Column], target: Target
) -> list[tuple[tuple[str | None, ...], int]]:
    """How many rows of the plan each partition would get."""
    assert target.partitioning is not None
    allow_keys(work.connection)
    by_id = {column.id: column for column in columns}
    keys = [
        key_sql(by_id[key.column_id], key.transform, f"r.{quote(by_id[key.column_id].name)}")
        for key in target.partitioning.keys
    ]
    listed = ", ".join(keys)
    rows = work.connection.execute(
        f"SELECT {listed}, count(*) FROM ({work.scan(plan)}) AS r GROUP BY ALL ORDER BY ALL"
    ).fetchall()
    return [(tuple(row[:-1]), row[-1]) for row in rows]
