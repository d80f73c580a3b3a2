"""What came of having a lake again from its logs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RecoveredTable:
    """A table that is back, as the version of its log showed it."""

    table: str
    root: str
    version: int
    files: int
    rows: int


@dataclass(frozen=True, slots=True)
class SkippedLog:
    """A log that no table was made from, and why."""

    root: str
    reason: str


@dataclass(frozen=True, slots=True)
class RecoverResult:
    """`snapshot_id` is the snapshot that has all tables; None if nothing was done."""

    snapshot_id: int | None
    tables: tuple[RecoveredTable, ...]
    skipped: tuple[SkippedLog, ...]
