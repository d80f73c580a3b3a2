"""How a lake feels: what is worth a look, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from tidelake.drawing.report import DrawableReport

Kind = Literal[
    "small files",
    "deletes",
    "snapshots",
    "leftovers",
    "rollups",
    "consumers",
    "mirrors",
    "coverage",
]
Operation = Literal["compact", "expire", "cleanup", "drop_rollups", "sync_mirrors"]


@dataclass(frozen=True, slots=True)
class HealthLimits:
    """From where on something is worth a word: so many small files in a table, this part of its
    rows deleted, snapshots older than this (unless the lake's option `expire_older_than` says),
    consumers so many snapshots behind, mirrors so many seconds, and coverage under this ratio."""

    small_files: int = 16
    delete_ratio: float = 0.2
    older_than: str = "30 days"
    consumer_lag: int = 100
    mirror_seconds: float = 300.0
    coverage: float = 0.95


@dataclass(frozen=True, slots=True)
class Remedy:
    """What helps. `python` and `command` are the same, for a program and for the shell."""

    operation: Operation
    table: str | None = None
    older_than: str | None = None

    @property
    def can_try(self) -> bool:
        """Whether it can say what it would do, without doing it."""
        return self.operation in ("compact", "expire", "cleanup")

    @property
    def python(self) -> str:
        on = "lake" if self.table is None else f"lake.table({self.table!r})"
        given = "" if self.older_than is None else repr(self.older_than)
        return f"{on}.{self.operation}({given})"

    @property
    def command(self) -> str:
        quoted = "" if self.table is None else " '" + self.table.replace("'", "'\\''") + "'"
        match self.operation:
            case "expire":
                return f'tidelake expire --older-than "{self.older_than}"'
            case "sync_mirrors":
                return "tidelake mirror sync"
            case "drop_rollups":
                return f"tidelake rollup{quoted} --drop"
            case _:
                return f"tidelake {self.operation}{quoted}"


@dataclass(frozen=True, slots=True)
class Signal:
    """One thing worth a look. `severe`: answers suffer, or others wait for it; else it is only
    slower or larger than it must be."""

    kind: Kind
    what: str
    why: str
    table: str | None = None
    severe: bool = False
    remedy: Remedy | None = None

    def __str__(self) -> str:
        where = f"{self.table}: " if self.table else ""
        mark = "!" if self.severe else "-"
        then = f"\n    {self.remedy.command}" if self.remedy else ""
        return f"{mark} {where}{self.what}. {self.why}{then}"


@dataclass(frozen=True, slots=True)
class Health(DrawableReport):
    """All that is worth a look at a snapshot, what is severe first. Orphans are not among it: to
    find them the store must be listed, which `lake.cleanup(dry_run=True)` does."""

    snapshot_id: int
    signals: tuple[Signal, ...] = field(default=())

    @property
    def ok(self) -> bool:
        return not self.signals

    def __str__(self) -> str:
        return "\n".join(map(str, self.signals)) or "Nothing to do."
