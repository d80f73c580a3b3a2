"""Where rows are to be written, and in what shape."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tidelake.coverage.values.series import Series
from tidelake.model.names import TableName
from tidelake.model.schema import Column
from tidelake.model.table import PartitionSpec, SortKey


@dataclass(frozen=True, slots=True)
class Target:
    """A table to write files for; picklable, because executors write too.

    `path` is the folder, complete, with a slash at the end. `physical` are the names of all
    columns, at every depth, in files, by id: a column keeps the first name it had. `suffix` is how
    the names of files end. Of a `series`, what each file covers is found out as it is written.
    `in_order`: the rows stay in the order in which they come, and so in one file, because ties
    between them are decided by it.
    """

    table: TableName
    path: str
    columns: tuple[Column, ...]
    physical: Mapping[int, str]
    partitioning: PartitionSpec | None = None
    sorting: tuple[SortKey, ...] = ()
    file_bytes: int = 512 * 1024 * 1024
    compression: str = "snappy"
    row_group_rows: int = 122_880
    suffix: str = "parquet"
    series: Series | None = None
    in_order: bool = False
