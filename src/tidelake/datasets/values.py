"""What is known of a frozen data set, and what came of an export."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tidelake.drawing.amounts import quantity
from tidelake.drawing.report import DrawableReport


@dataclass(frozen=True, slots=True)
class DataSetFacts:
    """A data set: `table` has its rows, `query` gave them as of `as_of` in event time, and as the
    lake knew them at the snapshot `known_at`, which was made at `known_time`; or, by what
    their columns say, at this time before the lake. `fingerprint` is of
    all rows, whatever their order. `rebased_at` is when rows of it were erased, if some were."""

    name: str
    table: str
    query: str
    as_of: str | None
    known_at: int
    known_time: datetime
    rows: int
    fingerprint: str
    author: str | None
    message: str | None
    made_at: datetime
    rebased_at: datetime | None = None

    def __str__(self) -> str:
        as_of = f" as of {self.as_of}" if self.as_of else ""
        rebased = f", rows erased {self.rebased_at:%Y-%m-%d %H:%M:%S}" if self.rebased_at else ""
        return (
            f"{self.name}: {quantity(self.rows, 'row')} of {self.query}{as_of}, known at snapshot"
            f" {self.known_at} ({self.known_time:%Y-%m-%d %H:%M:%S} UTC),"
            f" fingerprint {self.fingerprint}{rebased}"
        )


@dataclass(frozen=True, slots=True)
class ExportResult(DrawableReport):
    """The files that were written."""

    paths: tuple[str, ...]
    rows: int
    bytes: int

    def __str__(self) -> str:
        rows, files = quantity(self.rows, "row"), quantity(len(self.paths), "file")
        return f"{rows} in {files}, {self.bytes:,} bytes"
