"""What a table's files cover, found out anew: to put right what is kept, and to check it."""

from __future__ import annotations

from collections.abc import Collection

from tidelake.catalog.batches import batches
from tidelake.catalog.database.database import Reader
from tidelake.catalog.inventory import file_ids
from tidelake.catalog.read import snapshots
from tidelake.coverage import records as coverage
from tidelake.coverage import series_in_use as series
from tidelake.coverage.from_rows import of_files
from tidelake.coverage.lookup import CoverageCache, tasks
from tidelake.coverage.series_in_use import Usage
from tidelake.coverage.task import Cover
from tidelake.coverage.values.piece import FileCoverage
from tidelake.errors import Denied, Invalid
from tidelake.model.names import TableName
from tidelake.session.planning import TableMeta
from tidelake.session.session import Session
from tidelake.session.short_transactions import run_locked

AT_ONCE = 64
"""Files that are looked at together."""


def recompute(session: Session, name: TableName) -> int:
    """Keep anew what all files of a table cover, whatever is kept of them now; how many these
    are."""
    _check(session)
    with session.reading() as reader:
        at = session.at(reader)
        table_id = session.table_info(reader, at, name).id
        there = set(file_ids(reader, table_id))
        used = series.in_use(reader, table_id, session.data_path)
        wanted = [(usage, _wanted(reader, usage, there)) for usage in used.values()]
        strays = coverage.strays(reader).get(table_id, [])
    done: set[int] = set()
    for usage, ids in wanted:
        for some in batches(sorted(ids), AT_ONCE):
            found = _found(session, usage, some)
            run_locked(session, coverage.put, usage.scope, found, anew=True)
            done |= {each.file_id for each in found}
    for some in batches(strays, session.tuning.batch):
        run_locked(session, coverage.forget_files, table_id, some)
    run_locked(session, series.forget_idle, table_id, session.data_path)
    session.memory(CoverageCache).forget()
    return len(done)


def _check(session: Session) -> None:
    if session.is_transaction:
        raise Invalid(
            "recompute_coverage() cannot be in a transaction",
            hint="call it on the lake's table",
        )
    if session.database.read_only:
        raise Denied(
            f"{session.database.url} was opened read-only, and coverage is kept in it",
            hint="connect without read_only=True",
        )


def _wanted(reader: Reader, usage: Usage, there: Collection[int]) -> set[int]:
    """The files that a series is kept of, or should be."""
    kept = set(coverage.files(reader, usage.scope)).intersection(there)
    return kept | coverage.visible_files(reader, usage.table.id, usage.at)


def _found(session: Session, usage: Usage, ids: Collection[int]) -> list[FileCoverage]:
    with session.reading() as reader:
        work = cover_tasks(reader, usage, ids)
    return read_coverage(session, usage, work)


def cover_tasks(reader: Reader, usage: Usage, ids: Collection[int]) -> list[Cover]:
    through = dict.fromkeys(ids, snapshots.head_id(reader))
    facts = TableMeta.gather(reader, usage.table)
    return list(tasks(reader, usage.at, facts, usage.series, through))


def read_coverage(session: Session, usage: Usage, work: list[Cover]) -> list[FileCoverage]:
    with session.engine.job(f"cannot tell what {usage.table.name} covers") as job:
        return list(of_files(job, work)) if work else []
