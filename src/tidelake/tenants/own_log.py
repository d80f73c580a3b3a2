"""The log of a lake and of a table. A tenant sees what was done to its own tables, and nothing of
others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from tidelake.catalog.database.database import Reader
from tidelake.catalog.read import snapshots
from tidelake.errors import Invalid
from tidelake.history import log
from tidelake.history.values import LogEntry
from tidelake.model.names import TableName
from tidelake.model.namespace import Namespace
from tidelake.session.session import Session
from tidelake.session.source import Source

_SCHEMA = re.compile(r'created_schema:"?(.*?)"?')


def lake_log(session: Session, limit: int | None, at: int | None = None) -> list[LogEntry]:
    """The newest `limit` commits of a lake up to a snapshot, or of what a tenant sees of it."""
    session.reads.everything()
    with session.reading() as reader:
        last = session.at(reader) if at is None else at
        if not session.namespace.is_whole:
            return own_log(reader, last, session.namespace, limit)
        return log.entries(reader, snapshots.newest(reader, last, limit))


def table_log(source: Source, limit: int | None) -> list[LogEntry]:
    """The newest `limit` commits that changed a table."""
    source.session.note_rows(source.name, source.snapshot_id)
    with source.session.reading() as reader:
        at = source.at(reader)
        table_id = source.info(reader, at).id
        found = log.entries_of(reader, table_id, at, limit)
    namespace = source.session.namespace
    return found if namespace.is_whole else list(own_entries(found, namespace))


def own_log(reader: Reader, at: int, namespace: Namespace, limit: int | None) -> list[LogEntry]:
    """The newest `limit` commits up to a snapshot that changed something of a tenant's."""
    found = [each for each in snapshots.every(reader) if each.snapshot_id <= at]
    own = list(own_entries(log.entries(reader, found), namespace))
    return own[-limit:] if limit else own


def own_entries(found: Iterable[LogEntry], namespace: Namespace) -> Iterator[LogEntry]:
    """Of a commit that changed others' tables too, only that it changed the tenant's."""
    for entry in found:
        own = tuple(name for name in entry.tables if _holds(namespace, name))
        if own and len(own) == len(entry.tables):
            yield entry
        elif own:
            yield LogEntry(entry.snapshot_id, entry.time, 0, operation=entry.operation, tables=own)
        elif not entry.tables and _made_schema(entry, namespace):
            yield replace(entry, extra=None)


def _holds(namespace: Namespace, name: str) -> bool:
    try:
        return namespace.holds(TableName.parse(name).schema)
    except Invalid:
        return False


def _made_schema(entry: LogEntry, namespace: Namespace) -> bool:
    made = [found.group(1) for each in entry.changes if (found := _SCHEMA.fullmatch(each))]
    return bool(made) and all(map(namespace.holds, made))
