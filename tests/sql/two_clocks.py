"""Facts in two times, and states of them worked out by hand."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import tidelake

START = datetime(2024, 1, 1)
Row = tuple[str, datetime, int | None, bool]


def day(number: float) -> datetime:
    return START + timedelta(days=number)


COMMITS: list[list[Row]] = [
    [("a", day(1), 1, False), ("b", day(2), 2, False), ("a", day(4), 4, False)],
    [("a", day(2), 20, False), ("c", day(3), 3, False), ("b", day(5), None, True)],
    [("a", day(4), 40, False), ("b", day(2.5), 25, False), ("c", day(6), None, True)],
]
"""Late rows, corrections of one moment, and ends of keys."""


def state(as_of: datetime, commits: int) -> list[Row]:
    """Of every key the last fact; of two of one time the one committed later."""
    known = [row for commit in COMMITS[:commits] for row in commit if row[1] <= as_of]
    last: dict[str, Row] = {}
    for row in known:
        if row[0] not in last or row[1] >= last[row[0]][1]:
            last[row[0]] = row
    return sorted(row for row in last.values() if not row[3])


def periods(start: datetime | None, end: datetime | None, commits: int) -> list[tuple[Any, ...]]:
    """Facts that hold at a moment of the range, moment by moment: key, value, since when, until
    when."""
    if start is not None and start == end:
        return []
    known = [row for commit in COMMITS[:commits] for row in commit]
    found = []
    for key in {row[0] for row in known}:
        last = {row[1]: row for row in known if row[0] == key}
        times = sorted(last)
        for begin, until in zip(times, [*times[1:], None], strict=True):
            early = end is None or begin < end
            late = start is None or until is None or until > start
            if early and late and not last[begin][3]:
                found.append((key, last[begin][2], begin, until))
    return sorted(found, key=repr)


class Facts:
    """A lake, and which snapshot has how many of the commits."""

    def __init__(self, path: Path, **options: Any) -> None:
        self.lake = tidelake.connect(f"sqlite:///{path}/c.db", data_path=f"{path}/d/", **options)
        self.snapshots: dict[int, int] = {}

    def fill(self) -> None:
        self.lake.create_table(
            "facts",
            "id VARCHAR NOT NULL, ts TIMESTAMP NOT NULL, v INTEGER, gone BOOLEAN",
            key=["id"],
            event_time="ts",
            tombstone="gone",
        )
        self.lake.create_table("plain", "id VARCHAR, name VARCHAR")
        self.lake.set_option("data_inlining_row_limit", 0, table="facts")
        self.lake.table("plain").append([{"id": each, "name": each.upper()} for each in "abc"])
        for number, rows in enumerate(COMMITS, 1):
            names = ("id", "ts", "v", "gone")
            facts = [dict(zip(names, row, strict=True)) for row in rows]
            done = self.lake.table("facts").append(facts)
            assert done.snapshot_id is not None
            self.snapshots[number] = done.snapshot_id
        self.lake.create_view("seen", "SELECT id, v FROM facts WHERE v < 30")
        self.lake.create_view(
            "fixed", "SELECT id, v FROM facts FOR VALID_TIME AS OF '2024-01-03' AS f"
        )
        self.lake.create_view("nested", "SELECT s.id, p.name FROM seen s JOIN plain p USING (id)")
        self.lake.tag("second", self.snapshots[2])

    def rows(self, query: str, parameters: Any = None, **moments: Any) -> list[tuple[Any, ...]]:
        found = self.lake.sql(query, parameters, **moments).to_arrow()
        return sorted(zip(*(c.to_pylist() for c in found.columns), strict=True), key=repr)


def pairs(rows: list[Row]) -> list[tuple[Any, ...]]:
    return sorted(((row[0], row[2]) for row in rows), key=repr)
