"""Walls around tenants in the database itself, where it has such."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol


class Questions(Protocol):
    """An open transaction."""

    def rows(self, sql: str, **parameters: object) -> list[Any]: ...


class Statements(Questions, Protocol):
    """One that may change something."""

    def execute(self, sql: str, **parameters: object) -> None: ...


class Guest(NamedTuple):
    """The tenant that a connection is for, and what its role may do: `read`, `write` or
    `maintain`."""

    tenant: str
    access: str


class Walls(Protocol):
    """What holds a role of the database to the rows of one tenant."""

    def guest(self, reader: Questions, /) -> Guest | None:
        """Whose role this connection is in; None: nobody's that is held to anything."""
        ...

    def build(self, writer: Statements, kinds: Mapping[str, str], /) -> None:
        """Raise the walls, or mend them: every table of the lake has them after it. `kinds` say
        which rows of our own tables are a tenant's."""
        ...

    def around(self, writer: Statements, table: str, kind: str, /) -> None:
        """Raise them around a table that has just been made, if they stand."""
        ...

    def admit(self, writer: Statements, guest: Guest, password: str, /) -> str:
        """Make a role for a tenant, or give the one that it has another password. Its name.
        Requires: the walls stand."""
        ...

    def shut(self, writer: Statements, tenant: str, /) -> None:
        """Let nobody in any more as a tenant, and end the sessions that there are."""
        ...

    def remove(self, writer: Statements, tenant: str, /) -> None:
        """Drop a tenant's roles. Requires: they are shut."""
        ...
