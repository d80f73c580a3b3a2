"""The oracle of ranges: rows of a table at every snapshot that is left, and what they answer."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import tidelake
from tests.event_time.grid import instant
from tidelake.testing.faces import lake_of

Row = dict[str, Any]
OWN = ("name", "v", "gone", "ts")


@dataclass(frozen=True)
class Then:
    """The table at a snapshot, which was the newest from `start` until before `end`."""

    snapshot_id: int
    start: datetime
    end: datetime | None
    rows: list[Row]

    def overlaps(self, start: datetime | None, end: datetime | None) -> bool:
        """Half-open intervals share a time."""
        if start is not None and start == end:
            return False
        return (end is None or self.start < end) and (
            start is None or self.end is None or start < self.end
        )

    def held(self, moment: datetime, until: str | None = None) -> list[Row]:
        """Of every key the fact that held, as a list of facts has it."""
        best: dict[Any, Row] = {}
        for row in self.rows:
            ends = until is not None and row[until] is not None and instant(row[until]) <= moment
            if instant(row["ts"]) > moment or ends:
                continue
            found = best.get(row["name"])
            if found is None or _rank(row) > _rank(found):
                best[row["name"]] = row
        return [row for row in best.values() if row["gone"] is not True]


def _rank(row: Row) -> tuple[datetime, int]:
    return instant(row["ts"]), row["rowid"]


def lived(t: tidelake.Table, own: Iterable[str] = OWN, *, last: bool = False) -> list[Then]:
    """The table at all snapshots that are left, or at the last of them."""
    lake = lake_of(t)
    known = lake.snapshots()[-1:] if last else lake.snapshots()
    snapshots = [each for each in known if t.name in lake.known_at(each.snapshot_id).tables()]
    ends = [*(each.time for each in snapshots[1:]), None]
    return [
        Then(
            each.snapshot_id,
            each.time,
            end,
            t.known_at(each.snapshot_id).scan([*own, "rowid"]).to_arrow().to_pylist(),
        )
        for each, end in zip(snapshots, ends, strict=True)
    ]


def counted(rows: Iterable[Row], own: Iterable[str] = OWN) -> Counter[Any]:
    return Counter(tuple(repr(row[name]) for name in own) for row in rows)


def known(rows: Iterable[Row], then: Then) -> list[Row]:
    """Those that were known at a snapshot."""
    return [
        row
        for row in rows
        if row["known_from"] <= then.start
        and (row["known_to"] is None or then.start < row["known_to"])
    ]


def valid(rows: Iterable[Row], moment: datetime) -> list[Row]:
    """Those that held at a moment."""
    return [
        row
        for row in rows
        if instant(row["valid_from"]) <= moment
        and (row["valid_to"] is None or moment < instant(row["valid_to"]))
    ]


def within(past: list[Then], start: datetime | None, end: datetime | None) -> Iterator[Then]:
    return (then for then in past if then.overlaps(start, end))
