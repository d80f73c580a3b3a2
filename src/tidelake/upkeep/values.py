"""What a cleanup did, or would do.

What compaction does, or would do.

What an expiry did, or would do.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from tidelake.drawing.report import DrawableReport


@dataclass(frozen=True, slots=True)
class KeptFiles:
    """Files that stay, and why."""

    reason: str
    files: int
    bytes: int


@dataclass(frozen=True, slots=True)
class CleanupResult(DrawableReport):
    """`files` and `bytes` are of all that was removed, `paths` says which. Of these, `scheduled`
    were no longer needed by any snapshot, or by the rollup they were of, and `orphans` never
    belonged to one. `missing` had been scheduled, and were gone already."""

    files: int = 0
    bytes: int = 0
    scheduled: int = 0
    orphans: int = 0
    missing: int = 0
    kept: tuple[KeptFiles, ...] = ()
    paths: tuple[str, ...] = ()
    dry_run: bool = False

    def __str__(self) -> str:
        verb = "would remove" if self.dry_run else "removed"
        lines = [
            f"{verb} {self.files:,} files ({self.bytes:,} bytes):"
            f" {self.scheduled:,} that no snapshot needs, {self.orphans:,} orphans"
        ]
        if self.missing:
            lines.append(f"{self.missing:,} more were scheduled, and gone already")
        lines += [
            f"kept {each.files:,} files ({each.bytes:,} bytes): {each.reason}" for each in self.kept
        ]
        return "\n".join(lines)


Kind = Literal["flush", "flush_deletes", "rewrite", "merge"]
Outcome = Literal["planned", "done", "left"]

_VERBS = {
    "flush": "rows out of the catalog",
    "flush_deletes": "deletes out of the catalog",
    "rewrite": "rewrite without deleted rows",
    "merge": "merge",
}


@dataclass(frozen=True, slots=True)
class CompactAction:
    """One piece of the work: what there was, and in how many files it ends up.

    `file_ids` are the data files that it starts from (below zero: files that another action will
    have made), of `rows` (for a flush, those that the catalog kept; for deletes, how many of them)
    and `bytes`. `partition` are the values that all
    the rows share. An action that is `left` met somebody else's changes, for the reason given,
    and waits for the next run.
    """

    kind: Kind
    table: str
    rows: int
    files: int = 0
    bytes: int = 0
    files_after: int = 0
    bytes_after: int | None = None
    partition: tuple[str | None, ...] = ()
    file_ids: tuple[int, ...] = ()
    outcome: Outcome = "planned"
    reason: str | None = None

    def __str__(self) -> str:
        before = f"{_count(self.files, 'file')}, " if self.files else ""
        size = f", {self.bytes:,} bytes" if self.bytes else ""
        where = f" [{', '.join(map(str, self.partition))}]" if self.partition else ""
        note = f" ({self.outcome}: {self.reason})" if self.outcome == "left" else ""
        return (
            f"{self.table}{where}: {_VERBS[self.kind]}, {before}{_count(self.rows, 'row')}{size}"
            f" → {_count(self.files_after, 'file')}{note}"
        )


@dataclass(frozen=True, slots=True)
class RollupAction:
    """A rollup that is made because a policy wants it, or dropped because nothing does."""

    table: str
    as_of: str
    kind: Literal["make", "drop"]

    def __str__(self) -> str:
        verb = {"make": "rollup", "drop": "drop the rollup"}[self.kind]
        return f"{self.table}: {verb} as of {self.as_of}"


@dataclass(frozen=True, slots=True)
class CompactResult(DrawableReport):
    """What a run has done, or with `dry_run` would do. `snapshots` are those it has made."""

    files_before: int = 0
    files_after: int = 0
    bytes_before: int = 0
    bytes_after: int = 0
    actions: tuple[CompactAction, ...] = ()
    snapshots: tuple[int, ...] = ()
    dry_run: bool = False
    rollups: tuple[RollupAction, ...] = ()

    @property
    def rollups_made(self) -> int:
        return sum(action.kind == "make" for action in self.rollups)

    @property
    def rollups_dropped(self) -> int:
        return sum(action.kind == "drop" for action in self.rollups)

    @property
    def rows_flushed(self) -> int:
        return sum(action.rows for action in self._not_left("flush"))

    @property
    def deletes_flushed(self) -> int:
        return sum(action.rows for action in self._not_left("flush_deletes"))

    @property
    def files_rewritten(self) -> int:
        return sum(action.files for action in self._not_left("rewrite"))

    @property
    def files_merged(self) -> int:
        return sum(action.files for action in self._not_left("merge"))

    @property
    def left(self) -> tuple[CompactAction, ...]:
        """What others' changes stood in the way of."""
        return tuple(action for action in self.actions if action.outcome == "left")

    def _not_left(self, kind: Kind) -> Iterable[CompactAction]:
        return (a for a in self.actions if a.kind == kind and a.outcome != "left")

    def __add__(self, other: CompactResult) -> CompactResult:
        return CompactResult(
            self.files_before + other.files_before,
            self.files_after + other.files_after,
            self.bytes_before + other.bytes_before,
            self.bytes_after + other.bytes_after,
            self.actions + other.actions,
            self.snapshots + other.snapshots,
            self.dry_run or other.dry_run,
            self.rollups + other.rollups,
        )

    def __str__(self) -> str:
        would = "would bring" if self.dry_run else "brought"
        total = (
            f"{would} {_count(self.files_before, 'file')} ({self.bytes_before:,} bytes)"
            f" to {self.files_after} ({self.bytes_after:,} bytes)"
        )
        told = [*map(str, self.actions), *map(str, self.rollups)]
        return "\n".join([*told, *([total] if self.actions else [])] or ["nothing to do"])


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


@dataclass(frozen=True, slots=True)
class KeptSnapshot:
    """A snapshot that was old enough to go, and the tags for which it stays."""

    snapshot_id: int
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ExpireResult(DrawableReport):
    """`files` and `bytes` are of the lake's own data files and delete files that no snapshot needs
    any more: they are scheduled, and `cleanup` removes them. Files that were registered or
    imported stay where they are. `tables` had been dropped, and have now gone with
    all their past. `rows` had been kept in the catalog itself. `overtaken` are consumers that
    cannot resume where they were."""

    snapshots: tuple[int, ...] = ()
    files: int = 0
    bytes: int = 0
    tables: tuple[str, ...] = ()
    rows: int = 0
    kept: tuple[KeptSnapshot, ...] = ()
    overtaken: tuple[str, ...] = ()
    dry_run: bool = False

    def __str__(self) -> str:
        verb = "would expire" if self.dry_run else "expired"
        lines = [
            f"{verb} {len(self.snapshots):,} snapshots, and with them {self.files:,} files"
            f" ({self.bytes:,} bytes) and {self.rows:,} rows of the catalog"
        ]
        lines += [f"with all its past: {name}" for name in self.tables]
        lines += [
            f"kept snapshot {each.snapshot_id}, tagged {', '.join(each.tags)}" for each in self.kept
        ]
        lines += [f"overtaken: consumer {name}" for name in self.overtaken]
        return "\n".join(lines)
