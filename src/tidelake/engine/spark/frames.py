"""DataFrames that users hand over, as far as their schema goes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import types as t

from tidelake.engine.spark.arrow_reader import arrow_type
from tidelake.engine.spark.types import spark_type
from tidelake.errors import Invalid, Unsupported
from tidelake.model.names import fold
from tidelake.model.schema import Column
from tidelake.model.types import FLOATS, is_decimal
from tidelake.plan.spark_literal import backtick

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_UNCHANGED = {
    *("boolean", "int8", "int16", "int32", "int64", "varchar", "blob"),
    *("date", "timestamp", "timestamptz"),
    *FLOATS,
}
"""Types of which no value is looked at on its way in."""


def as_arrow(data: Any, place: str) -> DataFrame:
    """The DataFrame, with intervals of months in a type that Arrow takes from Spark."""
    if not isinstance(getattr(data, "schema", None), t.StructType):
        kind = f"{type(data).__module__}.{type(data).__qualname__}"
        raise Invalid(f"{place}: cannot take rows from {kind}", hint="give a Spark DataFrame")
    if getattr(data, "isStreaming", False):
        raise Unsupported(
            f"{place}: a streaming DataFrame has no end", hint="write each batch with foreachBatch"
        )
    rows: DataFrame = data
    months = [isinstance(field.dataType, t.YearMonthIntervalType) for field in rows.schema]
    if not any(months):
        return rows
    names = [backtick(name) for name in rows.columns]
    return rows.selectExpr(
        *(
            f"make_interval(0, CAST({_months(name)} AS INT)) AS {name}" if is_months else name
            for name, is_months in zip(names, months, strict=True)
        )
    )


def _months(name: str) -> str:
    return f"12 * extract(YEAR FROM {name}) + extract(MONTH FROM {name})"


def same_columns(rows: DataFrame, columns: Sequence[Column]) -> DataFrame | None:
    """The DataFrame as these columns, if DuckDB would make them of it by names alone."""
    fields = {fold(field.name): field for field in rows.schema}
    chosen = []
    for column in columns:
        field = fields.get(fold(column.name))
        if field is None or not _fits(column, field):
            return None
        chosen.append(f"{backtick(field.name)} AS {backtick(column.name)}")
    return rows.selectExpr(*chosen)


def _fits(column: Column, field: t.StructField) -> bool:
    if column.type not in _UNCHANGED and not is_decimal(column.type):
        return False
    kind = spark_type(column).simpleString()
    return field.dataType.simpleString() == kind and (column.nullable or not field.nullable)


def empty_table(schema: t.StructType, place: str) -> pa.Table:
    """No rows, in the Arrow types in which Spark will hand the DataFrame's over."""
    fields = []
    for field in schema:
        try:
            fields.append(pa.field(field.name, arrow_type(field.dataType)))
        except KeyError:
            raise Unsupported(
                f"{place}: column {field.name!r} of the data is {field.dataType.simpleString()},"
                " which Spark does not hand over",
                hint="cast it to another type first",
            ) from None
    return pa.schema(fields).empty_table()


def in_microseconds(column: Column) -> Column:
    """As Spark's timestamps are; values with more digits are refused one by one."""
    return replace(column, type="timestamp") if column.type == "timestamp_ns" else column
