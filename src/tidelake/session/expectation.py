"""Whether that which is written to is as the caller expects it: as it was at a snapshot.

Rows count, and all that is declared of a table, a view or a schema. Compaction and other upkeep
do not: they change nothing that anybody reads.
"""

from __future__ import annotations

from collections.abc import Iterable

from tidelake.catalog.database.database import Reader
from tidelake.catalog.read import snapshots
from tidelake.catalog.read import tables as read
from tidelake.errors import Conflict
from tidelake.model.changes_made import operation_of, touched_tables
from tidelake.model.names import TableName, fold
from tidelake.model.snapshot import Snapshot
from tidelake.model.table import TableInfo
from tidelake.session.drafts import Drafts


class ChangedSince(Conflict):
    """What is written to is not as it was expected. To do the write again would change nothing."""


def check(reader: Reader, expected: int, drafts: Drafts, head: int) -> None:
    """Raise ChangedSince if something that is written to has changed, up to `head`."""
    tables = [draft.before for draft in drafts.tables.values() if draft.before is not None]
    tables += [*drafts.dropped.values(), *(each.table for each in drafts.revivals)]
    check_tables(reader, expected, tables, head)
    new = [draft.after.name for draft in drafts.tables.values() if draft.before is None]
    _check_free(reader, expected, "table", new, [table.name for table in tables], head)
    _check_views(reader, expected, drafts, head)
    _check_schemas(reader, expected, drafts, head)


def check_tables(reader: Reader, expected: int, tables: list[TableInfo], head: int) -> None:
    for snapshot in _since(reader, expected, head) if tables else ():
        touched = touched_tables(snapshot.changes)
        for table in tables:
            if table.id in touched:
                what = f"snapshot {snapshot.snapshot_id}, {operation_of(snapshot.changes)}"
                raise _changed(f"{table.name} has changed ({what})", expected, head)
    for table in tables:
        if table.begin_snapshot > expected:
            raise _changed(f"{table.name} has been created or renamed", expected, head)


def _since(reader: Reader, expected: int, head: int) -> list[Snapshot]:
    found = [each for each in snapshots.after(reader, expected) if each.snapshot_id <= head]
    if len(found) < head - expected:
        raise ChangedSince(
            f"nobody can tell what has changed since snapshot {expected}: snapshots after it have"
            " been expired",
            hint=f"read again what you write to, then write with expected={head}",
        )
    return found


def _check_views(reader: Reader, expected: int, drafts: Drafts, head: int) -> None:
    before = [each.before for each in drafts.views.values() if each.before is not None]
    for view in before:
        then = read.find(reader, expected, "view", view.name)
        if then != view.id or read.view(reader, expected, then) != view:
            raise _changed(f"the view {view.name} has changed", expected, head)
    new = [each.after.name for each in drafts.views.values() if each.after is not None]
    _check_free(reader, expected, "view", new, [view.name for view in before], head)


def _check_free(
    reader: Reader,
    expected: int,
    kind: str,
    new: Iterable[TableName],
    known: list[TableName],
    head: int,
) -> None:
    """A new name was not taken then by what is gone now."""
    for name in new:
        if name not in known and read.find(reader, expected, kind, name) is not None:
            raise _changed(f"the {kind} {name} has been dropped or renamed", expected, head)


def _check_schemas(reader: Reader, expected: int, drafts: Drafts, head: int) -> None:
    if not (drafts.new_schemas or drafts.dropped_schemas):
        return
    then = {each.id: fold(each.name) for each in read.schemas(reader, expected, "")}
    for schema in drafts.new_schemas.values():
        if fold(schema.name) in then.values():
            raise _changed(f"the schema {schema.name} has been dropped", expected, head)
    for schema in drafts.dropped_schemas.values():
        if schema.id not in then:
            raise _changed(f"the schema {schema.name} has been created", expected, head)


def _changed(what: str, expected: int, head: int) -> ChangedSince:
    return ChangedSince(
        f"{what} since snapshot {expected}, which was expected",
        hint=f"read it again, then write with expected={head}",
    )
