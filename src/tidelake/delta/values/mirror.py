"""Mirrors: what has been published of a table, and what is known of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tidelake.delta.values.actions import Add, Key, Metadata, Protocol, Vector
from tidelake.model.mirror import Status

FIRST_ROW = "tidelake.firstRow"
"""What a log calls the id of a file's first row."""
NEWEST, OLDEST = -1, -2


def beginning_with(snapshot_id: int) -> int:
    """What a mirror has for a snapshot that shows nothing yet, and is to begin with this one."""
    return OLDEST - 1 - snapshot_id


def begins_with(code: int) -> int:
    """The snapshot that such a mirror is to begin with; none if it is the oldest."""
    return OLDEST - 1 - code


@dataclass(frozen=True, slots=True)
class Mirror:
    """The mirror of a table. It shows the table as of `snapshot_id`, with the Delta version
    `version`, of which all up to `published` are in the log; -1 is none. `committed_at` is the
    time of that version, in milliseconds, and `checkpoint` the last one that has a checkpoint.
    One that shows nothing yet has NEWEST, OLDEST or `beginning_with` for a snapshot: what it is to
    begin with."""

    table_id: int
    delta_id: str
    root: str
    status: Status = "active"
    reason: str | None = None
    snapshot_id: int = NEWEST
    version: int = -1
    published: int = -1
    checkpoint: int = -1
    committed_at: int = 0
    file_count: int = 0
    protocol: Protocol | None = None
    metadata: Metadata | None = None


@dataclass(frozen=True, slots=True)
class MirroredFile:
    """A data file as the log has it. `path` is spelled as there. `copied`: it is a copy, made for
    columns of this shape, because readers of the log would not understand the file itself.
    `first_row` is the id of its first row, unless the rows bear theirs."""

    file_id: int
    path: str
    size: int
    modified: int
    stats: str
    vector: Vector | None = None
    copied: str | None = None
    first_row: int | None = None

    def add(self, *, data_change: bool) -> Add:
        return Add(
            self.path,
            self.size,
            self.modified,
            data_change,
            stats=self.stats,
            vector=self.vector,
            tags={} if self.first_row is None else {FIRST_ROW: str(self.first_row)},
        )


@dataclass(frozen=True, slots=True)
class ShownFiles:
    """All files that a log has, by columns: there may be very many."""

    paths: Sequence[str] = ()
    sizes: Sequence[int] = ()
    modified: Sequence[int] = ()
    stats: Sequence[str] = ()
    first_rows: Sequence[int | None] = ()
    vectors: Sequence[Vector | None] = ()

    @property
    def keys(self) -> set[Key]:
        ids = [None if each is None else each.unique_id for each in self.vectors]
        return set(zip(self.paths, ids, strict=True))


@dataclass(frozen=True, slots=True)
class RatifiedVersion:
    """A version that has been decided upon; the bytes of its commit never change from then on.
    Once they are in the log, only their digest is kept."""

    version: int
    snapshot_id: int
    committed_at: int
    digest: str
    content: bytes | None = None
