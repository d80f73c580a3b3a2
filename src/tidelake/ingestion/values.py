"""What ingestion is asked, what it handles, and what it says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from tidelake.drawing.report import DrawableReport
from tidelake.errors import Invalid
from tidelake.model.names import TableName
from tidelake.model.source_files import CsvFormat

POLICIES = {
    "new_columns": ("refuse", "add", "ignore"),
    "bad_records": ("quarantine", "refuse"),
    "changed": ("refuse", "again", "ignore"),
}
FORMATS = ("csv", "json", "parquet")


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file as a store lists it: if size or time are others, so may be the content."""

    path: str
    bytes: int
    modified: datetime


@dataclass(frozen=True, slots=True)
class BadRecord:
    """What could not be taken, and why. `line` is that of a text file, counted from 1; of a
    Parquet file or of a JSON array, the row."""

    file: str
    line: int | None
    raw: str | None
    reason: str


@dataclass(frozen=True, slots=True)
class IngestWish:
    """What a caller wants. `creation` is what `create_table` takes, should it come to that."""

    table: TableName
    quarantine: TableName
    format: str | None = None
    types: Mapping[str, Any] = field(default_factory=dict)
    new_columns: str = "refuse"
    bad_records: str = "quarantine"
    changed: str = "refuse"
    batch_files: int = 1000
    batch_bytes: int = 256 << 20
    csv: CsvFormat = field(default_factory=CsvFormat)
    creation: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, known in POLICIES.items():
            if getattr(self, name) not in known:
                raise Invalid(
                    f"{name}={getattr(self, name)!r} is no policy",
                    hint=f"one of: {', '.join(known)}",
                )
        if self.format is not None and self.format not in FORMATS:
            raise Invalid(f"format={self.format!r}", hint=f"one of: {', '.join(FORMATS)}")
        for name in ("batch_files", "batch_bytes"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise Invalid(f"{name}={value!r} is no number of them", hint="1 is the least")


@dataclass(frozen=True, slots=True)
class IngestResult(DrawableReport):
    """What was taken: files, their rows and bytes, and records that went to the quarantine.
    `known` are files that had been taken before. `snapshots` are the commits, oldest first."""

    files: int = 0
    rows: int = 0
    bytes: int = 0
    bad_records: int = 0
    known: int = 0
    snapshots: tuple[int, ...] = ()
    seconds: float = 0.0

    def __str__(self) -> str:
        said = f"{_counted(self.files, 'file')}, {_counted(self.rows, 'row')}"
        if self.bad_records:
            said += f", {_counted(self.bad_records, 'bad record')} in quarantine"
        if self.known:
            said += f"; {_counted(self.known, 'file')} taken before"
        return said


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}" + ("" if count == 1 else "s")
