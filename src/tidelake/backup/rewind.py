"""All tables and views of a lake back to what they were at a moment, as further commits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial

from tidelake.catalog.database.database import Reader, Writer
from tidelake.catalog.read import tables as read
from tidelake.history.rollback import rollback
from tidelake.model.names import TableName, fold
from tidelake.model.settings import FROZEN_TAG
from tidelake.model.table import ViewInfo
from tidelake.session import data_set_records as data_sets
from tidelake.session.drafting import DraftSession
from tidelake.session.landing import transaction
from tidelake.session.session import Session
from tidelake.sql.query import check_view
from tidelake.write import definitions
from tidelake.write.undrop import undrop


@dataclass(frozen=True, slots=True)
class _Contents:
    """What is there by name at a snapshot: tables by id, views by name, schemas."""

    tables: Mapping[int, TableName]
    views: Mapping[TableName, ViewInfo]
    schemas: frozenset[str]

    @staticmethod
    def at(session: Session, reader: Reader, at: int) -> _Contents:
        views = read.names(reader, at, "view")
        return _Contents(
            dict(read.names(reader, at, "table")),
            {name: read.view(reader, at, view_id) for view_id, name in views},
            frozenset(each.name for each in read.schemas(reader, at, session.data_path)),
        )


def rewind(session: Session, to: int | str | date) -> int:
    """Give tables, views and schemas the names, columns, settings and rows that they had; how many
    snapshots that took. What has come since is dropped, and stays in the past."""
    with session.reading() as reader:
        at, first = session.resolve(reader, to).snapshot_id, session.at(reader)
        then = _Contents.at(session, reader, at)
        now = _Contents.at(session, reader, first)
    with transaction(session) as tx:
        _make_room(tx, then, now)
        tx.in_commit = partial(_note_drops, [id_ for id_ in now.tables if id_ not in then.tables])
    for table_id, name in then.tables.items():
        if table_id not in now.tables:
            with transaction(session) as tx:
                undrop(tx, name, name, at, check_view)
    with transaction(session) as tx:
        _put_back(tx, then, at)
    with session.reading() as reader:
        return session.at(reader) - first


def _note_drops(tables: Sequence[int], writer: Writer) -> None:
    """Of data sets among them it is known then that they are gone."""
    if writer.has_table(data_sets.TABLE):
        for table_id in tables:
            data_sets.note_drop(writer, table_id)


def _make_room(tx: DraftSession, then: _Contents, now: _Contents) -> None:
    """Drop what was not there, or was another one of that name; make schemas that were."""
    for name in now.views.keys() - then.views.keys():
        definitions.drop_view(tx, name)
    for table_id, name in now.tables.items():
        if table_id not in then.tables:
            tx.drop_table(name, thaw=True)
    for schema in sorted(then.schemas - now.schemas):
        definitions.create_schema(tx, schema)


def _put_back(tx: DraftSession, then: _Contents, at: int) -> None:
    with tx.reading() as reader:
        now = _Contents.at(tx, reader, tx.base)
        frozen = read.tag_values(reader, tx.base, FROZEN_TAG)
    moved = [id_ for id_, name in then.tables.items() if now.tables[id_] != name]
    for table_id in moved:  # out of each other's way first: two may have changed places
        aside = TableName(now.tables[table_id].schema, f"_tidelake_aside_{table_id}")
        definitions.rename(tx, now.tables[table_id], aside)
    for table_id, name in then.tables.items():
        if table_id in moved:
            aside = TableName(now.tables[table_id].schema, f"_tidelake_aside_{table_id}")
            definitions.rename(tx, aside, name)
        if table_id not in frozen:
            rollback(tx, name, at)
    _put_views_back(tx, then, now)
    for schema in now.schemas - then.schemas:
        if fold(schema) != "main":
            definitions.drop_schema(tx, schema, cascade=False)


def _put_views_back(tx: DraftSession, then: _Contents, now: _Contents) -> None:
    """All are dropped that are others, and then made: one may select from another."""
    changed = [
        (name, view)
        for name, view in then.views.items()
        if name not in now.views
        or (now.views[name].sql, now.views[name].column_aliases) != (view.sql, view.column_aliases)
    ]
    for name, _ in changed:
        if name in now.views:
            definitions.drop_view(tx, name)
    for name, view in changed:
        definitions.create_view(
            tx,
            name,
            view.sql,
            columns=view.column_aliases,
            replaces=False,
            check=lambda *_: None,  # it was there, with all that it selects from
        )
