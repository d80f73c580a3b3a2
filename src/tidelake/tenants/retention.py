"""How long a tenant's past is kept at least. Snapshots are the whole lake's: one that any tenant is
promised stays, with all that it shows."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime

from tidelake.catalog import audit, own_tables
from tidelake.catalog.annex import Annex
from tidelake.catalog.audit import AuditRecord
from tidelake.catalog.database.database import Reader, Writer
from tidelake.catalog.own_tables import OwnTable
from tidelake.catalog.read import options
from tidelake.catalog.read.snapshots import as_instant
from tidelake.errors import Conflict
from tidelake.model.age import check_span, moment_before
from tidelake.session.clocks import catalog_time
from tidelake.session.session import Session

TABLE = "tidelake_tenant_retention"
own_tables.know({TABLE: OwnTable("tenant_name name!, span text", needed="tenant_name span")})


def every(reader: Reader) -> dict[str, str]:
    """The spans that tenants are promised, by tenant."""
    if not reader.has_table(TABLE):
        return {}
    rows = reader.rows(f"SELECT tenant_name, span FROM {TABLE} ORDER BY tenant_name")
    return {row[0]: row[1] for row in rows}


def put(session: Session, tenant: str, span: str | None, author: str | None) -> None:
    """From now on; None: nothing is promised. `author` is for the audit."""
    if span is not None:
        check_span(span, name="retention")
        moment_before(datetime.now(UTC), span, name="retention")
    with session.database.writing() as writer:
        own_tables.ensure(writer, TABLE)
        audit.ensure(writer)
    with session.database.writing() as writer:
        remove(writer, tenant)
        detail = span or "none"
        audit.put(writer, AuditRecord("set retention", detail=detail, tenant=tenant, actor=author))
        if span is not None:
            writer.execute(
                f"INSERT INTO {TABLE} (tenant_name, span) VALUES (:name, :span)",
                name=tenant,
                span=span,
            )


def remove(writer: Writer, tenant: str) -> None:
    if writer.has_table(TABLE):
        writer.execute(f"DELETE FROM {TABLE} WHERE tenant_name = :name", name=tenant)


def expiry_moment(session: Session) -> datetime | None:
    """Before which an expiry that is told nothing may take snapshots: so that every promise is
    kept, and the lake's own option too. None if nothing was promised."""
    now = datetime.now(UTC) if session.database.read_only else catalog_time(session)
    with session.reading() as reader:
        spans = [*every(reader).values()]
        own = options.of_lake(reader, "expire_older_than")
    if not spans:
        return None
    return min(moment_before(now, span) for span in [*spans, *([own] if own else [])])


class RetentionAnnex(Annex):
    """Snapshots that a tenant is promised stay, unless by force."""

    tables = (TABLE,)

    def protect(self, reader: Reader, snapshots: Collection[int], /) -> None:
        if not snapshots or not (spans := every(reader)):
            return
        newest = max(snapshots)
        moment = reader.dialect.instant.format("snapshot_time")
        row = reader.row(
            f"SELECT {moment} FROM ducklake_snapshot WHERE snapshot_id = :id", id=newest
        )
        if row is None:
            return
        now = own_tables.clock(reader)
        for tenant, span in spans.items():
            if as_instant(row[0]) >= moment_before(now, span):
                raise Conflict(
                    f"tenant {tenant} is promised its past of {span}, and snapshot {newest} is of"
                    f" {as_instant(row[0]):%Y-%m-%d %H:%M}",
                    hint=f"expire less; lake.expire() keeps what is promised; or shorten it:"
                    f" lake.set_retention({tenant!r}, …); or pass force=True",
                )
