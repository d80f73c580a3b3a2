"""What a backup holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from tidelake.drawing.amounts import quantity
from tidelake.drawing.report import DrawableReport


@dataclass(frozen=True, slots=True)
class BackupResult(DrawableReport):
    """A backup at `path`, of the lake as it was at a snapshot. `files` are the lake's own, of which
    `bytes` are in the backup if it has them; `missing` are not where the catalog has them."""

    path: str
    snapshot_id: int
    snapshot_time: datetime
    tables: int
    files: int
    bytes: int
    with_files: bool
    missing: tuple[str, ...] = ()

    def __str__(self) -> str:
        what = "copied" if self.with_files else "named, not copied"
        lines = [
            f"{self.path}: snapshot {self.snapshot_id} of {self.snapshot_time:%Y-%m-%d %H:%M:%S}"
            f" UTC, {quantity(self.tables, 'table')}, {quantity(self.files, 'file')}"
            f" ({self.bytes:,} bytes, {what})"
        ]
        lines += [f"missing: {path}" for path in self.missing]
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Manifest:
    """What `backup.json` says. `files` are sizes by path from the data path on; `rows` how many
    each table of the catalog has; `digest` is of the catalog's file."""

    made_at: datetime
    lake_id: str | None
    data_path: str
    snapshot_id: int
    snapshot_time: datetime
    tables: int
    digest: str
    with_files: bool
    files: Mapping[str, int] = field(default_factory=dict)
    rows: Mapping[str, int] = field(default_factory=dict)
