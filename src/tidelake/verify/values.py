"""What the catalog says of a file, for comparing it with the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tidelake.model.file import MappedField
from tidelake.model.schema import Column
from tidelake.model.statistics import ColumnStats


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """A data file, or with `deletes_from` (how many rows the data file has) a delete file.

    `columns` are the table's when the file was written, `last_row_id` and `last_snapshot` the
    greatest there may be. `mapping` is for files without field ids. `inlined_deletes` are positions
    of the same data file that the catalog itself says are deleted.
    """

    id: int
    table_id: int
    table: str
    path: str
    rows: int
    bytes: int
    footer_size: int | None
    begin_snapshot: int
    last_snapshot: int
    format: str = "parquet"
    is_encrypted: bool = False
    deletes_from: int | None = None
    inlined_deletes: tuple[int, ...] = ()
    row_id_start: int | None = None
    last_row_id: int = -1
    partial_max: int | None = None
    columns: tuple[Column, ...] = ()
    mapping: tuple[MappedField, ...] | None = None
    statistics: Mapping[int, ColumnStats] = field(default_factory=dict)
