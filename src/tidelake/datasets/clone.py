"""Another table with the rows that one had at a moment.

Files that serve as they are get a second name: a link on disk, a copy by the store itself
elsewhere. The catalog never names a file twice: whoever expires one table, DuckDB among them, would
take the file from under the other. All other rows are written anew. Rows keep their ids, so that of
two facts the same one wins.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace

from tidelake.catalog.read.column_history import last_change
from tidelake.datasets.recipe import OfScan
from tidelake.engine.parquet.partition_folders import in_folders
from tidelake.errors import Invalid
from tidelake.event_time.state import plan_read
from tidelake.model.change import NewFile, WriteResult
from tidelake.model.file import DataFile
from tidelake.model.names import TableName, quote
from tidelake.model.schema import ROW_NUMBER, Column
from tidelake.model.settings import FROZEN_TAG, MIRROR_TAG
from tidelake.model.table import TableInfo
from tidelake.plan.scan import ScanPlan
from tidelake.session import staging
from tidelake.session.draft import TableDraft
from tidelake.session.drafting import DraftSession
from tidelake.session.planning import ReadRequest
from tidelake.session.source import Source
from tidelake.store.copies import copy_objects
from tidelake.write import definitions
from tidelake.write import rows as writes

_ROWS = "_tidelake_rows"
_UNLINKED = ("variant", "geometry")
"""Types of which the catalog keeps more than a footer tells."""


def clone(tx: DraftSession, source: Source, target: TableName) -> WriteResult:
    """Stage the new table. It is declared as the other was then: columns with their ids, key,
    event time, series, partitions and order."""
    at = tx.base if source.snapshot_id is None else source.snapshot_id
    with tx.reading() as reader:
        table = tx.table_info(reader, at, source.name)
    draft = _declare(tx, table, target)
    if source.as_of is not None:
        state = OfScan(replace(source, snapshot_id=at)).ready(tx)
        done = writes.append(tx, target, state.rows(draft.columns))
    else:
        done = _copy(tx, draft, table, replace(source, session=tx, snapshot_id=at))
    return replace(done, operation="clone")


def _declare(tx: DraftSession, table: TableInfo, target: TableName) -> TableDraft:
    own = (FROZEN_TAG, MIRROR_TAG)
    tags = {tag: value for tag, value in table.tags.items() if tag not in own}
    keys = table.partitioning.keys if table.partitioning else ()
    draft = definitions.create(tx, target, table.schema, keys, tags)
    draft.after = replace(draft.after, sorting=table.sorting)
    writes.writable(tx, target)
    return draft


def _copy(tx: DraftSession, draft: TableDraft, table: TableInfo, source: Source) -> WriteResult:
    """Of a time before the lake no file can serve: some of its rows may have been known later."""
    wanted = (*table.schema.names, ROW_NUMBER)
    plan = plan_read(source, ReadRequest(wanted))
    assert isinstance(plan, ScanPlan), "rows, and no state"
    linked, rest = list[NewFile](), plan
    if source.known_by is None:
        linked, rest = _linked(tx, draft, table, plan)
    draft.add_files(linked)
    files = [*linked]
    if rest.files or any(kept.rows for kept in rest.inlined):
        names = ", ".join(map(quote, wanted))
        with tx.job(f"cannot clone {table.name}", None, draft.columns) as job:
            job.scan(_ROWS, rest)
            sql = f"SELECT {names} FROM {_ROWS}"
            made = staging.write_files(tx, draft, job, sql, carries_row_ids=True)
        free = _free_row_id(tx, table)
        written = [file._replace(first_row=free) for file in made]
        draft.add_files(written)
        files += written
    rows = sum(file.rows for file in files)
    return writes.result(files, rows=rows, inserted=rows)


def _free_row_id(tx: DraftSession, table: TableInfo) -> int:
    """The first that no row of the table has had."""
    with tx.reading() as reader:
        row = reader.row(
            "SELECT next_row_id FROM ducklake_table_stats WHERE table_id = :id", id=table.id
        )
    return 0 if row is None else int(row[0] or 0)


def _linked(
    tx: DraftSession, draft: TableDraft, table: TableInfo, plan: ScanPlan
) -> tuple[list[NewFile], ScanPlan]:
    """Files with second names, and the read of all other rows."""
    serving = _Serving.of(tx, table, plan.snapshot_id)
    whole = [file for file in plan.files if serving.has(file)]
    if not whole:
        return [], plan
    tx.announce()
    names = {file.id: f"{draft.after.path}ducklake-{uuid.uuid4()}.parquet" for file in whole}
    tx.wrote(list(names.values()))
    copy_objects(tx.store, [(file.path, names[file.id]) for file in whole], link=True)
    try:
        with tx.local.job(f"cannot clone {table.name}") as job:
            found = job.found(list(names.values()), draft.target, {"hive": False})
    except Invalid:  # one does not say all that it would have to
        return [], plan
    told = {file.path: file for file in found}
    made = [
        told[names[file.id]]._replace(
            was_there=False,
            first_row=file.row_id_start,
            partition_values=serving.partition_values(file, told[names[file.id]]),
        )
        for file in whole
        if names[file.id] in told and told[names[file.id]].mapping is None
    ]
    done = {file.path for file in made}
    rest = tuple(file for file in plan.files if names.get(file.id) not in done)
    made = in_folders(tx.store, made, draft.target)
    tx.wrote([file.path for file in made])
    return made, replace(plan, files=rest)


@dataclass(frozen=True, slots=True)
class _Serving:
    """Which files of a table hold what the clone would: all their rows are seen, under the columns
    that the clone has, none more and none less."""

    partition_id: int | None
    since: int | None
    """The first snapshot with these columns; None if no file can serve."""

    @staticmethod
    def of(tx: DraftSession, table: TableInfo, at: int) -> _Serving:
        spec = None if table.partitioning is None else table.partitioning.id
        with tx.reading() as reader:
            meta = tx.committed.meta(reader, tx.base, at, table.name)
            physical = meta.history.named(table.schema.columns)
            then = last_change(reader, table.id, at)
        plain = all(_is_plain(column, physical) for column in table.schema)
        return _Serving(spec, then if plain else None)

    def has(self, file: DataFile) -> bool:
        return (
            self.since is not None
            and file.begin_snapshot >= self.since
            and not file.has_deletes
            and file.partial_max is None
            and file.mapping_id is None
            and file.encryption_key is None
            and file.row_id_start is not None
        )

    def partition_values(self, file: DataFile, told: NewFile) -> tuple[str | None, ...] | None:
        if self.partition_id is None or file.partition_id != self.partition_id:
            return told.partition_values
        return file.partition_values


def _is_plain(column: Column, physical: dict[int, str]) -> bool:
    """Whether files have it under its name, and all that is known of it is in their footers."""
    return all(
        physical.get(below.id, below.name) == below.name and below.type not in _UNLINKED
        for below in column.walk()
    )
