"""Rows that come to a table and leave it inside a transaction, on either engine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from tidelake.engine import Job
from tidelake.errors import Conflict, Unsupported
from tidelake.model.change import PROVISIONAL_ROW_ID, NewDeleteFile, NewFile
from tidelake.model.file import DataFile, InlinedRows
from tidelake.model.names import quote
from tidelake.model.schema import ROW_FILE, ROW_NUMBER, ROW_POSITION
from tidelake.plan.scan import ScanPlan
from tidelake.session.draft import TableDraft, first_of_place, place_of
from tidelake.session.drafting import DraftSession
from tidelake.session.planning import ReadRequest

Losses = list[tuple[DataFile, int]]
"""Files that lose rows, and how many."""
POINTERS = (ROW_FILE, ROW_POSITION)
_FRESH = "_tidelake_fresh"
_KEPT, _GONE = "_tidelake_kept", "_tidelake_gone"
"""Names that no column has: DuckDB takes `s.x` for a field if there is a struct `s`."""


def add(
    tx: DraftSession,
    draft: TableDraft,
    job: Job,
    sql: str,
    *,
    count: int | None = None,
    numbered: bool = False,
) -> list[NewFile]:
    """Stage the rows of a query over the table's columns; `count` is how many, if that is known.

    Few rows go to the catalog, more to files. `numbered`: the query also gives row numbers,
    because these rows had ids before; those that got theirs in this very transaction count as new.
    """
    if count == 0:
        return []
    if may_inline(tx, draft, count):
        rows = job.catalog_rows(sql, draft.columns, numbered=numbered)
        first = int(numbered)
        if rows is not None and tx.can_flush(draft.after, (row[first:] for row in rows)):
            draft.add_rows(rows, numbered=numbered)
            return []
    if not numbered:
        return _write(tx, draft, job, sql, count=count)
    old = f"SELECT * FROM ({sql}) WHERE {ROW_NUMBER} < {PROVISIONAL_ROW_ID}"
    fresh = draft.has_added
    files = _write(tx, draft, job, old, carries_row_ids=True, count=count)
    return files + (_write_again(tx, draft, job, sql) if fresh else [])


def may_inline(tx: DraftSession, draft: TableDraft, count: int | None) -> bool:
    """Whether so many rows are for the catalog."""
    few = count is not None and count <= draft.options.inline_rows
    return few and tx.can_inline(draft.columns)


def _write_again(tx: DraftSession, draft: TableDraft, job: Job, sql: str) -> list[NewFile]:
    """Rows of this very transaction, in files by the writes that they came with."""
    new = f"SELECT * FROM ({sql}) WHERE {ROW_NUMBER} >= {PROVISIONAL_ROW_ID}"
    job.define(_FRESH, f"SELECT {ROW_NUMBER} FROM ({new})")
    distance = f"{ROW_NUMBER} - {PROVISIONAL_ROW_ID}"
    width = first_of_place(1) - first_of_place(0)
    found = job.rows(f"SELECT DISTINCT ({distance}) - ({distance}) % {width} FROM {_FRESH}")
    files: list[NewFile] = []
    for place in sorted(int(start) // width for (start,) in found):
        part = f"SELECT * FROM ({sql}) WHERE {_in_place(place)}"
        files += _write(tx, draft, job, part, place=place)
    return files


def _in_place(place: int) -> str:
    first, end = first_of_place(place), first_of_place(place + 1)
    return f"{ROW_NUMBER} >= {first} AND {ROW_NUMBER} < {end}"


def _write(
    tx: DraftSession,
    draft: TableDraft,
    job: Job,
    sql: str,
    *,
    carries_row_ids: bool = False,
    place: int | None = None,
    count: int | None = None,
) -> list[NewFile]:
    files = write_files(tx, draft, job, sql, carries_row_ids=carries_row_ids, count=count)
    draft.add_files(files, place)
    return files


def write_files(
    tx: DraftSession,
    draft: TableDraft,
    job: Job,
    sql: str,
    *,
    carries_row_ids: bool = False,
    count: int | None = None,
) -> list[NewFile]:
    """Files with the rows of a query, which are not staged yet; `count`: so many are expected."""
    tx.announce()
    made = job.write(sql, draft.target, carries_row_ids=carries_row_ids, count=count)
    files: list[NewFile] = list(made)
    tx.wrote([file.path for file in files])
    return files


def remove(
    tx: DraftSession,
    draft: TableDraft,
    job: Job,
    doomed: str,
    plan: ScanPlan,
    *,
    known: Mapping[int | None, int] | None = None,
) -> int:
    """Stage the deletion of the rows that a relation points at; how many they are. It is read more
    than once, and must have the same rows each time.

    `plan` is the read that found them; `known` is how many there are of each file, those of no
    file being in the catalog.
    """
    counts = dict(by_file(job, doomed) if known is None else known)
    total = sum(counts.values())
    if counts.pop(None, 0):
        ids = job.rows(f"SELECT {ROW_POSITION} FROM {doomed} WHERE {ROW_FILE} IS NULL")
        remove_catalog_rows(draft, {row[0] for row in ids})
    committed = []
    for file, count in with_counts(plan, counts):
        if file.id < 0:
            _rewrite_staged(tx, draft, job, doomed, file, count)
        else:
            committed.append((file, count))
    remove_partly(tx, draft, job, doomed, end_whole(draft, committed))
    return total


def by_file(job: Job, doomed: str) -> dict[int | None, int]:
    """How many rows of each file a relation points at."""
    told: list[Any] = job.rows(f"SELECT {ROW_FILE}, count(*) FROM {doomed} GROUP BY {ROW_FILE}")
    return dict(told)


def with_counts(plan: ScanPlan, counts: Mapping[int | None, int]) -> Losses:
    """The plan's files that lose rows, each with how many."""
    files = {file.id: file for file in plan.files}
    return [(files[file_id], count) for file_id, count in counts.items() if file_id is not None]


