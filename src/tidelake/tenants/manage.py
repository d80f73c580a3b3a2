"""Making, listing and dropping tenants."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict

from tidelake.catalog import audit, own_tables
from tidelake.catalog.audit import AuditRecord
from tidelake.catalog.database.database import Reader, Writer
from tidelake.catalog.read import own_snapshots
from tidelake.engine.cell.engine import CellEngine
from tidelake.errors import Denied, Invalid, NotFound
from tidelake.model.change import WriteResult
from tidelake.model.names import TableName
from tidelake.model.namespace import Namespace, checked_role, checked_tenant
from tidelake.model.sandbox import Confinement, Sandbox
from tidelake.model.terms import NO_TERMS, Terms
from tidelake.session import share_records as shares
from tidelake.session.drafting import DraftSession
from tidelake.session.replay import write
from tidelake.session.session import Session
from tidelake.tenants import database_role, records, retention
from tidelake.tenants.records import TenantRecord
from tidelake.tenants.share import folders
from tidelake.tenants.statistics import states
from tidelake.tenants.values import Quota, TenantDrop, TenantState
from tidelake.write import definitions


def create_tenant(
    session: Session, name: str, quota: Quota | None, terms: Terms = NO_TERMS
) -> None:
    """A new tenant with its first schema, in one commit."""
    _check_owner(session)
    namespace = Namespace(checked_tenant(name))
    inside = session.within(namespace, session.local)
    with session.reading() as reader:
        _check_free(reader, session, namespace)
    with session.database.writing() as writer:
        own_tables.ensure(writer, records.TABLE)
        audit.ensure(writer)

    def keep(writer: Writer) -> None:
        records.put(writer, name, quota or Quota())
        audit.put(writer, AuditRecord("create tenant", tenant=name, actor=terms.author))

    def create(tx: DraftSession) -> WriteResult:
        with tx.reading() as reader:
            _check_free(reader, session, namespace)
        tx.in_commit = keep
        return definitions.create_schema(tx, "main")

    write(inside, create, terms=terms)


def _check_free(reader: Reader, session: Session, namespace: Namespace) -> None:
    if records.find(reader, str(namespace.tenant)) is not None:
        raise Invalid(f"there is a tenant {namespace.tenant} already", hint="use lake.tenant(…)")
    taken = [s.name for s in session.view.schemas(reader, session.at(reader))]
    if found := [schema for schema in taken if namespace.holds(schema)]:
        raise Invalid(
            f"the lake has a schema {found[0]} already, which would be the tenant's",
            hint="choose another name, or rename the schema's tables into another",
        )
    if own_snapshots.objects_of(reader, namespace):
        raise Invalid(
            f"there was a tenant or a schema {namespace.tenant}, whose past would be the new one's",
            hint="choose another name, or expire() the snapshots that have it",
        )


def find_tenant(session: Session, name: str) -> TenantRecord:
    with session.reading() as reader:
        found = records.find(reader, name)
        known = [each.name for each in records.every(reader)]
    if found is None:
        raise NotFound(
            f"there is no tenant {name!r}", hint=f"there are: {', '.join(known) or 'none'}"
        )
    return found


def open_tenant(
    session: Session,
    name: str,
    role: str,
    sandbox: Sandbox | None,
    storage_options: Mapping[str, str] | None = None,
) -> Session:
    """The lake for one tenant, confined to its folder."""
    known = find_tenant(session, name).name
    with session.reading() as reader:
        shared = folders(reader, session, known)
    namespace = Namespace(known, checked_role(role), frozenset(shared))
    return confine(session, namespace, sandbox, storage_options, shared.values())


def confine(
    session: Session,
    namespace: Namespace,
    sandbox: Sandbox | None,
    storage_options: Mapping[str, str] | None = None,
    readable: Iterable[str] = (),
) -> Session:
    """The lake within a namespace, and with its own keys to the store if there are such."""
    home = f"{session.data_path}{namespace.folder}"
    walls = Confinement.around(sandbox or Sandbox(), home, readable)
    options, temp, _ = session.local.identity
    given = options if storage_options is None else dict(storage_options)
    return session.within(namespace, CellEngine(given, temp, walls))


def set_quota(session: Session, name: str, quota: Quota, author: str | None = None) -> None:
    _check_owner(session)
    find_tenant(session, name)
    said = ", ".join(f"{key}={value}" for key, value in asdict(quota).items())
    with session.database.writing() as writer:
        audit.ensure(writer)
        records.set_quota(writer, name, quota)
        audit.put(writer, AuditRecord("set quota", detail=said, tenant=name, actor=author))


def tenants(session: Session) -> list[TenantState]:
    """All tenants, by name, and what they have."""
    _check_owner(session)
    with session.reading() as reader:
        return states(reader, session.at(reader), own_tables.clock(reader))


def set_retention(session: Session, name: str, span: str | None, author: str | None = None) -> None:
    """How long the past of a tenant is kept at least."""
    _check_owner(session)
    find_tenant(session, name)
    retention.put(session, name, span, author)


def _tables(reader: Reader, session: Session, namespace: Namespace) -> list[TableName]:
    found = session.view.names(reader, session.at(reader), "table")
    return [name for _, name in found if namespace.holds(name.schema)]


def drop_tenant(
    session: Session, name: str, *, dry_run: bool, terms: Terms = NO_TERMS
) -> TenantDrop:
    """Drop all that a tenant has, in one commit. Its past stays until it expires."""
    _check_owner(session)
    namespace = Namespace(find_tenant(session, name).name)
    with session.reading() as reader:
        tables = _tables(reader, session, namespace)
        at = session.at(reader)
        rows = sum(session.view.row_count(reader, at, each) or 0 for each in tables)
    told = TenantDrop(name, tuple(map(str, tables)), rows, dry_run)
    if not dry_run:
        database_role.shut(session, str(namespace.tenant))
        with session.database.writing() as writer:
            audit.ensure(writer)
        write(session, lambda tx: _drop(tx, namespace, terms.author), terms=terms)
    return told


def _drop(tx: DraftSession, namespace: Namespace, author: str | None) -> WriteResult:
    tenant = str(namespace.tenant)

    def forget(writer: Writer) -> None:
        records.remove(writer, tenant)
        retention.remove(writer, tenant)
        shares.forget_tenant(writer, tenant)
        database_role.remove(writer, tenant)
        audit.put(writer, AuditRecord("drop tenant", tenant=tenant, actor=author))

    tx.in_commit = forget
    with tx.reading() as reader:
        known = tx.view.schemas(reader, tx.base)
    for schema in [each for each in known if namespace.holds(each.name)]:
        definitions.drop_schema(tx, schema.name, cascade=True, thaw=True)
    return definitions.DONE


def _check_owner(session: Session) -> None:
    if not session.namespace.is_whole:
        raise Denied("tenants are their lake's owner's to see", hint="ask the lake's owner")
