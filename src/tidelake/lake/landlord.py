"""What the owner of a lake does with its tenants."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, Self, overload

from tidelake.drawing.drawn_list import DrawnList
from tidelake.lake.keeper import Keeper
from tidelake.model.terms import Terms

if TYPE_CHECKING:
    from tidelake.model.sandbox import Sandbox
    from tidelake.tenants.values import Quota, TenantDrop, TenantLogin, TenantState


class Landlord(Keeper):
    """All of it is Denied to tenants themselves."""

    @overload
    def create_tenant(
        self,
        name: str,
        quota: Quota | None = None,
        *,
        author: str | None = None,
        message: str | None = None,
    ) -> Self: ...

    @overload
    def create_tenant(
        self,
        name: str,
        quota: Quota | None = None,
        *,
        database_role: Literal[True],
        author: str | None = None,
        message: str | None = None,
    ) -> TenantLogin: ...

    def create_tenant(
        self,
        name: str,
        quota: Quota | None = None,
        *,
        database_role: bool = False,
        author: str | None = None,
        message: str | None = None,
    ) -> Self | TenantLogin:
        """Create a tenant, with schemas and a folder of its own; it sees nothing else. `quota`
        limits it. Returns the tenant's lake; with `database_role` a login to the catalog's
        PostgreSQL database, as `tenant_login` does.
        """
        from tidelake.tenants import database_role as roles
        from tidelake.tenants.manage import create_tenant

        self.session.namespace.check_owner("create_tenant")
        self.session.check_writable()
        terms = Terms(author=author, message=message)
        if not database_role:
            create_tenant(self.session, name, quota, terms)
            return self.tenant(name)
        roles.raise_walls(self.session)
        create_tenant(self.session, name, quota, terms)
        return roles.admit(self.session, name, "write")

    def tenant_login(self, name: str, role: str = "write") -> TenantLogin:
        """A role of the catalog's database, PostgreSQL, that sees the rows of one tenant and
        nothing else, to `read`, to `write`, or to `maintain` too: `connect(login.url)` opens its
        lake. A role that is there gets another password."""
        from tidelake.tenants import database_role, manage

        self.session.namespace.check_whole("tenant_login")
        self.session.check_writable()
        found = manage.find_tenant(self.session, name)
        database_role.raise_walls(self.session)
        return database_role.admit(self.session, found.name, role)

    def tenant(
        self,
        name: str,
        role: str = "write",
        *,
        sandbox: Sandbox | None = None,
        storage_options: Mapping[str, str] | None = None,
    ) -> Self:
        """The lake as a tenant sees it, to `read`, to `write`, or to `maintain` too: it can name
        its own schemas and nothing else. Its SQL is in a sandbox, with these limits. With
        `storage_options` of its own, the object store holds it to its folder too."""
        from tidelake.tenants.manage import open_tenant

        self.session.namespace.check_whole("tenant")
        return type(self)(open_tenant(self.session, name, role, sandbox, storage_options))

    def tenants(self) -> list[TenantState]:
        """All tenants, by name, with what they have."""
        from tidelake.tenants.manage import tenants

        self.session.namespace.check_whole("tenants")
        return DrawnList(tenants(self.session), one="tenant")

    def set_quota(self, name: str, quota: Quota, *, author: str | None = None) -> None:
        """Set the limits of a tenant."""
        from tidelake.tenants.manage import set_quota

        self.session.namespace.check_owner("set_quota")
        self.session.check_writable()
        set_quota(self.session, name, quota, author)

    def drop_tenant(
        self,
        name: str,
        *,
        dry_run: bool = False,
        author: str | None = None,
        message: str | None = None,
    ) -> TenantDrop:
        """Drop a tenant with all that it has, in one commit; `dry_run` tells what that is. Its
        past goes when it expires."""
        from tidelake.tenants.manage import drop_tenant

        self.session.namespace.check_owner("drop_tenant")
        if not dry_run:
            self.session.check_writable()
        terms = Terms(author=author, message=message)
        return drop_tenant(self.session, name, dry_run=dry_run, terms=terms)
