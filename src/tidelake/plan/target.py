"""Where rows are to be written, and in what shape."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from tidelake.model.names import TableName
from tidelake.model.schema import Column
from tidelake.model.table import PartitionSpec, SortKey
from tidelake.plan.partitioning.folders import Folders
from tidelake.plan.partitioning.interface import Values

if TYPE_CHECKING:
    import duckdb

    from tidelake.model.change import NewFile


GROUP_ROWS = 122_880
"""Rows of a row group at most, unless an option of the lake says otherwise."""
_VECTOR = 2048
"""Rows that DuckDB works on at once: row groups have a multiple of them."""


class FileObserver(Protocol):
    """Looks at files as soon as they are written, where they were; picklable, because executors
    write too."""

    def seen(self, connection: duckdb.DuckDBPyConnection, file: NewFile, target: Target) -> NewFile:
        """The file, with what is known of it now."""


@dataclass(frozen=True, slots=True)
class Target:
    """A table to write files for; picklable, because executors write too.

    `path` is the folder, complete, with a slash at the end. `physical` are the names of all
    columns, at every depth, in files, by id: a column keeps the first name it had. `suffix` is how
    the names of files end. The `observers` look at each file that has been written.
    `in_order`: the rows stay in the order in which they come, and so in one file, because ties
    between them are decided by it. Files of partitions go into `folders`, if there are any.
    `partition`: the one that all rows are of, if that is known without looking at them.
    """

    table: TableName
    path: str
    columns: tuple[Column, ...]
    physical: Mapping[int, str]
    partitioning: PartitionSpec | None = None
    sorting: tuple[SortKey, ...] = ()
    file_bytes: int = 512 * 1024 * 1024
    compression: str = "snappy"
    row_group_rows: int = GROUP_ROWS
    suffix: str = "parquet"
    observers: tuple[FileObserver, ...] = ()
    in_order: bool = False
    folders: Folders | None = None
    partition: Values | None = None

    def in_even_groups(self, rows: int) -> Target:
        """For so many rows: as many row groups as before, about equally large, so that those who
        write or read them side by side are done together. What fits into one stays in one."""
        if rows <= self.row_group_rows:
            return self
        groups = -(-rows // self.row_group_rows)
        vectors = -(-rows // (groups * _VECTOR))
        return replace(self, row_group_rows=min(self.row_group_rows, vectors * _VECTOR))
