"""Whether a change still makes sense on top of what was committed since it was prepared.

What the change relied on is looked at again as it now is, file by file; `changes_made` only
tells which tables were touched at all, and whether rows came to them. That is at least as strict
as DuckDB, and stricter where DuckDB loses deletes: a file that was compacted, flushed or
deleted from in between is noticed whatever was said about it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tidelake.catalog.annex import Annexes, Since
from tidelake.catalog.commit import inline_tables
from tidelake.catalog.commit.entries import Numbers
from tidelake.catalog.database.database import Reader
from tidelake.catalog.read import tables as read
from tidelake.catalog.read.files import among, chunks
from tidelake.errors import Conflict, NotFound
from tidelake.model.change import Change, SeenFile, Write
from tidelake.model.changes_made import ADDS_ROWS, split_changes
from tidelake.model.names import TableName, fold
from tidelake.model.table import TableInfo

_AGAIN = "read the table again and repeat the write"
_GOING = {"deleted_from_table", "inlined_delete"}


def check(reader: Reader, change: Change, head: Numbers, data_path: str, annexes: Annexes) -> None:
    """Raise Conflict if something the change relies on is not as it was."""
    if head.snapshot_id == change.base:
        return
    if head.schema_version != change.schema_version:
        _check_names(reader, change, head.snapshot_id)
        for table in change.tables:
            if table.before is not None and table.needs_columns:
                only_rows = table.before == table.after
                check_declared(reader, table.before, head.snapshot_id, data_path, only_rows)
    looking = [table for table in change.tables if table.before and table.write.looks]
    landed = _landed(reader, change.base, head.snapshot_id) if looking else None
    for table in looking:
        assert table.before is not None
        _check_rows(reader, table.before, table.write, landed)
        words = None if landed is None else landed.get(table.table.id, set())
        for annex in annexes:
            annex.check(reader, table, Since(change.base, head.snapshot_id, words))


def _landed(reader: Reader, base: int, head: int) -> dict[int, set[str]] | None:
    """What happened to each table since; None when a snapshot in between has been expired."""
    rows = reader.rows(
        "SELECT changes_made FROM ducklake_snapshot_changes WHERE snapshot_id > :base", base=base
    )
    if len(rows) < head - base:
        return None
    found: dict[int, set[str]] = {}
    for (text,) in rows:
        for part in split_changes(text or ""):
            word, _, value = part.partition(":")
            if value.isdigit():
                found.setdefault(int(value), set()).add(word.lower())
    return found


def _check_names(reader: Reader, change: Change, at: int) -> None:
    for schema in change.schemas:
        name = (schema.after or schema.before).name  # type: ignore[union-attr]
        exists = _schema_id(reader, at, name)
        if schema.before is None and exists is not None:
            raise Conflict(f"somebody else created schema {name}", hint="use that one")
        if schema.before is not None:
            if exists != schema.before.id:
                raise Conflict(f"somebody else dropped schema {name}", hint=_AGAIN)
            _check_empty(reader, change, at, schema.before.id, name)
    for table in change.tables:
        before = table.before.name if table.before else None
        _check_name(reader, at, change, before, table.table.name)
    for view in change.views:
        if view.after is not None:
            _check_name(
                reader, at, change, view.before.name if view.before else None, view.after.name
            )
        elif view.before and read.find(reader, at, "view", view.before.name) != view.before.id:
            raise Conflict(f"somebody else changed view {view.before.name}", hint=_AGAIN)


def _check_name(
    reader: Reader, at: int, change: Change, before: TableName | None, after: TableName
) -> None:
    """A new name must be free, and in a schema that is still there."""
    if before == after:
        return
    going = {t.before.id for t in change.tables if t.before and t.after is None}
    going |= {v.before.id for v in change.views if v.before and v.after is None}
    for kind in ("table", "view"):
        found = read.find(reader, at, kind, after)
        if found is not None and found not in going:
            raise Conflict(f"somebody else created {kind} {after}", hint="choose another name")
    fresh = any(
        s.before is None and s.after and s.after.name == after.schema for s in change.schemas
    )
    if not fresh and _schema_id(reader, at, after.schema) is None:
        raise Conflict(f"somebody else dropped schema {after.schema}", hint="create it again")


def _check_empty(reader: Reader, change: Change, at: int, schema_id: int, name: str) -> None:
    going = {t.before.id for t in change.tables if t.before and t.after is None}
    going |= {v.before.id for v in change.views if v.before and v.after is None}
    for kind in ("table", "view", "macro"):
        rows = reader.rows(
            f"SELECT {kind}_id FROM ducklake_{kind} WHERE schema_id = :id AND {read.visible()}",
            id=schema_id,
            at=at,
        )
        if {row[0] for row in rows} - going:
            raise Conflict(f"somebody else created a {kind} in schema {name}", hint=_AGAIN)


def _schema_id(reader: Reader, at: int, name: str) -> int | None:
    rows = reader.rows(
        f"SELECT schema_id, schema_name FROM ducklake_schema WHERE {read.visible()}", at=at
    )
    same = [row for row in rows if fold(row[1]) == fold(name)]
    return same[0][0] if same else None


def check_declared(
    reader: Reader, before: TableInfo, at: int, data_path: str, only_rows: bool
) -> None:
    """The table must be there under its name, declared as it was; to whom `only_rows` matter, as
    far as that is about rows."""
    try:
        now = read.table(reader, at, before.id, data_path)
    except NotFound:
        raise Conflict(f"somebody else dropped table {before.name}", hint=_AGAIN) from None
    if now.name != before.name:
        raise Conflict(f"somebody else renamed table {before.name} to {now.name}", hint=_AGAIN)
    if _declared(now, only_rows) != _declared(before, only_rows):
        raise Conflict(f"somebody else altered table {before.name}", hint=_AGAIN)


def _declared(table: TableInfo, only_rows: bool) -> TableInfo:
    """What matters to a change: to one of rows alone, comments and sorting do not."""
    plain = replace(table, begin_snapshot=0)
    if not only_rows:
        return plain
    settings = {k: v for k, v in table.tags.items() if k.startswith("tidelake.")}
    return replace(plain, tags=settings, sorting=())


def _check_rows(
    reader: Reader, table: TableInfo, write: Write, landed: Mapping[int, set[str]] | None
) -> None:
    words = {*ADDS_ROWS, *_GOING} if landed is None else landed.get(table.id, set())
    if write.read and words & ADDS_ROWS:
        done = "changed rows of" if words & _GOING else "added rows to"
        raise Conflict(f"somebody else {done} {table.name}", hint=_AGAIN)
    if write.alone and words & _GOING:
        raise Conflict(f"somebody else deleted rows from {table.name}", hint=_AGAIN)
    if words or landed is None:
        check_seen(reader, table, write.seen)
        check_catalog_rows(reader, table, write.ended_rows)


def check_seen(reader: Reader, table: TableInfo, seen: Mapping[int, SeenFile]) -> None:
    """Every touched file must be there, with the deletes it had."""
    for ids in chunks(seen):
        live = {
            row[0]
            for row in reader.rows(
                "SELECT data_file_id FROM ducklake_data_file"
                f" WHERE end_snapshot IS NULL{among(ids)}"
            )
        }
        deletes = _delete_files(reader, table.id, ids)
        positions = _positions(reader, table.id, ids)
        for file_id in ids:
            now = SeenFile(frozenset(deletes[file_id]), positions.get(file_id, 0))
            if file_id not in live or now != seen[file_id]:
                raise Conflict(
                    f"somebody else changed or compacted rows of {table.name} that this write"
                    " changes too",
                    hint=_AGAIN,
                )


def _delete_files(reader: Reader, table_id: int, ids: list[int]) -> dict[int, set[int]]:
    rows = reader.rows(
        "SELECT data_file_id, delete_file_id FROM ducklake_delete_file"
        f" WHERE table_id = :id AND end_snapshot IS NULL{among(ids)}",
        id=table_id,
    )
    found: dict[int, set[int]] = {file_id: set() for file_id in ids}
    for file_id, delete_id in rows:
        found[file_id].add(delete_id)
    return found


def _positions(reader: Reader, table_id: int, ids: list[int]) -> dict[int, int]:
    name = inline_tables.deletes_name(table_id)
    if not reader.has_table(name):
        return {}
    rows = reader.rows(
        f'SELECT file_id, count(*) FROM "{name}" WHERE 1 = 1{among(ids, "file_id")}'
        " GROUP BY file_id"
    )
    return {row[0]: row[1] for row in rows}


def check_catalog_rows(reader: Reader, table: TableInfo, row_ids: frozenset[int]) -> None:
    """Rows that are to end must still be in the catalog: a flush moves them into files."""
    found = 0
    for name in inline_tables.names(reader, table.id) if row_ids else ():
        for ids in chunks(row_ids):
            rows = reader.rows(
                f'SELECT count(*) FROM "{name}" WHERE end_snapshot IS NULL{among(ids, "row_id")}'
            )
            found += rows[0][0]
    if found != len(row_ids):
        raise Conflict(
            f"somebody else changed or flushed rows of {table.name} that this write changes too",
            hint=_AGAIN,
        )
