"""Spark's types in DuckLake's words: exactly, or refused by name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pyspark.sql import types as t

from tidelake.engine.spark.types import OBJECTS
from tidelake.errors import Unsupported
from tidelake.model.schema import Column
from tidelake.model.types import FROM_SPARK

_NAMES: dict[type[t.DataType], str] = {
    **{type(kind): FROM_SPARK[name] for name, kind in OBJECTS.items() if name in FROM_SPARK},
    **dict.fromkeys((t.CharType, t.VarcharType), "varchar"),
    **dict.fromkeys(
        (t.DayTimeIntervalType, t.YearMonthIntervalType, t.CalendarIntervalType), "interval"
    ),
}


def spark_columns(schema: Any) -> list[Column]:
    """The columns of a StructType or a DataFrame, with their nullability and comments."""
    fields = schema if isinstance(schema, t.StructType) else schema.schema
    return [
        replace(
            spark_column(field.name, field.dataType),
            nullable=field.nullable,
            comment=(field.metadata or {}).get("comment"),
        )
        for field in fields
    ]


def spark_column(name: str, kind: Any, path: str = "") -> Column:
    """A column, not numbered yet, of a Spark type."""
    path = f"{path}.{name}" if path else name
    kind = kind() if isinstance(kind, type) else kind
    if isinstance(kind, t.ArrayType):
        return _nested(name, "list", [("element", kind.elementType)], path)
    if isinstance(kind, t.MapType):
        return _nested(name, "map", [("key", kind.keyType), ("value", kind.valueType)], path)
    if isinstance(kind, t.StructType):
        return _nested(name, "struct", [(f.name, f.dataType) for f in kind], path)
    if isinstance(kind, t.DecimalType):
        return Column(0, name, f"decimal({kind.precision},{kind.scale})")
    if type(kind) not in _NAMES:
        raise Unsupported(
            f"column {path!r}: DuckLake has no type for Spark's {kind.simpleString()}",
            hint="cast it to another type first",
        )
    return Column(0, name, _NAMES[type(kind)])


def _nested(name: str, kind: str, parts: list[tuple[str, t.DataType]], path: str) -> Column:
    children = tuple(spark_column(part, below, path) for part, below in parts)
    return Column(0, name, kind, children=children)
