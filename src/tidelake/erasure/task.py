"""One data file without some of its rows: what the engine does for it, wherever that runs.

The rows that stay keep their order, so that a deleted row lies as many positions earlier as rows
before it have gone. What was written is read again before anybody trusts it: at every snapshot it
must hold what the old file held without these rows, by the same hashes that `verify` keeps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tidelake.engine.parquet.delete_files import move_deletes
from tidelake.engine.parquet.deletions import DELETED_AT, deletions_sql
from tidelake.engine.parquet.writer import write_files
from tidelake.errors import Corrupt
from tidelake.model.change import NewDeleteFile, NewFile, PurgedFile
from tidelake.model.file import DataFile
from tidelake.model.names import quote
from tidelake.model.schema import ROW_BEGAN, ROW_NUMBER, ROW_POSITION
from tidelake.plan.scan import ScanPlan
from tidelake.plan.target import Target
from tidelake.verify import fingerprint_sql
from tidelake.verify.fingerprint_sql import FOREVER, Epoch
from tidelake.verify.slices import LifeOfTable
from tidelake.verify.values import Content

if TYPE_CHECKING:
    from tidelake.engine.local.workbench import Workbench

_GOING = "going"


@dataclass(frozen=True, slots=True)
class RewritePlan:
    """How a file is written anew: `rest` gives all its rows for the target. `life` is what the
    proof needs to know of the table, and `epochs` are those of its columns."""

    rest: ScanPlan
    target: Target
    life: LifeOfTable
    epochs: tuple[Epoch, ...]


@dataclass(frozen=True, slots=True)
class PurgeTask:
    """`file` has its whole life, and `match` gives the positions of the rows that go. Without
    `rewriting` these are only counted."""

    file: DataFile
    match: ScanPlan
    rewriting: RewritePlan | None = None


@dataclass(frozen=True, slots=True)
class PurgeAnswer:
    """How many rows of a file go, and how many of them the newest snapshot sees; `made` if any do
    and it was not only to count them. From snapshot `began` on, until before `ended`, such rows
    have been there."""

    file_id: int
    rows: int = 0
    newest: int = 0
    began: int = 0
    ended: int = FOREVER
    made: PurgedFile | None = None


def purge(work: Workbench, task: PurgeTask) -> PurgeAnswer:
    """Requires: the workbench is used for nothing else before or after."""
    connection, file = work.connection, task.file
    connection.execute(
        f"CREATE TEMP TABLE {_GOING} AS SELECT {ROW_POSITION} AS pos, {ROW_BEGAN} AS began,"
        f" row_number() OVER (ORDER BY {ROW_POSITION}) AS n FROM ({work.scan(task.match)})"
    )
    ((rows, began),) = connection.execute(f"SELECT count(*), min(began) FROM {_GOING}").fetchall()
    if not rows:
        return PurgeAnswer(file.id)
    newest, ended = _newest(work, file)
    answer = PurgeAnswer(file.id, rows, newest, began, ended)
    if task.rewriting is None:
        return answer
    if rows == file.rows:
        return replace(answer, made=PurgedFile(file))
    return replace(answer, made=_made(work, file, task.rewriting, rows))


def _newest(work: Workbench, file: DataFile) -> tuple[int, int]:
    """How many of the rows have not been deleted, and the snapshot that deleted the last."""
    gone = deletions_sql(work, [file])
    end = FOREVER if file.end_snapshot is None else file.end_snapshot
    ((there, last),) = work.connection.execute(
        f"SELECT count(*) - count(d.{DELETED_AT}), max(least(d.{DELETED_AT}, {end}))"
        f" FROM {_GOING} AS g LEFT JOIN ({gone}) AS d ON d.{ROW_POSITION} = g.pos"
    ).fetchall()
    return (int(there) if file.end_snapshot is None else 0), int(last)


def _made(work: Workbench, old: DataFile, how: RewritePlan, rows: int) -> PurgedFile:
    work.reach([how.target.path])
    file = _written(work, old, how)
    written = [file.path]
    try:
        deletes = _deletes(work, old, how.target, file, written)
        made = PurgedFile(old, file, tuple(deletes), _positions(work, old))
        if file.rows + rows != old.rows:
            raise _wrong(old, f"{file.rows + rows} rows, and the catalog says {old.rows}")
        _prove(work, how, made)
    except BaseException:
        work.store.delete(written)
        raise
    return made


def _written(work: Workbench, old: DataFile, how: RewritePlan) -> NewFile:
    names = [quote(column.name) for column in how.target.columns]
    carried = [ROW_NUMBER] if old.partial_max is None else [ROW_NUMBER, ROW_BEGAN]
    chosen = ", ".join(f"r.{name}" for name in [*names, *carried])
    sql = (
        f"SELECT {chosen} FROM ({work.scan(how.rest)}) AS r"
        f" ANTI JOIN {_GOING} AS g ON g.pos = r.{ROW_POSITION} ORDER BY r.{ROW_POSITION}"
    )
    (file,) = write_files(
        work,
        sql,
        how.target,
        carries_row_ids=True,
        carries_snapshots=old.partial_max is not None,
        into_one=True,
    )
    values = None if old.partition_id is None else old.partition_values
    return file._replace(partition_values=values)


def _deletes(
    work: Workbench, old: DataFile, target: Target, file: NewFile, written: list[str]
) -> list[tuple[int, NewDeleteFile | None]]:
    found = []
    for delete in old.deletes:
        moved = move_deletes(work, target, delete, file.path, _GOING)
        written += [] if moved is None else [moved.path]
        found.append((delete.id, moved))
    return found


def _positions(work: Workbench, file: DataFile) -> tuple[tuple[int, int], ...]:
    """The deletes that the catalog keeps, where the rows lie now."""
    if not file.deleted_positions:
        return ()
    rows = work.connection.execute(
        "SELECT d.pos - COALESCE(g.n, 0), d.since FROM (SELECT unnest($1::BIGINT[]) AS pos,"
        f" unnest($2::BIGINT[]) AS since) AS d ASOF LEFT JOIN {_GOING} AS g ON d.pos >= g.pos"
        " WHERE g.pos IS DISTINCT FROM d.pos ORDER BY 1, 2",
        [list(file.deleted_positions), list(file.deleted_at)],
    ).fetchall()
    return tuple((row[0], row[1]) for row in rows)


def _prove(work: Workbench, how: RewritePlan, made: PurgedFile) -> None:
    """At every snapshot the new file holds what the old one held, without the rows that go."""
    now = as_data_file(made)
    for epoch in how.epochs:
        if not _is_seen(made.before, epoch):
            continue
        before = _content(work, how.life, made.before, epoch, without=_GOING)
        after = _content(work, how.life, now, epoch)
        if before != after:
            raise _wrong(made.before, "other rows than before")


def as_data_file(made: PurgedFile) -> DataFile:
    """The file as snapshots will see it, under its old id."""
    assert made.file is not None
    moved = dict(made.deletes)
    deletes = [
        replace(old, path=new.path, format="parquet", rows=new.rows, bytes=new.bytes)
        for old in made.before.deletes
        if (new := moved[old.id]) is not None
    ]
    return made.before._replace(
        path=made.file.path,
        rows=made.file.rows,
        bytes=made.file.bytes,
        footer_size=made.file.footer_size,
        row_id_start=None,
        mapping_id=None,
        deletes=tuple(deletes),
        deleted_positions=tuple(position for position, _ in made.positions),
        deleted_at=tuple(at for _, at in made.positions),
    )


def _is_seen(file: DataFile, epoch: Epoch) -> bool:
    ended = file.end_snapshot is not None and file.end_snapshot <= epoch.since
    return file.begin_snapshot < epoch.until and not ended


def _content(
    work: Workbench,
    life: LifeOfTable,
    file: DataFile,
    epoch: Epoch,
    without: str | None = None,
) -> dict[int, Content]:
    plan = life.plan(epoch.columns, [file])
    fingerprint_sql.live(work, "lives", plan, epoch, (), hashed=True, without=without)
    found = fingerprint_sql.differences(work, "lives", epoch)
    return {at: content for at, content in found.items() if content != Content()}


def _wrong(old: DataFile, said: str) -> Corrupt:
    return Corrupt(
        f"{old.path} could not be written without some of its rows: what came out has {said}",
        hint="nothing has been erased; lake.verify(deep=True) tells whether the file is damaged",
    )
