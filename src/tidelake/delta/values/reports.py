"""What is known of the import of a Delta table."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Imported:
    """How far it has come: up to a version of the Delta table, with a snapshot of the lake.
    `next_file_id` was the first free one then. `committed_at` is when that version was committed,
    in milliseconds; `columns` tells, as JSON, which of our columns is which of Delta's."""

    table_id: int
    root: str
    delta_id: str
    version: int
    snapshot_id: int
    next_file_id: int
    committed_at: int
    columns: str


@dataclass(frozen=True, slots=True)
class Copy:
    """A file that was written for one of the Delta table, without the rows that a deletion vector
    of it names."""

    source: str
    vector: str | None = None


@dataclass(frozen=True, slots=True)
class ImportResult:
    """What an import did: Delta versions from `first` to `last` are in the lake, the last one as
    `snapshot_id` (None for a dry run), in so many new `snapshots`. The table has `files` and
    `rows` then; `rewritten` of the files had to be written anew. `notes` are what is not as it
    was in Delta."""

    table: str
    mode: str
    first: int
    last: int
    snapshot_id: int | None
    snapshots: int
    files: int
    rows: int
    rewritten: int = 0
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        versions = f"version {self.last}"
        if self.first < self.last and self.mode == "full-history":
            versions = f"versions {self.first} to {self.last}"
        done = "would import" if self.snapshot_id is None else "imported"
        told = f"{done} {versions} as {self.table}: {self.rows:,} rows in {self.files:,} files"
        if self.rewritten:
            told += f", {self.rewritten:,} of them written anew"
        if self.snapshots:
            many = "snapshots" if self.snapshots > 1 else "snapshot"
            told += f" ({self.snapshots:,} {many})"
        return "\n".join([told, *(f"note: {note}" for note in self.notes)])
