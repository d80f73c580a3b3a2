"""Coverage as it is kept: bitmaps of one entity in one file, by the snapshots that see them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Piece(NamedTuple):
    """Buckets in which a file has rows of an entity, at snapshots from `begin` until before `end`
    (None: as long as the file is there). `first` and `last` are ids, `count` is how many. The
    bitmap `buckets` lists the ids; if it is `lacking`, those between `first` and `last` that are
    not covered. Where it is empty all between these two are."""

    entity: str
    buckets: bytes
    first: int
    last: int
    count: int  # type: ignore[assignment]
    begin: int | None = None
    end: int | None = None
    lacking: bool = False

    def holds_at(self, snapshot_id: int) -> bool:
        began = self.begin is None or self.begin <= snapshot_id
        return began and (self.end is None or self.end > snapshot_id)


@dataclass(frozen=True, slots=True)
class Covers:
    """What a file covers, as the series with this number counts."""

    series: int
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class FileCoverage:
    """What a committed file covers at every snapshot that is left, as far as rows of it had been
    deleted up to `through`."""

    file_id: int
    through: int
    pieces: tuple[Piece, ...]
