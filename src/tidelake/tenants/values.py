"""What is known of tenants."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from datetime import datetime

from tidelake.errors import Invalid


@dataclass(frozen=True, slots=True)
class Quota:
    """The most that a tenant may have: bytes and files of all its snapshots, rows that one commit
    may write, and snapshots with changes of its own that are kept. None: as many as it likes."""

    bytes: int | None = None
    files: int | None = None
    rows_per_commit: int | None = None
    snapshots: int | None = None

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
                raise Invalid(f"{each.name}={value!r} is no number", hint="give a whole number")
            if value is not None and value < 0:
                raise Invalid(f"{each.name}={value} is below zero", hint="give a number from 0 on")


@dataclass(frozen=True, slots=True)
class TenantState:
    """A tenant and what it has. `tables`, `rows`, `files_now` and `bytes_now` are those of now,
    `inlined_rows` the rows of these that the catalog keeps itself; `files` and `bytes` are of all
    snapshots that are kept. `snapshots` are those that changed something of its own, the last of
    them at `last_commit`. `retention` is how long its past is promised to stay."""

    name: str
    quota: Quota
    created_at: datetime
    tables: int
    rows: int
    files: int
    bytes: int
    files_now: int = 0
    bytes_now: int = 0
    inlined_rows: int = 0
    snapshots: int = 0
    last_commit: datetime | None = None
    commits_last_day: int = 0
    commits_last_week: int = 0
    retention: str | None = None


@dataclass(frozen=True, slots=True)
class TenantDrop:
    """What goes, or went, with a tenant."""

    name: str
    tables: tuple[str, ...]
    rows: int
    dry_run: bool


@dataclass(frozen=True, slots=True)
class TenantLogin:
    """A role of the database that sees one tenant's rows alone. `url` is what `connect` takes, with
    the password in it. Both are told once, and kept nowhere."""

    tenant: str
    role: str
    access: str
    password: str = field(repr=False)
    url: str = field(repr=False)
