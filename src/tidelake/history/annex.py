"""Consumers as the catalog's annex: snapshots that they have not seen yet stay."""

from __future__ import annotations

from collections.abc import Collection

from tidelake.catalog.annex import Annex
from tidelake.catalog.database.database import Reader
from tidelake.errors import Conflict
from tidelake.history import consumer_records, group_records
from tidelake.history.values import ConsumerState


class ConsumersAnnex(Annex):
    tables = (consumer_records.TABLE, *group_records.TABLES)

    def protect(self, reader: Reader, snapshots: Collection[int], /) -> None:
        behind = overtaken_consumers(reader, snapshots)
        if not behind:
            return
        told = ", ".join(f"{each.name!r} ({_place(each)}, {each.lag} behind)" for each in behind)
        raise Conflict(
            f"expiring up to snapshot {max(snapshots)} would overtake the consumer {told}",
            hint="let it catch up, expire less, or pass force=True: it then has to begin anew",
        )


def overtaken_consumers(reader: Reader, snapshots: Collection[int]) -> list[ConsumerState]:
    """Consumers that need one of these: that at which they are, or one after it. One that has
    taken nothing yet needs all there are."""
    if not snapshots:
        return []
    newest = max(snapshots)
    return [each for each in consumer_records.every(reader) if (each.snapshot_id or 0) <= newest]


def _place(consumer: ConsumerState) -> str:
    at = consumer.snapshot_id
    return "at the beginning" if at is None else f"at snapshot {at}"