def remove_catalog_rows(draft: TableDraft, row_ids: set[int]) -> None:
    for row_id in row_ids & draft.rows.keys():
        del draft.rows[row_id]
        row_ids.remove(row_id)
    draft.ended_rows |= row_ids


def end_whole(draft: TableDraft, files: Losses) -> Losses:
    """Committed files that lose all their rows end, if they can; the others."""
    partly: Losses = []
    for file, count in files:
        if file.id in draft.ended_files:
            continue
        check(draft, file)
        draft.see(file)
        if count == live(file) and can_end(draft, file):
            end(draft, file.id)
        else:
            partly.append((file, count))
    return partly


def are_few(draft: TableDraft, files: Losses) -> bool:
    """Whether the catalog is to keep which rows leave these files."""
    total = sum(count for _, count in files)
    few = total <= draft.options.inline_rows
    return few and all(file.id not in draft.delete_files for file, _ in files)


def remove_partly(
    tx: DraftSession, draft: TableDraft, job: Job, doomed: str, files: Losses
) -> None:
    """Stage the deletion of rows from committed files that stay."""
    listed = [file for file, _ in files]
    if are_few(draft, files):
        _keep_positions(draft, job, doomed, [file.id for file in listed])
    elif files:
        tx.announce()
        pointers = f"SELECT * FROM {doomed}"
        total = sum(count for _, count in files)
        made = job.delete(pointers, draft.target, listed, draft.stamp, count=total)
        tx.wrote([delete.path for delete in made])
        take_deletes(draft, made)


def take_deletes(draft: TableDraft, made: Iterable[NewDeleteFile]) -> None:
    """Stage delete files that have been written."""
    for delete in made:
        draft.delete_files[delete.data_file_id] = _following(draft, delete)


def check(draft: TableDraft, file: DataFile) -> None:
    if file.encryption_key:
        raise Unsupported(
            f"{draft.after.name} has encrypted files, from which only DuckDB can delete",
            hint="delete with DuckDB's ducklake extension",
        )
    if file.is_partial_at(draft.base):
        raise Conflict(f"{draft.after.name} was compacted in the meantime", hint="repeat the write")


def live(file: DataFile) -> int:
    """Rows that are left, if no two sources of deletes name the same row."""
    deleted = sum(delete.rows for delete in file.deletes)
    return file.rows - deleted - len(file.deleted_positions)


def can_end(draft: TableDraft, file: DataFile) -> bool:
    """Whether the catalog may say that the file ends when its last rows go. If it keeps deletes
    from it already, DuckDB's change feed would show those rows as deleted once more; and several
    sources of deletes may name the same row, so that nobody knows which rows are the last."""
    return file.id in draft.ended_files or may_end(draft, file)


def may_end(draft: TableDraft, file: DataFile) -> bool:
    """The same of a file from which nothing may have been deleted in this transaction yet."""
    if (seen := draft.seen.get(file.id)) is not None:
        return not seen.deleted_positions and len(seen.delete_files) < 2
    return not file.deleted_positions and len(file.deletes) < 2


def end(draft: TableDraft, file_id: int) -> None:
    draft.ended_files.add(file_id)
    draft.delete_files.pop(file_id, None)
    draft.positions.pop(file_id, None)


