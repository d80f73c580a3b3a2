"""A table that was imported, against the Delta log it came from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tidelake.catalog import own_tables
from tidelake.catalog.read import snapshots
from tidelake.catalog.read import tables as read
from tidelake.delta.importing import records as imports
from tidelake.delta.importing.files import ImportPlan, count_rows, deleted_positions_of
from tidelake.delta.importing.location import LogLocation
from tidelake.delta.importing.look import Import, held_files, sizes_of, walk_log
from tidelake.delta.importing.walk import LogStep
from tidelake.delta.log.read import commit_time, commits
from tidelake.delta.values.actions import Add, CommitInfo
from tidelake.delta.values.reports import Copy, Finding, ImportDiff, ImportState, Verdict
from tidelake.drawing.amounts import quantity
from tidelake.errors import Invalid
from tidelake.model.file import DataFile
from tidelake.model.names import TableName, quote
from tidelake.model.schema import ROW_POSITION, Schema
from tidelake.plan.scan import ScanPlan
from tidelake.session import staging
from tidelake.session.session import Session

RowsOfLog = Callable[[LogLocation, int], ScanPlan]
"""The rows of the log at a version, as they would be imported now."""
_OURS, _THEIRS, _GONE = "_tidelake_ours", "_tidelake_theirs", "_tidelake_gone"


@dataclass(frozen=True, slots=True)
class _Lake:
    """What the lake has of the table: its files by where they are in Delta, and which of them are
    copies. `untouched`: nobody has changed it since it was imported."""

    known: ImportState
    schema: Schema
    held: Mapping[str, Sequence[DataFile]]
    copies: Mapping[int, Copy]
    untouched: bool


def diff(
    session: Session,
    name: TableName,
    location: LogLocation,
    rows_of_log: RowsOfLog,
    lag_threshold_seconds: float,
) -> ImportDiff:
    """Whether the table is what the log was at the version that has been imported, and how far
    the log has come since. Where files differ, as after a compaction, rows are compared."""
    if lag_threshold_seconds < 0:
        raise Invalid("a threshold is not negative", hint="0 tolerates nothing")
    known = _state(session, name)
    place = replace(location, path=location.path or known.root)
    log = place.listing(session)
    job = Import(session, log, name, "fast", known.version, known)
    lake = _lake(job, known)
    lag = _lag(job)
    if log.newest < known.version:
        said = f"version {known.version} was imported, and the log ends with {log.newest}"
        return _told(job, lake, [Finding("gap", str(known.version), said)], 0, lag=lag)
    walk, (step,) = walk_log(job, lake.held, known.version)
    found = [*_of_table(lake, step), *_missing(job, walk.live)]
    by_rows = not found and not (lake.untouched and _is_same_in_files(job, lake, walk.live, step))
    if by_rows:
        theirs = rows_of_log(place, known.version)
        found = list(_of_rows(session, name, lake.schema, theirs))
    late = lag > lag_threshold_seconds
    return _told(job, lake, found, len(walk.live), lag=lag, late=late, by_rows=by_rows)


def import_names(session: Session) -> list[str]:
    """Tables that were imported."""
    with session.reading() as reader:
        at = snapshots.head_id(reader)
        known = {state.table_id for state in imports.every(reader)}
        return [
            str(n) for table_id, n in session.view.names(reader, at, "table") if table_id in known
        ]


def _state(session: Session, name: TableName) -> ImportState:
    with session.reading() as reader:
        table_id = read.find(reader, snapshots.head_id(reader), "table", name)
        found = None if table_id is None else imports.of_table(reader, table_id)
    if found is None:
        session.newest_info(name)  # which raises NotFound if there is none
        raise Invalid(
            f"{name} does not come from Delta",
            hint="for a log that the lake writes: lake.mirrored(…).diff(), tidelake mirror diff",
        )
    return found


def _lake(job: Import, known: ImportState) -> _Lake:
    with job.session.reading() as reader:
        held, made = held_files(job, reader), imports.copies(reader, known.table_id)
        untouched = imports.is_untouched(reader, known)
    schema = job.session.newest_info(job.name).schema
    return _Lake(known, schema, held, made, untouched)


def _lag(job: Import) -> float:
    """Since when the log has been further than the lake, in seconds."""
    after = job.last + 1
    if after > job.log.newest:
        return 0.0
    info = None
    if after in job.log.commits:
        ((_, actions),) = commits(job.session.local.store, job.log, after, after)
        info = next((each for each in actions if isinstance(each, CommitInfo)), None)
    written = commit_time(info, job.log.written(min(after, job.log.newest)), None) / 1000
    with job.session.reading() as reader:
        return max(own_tables.clock(reader).timestamp() - written, 0.0)


def _of_table(lake: _Lake, step: LogStep) -> Iterator[Finding]:
    if step.delta_id != lake.known.delta_id:
        said = f"the log is of the table {step.delta_id}, and {lake.known.delta_id} was imported"
        yield Finding("foreign", str(step.version), said)
        return
    ours = {c.id: (c.name, c.duckdb_type) for c in lake.schema}
    theirs = {c.id: (c.name, c.duckdb_type) for c in step.shape.columns}
    for key in sorted(ours.keys() | theirs.keys()):
        mine, other = (" ".join(each.get(key, ("nothing",))) for each in (ours, theirs))
        if mine != other:
            yield Finding("metadata", mine, f"a column is {mine} in the lake, {other} in the log")


def _is_same_in_files(job: Import, lake: _Lake, live: Mapping[str, Add], step: LogStep) -> bool:
    ground = ImportPlan(job.log.root, {}, counts=count_rows(job.session.local, [step]))
    return lake.held.keys() == live.keys() and all(
        _is_same(job.session, lake, path, add, ground) for path, add in live.items()
    )


def _is_same(session: Session, lake: _Lake, path: str, add: Add, ground: ImportPlan) -> bool:
    files = lake.held[path]
    gone = deleted_positions_of(add, ground, session.local.store.read)
    if sum(map(staging.live, files)) != ground.counts[path] - len(gone):
        return False
    if any(file.id in lake.copies for file in files):
        return all(lake.copies[file.id].vector == add.key[1] for file in files)
    with session.local.job(f"cannot read the deletes of {path}") as job:
        job.deletions(_GONE, files)
        found = {row[0] for row in job.rows(f"SELECT {ROW_POSITION} FROM {_GONE}")}
    return found == set(gone)


def _of_rows(
    session: Session, name: TableName, schema: Schema, theirs: ScanPlan
) -> Iterator[Finding]:
    with session.local.job(f"cannot compare the rows of {name}") as job:
        job.scan(_OURS, session.plan(name, None))
        job.scan(_THEIRS, theirs)
        listed = ", ".join(quote(column.name) for column in schema)
        for mine, other in ((_OURS, _THEIRS), (_THEIRS, _OURS)):
            sql = f"SELECT {listed} FROM {mine} EXCEPT ALL SELECT {listed} FROM {other}"
            ((count,),) = job.rows(f"SELECT count(*) FROM ({sql})")
            if count:
                here, there = ("lake", "log") if mine == _OURS else ("log", "lake")
                said = f"not in the {there}: {quantity(count, 'row')} of the {here}"
                yield Finding("rows", f"rows of the {here}", said)


def _missing(job: Import, live: Mapping[str, Add]) -> Iterator[Finding]:
    sizes = sizes_of(job.session, job.log.root, live)
    for path in sorted(live.keys() - sizes.keys()):
        yield Finding("missing file", path, f"{path} is in the log, and not there")


def _told(
    job: Import,
    lake: _Lake,
    findings: Sequence[Finding],
    log_files: int,
    *,
    lag: float,
    late: bool = False,
    by_rows: bool = False,
) -> ImportDiff:
    status: Verdict = "drift" if findings else "lagging" if late else "ok"
    return ImportDiff(
        str(job.name),
        job.log.root,
        status,
        lake.known.version,
        job.log.newest,
        lake.known.snapshot_id,
        lag,
        sum(map(len, lake.held.values())),
        log_files,
        by_rows,
        tuple(findings),
    )
