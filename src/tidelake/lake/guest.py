"""A lake that is opened in a role of one tenant."""

from __future__ import annotations

from tidelake.model.namespace import Namespace
from tidelake.model.sandbox import Sandbox
from tidelake.session.session import Session


def as_guest(session: Session, sandbox: bool | Sandbox) -> Session:
    """The lake as whoever has opened it may see it: if the database knows its role as a tenant's,
    that tenant's, always in a sandbox."""
    if session.database.dialect.walls is None:
        return session
    from tidelake.tenants.database_role import guest_of
    from tidelake.tenants.manage import confine

    guest = guest_of(session)
    if guest is None:
        return session
    limits = sandbox if isinstance(sandbox, Sandbox) else None
    inside = confine(session, Namespace(guest.tenant, guest.access), limits)
    session.local.close()
    inside.is_guest = True
    return inside
