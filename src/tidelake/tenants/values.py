"""What is known of tenants."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime

from tidelake.errors import Invalid


@dataclass(frozen=True, slots=True)
class Quota:
    """The most that a tenant may have: bytes and files of all its snapshots, and rows that one
    commit may write. None: as many as it likes."""

    bytes: int | None = None
    files: int | None = None
    rows_per_commit: int | None = None

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
                raise Invalid(f"{each.name}={value!r} is no number", hint="give a whole number")
            if value is not None and value < 0:
                raise Invalid(f"{each.name}={value} is below zero", hint="give a number from 0 on")


@dataclass(frozen=True, slots=True)
class TenantState:
    """A tenant and what it has: tables, rows and files now, and the files and bytes of all
    snapshots that are kept."""

    name: str
    quota: Quota
    created_at: datetime
    tables: int
    rows: int
    files: int
    bytes: int


@dataclass(frozen=True, slots=True)
class TenantDrop:
    """What goes, or went, with a tenant."""

    name: str
    tables: tuple[str, ...]
    rows: int
    dry_run: bool
