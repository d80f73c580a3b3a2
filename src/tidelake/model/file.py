"""Data files, delete files and rows kept in the catalog, as one snapshot sees them."""

from __future__ import annotations

import json
import sys
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, NamedTuple

from tidelake.model.schema import Column


@dataclass(frozen=True, slots=True)
class DeleteFile:
    """Positions deleted from one data file. `format` is 'parquet' or 'puffin'.

    `is_staged`: a transaction of this process wrote it; to that, all of it applies.
    """

    id: int
    path: str
    format: str
    rows: int
    bytes: int
    begin_snapshot: int
    encryption_key: str | None = None
    is_staged: bool = False
    end_snapshot: int | None = None

    def is_visible_at(self, snapshot_id: int) -> bool:
        return _is_visible(self.begin_snapshot, self.end_snapshot, snapshot_id)


class DataFile(NamedTuple):
    """A Parquet file; `path` is complete (an absolute path or a URI). A tuple, for a plan may have
    very many.

    `partial_max`: when set and above the snapshot read, rows newer than that snapshot
    are in the file and must be filtered out by their embedded snapshot id.
    `deletes`: there should be one at most, but DuckDB's flush leaves two for a file that it has
    rewritten before; a row is gone if any of them, or `deleted_positions` (deletes kept in the
    catalog), says so. `deleted_at` are the snapshots of the `deleted_positions`, in their order.
    """

    id: int
    path: str
    rows: int
    bytes: int
    begin_snapshot: int
    end_snapshot: int | None = None
    row_id_start: int | None = None
    partial_max: int | None = None
    partition_id: int | None = None
    partition_values: tuple[str | None, ...] = ()
    mapping_id: int | None = None
    encryption_key: str | None = None
    footer_size: int | None = None
    deletes: tuple[DeleteFile, ...] = ()
    deleted_positions: tuple[int, ...] = ()
    deleted_at: tuple[int, ...] = ()

    @property
    def has_deletes(self) -> bool:
        return bool(self.deletes or self.deleted_positions)

    @property
    def paths(self) -> tuple[str, ...]:
        """The file, and those that say which of its rows have been deleted."""
        return (self.path, *(delete.path for delete in self.deletes))

    def is_visible_at(self, snapshot_id: int) -> bool:
        return _is_visible(self.begin_snapshot, self.end_snapshot, snapshot_id)

    def at(self, snapshot_id: int) -> DataFile:
        """A file of which the whole life is known, with the deletes that a snapshot sees."""
        gone = [
            (position, at)
            for position, at in zip(self.deleted_positions, self.deleted_at, strict=True)
            if at <= snapshot_id
        ]
        return self._replace(
            deletes=tuple(delete for delete in self.deletes if delete.is_visible_at(snapshot_id)),
            deleted_positions=tuple(position for position, _ in gone),
            deleted_at=tuple(at for _, at in gone),
        )

    def as_written(self) -> DataFile:
        """The file as if nothing had ever been deleted from it."""
        return self._replace(deletes=(), deleted_positions=(), deleted_at=())

    def is_partial_at(self, snapshot_id: int) -> bool:
        return self.partial_max is not None and self.partial_max > snapshot_id


def _is_visible(begin: int, end: int | None, snapshot_id: int) -> bool:
    return begin <= snapshot_id and (end is None or end > snapshot_id)


Row = tuple[object, ...]
Cells = Sequence[object]


@dataclass(frozen=True, slots=True)
class MappedField:
    """How a field of a foreign Parquet file maps to a column: by its name in the file."""

    source_name: str
    field_id: int
    children: tuple[MappedField, ...] = ()
    is_partition: bool = False


@dataclass(frozen=True, slots=True)
class InlinedRows:
    """Rows kept in the catalog, all written under one version of the table's columns.

    Each row is (row id, begin snapshot, value of each column); a value is None, bytes
    (blobs and variants), or text that DuckDB's cast to the column's type understands.
    """

    columns: tuple[Column, ...]
    rows: tuple[Row, ...] | ColumnarRows | ManyRows

    def by_column(self) -> Sequence[Cells]:
        """Row ids, snapshots, and the values of each column, where whole numbers may be as such.
        Requires: there are rows."""
        if isinstance(self.rows, ColumnarRows):
            return self.rows.columns
        return [list(cells) for cells in zip(*self.rows, strict=True)]


