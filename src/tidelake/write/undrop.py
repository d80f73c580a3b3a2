"""A dropped table or view back in the lake, as one more commit."""

from __future__ import annotations

import uuid
from dataclasses import replace
from datetime import date

from tidelake.catalog.database.database import Reader
from tidelake.catalog.read import dropped_tables as revival
from tidelake.catalog.read import tables as read
from tidelake.catalog.read.dropped_tables import DroppedObject
from tidelake.errors import Invalid, NotFound, TidelakeError
from tidelake.model.change import ViewChange, WriteResult
from tidelake.model.names import TableName
from tidelake.model.settings import MIRROR_TAG
from tidelake.session.drafting import DraftSession
from tidelake.write.definitions import Check, free_name

DONE = WriteResult(None, operation="undrop")
_SHOWN = 8


def undrop(
    tx: DraftSession,
    name: TableName,
    new: TableName,
    known_at: int | str | date | None,
    check: Check,
) -> WriteResult:
    """Stage the return of what was called so, under that name or another; `check` is for what a
    view selects from."""
    with tx.reading() as reader:
        found = _found(tx, reader, name, known_at)
        revival.check_kept(reader, found)
    home = _home(tx, found, new)
    if found.kind == "view":
        _view(tx, found, home, check)
    else:
        _table(tx, found, home)
    return DONE


def _table(tx: DraftSession, found: DroppedObject, name: TableName) -> None:
    """Its Delta log, if it had one, ended with the drop: it comes without."""
    with tx.reading() as reader:
        table = read.table(reader, found.at - 1, found.id, tx.data_path)
    tags = {key: value for key, value in table.tags.items() if key != MIRROR_TAG}
    tx.drafts.revive(replace(table, name=name, tags=tags), found.at)


def _view(tx: DraftSession, found: DroppedObject, name: TableName, check: Check) -> None:
    """A view is its text: one more is made of it."""
    with tx.reading() as reader:
        view = read.view(reader, found.at - 1, found.id)
    check(tx, view.sql)
    made = replace(view, id=tx.new_id(), name=name, uuid=str(uuid.uuid4()))
    tx.drafts.views[made.id] = ViewChange(None, made)


def _found(
    tx: DraftSession, reader: Reader, name: TableName, known_at: int | str | date | None
) -> DroppedObject:
    gone = [
        each for kind in ("table", "view") for each in revival.dropped_by_name(reader, kind, name)
    ]
    if known_at is not None:
        at = tx.resolve(reader, known_at).snapshot_id
        had = {(kind, read.find(reader, at, kind, name)) for kind in ("table", "view")}
        every = [
            each for kind in ("table", "view") for each in revival.dropped_objects(reader, kind)
        ]
        gone = [each for each in every if (each.kind, each.id) in had and each.at > at]
    if not gone:
        raise _nothing(tx, reader, name, known_at)
    return max(gone, key=lambda each: each.at)


def _nothing(
    tx: DraftSession, reader: Reader, name: TableName, known_at: int | str | date | None
) -> TidelakeError:
    then = "" if known_at is None else f" of {known_at}"
    if any(read.find(reader, tx.base, kind, name) is not None for kind in ("table", "view")):
        return Invalid(
            f"the {name}{then} that there is has not been dropped",
            hint="t.rollback(to=…) brings its rows back; known_at=… names another one",
        )
    dropped = [each.name for each in revival.dropped_objects(reader, "table")]
    known = [str(each) for each in dropped if tx.namespace.holds(each.schema)]
    listed = ", ".join(known[:_SHOWN]) + (", …" if len(known) > _SHOWN else "")
    return NotFound(
        f"no {name}{then} has been dropped, or its snapshots have been expired since",
        hint=f"dropped tables: {listed or 'none'}; lake.log() tells what was done",
    )


def _home(tx: DraftSession, found: DroppedObject, new: TableName) -> TableName:
    """Where it comes to: the schema must be there, and the name free."""
    try:
        return TableName(free_name(tx, new).name, new.name)
    except NotFound as error:
        raise NotFound(
            f"{found.name} cannot come back: {error.message}",
            hint=f'lake.create_schema("{new.schema}") first, or as_="main.{new.name}"',
        ) from None
    except Invalid as error:
        raise Invalid(
            f"{found.name} cannot come back: {error.message}",
            hint=f'lake.undrop("{found.name}", as_="{new.name}_before")',
        ) from None
