"""Rollups: the state of a table as of a moment, kept so that it need not be found again."""

from __future__ import annotations

from dataclasses import dataclass

from tidelake.model.event_time import spelled


@dataclass(frozen=True, slots=True)
class RollupUse:
    """A rollup that a read begins with, and what it need not read because of it."""

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
