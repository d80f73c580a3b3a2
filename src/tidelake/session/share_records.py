"""Tables that the lake's owner lets tenants read, under names in their schema `shared`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tidelake.catalog import own_tables
from tidelake.catalog.database.database import Reader, Writer
from tidelake.catalog.own_tables import OwnTable
from tidelake.catalog.read.snapshots import as_instant

TABLE = "tidelake_share"
EVERYBODY = "*"
own_tables.know(
    {
        TABLE: OwnTable(
            "share_name name!, tenant_name name!, table_id int, shared_at time",
            needed="share_name tenant_name table_id shared_at",
            wall="nobody",
        )
    }
)


@dataclass(frozen=True, slots=True)
class ShareRecord:
    """A table by its id, what tenants call it, and one of them, or `*` for all."""

    name: str
    tenant: str
    table_id: int
    shared_at: datetime


def every(reader: Reader) -> list[ShareRecord]:
    """All of them, by name."""
    if not reader.has_table(TABLE):
        return []
    rows = reader.rows(
        f"SELECT share_name, tenant_name, table_id, shared_at FROM {TABLE}"
        " ORDER BY share_name, tenant_name"
    )
    return [ShareRecord(row[0], row[1], row[2], as_instant(row[3])) for row in rows]


def with_tenant(reader: Reader, tenant: str) -> dict[str, int]:
    """The tables that a tenant may read, by the names that it has for them."""
    own = [each for each in every(reader) if each.tenant in (tenant, EVERYBODY)]
    return {each.name: each.table_id for each in own}


def put(writer: Writer, name: str, tenant: str, table_id: int, at: datetime) -> None:
    """Requires: the table is there."""
    remove(writer, name, tenant)
    writer.execute(
        f"INSERT INTO {TABLE} (share_name, tenant_name, table_id, shared_at)"
        " VALUES (:name, :tenant, :id, :at)",
        name=name,
        tenant=tenant,
        id=table_id,
        at=writer.dialect.moment(at),
    )


def remove(writer: Writer, name: str, tenant: str) -> None:
    writer.execute(
        f"DELETE FROM {TABLE} WHERE share_name = :name AND tenant_name = :tenant",
        name=name,
        tenant=tenant,
    )


def forget_tenant(writer: Writer, tenant: str) -> None:
    """Nothing is shared with it any more."""
    if writer.has_table(TABLE):
        writer.execute(f"DELETE FROM {TABLE} WHERE tenant_name = :tenant", tenant=tenant)
