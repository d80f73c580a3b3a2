"""Which buckets files and rows cover: two or three columns are read, and become bitmaps.

It runs wherever files are written or read: in this process, or in the executors of Spark.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from tidelake.coverage.bucket_sets import (
    EntityBuckets,
    buckets_by_bits,
    buckets_of_rows,
    is_dense,
    span_of,
)
from tidelake.coverage.pieces_of_file import is_usual, pieces_of_file
from tidelake.coverage.task import Cover
from tidelake.coverage.values.bitmaps import Buckets, pieces, union, unite
from tidelake.coverage.values.piece import Covers, FileCoverage, Piece
from tidelake.coverage.values.series import Series
from tidelake.engine import Job
from tidelake.engine.parquet.deletions import DELETED_AT, deletions_sql
from tidelake.model.change import NewFile
from tidelake.model.names import quote, text_literal
from tidelake.model.schema import ROW_BEGAN, ROW_FILE, ROW_POSITION
from tidelake.model.table import TableInfo
from tidelake.plan.target import FileObserver, Target
from tidelake.store.files import is_local, local_path

if TYPE_CHECKING:
    import duckdb

    from tidelake.engine.local.workbench import Workbench

Life = tuple[int, int | None, Buckets]
"""Buckets that were covered from one snapshot on, until another."""

_FEW_ROWS = 50_000
"""Of so few, it is not asked first how they lie."""
_EVER = 1 << 62
_LIFE = ("file", "began", "ended")


@dataclass(frozen=True, slots=True)
class CoverageOfFiles:
    """Finds out what each file covers as it is written."""

    series: Series

    def seen(self, connection: duckdb.DuckDBPyConnection, file: NewFile, target: Target) -> NewFile:
        return file._replace(covers=coverage_of_new_file(connection, file, target, self.series))


def observers(table: TableInfo) -> tuple[FileObserver, ...]:
    """Who looks at the files that are written for a table: somebody, if it is a series."""
    series = Series.maybe(table)
    return () if series is None else (CoverageOfFiles(series),)


def coverage_of_new_file(
    connection: duckdb.DuckDBPyConnection, file: NewFile, target: Target, series: Series
) -> Covers:
    """What a file that has just been written covers."""
    names = {column.id: target.physical.get(column.id, column.name) for column in series.columns}
    chosen = ", ".join(f"{quote(names[c.id])} AS {quote(c.name)}" for c in series.columns)
    source = f"read_parquet({text_literal(file.path)}, hive_partitioning = false)"
    sql = f"SELECT {chosen} FROM {source}"
    if file.rows > _FEW_ROWS and is_usual(series) and is_local(file.path):
        entity, time = (names[column.id] for column in series.columns)
        usual = pieces_of_file(local_path(file.path), (entity, time), series)
        if usual is not None:
            return Covers(series.number, tuple(usual))
    span = span_of(connection, sql, series) if file.rows > _FEW_ROWS else None
    if span is not None and is_dense(connection, sql, series, span, file.rows):
        found = buckets_by_bits(connection, sql, series, span)
    else:
        found = buckets_of_rows(connection, sql, series, rows=file.rows)
    return Covers(series.number, _kept(found))


def of_query(job: Job, sql: str, series: Series) -> tuple[Piece, ...]:
    """What the rows of a query cover, which has at least the series' columns; on Spark each task
    tells of its own rows."""
    found = job.over(sql, partial(of_rows, series=series))
    return found[0] if len(found) == 1 else unite(piece for each in found for piece in each)


def of_files(job: Job, tasks: Sequence[Cover]) -> Iterator[FileCoverage]:
    """What files cover, task by task."""
    for found in job.run(tasks, coverage_of_files):
        yield from found


def of_rows(work: Workbench, sql: str, series: Series) -> tuple[Piece, ...]:
    """What the rows of a query over the series' columns cover, where they are."""
    return _kept(buckets_of_rows(work.connection, sql, series, rows=None))


def _kept(found: Iterable[EntityBuckets]) -> tuple[Piece, ...]:
    return tuple(piece for entity, _, ids in found for piece in pieces(entity, ids))


def coverage_of_files(work: Workbench, task: Cover) -> list[FileCoverage]:
    """What files cover, and covered at every snapshot that is left."""
    lives: dict[int, dict[str, list[Life]]] = {file.id: defaultdict(list) for file in task.files}
    sql = _lives_sql(work, task)
    for entity, life, ids in buckets_of_rows(
        work.connection, sql, task.series, _LIFE, rows=task.rows
    ):
        file_id, began, ended = life
        lives[file_id][entity].append((began, ended, ids))
    return [
        FileCoverage(
            file_id,
            task.through.get(file_id, 0),
            tuple(piece for entity, each in found.items() for piece in _settled(entity, each)),
        )
        for file_id, found in lives.items()
    ]


def _settled(entity: str, lives: Sequence[Life]) -> Iterator[Piece]:
    """What holds now is kept as one, so that only who asks about the past looks at more."""
    bounds = [began for began, _, _ in lives] + [ended or 0 for _, ended, _ in lives]
    now = max(bounds)
    present = union(ids for _, ended, ids in lives if ended is None)
    if present:
        yield from pieces(entity, present, now, None)
    for began, ended, ids in lives:
        until = now if ended is None else ended
        if began < until:
            yield from pieces(entity, ids, began, until)


def _lives_sql(work: Workbench, task: Cover) -> str:
    """Rows with the file that they are in, and the snapshots that began and ended them."""
    names = [column.name for column in task.series.columns]
    plan = replace(
        task.plan,
        snapshot_id=_EVER,
        output=(*names, ROW_FILE, ROW_POSITION, ROW_BEGAN),
        files=tuple(file.as_written() for file in task.files),
        inlined=(),
    )
    merged = [str(file.id) for file in task.files if file.partial_max is not None]
    later = f"r.{ROW_FILE} IN ({', '.join(merged) or 'NULL'}) AND r.{ROW_BEGAN} > {task.oldest}"
    chosen = [f"r.{quote(name)}" for name in names]
    chosen.append(f"r.{ROW_FILE} AS file")
    chosen.append(f"CASE WHEN {later} THEN r.{ROW_BEGAN} ELSE 0 END AS began")
    rows = f"({work.scan(plan)}) AS r"
    if not any(file.has_deletes for file in task.files):
        return f"SELECT {', '.join(chosen)}, CAST(NULL AS BIGINT) AS ended FROM {rows}"
    return (
        f"SELECT {', '.join(chosen)}, d.{DELETED_AT} AS ended FROM {rows}"
        f" LEFT JOIN ({deletions_sql(work, task.files)}) AS d"
        f" ON d.{ROW_FILE} = r.{ROW_FILE} AND d.{ROW_POSITION} = r.{ROW_POSITION}"
        f" WHERE d.{DELETED_AT} IS NULL OR d.{DELETED_AT} > {task.oldest}"
    )
