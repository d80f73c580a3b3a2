"""What was done to a lake without a commit that tells of it: by whom, when, and how much.

Commits tell of themselves (`history/log.py`). A row here is written in the transaction of what it
tells, or right after it.
"""

from __future__ import annotations

import getpass
from dataclasses import dataclass
from datetime import UTC, datetime

from tidelake.catalog import own_tables
from tidelake.catalog.database.database import Reader, Row, Writer
from tidelake.catalog.own_tables import OwnTable
from tidelake.catalog.read.snapshots import as_instant

TABLE = "tidelake_audit"
own_tables.know(
    {
        TABLE: OwnTable(
            "audit_id int!, made_at time, actor text, action text, table_name text,"
            " snapshot_id int, row_count int, detail text, tenant text",
            needed="audit_id made_at action",
        )
    }
)
_COLUMNS = (
    "audit_id",
    "made_at",
    "actor",
    "action",
    "table_name",
    "snapshot_id",
    "row_count",
    "detail",
    "tenant",
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """One thing that was done. `id` grows with every one."""

    action: str
    table: str | None = None
    snapshot_id: int | None = None
    rows: int | None = None
    detail: str | None = None
    tenant: str | None = None
    actor: str | None = None
    time: datetime = _EPOCH
    id: int = 0


def whoever() -> str | None:
    """Who runs this process, as far as the system tells."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return None


def ensure(writer: Writer) -> None:
    """Call it before anything is written: MySQL commits what has been written until then."""
    own_tables.ensure(writer, TABLE)


def put(writer: Writer, record: AuditRecord) -> None:
    """Requires: the lake's lock, and the table."""
    row = writer.row(f"SELECT max(audit_id) FROM {TABLE}")
    number = 1 if row is None or row[0] is None else int(row[0]) + 1
    values = (
        number,
        writer.dialect.moment(own_tables.clock(writer)),
        record.actor or whoever(),
        record.action,
        record.table,
        record.snapshot_id,
        record.rows,
        record.detail,
        record.tenant,
    )
    writer.insert_values(TABLE, _COLUMNS, [values])


def put_alone(writer: Writer, record: AuditRecord) -> None:
    """The same in a transaction of its own."""
    ensure(writer)
    put(writer, record)


def newest(reader: Reader, before: int | None, limit: int) -> list[AuditRecord]:
    """The newest records before an id, newest first."""
    if not reader.has_table(TABLE):
        return []
    moment = reader.dialect.instant.format("made_at")
    listed = ", ".join(moment if name == "made_at" else name for name in _COLUMNS)
    which = "" if before is None else f" WHERE audit_id < {before}"
    rows = reader.rows(
        f"SELECT {listed} FROM {TABLE}{which} ORDER BY audit_id DESC LIMIT {int(limit)}"
    )
    return [_record(row) for row in rows]


def _record(row: Row) -> AuditRecord:
    number, made, actor, action, table, at, rows, detail, tenant = row
    return AuditRecord(action, table, at, rows, detail, tenant, actor, as_instant(made), number)
