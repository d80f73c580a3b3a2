"""Snapshots: what the lake looked like after each commit."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tidelake.model.reflexes import OF_SNAPSHOTS, Guessable


@dataclass(frozen=True, slots=True)
class Snapshot(Guessable):
    """One commit. `changes` is DuckLake's own list of what it did, for example
    `created_table:"main"."t"` or `inserted_into_table:1`."""

    snapshot_id: int
    time: datetime
    schema_version: int
    changes: tuple[str, ...] = ()
    author: str | None = None
    message: str | None = None
    extra: str | None = None
    _reflexes = ("snapshot", OF_SNAPSHOTS)
