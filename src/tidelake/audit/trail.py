"""The trail of a lake, read from its end: as many as are wanted, and no more."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime
from heapq import merge
from itertools import islice, takewhile
from typing import TYPE_CHECKING

from tidelake.audit.values import AuditEvent
from tidelake.catalog import audit as records
from tidelake.catalog.audit import AuditRecord
from tidelake.catalog.database.database import Reader
from tidelake.catalog.read import snapshots
from tidelake.coverage.frame import Tabular, as_table
from tidelake.drawing.report import DrawableReport
from tidelake.errors import Invalid
from tidelake.history import log
from tidelake.history.values import LogEntry, checked_limit
from tidelake.model.moment import from_now
from tidelake.model.names import TableName
from tidelake.model.namespace import Namespace
from tidelake.model.numpy_scalar import python_value
from tidelake.session.session import Session
from tidelake.tenants import records as tenants

if TYPE_CHECKING:
    import pyarrow as pa

ERASE = "erase"
_PAGE = 200
_COLUMNS = (
    ("time", "timestamptz"),
    ("actor", "string"),
    ("action", "string"),
    ("table", "string"),
    ("snapshot_id", "int64"),
    ("rows", "int64"),
    ("detail", "string"),
    ("tenant", "string"),
)

_MOMENTS = 'write "2024-03-15T00:00:00" or "now - 1 day"'


class AuditTrail(list[AuditEvent], Tabular, DrawableReport):
    """Events, newest last. As a frame: `time`, `actor`, `action`, `table`, `snapshot_id`, `rows`,
    `detail`, `tenant`."""

    def to_arrow(self) -> pa.Table:
        rows = [[getattr(each, name) for name, _ in _COLUMNS] for each in self]
        return as_table(_COLUMNS, rows)

    def __str__(self) -> str:
        return "\n".join(map(str, self))


def audit_trail(
    session: Session,
    *,
    since: str | date | None,
    until: str | date | None,
    action: str | None,
    limit: int | None,
) -> AuditTrail:
    first, last = _moment(since, "since"), _moment(until, "until")
    if action is not None and not isinstance(action, str):
        raise Invalid(f"action={action!r} is no action", hint='action="erase"')
    most = checked_limit(limit)
    with session.reading() as reader:
        found = _newest_first(reader, session.at(reader))
        if first is not None:
            found = takewhile(lambda each: each.time >= first, found)
        wanted = (
            each
            for each in found
            if (last is None or each.time < last) and action in (None, each.action)
        )
        return AuditTrail(
            reversed(list(islice(wanted, None if most is None else min(most, sys.maxsize))))
        )


def _moment(given: str | date | None, name: str) -> datetime | None:
    if given is None:
        return None
    found = from_now(python_value(given))
    try:
        moment = datetime.fromisoformat(found) if isinstance(found, str) else found
        if isinstance(moment, date) and not isinstance(moment, datetime):
            moment = datetime(moment.year, moment.month, moment.day)
        return moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(UTC)
    except (ValueError, TypeError, AttributeError):
        raise Invalid(f"{name}={given!r} is no time", hint=_MOMENTS) from None


def _newest_first(reader: Reader, at: int) -> Iterator[AuditEvent]:
    commits, others = _commits(reader, at), _others(reader)
    yield from merge(commits, others, key=lambda each: each.time, reverse=True)


def _commits(reader: Reader, at: int) -> Iterator[AuditEvent]:
    """Those of erasures are told by the erasures."""
    known = [Namespace(each.name) for each in tenants.every(reader)]
    while found := snapshots.newest(reader, at, _PAGE):
        for entry in reversed(log.entries(reader, found)):
            if entry.operation != ERASE:
                yield _of_commit(entry, known)
        at = found[0].snapshot_id - 1


def _of_commit(entry: LogEntry, known: Iterable[Namespace]) -> AuditEvent:
    counts = (entry.inserted, entry.updated, entry.deleted)
    rows = None if None in counts else sum(count or 0 for count in counts)
    return AuditEvent(
        entry.time,
        entry.author,
        entry.operation,
        ", ".join(entry.tables) or None,
        entry.snapshot_id,
        rows,
        entry.message,
        _tenant(entry.tables, known),
    )


def _tenant(names: Iterable[str], known: Iterable[Namespace]) -> str | None:
    """Whose all the tables are."""
    schemas = set()
    for name in names:
        try:
            schemas.add(TableName.parse(name).schema)
        except Invalid:
            return None
    own = [each for each in known if schemas and all(map(each.holds, schemas))]
    return own[0].tenant if own else None


def _others(reader: Reader) -> Iterator[AuditEvent]:
    before: int | None = None
    while found := records.newest(reader, before, _PAGE):
        yield from map(_of_record, found)
        before = found[-1].id


def _of_record(record: AuditRecord) -> AuditEvent:
    return AuditEvent(
        record.time,
        record.actor,
        record.action,
        record.table,
        record.snapshot_id,
        record.rows,
        record.detail,
        record.tenant,
    )
