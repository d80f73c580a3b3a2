"""Freezing: the rows of a query, written once as a table of their own, and what they were."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from tidelake.catalog import erasures, own_tables
from tidelake.catalog.database.database import Reader, Writer
from tidelake.catalog.read import snapshots
from tidelake.catalog.read import tables as read
from tidelake.datasets.recipe import Recipe, snapshot_of
from tidelake.datasets.values import DataSetFacts
from tidelake.engine.declare.columns import columns_of
from tidelake.errors import Conflict, Invalid, NotFound
from tidelake.model.change import WriteResult
from tidelake.model.names import TableName, fold
from tidelake.model.schema import Schema
from tidelake.model.settings import FROZEN_TAG
from tidelake.model.tag import checked_name
from tidelake.model.terms import Purpose, Terms
from tidelake.session import data_set_records as data_sets
from tidelake.session.data_set_records import DataSetRecord
from tidelake.session.drafting import DraftSession
from tidelake.session.replay import write
from tidelake.session.session import Session
from tidelake.verify.content import rows_hash
from tidelake.write import definitions
from tidelake.write import rows as writes


def table_of(session: Session, name: str) -> TableName:
    """The table that a set of this name has, as the catalog calls it."""
    return session.namespace.table(TableName(data_sets.SCHEMA, name))


def freeze(session: Session, name: str, recipe: Recipe, terms: Terms) -> WriteResult:
    """Keep the rows of a recipe under a name, in one commit. They are hashed as they have been
    written: what is noted is what readers will read."""
    target = table_of(session, checked_name(name, "data set"))

    def operation(tx: DraftSession) -> WriteResult:
        _make_home(tx, name, target)
        known = snapshot_of(tx, recipe.known_at)
        found = recipe.ready(tx)
        columns = Schema(columns_of(found.columns))
        draft = definitions.create(tx, target, columns, (), {FROZEN_TAG: "true"})
        before = tx.replayable
        done = writes.append(tx, target, found.rows(draft.columns))
        tx.replayable = before  # a recipe can be asked again
        found.check()
        held = rows_hash(tx, tx.plan(target, None))
        record = DataSetRecord(
            0,
            recipe.text,
            recipe.as_of,
            known.snapshot_id,
            known.time,
            found.sources,
            terms.author,
            terms.message,
            known.time,
            held.rows,
            held.fingerprint,
        )
        tx.in_commit = partial(_keep, target, record, tx.base)
        return replace(done, operation="freeze")

    return write(session, operation, terms=terms, purpose=Purpose("freeze", (str(target),)))


def _keep(target: TableName, record: DataSetRecord, base: int, writer: Writer) -> None:
    """In the commit's own transaction, where the table has its id. What was erased from a source
    since it was read must not come back: then it is read again."""
    for each in erasures.every(writer):
        of_it = record.sources is None or each.table_id in record.sources
        if of_it and each.snapshot_id is not None and each.snapshot_id > base:
            raise Conflict("rows were erased while they were frozen", hint="freeze them again")
    table_id = read.find(writer, snapshots.head_id(writer), "table", target)
    assert table_id is not None
    now = own_tables.clock(writer)
    data_sets.put(writer, replace(record, table_id=table_id, made_at=now))


def _make_home(tx: DraftSession, name: str, target: TableName) -> None:
    with tx.reading() as reader:
        known = {fold(each.name) for each in tx.view.schemas(reader, tx.base)}
        taken = fold(target.schema) in known and any(
            tx.view.find(reader, tx.base, kind, target) is not None for kind in ("table", "view")
        )
    if taken:
        raise Invalid(
            f"there is a data set {name!r} already, and its rows stay as they are",
            hint=f"choose another name, or end it first: lake.drop_frozen({name!r})",
        )
    if fold(target.schema) not in known:
        definitions.create_schema(tx, target.schema)


def drop_frozen(session: Session, name: str, terms: Terms) -> WriteResult:
    """End a set: its table is dropped. Its rows go when the last snapshot that sees them does."""
    target = table_of(session, name)

    def operation(tx: DraftSession) -> WriteResult:
        with tx.reading() as reader:
            record = record_of(tx, reader, name)
        tx.drop_table(target, thaw=True)
        tx.in_commit = lambda writer: data_sets.note_drop(writer, record.table_id)
        return WriteResult(None, operation="drop frozen")

    return write(session, operation, terms=terms, purpose=Purpose("drop_frozen", (str(target),)))


def record_of(session: Session, reader: Reader, name: str) -> DataSetRecord:
    """What is known of the set of this name that the session's snapshot has."""
    return record_at(session, reader, table_of(session, name), name)


def record_at(session: Session, reader: Reader, table: TableName, name: str) -> DataSetRecord:
    """The same, by the table that has its rows."""
    table_id = session.view.find(reader, session.at(reader), "table", table)
    found = None if table_id is None else data_sets.of_table(reader, table_id)
    if found is None:
        listed = ", ".join(each.name for each in facts_of_all(session))
        raise NotFound(f"there is no data set {name!r}", hint=f"there are: {listed or 'none'}")
    return found


def facts_of_all(session: Session) -> list[DataSetFacts]:
    """All sets that the session's snapshot has, in the order in which they were made."""
    with session.reading() as reader:
        names = dict(session.view.names(reader, session.at(reader), "table"))
        known = data_sets.every(reader)
    return [facts(session, each, names[each.table_id]) for each in known if each.table_id in names]


def facts(session: Session, record: DataSetRecord, table: TableName) -> DataSetFacts:
    """For the lake's owner, the set of a tenant has the name of its table."""
    inner = session.namespace.inner_table(table)
    return DataSetFacts(
        inner.name if fold(inner.schema) == data_sets.SCHEMA else str(inner),
        str(inner),
        record.query,
        record.as_of,
        record.known_at,
        record.known_time,
        record.rows,
        record.fingerprint,
        record.author,
        record.message,
        record.made_at,
        record.rebased_at,
    )
