"""Differences between two snapshots: of what is declared, of files, of rows."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that is declared otherwise, for example `column renamed`: `price` to `cost`.

    `subject` is what it is about, by its name at the end, or the last that it had.
    """

    kind: str
    subject: str
    before: str | None = None
    after: str | None = None

    def __str__(self) -> str:
        if self.before is None and self.after is None:
            return f"{self.kind}: {self.subject}"
        if self.before is None or self.after is None:
            return f"{self.kind}: {self.subject} {self.after or self.before}"
        return f"{self.kind}: {self.subject} ({self.before} -> {self.after})"


@dataclass(frozen=True, slots=True)
class FileDifference:
    """Data files that only one of the snapshots has."""

    added: int = 0
    added_bytes: int = 0
    removed: int = 0
    removed_bytes: int = 0

    def __bool__(self) -> bool:
        return bool(self.added or self.removed)

    def __str__(self) -> str:
        return (
            f"{self.added:,} added ({self.added_bytes:,} bytes),"
            f" {self.removed:,} removed ({self.removed_bytes:,} bytes)"
        )


@dataclass(frozen=True, slots=True)
class RowDifference:
    """Rows, by their ids, that only one of the snapshots has, or that have other values."""

    inserted: int = 0
    updated: int = 0
    deleted: int = 0

    def __bool__(self) -> bool:
        return bool(self.inserted or self.updated or self.deleted)

    def __str__(self) -> str:
        return f"{self.inserted:,} inserted, {self.updated:,} updated, {self.deleted:,} deleted"
