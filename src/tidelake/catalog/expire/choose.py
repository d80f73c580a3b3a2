"""Which snapshots may go, and letting them go.

A tag or a consumer that comes in between is not lost: both are looked at again inside the
transaction that removes the snapshots, under the lake's lock.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from tidelake.catalog.database.database import Reader, Writer
from tidelake.catalog.read import tags
from tidelake.catalog.read.snapshots import as_instant
from tidelake.errors import Conflict
from tidelake.event_time.rollups import evidence as rollup_expiry
from tidelake.history import consumer_records as consumers
from tidelake.history.values import ConsumerState
from tidelake.upkeep.values import KeptSnapshot
from tidelake.verify import fingerprints


@dataclass(frozen=True, slots=True)
class Chosen:
    """Snapshots that go, oldest first, and those that only their tags keep."""

    snapshots: tuple[int, ...]
    kept: tuple[KeptSnapshot, ...]


def choose(reader: Reader, before: datetime | None, keep_last: int | None) -> Chosen:
    """Snapshots committed before a moment that are not among the last few. The newest stays."""
    moment = reader.dialect.instant.format("snapshot_time")
    rows = reader.rows(f"SELECT snapshot_id, {moment} FROM ducklake_snapshot ORDER BY snapshot_id")
    old = [
        row[0] for row in rows[: -(keep_last or 1)] if before is None or as_instant(row[1]) < before
    ]
    return _untagged(reader, old)


def _untagged(reader: Reader, snapshots: Sequence[int]) -> Chosen:
    names: dict[int, list[str]] = defaultdict(list)
    for tag in tags.every(reader):
        names[tag.snapshot_id].append(tag.name)
    return Chosen(
        tuple(each for each in snapshots if each not in names),
        tuple(KeptSnapshot(each, tuple(names[each])) for each in snapshots if each in names),
    )


def overtaken(reader: Reader, snapshots: Collection[int]) -> list[ConsumerState]:
    """Consumers that need one of these: that at which they are, or one after it. One that has
    taken nothing yet needs all there are."""
    if not snapshots:
        return []
    newest = max(snapshots)
    return [each for each in consumers.every(reader) if (each.snapshot_id or 0) <= newest]


def check_consumers(reader: Reader, snapshots: Collection[int]) -> None:
    """Raise Conflict if a consumer still needs one of these."""
    behind = overtaken(reader, snapshots)
    if not behind:
        return
    told = ", ".join(f"{each.name!r} ({_place(each)}, {each.lag} behind)" for each in behind)
    raise Conflict(
        f"expiring up to snapshot {max(snapshots)} would overtake the consumer {told}",
        hint="let it catch up, expire less, or pass force=True: it then has to begin anew",
    )


def _place(consumer: ConsumerState) -> str:
    at = consumer.snapshot_id
    return "at the beginning" if at is None else f"at snapshot {at}"


def let_go(writer: Writer, snapshots: Sequence[int], *, force: bool) -> Chosen:
    """Remove snapshots, but for those that have been tagged by now. Rollups move on first."""
    chosen = _untagged(writer, snapshots)
    if not chosen.snapshots:
        return chosen
    if not force:
        check_consumers(writer, chosen.snapshots)
    rollup_expiry.carry_over(writer, set(chosen.snapshots))
    listed = ", ".join(map(str, chosen.snapshots))
    names = ["ducklake_snapshot", "ducklake_snapshot_changes"]
    for name in [*names, *([fingerprints.TABLE] if writer.has_table(fingerprints.TABLE) else [])]:
        writer.execute(f"DELETE FROM {name} WHERE snapshot_id IN ({listed})")
    return chosen
