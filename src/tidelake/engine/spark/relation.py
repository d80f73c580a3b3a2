"""Rows on Spark that know their columns, and DuckDB's queries over them on the executors."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tidelake.engine.spark.arrow_reader import nullable, user_rows
from tidelake.engine.spark.tasks import RowsQuery
from tidelake.engine.spark.types import is_exact, type_sql
from tidelake.errors import Unsupported
from tidelake.model.names import fold

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from tidelake.engine.local.engine import LocalEngine
    from tidelake.model.names import TableName
    from tidelake.model.schema import Column

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
HINT = (
    "run it on a lake opened with engine='local', or read the tables with to_spark() and use"
    " Spark's own functions"
)


@dataclass(frozen=True, slots=True)
class Relation:
    """Rows on Spark, and the columns that they are. `frame` has these in Spark's types, or if it
    is `raw`, what somebody handed over: DuckDB makes it into the columns, with `defaults`."""

    frame: DataFrame
    columns: tuple[Column, ...]
    raw: bool = False
    defaults: bool = False

    @property
    def by_name(self) -> dict[str, Column]:
        return {fold(column.name): column for column in self.columns}


@dataclass(frozen=True, slots=True)
class Executors:
    """DuckDB on the executors, for one statement; `doing` says which, should it fail."""

    local: LocalEngine
    doing: str
    table: TableName

    def query(self, rows: Relation, sql: str) -> RowsQuery:
        """A query over the rows, which it calls `spark_tasks.ROWS`."""
        columns = rows.columns
        if not rows.raw:
            columns = tuple(replace(column, nullable=True) for column in columns)
        names = tuple(rows.frame.columns)
        return RowsQuery(self.local, self.doing, self.table, names, columns, sql, rows.defaults)

    def select(self, rows: Relation, sql: str, columns: tuple[Column, ...]) -> Relation:
        """The query's rows, each task's for itself."""
        query = self.query(rows, sql)

        def select(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            yield from query.select(batches, columns)

        found = name_by_place(rows.frame).mapInArrow(select, nullable(columns))
        return Relation(user_rows(found, columns), columns)


def name_by_place(frame: DataFrame) -> DataFrame:
    """The columns by place if one of their names is odd: Spark's functions on Arrow fail on some.
    What has to be named anew, Spark has to analyse anew."""
    names = [field.name for field in frame.schema]
    if all(map(_PLAIN.fullmatch, names)) and len({fold(name) for name in names}) == len(names):
        return frame
    return frame.toDF(*(f"c{place}" for place in range(len(names))))


def as_columns(frame: DataFrame, columns: Sequence[Column]) -> Relation:
    """Rows that Spark has computed, under the names and in the types that DuckDB would give."""
    names = [column.name for column in columns]
    fields = list(frame.schema)
    kinds = [nullable([column])[0].dataType if is_exact(column) else None for column in columns]
    alike = [
        kind is None or kind.simpleString() == field.dataType.simpleString()
        for field, kind in zip(fields, kinds, strict=True)
    ]
    if all(alike) and [field.name for field in fields] == names:
        return Relation(frame, tuple(columns))
    named = [f"c{place}" for place in range(len(names))]
    chosen = [
        name if kind is None or is_alike else f"CAST({name} AS {type_sql(kind)}) AS {name}"
        for name, kind, is_alike in zip(named, kinds, alike, strict=True)
    ]
    return Relation(frame.toDF(*named).selectExpr(*chosen).toDF(*names), tuple(columns))


def unsupported_on_spark(what: str) -> Unsupported:
    return Unsupported(f"{what} is not supported on Spark", hint=HINT)


def held_columns(columns: Sequence[Column]) -> tuple[Column, ...]:
    """The columns of a query as Spark holds them, under the names c0, c1 …: a sum of whole
    numbers, which DuckDB makes a HUGEINT, is a decimal."""
    return tuple(
        replace(
            column,
            name=f"c{place}",
            type="decimal(38,0)" if column.type == "int128" else column.type,
            nullable=True,
        )
        for place, column in enumerate(columns)
    )


def held_query(sql: str, columns: Sequence[Column]) -> tuple[str, tuple[Column, ...]]:
    """A query whose columns are as Spark holds them."""
    places = [f"c{place}" for place in range(len(columns))]
    chosen = ", ".join(
        f"CAST({place} AS DECIMAL(38, 0)) AS {place}" if column.type == "int128" else place
        for place, column in zip(places, columns, strict=True)
    )
    whole = f"SELECT {chosen} FROM ({sql}) AS r({', '.join(places)})"
    return whole, held_columns(columns)


def rename_like(relation: Relation, columns: Sequence[Column]) -> Relation:
    return rename_columns(relation, [column.name for column in columns])


def rename_by_place(relation: Relation) -> Relation:
    return rename_columns(relation, [f"c{place}" for place in range(len(relation.columns))])


def rename_columns(relation: Relation, names: Sequence[str]) -> Relation:
    columns = tuple(
        replace(column, name=name) for column, name in zip(relation.columns, names, strict=True)
    )
    return Relation(relation.frame.toDF(*names), columns)
