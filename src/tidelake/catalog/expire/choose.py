"""Which snapshots may go, and letting them go.

A tag or a consumer that comes in between is not lost: both are looked at again inside the
transaction that removes the snapshots, under the lake's lock.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from tidelake.catalog.annex import Annexes
from tidelake.catalog.database.database import Reader, Writer
from tidelake.catalog.read import tags
from tidelake.catalog.read.snapshots import as_instant
from tidelake.upkeep.values import KeptSnapshot


@dataclass(frozen=True, slots=True)
class SnapshotChoice:
    """Snapshots that go, oldest first, and those that only their tags keep."""

    snapshots: tuple[int, ...]
    kept: tuple[KeptSnapshot, ...]


def choose(reader: Reader, before: datetime | None, keep_last: int | None) -> SnapshotChoice:
    """Snapshots committed before a moment that are not among the last few. The newest stays."""
    moment = reader.dialect.instant.format("snapshot_time")
    rows = reader.rows(f"SELECT snapshot_id, {moment} FROM ducklake_snapshot ORDER BY snapshot_id")
    old = [
        row[0] for row in rows[: -(keep_last or 1)] if before is None or as_instant(row[1]) < before
    ]
    return _untagged(reader, old)


def _untagged(reader: Reader, snapshots: Sequence[int]) -> SnapshotChoice:
    names: dict[int, list[str]] = defaultdict(list)
    for tag in tags.every(reader):
        names[tag.snapshot_id].append(tag.name)
    return SnapshotChoice(
        tuple(each for each in snapshots if each not in names),
        tuple(KeptSnapshot(each, tuple(names[each])) for each in snapshots if each in names),
    )


def check(reader: Reader, snapshots: Collection[int], annexes: Annexes) -> None:
    """Raise Conflict if somebody still needs one of these."""
    for annex in annexes:
        annex.protect(reader, snapshots)


def let_go(
    writer: Writer, snapshots: Sequence[int], annexes: Annexes, *, force: bool
) -> SnapshotChoice:
    """Remove snapshots, but for those that have been tagged by now. Annexes move on first."""
    chosen = _untagged(writer, snapshots)
    if not chosen.snapshots:
        return chosen
    if not force:
        check(writer, chosen.snapshots, annexes)
    for annex in annexes:
        annex.snapshots_going(writer, chosen.snapshots)
    listed = ", ".join(map(str, chosen.snapshots))
    for name in ("ducklake_snapshot", "ducklake_snapshot_changes"):
        writer.execute(f"DELETE FROM {name} WHERE snapshot_id IN ({listed})")
    return chosen
