"""Roles of the database for tenants: a login that sees its own rows, whatever SQL it sends."""

from __future__ import annotations

import secrets
from urllib.parse import quote, urlsplit, urlunsplit

from tidelake.catalog import own_tables
from tidelake.catalog.database.database import Writer
from tidelake.catalog.database.url import CatalogUrl
from tidelake.catalog.database.walls import Guest, Walls
from tidelake.catalog.own_tables import OwnTable
from tidelake.errors import Denied, Unsupported
from tidelake.model.namespace import checked_role
from tidelake.session.session import Session
from tidelake.tenants.values import TenantLogin

TABLE = "tidelake_tenant_role"
own_tables.know(
    {
        TABLE: OwnTable(
            "role_name name!, tenant_name name, access name",
            needed="role_name tenant_name access",
        )
    }
)


def check_possible(session: Session) -> Walls:
    """Raise Unsupported if the catalog's database has nothing to hold a login to its rows."""
    dialect, kind = session.database.dialect, session.database.url.kind
    if dialect.walls is None:
        raise Unsupported(
            f"database_role is not possible in a catalog on {kind}: {dialect.why_no_walls}",
            hint="keep such a catalog on PostgreSQL; or keep its address to yourself, and give out"
            " what lake.tenant(…) gives",
        )
    return dialect.walls


def raise_walls(session: Session) -> None:
    """Make all tables that this version knows of, for tenants may make none, and raise the walls
    around all that there are."""
    walls = check_possible(session)
    _ = session.annexes  # all that keep tables of their own have said so then
    with session.database.writing() as writer:
        own_tables.ensure_all(writer)
        walls.build(writer, own_tables.walls())


def admit(session: Session, tenant: str, role: str) -> TenantLogin:
    """A login for a tenant: a new one, or another password for the one that it has. Requires: the
    walls stand."""
    walls, guest = check_possible(session), Guest(tenant, checked_role(role))
    password = secrets.token_urlsafe(24)
    with session.database.writing() as writer:
        name = walls.admit(writer, guest, password)
    url = _address(session.database.url, name, password)
    return TenantLogin(tenant, name, guest.access, password, url)


def shut(session: Session, tenant: str) -> None:
    """End what a tenant does in roles of its own, and let nobody in any more."""
    walls = session.database.dialect.walls
    if walls is not None:
        with session.database.writing() as writer:
            if writer.has_table(TABLE):
                walls.shut(writer, tenant)


def remove(writer: Writer, tenant: str) -> None:
    """Requires: its roles are shut."""
    if writer.dialect.walls is not None and writer.has_table(TABLE):
        writer.dialect.walls.remove(writer, tenant)


def guest_of(session: Session) -> Guest | None:
    """Whose role the lake was opened in."""
    walls = session.database.dialect.walls
    if walls is None:
        return None
    with session.reading() as reader:
        guest = walls.guest(reader)
    if guest is not None and guest.tenant is None:
        raise Denied("this role is of no tenant any more", hint="ask the lake's owner for a login")
    return guest


def _address(url: CatalogUrl, role: str, password: str) -> str:
    scheme, place, path, query, _ = urlsplit(url.whole)
    host = place.rpartition("@")[2]
    return urlunsplit((scheme, f"{role}:{quote(password, safe='')}@{host}", path, query, ""))
