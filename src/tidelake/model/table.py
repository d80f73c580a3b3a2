"""What the catalog knows of a schema, a table, a view or a macro at one snapshot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tidelake.model.names import TableName
from tidelake.model.schema import Schema


@dataclass(frozen=True, slots=True)
class SchemaInfo:
    id: int
    name: str
    path: str
    uuid: str | None = None


@dataclass(frozen=True, slots=True)
class PartitionKey:
    """One key of a partitioning: a column, by id, under a transform such as `bucket(8)`."""

    column_id: int
    transform: str


@dataclass(frozen=True, slots=True)
class PartitionSpec:
    id: int
    keys: tuple[PartitionKey, ...]


@dataclass(frozen=True, slots=True)
class SortKey:
    expression: str
    direction: str
    nulls: str
    dialect: str = "duckdb"


@dataclass(frozen=True, slots=True)
class TableInfo:
    """A table at one snapshot. `path` is complete and ends in a slash."""

    id: int
    uuid: str
    name: TableName
    path: str
    schema: Schema
    begin_snapshot: int
    tags: Mapping[str, str] = field(default_factory=dict)
    partitioning: PartitionSpec | None = None
    sorting: tuple[SortKey, ...] = ()

    @property
    def comment(self) -> str | None:
        return self.tags.get("comment")


@dataclass(frozen=True, slots=True)
class ViewInfo:
    id: int
    name: TableName
    dialect: str
    sql: str
    column_aliases: tuple[str, ...] = ()
    uuid: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MacroInfo:
    """A macro and its overloads, each as (parameters, SQL, 'scalar' or 'table', dialect)."""

    id: int
    name: TableName
    overloads: tuple[tuple[tuple[str, ...], str, str, str], ...] = ()
