"""Which schemas of a lake are a tenant's, and what the names stand for that it uses."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tidelake.errors import Denied, Invalid
from tidelake.model.names import DEFAULT_SCHEMA, TableName, fold

ROLES = ("read", "write", "maintain")
FOLDER = "tenants/"
SHARED = "shared"
"""The schema in which tenants find what the lake's owner shares with them."""
_BETWEEN = "__"
_NAME = re.compile(r"[a-z](?:[a-z0-9_-]{0,46}[a-z0-9-])?", re.ASCII)
"""At its end a `_` would run into those behind it, and a schema be two tenants'."""


@dataclass(frozen=True, slots=True)
class Namespace:
    """The schemas of one tenant, and what it may do there. `main` stands for the schema that is
    called as the tenant, and any other, `x`, for `tenant__x`: nothing else can be named. Without a
    tenant it is the whole lake, and names are what they are."""

    tenant: str | None = None
    role: str = "maintain"
    shared: frozenset[int] = frozenset()
    """Tables of others, by id, that it may read if they are shared with it still."""

    @property
    def is_whole(self) -> bool:
        return self.tenant is None

    def holds(self, schema: str) -> bool:
        if self.tenant is None:
            return True
        own = fold(schema)
        return own == self.tenant or own.startswith(self.tenant + _BETWEEN)

    def schema(self, name: str) -> str:
        """What a schema is called in the catalog."""
        if self.tenant is None or self.holds(name):
            return name
        return self.tenant if fold(name) == DEFAULT_SCHEMA else f"{self.tenant}{_BETWEEN}{name}"

    def table(self, name: TableName) -> TableName:
        """What a table or a view is called in the catalog."""
        return name if self.tenant is None else TableName(self.schema(name.schema), name.name)

    def parse(self, text: str) -> TableName:
        return self.table(TableName.parse(text))

    def inner(self, schema: str) -> str:
        """What the tenant calls a schema."""
        if self.tenant is None:
            return schema
        return schema[len(self.tenant) + len(_BETWEEN) :] or DEFAULT_SCHEMA

    def inner_table(self, name: TableName) -> TableName:
        return name if self.tenant is None else TableName(self.inner(name.schema), name.name)

    def is_shared(self, name: TableName) -> bool:
        """Whether a name, as it is in the catalog, stands for something that is shared."""
        return self.tenant is not None and fold(name.schema) == fold(self.schema(SHARED))

    def check_own(self, name: TableName) -> None:
        """Denied for what others share: it is to read."""
        if self.is_shared(self.table(name)):
            raise Denied(
                f"{self.inner_table(self.table(name))} is shared by the lake's owner, to read",
                hint="copy what you need: CREATE TABLE mine AS SELECT * FROM shared.…",
            )

    def token(self, once: str | None) -> str | None:
        """A token of its own: the same words of another tenant's are another token."""
        return once if once is None or self.tenant is None else f"tenant {self.tenant}: {once}"

    @property
    def folder(self) -> str:
        """Where its files are, below the data path."""
        return "" if self.tenant is None else f"{FOLDER}{self.tenant}/"

    def check_whole(self, doing: str) -> None:
        """Denied for a tenant: this concerns all of them."""
        if self.tenant is not None:
            raise Denied(
                f"{doing}() concerns the whole lake, and this is tenant {self.tenant}",
                hint="ask the lake's owner",
            )

    def check_owner(self, doing: str) -> None:
        """Denied for all who may not maintain the whole lake."""
        self.check_whole(doing)
        self.check_role("maintain")

    def check_role(self, needed: str) -> None:
        if ROLES.index(self.role) >= ROLES.index(needed):
            return
        if self.tenant is None:
            raise Denied(
                f"this lake was opened to {self.role}, which is not enough to {needed}",
                hint=f"ask its owner for the role {needed}",
            )
        raise Denied(
            f"tenant {self.tenant} was opened to {self.role}, which is not enough to {needed}",
            hint=f"ask the lake's owner for lake.tenant({self.tenant!r}, role={needed!r})",
        )


WHOLE = Namespace()


def tenant_of(schema: str) -> str:
    """The tenant that a schema would be of, if there is one of that name."""
    return fold(schema).partition(_BETWEEN)[0]


def checked_tenant(name: object) -> str:
    """A name that a tenant can have."""
    if not isinstance(name, str) or not _NAME.fullmatch(name) or _BETWEEN in name:
        raise Invalid(
            f"{name!r} is no name for a tenant",
            hint="use up to 48 small letters, digits, - and single _ between them",
        )
    if name in (DEFAULT_SCHEMA, SHARED):
        raise Invalid(f"every tenant has a schema {name!r}", hint="choose another name")
    return name


def checked_role(role: object) -> str:
    if role not in ROLES:
        raise Invalid(f"there is no role {role!r}", hint=f"there are: {', '.join(ROLES)}")
    return str(role)
