"""Tables that the lake's owner shares with tenants, to read."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from tidelake.catalog import audit, own_tables
from tidelake.catalog.annex import Annex
from tidelake.catalog.audit import AuditRecord
from tidelake.catalog.database.database import Reader, Writer
from tidelake.catalog.read import paths
from tidelake.catalog.read import tables as read
from tidelake.errors import Invalid, NotFound
from tidelake.model.column_rules import check_characters
from tidelake.model.names import TableName, fold
from tidelake.model.namespace import FOLDER, tenant_of
from tidelake.session import share_records as shares
from tidelake.session.session import Session
from tidelake.session.share_records import EVERYBODY, ShareRecord
from tidelake.session.source import seen_at
from tidelake.tenants import records

With = str | Sequence[str]


@dataclass(frozen=True, slots=True)
class Share:
    """A table, what it is called in the schema `shared`, and with whom: tenants by name, or all
    of them (`*`)."""

    table: str
    name: str
    with_tenants: tuple[str, ...]
    shared_at: datetime


def share(
    session: Session,
    table: TableName,
    with_tenants: With,
    name: str | None,
    author: str | None = None,
) -> Share:
    """Let tenants read a table; who could before can still. `author` is for the audit."""
    called = table.name if name is None else name
    check_characters(called, f"the name {called!r} of a share")
    with session.reading() as reader:
        at = session.at(reader)
        found = session.table_info(reader, at, table)
        wanted = _checked(reader, with_tenants)
        _check_own(reader, found.name)
        _check_folder(reader, session.data_path, found.id, found.path)
        _check_free(reader, called, found.id)
    with session.database.writing() as writer:
        own_tables.ensure(writer, shares.TABLE)
        audit.ensure(writer)
    with session.database.writing() as writer:
        _check_free(writer, called, found.id)
        moment = own_tables.clock(writer)
        for tenant in wanted:
            shares.put(writer, called, tenant, found.id, moment)
            told = _told("share", found.name, tenant, author)
            audit.put(writer, told)
    (done,) = [each for each in every(session) if each.name == called]
    return done


def unshare(
    session: Session, table: TableName, with_tenants: With | None, author: str | None = None
) -> None:
    """Let tenants read it no longer; nobody, unless some are named."""
    with session.reading() as reader:
        table_id = session.table_info(reader, session.at(reader), table).id
        own = [each for each in shares.every(reader) if each.table_id == table_id]
        wanted = None if with_tenants is None else _checked(reader, with_tenants)
    going = [each for each in own if wanted is None or each.tenant in wanted]
    if not going:
        raise NotFound(f"{table} is not shared so", hint="lake.shares() tells what is")
    with session.database.writing() as writer:
        audit.ensure(writer)
    with session.database.writing() as writer:
        for each in going:
            shares.remove(writer, each.name, each.tenant)
            told = _told("unshare", table, each.tenant, author)
            audit.put(writer, told)


def _told(action: str, table: TableName, tenant: str, author: str | None) -> AuditRecord:
    if tenant == EVERYBODY:
        return AuditRecord(action, str(table), detail="all tenants", actor=author)
    return AuditRecord(action, str(table), tenant=tenant, actor=author)


def every(session: Session) -> list[Share]:
    """All that is shared, by the names that tenants have for it."""
    with session.reading() as reader:
        known = dict(read.names(reader, session.at(reader), "table"))
        found = shares.every(reader)
    groups: dict[str, list[ShareRecord]] = {}
    for each in found:
        if each.table_id in known:
            groups.setdefault(each.name, []).append(each)
    return [
        Share(
            str(known[group[0].table_id]),
            name,
            tuple(each.tenant for each in group),
            min(each.shared_at for each in group),
        )
        for name, group in groups.items()
    ]


def folders(reader: Reader, session: Session, tenant: str) -> dict[int, str]:
    """The tables that a tenant may read beside its own, and where their files are."""
    at = seen_at(session, reader)
    known = {table_id for table_id, _ in read.names(reader, at, "table")}
    wanted = [each for each in shares.with_tenant(reader, tenant).values() if each in known]
    return {each: read.table(reader, at, each, session.data_path).path for each in wanted}


def _checked(reader: Reader, with_tenants: With) -> tuple[str, ...]:
    wanted = (with_tenants,) if isinstance(with_tenants, str) else tuple(with_tenants)
    if not wanted:
        raise Invalid("nobody is named to share with", hint='with_tenants="*", or a list of names')
    known = {each.name for each in records.every(reader)} | {EVERYBODY}
    for each in wanted:
        if each not in known:
            raise NotFound(f"there is no tenant {each!r}", hint='lake.tenants(); "*" is all')
    return wanted


def _check_own(reader: Reader, table: TableName) -> None:
    """What is a tenant's is not shared behind its back."""
    if tenant_of(table.schema) in {each.name for each in records.every(reader)}:
        raise Invalid(
            f"{table} is a tenant's own table", hint="share tables of the lake's own schemas"
        )


def _check_folder(reader: Reader, data_path: str, table_id: int, folder: str) -> None:
    """A tenant can read all that is in the folder of a shared table: it must hold nothing else."""
    ids = [row[0] for row in reader.rows("SELECT DISTINCT table_id FROM ducklake_table")]
    known = paths.folders(reader, ids, data_path)
    below = [each for key, each in known.items() if key != table_id and each.startswith(folder)]
    if below or f"{data_path}{FOLDER}".startswith(folder):
        raise Invalid(
            f"the folder {folder} of the table holds files of others too",
            hint="copy the table into one of its own: CREATE TABLE … AS SELECT …",
        )


def _check_free(reader: Reader, name: str, table_id: int) -> None:
    for each in shares.every(reader):
        if fold(each.name) == fold(name) and (each.table_id, each.name) != (table_id, name):
            raise Invalid(
                f"another table is shared as {each.name} already",
                hint='share it under another name: lake.share(…, name="…")',
            )


class SharesAnnex(Annex):
    """A table that is gone is shared with nobody."""

    tables = (shares.TABLE,)

    def tables_gone(self, writer: Writer, table_ids: Collection[int], /) -> None:
        for each in shares.every(writer):
            if each.table_id in table_ids:
                shares.remove(writer, each.name, each.tenant)
