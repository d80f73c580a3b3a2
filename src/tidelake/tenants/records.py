"""Tenants and their quotas, as they are kept beside the lake."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from tidelake.catalog import own_tables
from tidelake.catalog.database.database import Reader, Writer
from tidelake.catalog.own_tables import OwnTable
from tidelake.catalog.read.snapshots import as_instant
from tidelake.errors import Corrupt
from tidelake.tenants.values import Quota

TABLE = "tidelake_tenant"
own_tables.know(
    {
        TABLE: OwnTable(
            "tenant_name name!, quota text, created_at time",
            needed="tenant_name quota created_at",
            wall="tenant",
        )
    }
)


@dataclass(frozen=True, slots=True)
class TenantRecord:
    name: str
    quota: Quota
    created_at: datetime


def every(reader: Reader) -> list[TenantRecord]:
    """All tenants, by name."""
    if not reader.has_table(TABLE):
        return []
    rows = reader.rows(f"SELECT tenant_name, quota, created_at FROM {TABLE} ORDER BY tenant_name")
    return [TenantRecord(row[0], _quota(row[0], row[1]), as_instant(row[2])) for row in rows]


def find(reader: Reader, name: str) -> TenantRecord | None:
    return next((each for each in every(reader) if each.name == name), None)


def put(writer: Writer, name: str, quota: Quota) -> None:
    """Requires: the table is there."""
    writer.execute(f"DELETE FROM {TABLE} WHERE tenant_name = :name", name=name)
    writer.execute(
        f"INSERT INTO {TABLE} (tenant_name, quota, created_at) VALUES (:name, :quota, :at)",
        name=name,
        quota=json.dumps(asdict(quota)),
        at=writer.dialect.moment(datetime.now(UTC)),
    )


def set_quota(writer: Writer, name: str, quota: Quota) -> None:
    writer.execute(
        f"UPDATE {TABLE} SET quota = :quota WHERE tenant_name = :name",
        name=name,
        quota=json.dumps(asdict(quota)),
    )


def remove(writer: Writer, name: str) -> None:
    writer.execute(f"DELETE FROM {TABLE} WHERE tenant_name = :name", name=name)


def _quota(name: str, text: str) -> Quota:
    try:
        return Quota(**json.loads(text))
    except (ValueError, TypeError) as error:
        raise Corrupt(
            f"the quota of tenant {name} cannot be read: {text!r}",
            hint=f"set it anew: lake.set_quota({name!r}, …)",
        ) from error
