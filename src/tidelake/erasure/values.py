"""What an erasure did, or would do."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tidelake.drawing.amounts import quantity
from tidelake.drawing.report import DrawableReport


@dataclass(frozen=True, slots=True)
class LeftFiles:
    """Files that may hold such rows and were not touched, and why."""

    reason: str
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ErasureResult(DrawableReport):
    """What was erased from a table, or with `dry_run` would be.

    `rows` are versions of rows, wherever they lay; `newest` of them the newest snapshot saw.
    `catalog_rows` of them the catalog kept itself. `files` lost rows, `files_gone` of them all.
    `unneeded_files` were in no snapshot any more, or never. `rollups` and `mirrors` were made of
    the table: the former are gone, the latter published anew. `snapshots` could see one of the
    rows. `foreign` are files that are not the lake's: it no longer reads them, and their owner must
    delete them. `left` may hold such rows too. `remaining` is what could not be done yet:
    `lake.finish_erasures()` does it. `data_sets` are frozen sets that were made of the table, and
    must be looked at first. `snapshot_id` is None where nothing of the lake had to change.
    """

    table: str
    erasure_id: int | None = None
    snapshot_id: int | None = None
    rows: int = 0
    newest: int = 0
    catalog_rows: int = 0
    files: int = 0
    files_gone: int = 0
    unneeded_files: int = 0
    rollups: int = 0
    mirrors: int = 0
    snapshots: int = 0
    foreign: tuple[str, ...] = ()
    left: tuple[LeftFiles, ...] = ()
    remaining: tuple[str, ...] = ()
    data_sets: tuple[str, ...] = ()
    dry_run: bool = False

    @property
    def is_finished(self) -> bool:
        """Whether nothing is left to do for the lake itself."""
        return not self.remaining

    def __str__(self) -> str:
        verb = "would erase" if self.dry_run else "erased"
        lines = [
            f"{verb} {self.rows:,} versions of rows from {self.table} ({self.newest:,} in the"
            f" newest snapshot, {self.catalog_rows:,} in the catalog), which {self.snapshots:,}"
            f" snapshots {'can see' if self.dry_run else 'could see'}",
            f"files: {self.files:,} written anew without them, {self.files_gone:,} gone,"
            f" {self.unneeded_files:,} that no snapshot had; {self.rollups:,} rollups dropped,"
            f" {self.mirrors:,} mirrors published anew",
        ]
        lines += [
            f"not the lake's own, to be deleted by their owner: {path}" for path in self.foreign
        ]
        lines += [f"left {quantity(len(each.paths), 'file')}: {each.reason}" for each in self.left]
        lines += [f"to be looked at first: the frozen data set {each!r}" for each in self.data_sets]
        lines += [f"still to be done: {each}" for each in self.remaining]
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Erasure(DrawableReport):
    """The note of an erasure. It never says what was erased. `digest` is of all that it says,
    `signed` whether it has a signature too, and `finished_at` when the last trace was gone."""

    erasure_id: int
    table: str
    time: datetime
    reason: str
    author: str | None
    rows: int
    catalog_rows: int
    files: int
    snapshots: int
    snapshot_id: int | None
    digest: str
    signed: bool
    finished_at: datetime | None = None

    @property
    def is_finished(self) -> bool:
        return self.finished_at is not None

    def __str__(self) -> str:
        who = f" by {self.author}" if self.author else ""
        state = "" if self.is_finished else " (not finished)"
        when = f"{self.erasure_id} {self.time:%Y-%m-%d %H:%M:%S}"
        return f"{when}{who} {quantity(self.rows, 'row')} from {self.table}: {self.reason}{state}"