def _keep_positions(draft: TableDraft, job: Job, doomed: str, file_ids: list[int]) -> None:
    if not file_ids:
        return
    listed = ", ".join(map(str, file_ids))
    rows = job.rows(
        f"SELECT {ROW_FILE}, {ROW_POSITION} FROM {doomed} WHERE {ROW_FILE} IN ({listed})"
        f" ORDER BY {ROW_FILE}, {ROW_POSITION}"
    )
    keep_positions(draft, rows)


def keep_positions(draft: TableDraft, rows: Iterable[tuple[int, int]]) -> None:
    """Have the catalog keep that these rows leave their files, by positions in order."""
    for file_id, position in rows:
        draft.positions[file_id] = (*draft.positions.get(file_id, ()), position)


def _following(draft: TableDraft, delete: NewDeleteFile) -> NewDeleteFile:
    """A delete file that takes the place of one this transaction wrote takes over what that one
    was to replace."""
    earlier = draft.delete_files.get(delete.data_file_id)
    if earlier is None:
        return delete
    return replace(
        delete,
        replaces=earlier.replaces,
        since=earlier.since,
        stamp=earlier.stamp,
    )


def _rewrite_staged(
    tx: DraftSession, draft: TableDraft, job: Job, doomed: str, file: DataFile, count: int
) -> None:
    """A file of this transaction is not history yet: it is written again without the rows."""
    staged = draft.files.pop(file.id)
    if count == file.rows:
        return
    name = f"staged_{-file.id}"
    job.scan(name, plan_of(tx, draft, files=(file,), mapping=staged))
    survivors = (
        f"SELECT * FROM {name} AS {_KEPT} WHERE NOT EXISTS (SELECT 1 FROM {doomed} AS {_GONE}"
        f" WHERE {_GONE}.{ROW_FILE} = {_KEPT}.{ROW_FILE}"
        f" AND {_GONE}.{ROW_POSITION} = {_KEPT}.{ROW_POSITION})"
    )
    _write_over(tx, draft, job, survivors, staged)


def _write_over(tx: DraftSession, draft: TableDraft, job: Job, sql: str, old: NewFile) -> None:
    """What comes in the place of a file of this transaction."""
    place = place_of(old.order)
    _write(tx, draft, job, sql, carries_row_ids=old.carries_row_ids, place=place)


def renew(tx: DraftSession, draft: TableDraft) -> None:
    """Write the draft's own files again, without columns that it has lost before they were ever
    committed: nobody would know that their ids are taken."""
    with tx.job(f"cannot write {draft.after.name}") as job:
        for file_id in list(draft.files):
            staged = draft.files.pop(file_id)
            name = f"staged_{-file_id}"
            file = draft.as_staged(file_id, staged)
            job.scan(name, plan_of(tx, draft, files=(file,), mapping=staged))
            _write_over(tx, draft, job, f"SELECT * FROM {name}", staged)


def plan_of(
    tx: DraftSession,
    draft: TableDraft,
    *,
    files: tuple[DataFile, ...] = (),
    inlined: tuple[InlinedRows, ...] = (),
    mapping: NewFile | None = None,
) -> ScanPlan:
    """A read of some of the draft's own files or rows, all columns and where each row lies."""
    names = [column.name for column in draft.columns]
    plan = tx.look(draft.after.name, ReadRequest([*names, *POINTERS, ROW_NUMBER]))
    mappings = dict(plan.mappings)
    if mapping is not None and mapping.mapping is not None:
        mappings[files[0].mapping_id or 0] = mapping.mapping
    return replace(plan, files=files, inlined=inlined, mappings=mappings)


def settle(tx: DraftSession, draft: TableDraft) -> None:
    """Put rows that are more than the catalog should keep into files."""
    if len(draft.rows) > draft.options.inline_rows:
        flush(tx, draft)


def flush(tx: DraftSession, draft: TableDraft) -> None:
    """Put the draft's catalog rows into files, old ids kept."""
    if not draft.rows:
        return
    rows = InlinedRows(
        draft.row_columns,
        tuple((row_id, draft.stamp, *row.values) for row_id, row in draft.rows.items()),
    )
    plan = plan_of(tx, draft, inlined=(rows,))
    places = sorted({place_of(row_id) for row_id in draft.rows if row_id >= PROVISIONAL_ROW_ID})
    draft.rows.clear()
    columns = ", ".join(quote(column.name) for column in draft.columns)
    with tx.job(f"cannot write {draft.after.name}") as job:
        job.scan("kept", plan)
        kept = f"SELECT {columns}, {ROW_NUMBER} FROM kept WHERE"
        for place in places:
            _write(tx, draft, job, f"{kept} {_in_place(place)} ORDER BY {ROW_NUMBER}", place=place)
        old = f"{kept} {ROW_NUMBER} < {PROVISIONAL_ROW_ID}"
        _write(tx, draft, job, old, carries_row_ids=True)