class ColumnarRows:
    """Many rows, kept column by column as the catalog gave them. Whoever goes through them gets
    tuples as other rows are."""

    __slots__ = ("columns",)

    def __init__(self, columns: Sequence[Cells]) -> None:
        """At least row ids and snapshots. The other columns have values as rows have them, or
        whole numbers and None."""
        self.columns = columns

    def __len__(self) -> int:
        return len(self.columns[0])

    def __iter__(self) -> Iterator[Row]:
        texts = map(_texts, self.columns[2:])
        return zip(*self.columns[:2], *texts, strict=True)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, tuple | ColumnarRows) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class GatheredPart:
    """Some rows as their database has gathered them: a JSON array for each column. Row ids that
    follow one another are told by the first, and snapshots that are the same by that one. What is
    no row id and no snapshot is text, or a number that stands for its text."""

    count: int
    row_ids: str
    snapshots: str
    texts: tuple[str, ...]

    def ids(self) -> Sequence[int]:
        told = json.loads(self.row_ids)
        return range(told, told + self.count) if isinstance(told, int) else list(told)

    def columns(self) -> list[Cells]:
        told = json.loads(self.snapshots)
        snapshots = [told] * self.count if isinstance(told, int) else told
        return [self.ids(), snapshots, *map(json.loads, self.texts)]


@dataclass(frozen=True, slots=True)
class GatheredRows:
    """Many rows, in the order of their ids."""

    parts: tuple[GatheredPart, ...]

    def __len__(self) -> int:
        return sum(part.count for part in self.parts)

    def __iter__(self) -> Iterator[Row]:
        for part in self.parts:
            yield from ColumnarRows(part.columns())


@dataclass(frozen=True, slots=True, eq=False)
class ArrowRows:
    """Many rows as an Arrow table, row ids and snapshots first. The values are as their database
    has them; `spell` makes text of those that are neither text nor whole numbers."""

    table: Any
    spell: Callable[[Any], Any]

    def __len__(self) -> int:
        count: int = self.table.num_rows
        return count

    def __iter__(self) -> Iterator[Row]:
        columns = self.spell(self.table).columns
        return iter(ColumnarRows([column.to_pylist() for column in columns]))


@dataclass(frozen=True, slots=True)
class PackedColumn:
    """Values as PostgreSQL puts them together: whole numbers of eight bytes each, and a letter for
    each that says whether it is missing, unless none is; texts that may be of any length, and the
    lengths of all in four bytes, -1 for NULL; or short texts, each a line, which is empty for
    NULL."""

    values: bytes | str
    told: bytes | str | None = None
    is_whole: bool = False

    def numbers(self) -> array[int]:
        """Of a column of whole numbers, where 0 stands for those that are missing."""
        return _array("q", self.values)

    def lengths(self) -> array[int]:
        """Of a column of texts that may be long."""
        return _array("i", self.told)

    def cells(self) -> Cells:
        if self.is_whole:
            flags = self.told or "0" * (len(self.values) // 8)
            return [
                None if flag == "1" else number
                for number, flag in zip(self.numbers(), flags, strict=True)
            ]
        if self.told is None:
            return [line or None for line in str(self.values).split("\n")]
        return list(self._long())

    def _long(self) -> Iterator[str | None]:
        data, start = self.data, 0
        for length in self.lengths():
            yield None if length < 0 else data[start : start + length].decode()
            start += max(length, 0)

    @property
    def data(self) -> bytes:
        return self.values.encode() if isinstance(self.values, str) else self.values


@dataclass(frozen=True, slots=True)
class PackedRows:
    """Many rows, row ids and snapshots first, as PostgreSQL has put them together by column, in
    whatever order. Whoever goes through them gets them in that of the row ids."""

    count: int
    columns: tuple[PackedColumn, ...]

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[Row]:
        rows = ColumnarRows([column.cells() for column in self.columns])
        return iter(sorted(rows, key=itemgetter(0)))


ManyRows = ArrowRows | GatheredRows | PackedRows


def _array(kind: str, data: object) -> array[int]:
    """Whole numbers, of which the greatest byte comes first."""
    assert isinstance(data, bytes)
    found = array(kind, data)
    if sys.byteorder == "little":
        found.byteswap()
    return found


def _texts(cells: Cells) -> Cells:
    if set(map(type, cells)).isdisjoint((int, float)):
        return cells
    return [str(cell) if isinstance(cell, int | float) else cell for cell in cells]
