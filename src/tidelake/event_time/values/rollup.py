"""Rollups: the state of a table as of a moment, kept so that it need not be found again."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from tidelake.errors import Corrupt
from tidelake.model.event_time import EventTime, spelled

SUFFIX = "rollup"
"""How the names of a rollup's files end. DuckDB takes every `*.parquet` under the data path that
it does not know for an orphan."""


@dataclass(frozen=True, slots=True)
class RollupFile:
    """A Parquet file of a rollup; `path` is complete."""

    path: str
    rows: int
    bytes: int
    footer_size: int | None = None


@dataclass(frozen=True, slots=True)
class Rollup:
    """Of every key the fact that held at `as_of` (nanoseconds since 1970, UTC), tombstones too, as
    snapshot `snapshot_id` knew it.

    Up to `valid_through` no row that it rests on has gone; what has happened since is looked up.
    `next_row_id` and `next_file_id` are the first ids that were free at its snapshot, `settings`
    are the columns that it goes by, and `lacks` are ids of columns that it could not take in
    because they had been dropped by then. `usable`: whether a read of the newest snapshot may
    begin with it; None if nobody looked.
    """

    id: int
    table_id: int
    as_of: int
    snapshot_id: int
    valid_through: int
    next_row_id: int
    next_file_id: int
    settings: str
    lacks: frozenset[int]
    rows: int
    bytes: int
    made_at: datetime
    files: tuple[RollupFile, ...] = ()
    usable: bool | None = None

    def facts(self) -> dict[str, object]:
        """What matters of it, in plain values."""
        return {
            "as_of": spelled(self.as_of),
            "snapshot_id": self.snapshot_id,
            "valid_through": self.valid_through,
            "rows": self.rows,
            "files": len(self.files),
            "bytes": self.bytes,
            "made_at": self.made_at,
            "usable": self.usable,
        }

    def __str__(self) -> str:
        state = {True: "", False: ", no longer usable", None: ""}[self.usable]
        return (
            f"as of {spelled(self.as_of)} known at snapshot {self.snapshot_id}:"
            f" {self.rows:,} rows, {self.bytes:,} bytes{state}"
        )


@dataclass(frozen=True, slots=True)
class RollupUse:
    """A rollup that a read begins with, and what it need not read because of it; the latter only
    where somebody asked for an explanation."""

    as_of: int
    snapshot_id: int
    rows: int
    saved_files: int
    saved_rows: int

    def __str__(self) -> str:
        return (
            f"as of {spelled(self.as_of)} known at snapshot {self.snapshot_id}: {self.rows:,} rows"
            f" in place of {self.saved_files:,} files ({self.saved_rows:,} rows)"
        )


def settings_text(event: EventTime) -> str:
    """What decides between facts, by column id: equal for two rollups that can stand for each
    other."""
    end = None if event.tombstone is None else event.tombstone.id
    return json.dumps([[column.id for column in event.key], event.time.id, end])


def lacks_text(ids: Iterable[int]) -> str:
    return json.dumps(sorted(ids))


def parse_lacks(text: str) -> frozenset[int]:
    try:
        return frozenset(int(each) for each in json.loads(text))
    except (TypeError, ValueError):
        raise Corrupt(
            f"a rollup lacks the columns {text!r}, which is no list of ids",
            hint="drop the tables tidelake_rollup and tidelake_rollup_file: no answer changes",
        ) from None
