"""DuckLake's columns in Spark's types: exactly, or refused by name."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pyspark.sql import types as t

from tidelake.errors import Unsupported
from tidelake.model.schema import Column
from tidelake.model.types import SPARK_NAMES
from tidelake.plan.spark_literal import backtick

TIMES = {"time"}

OBJECTS: dict[str, t.DataType] = {
    str(kind.jsonValue()): kind
    for kind in (
        t.BooleanType(),
        t.ByteType(),
        t.ShortType(),
        t.IntegerType(),
        t.LongType(),
        t.DecimalType(20, 0),
        t.FloatType(),
        t.DoubleType(),
        t.DateType(),
        t.TimeType(6),
        t.TimestampType(),
        t.TimestampNTZType(),
        t.StringType(),
        t.BinaryType(),
        t.VariantType(),
    )
}
"""Spark's types by the names that they have in schemas."""
_EXACT = {kind: OBJECTS[name] for kind, name in SPARK_NAMES.items()}

_DECIMAL = re.compile(r"decimal\((\d+), ?(\d+)\)")


def spark_schema(columns: Iterable[Column]) -> t.StructType:
    """The schema a user sees. Unsupported if Spark has no type that holds a column exactly."""
    return t.StructType([t.StructField(c.name, spark_type(c), c.nullable) for c in columns])


def spark_type(column: Column) -> t.DataType:
    for below in column.walk():
        if not _has_exact_type(below):
            inside = "" if below is column else f" (in {below.name!r})"
            raise Unsupported(
                f"column {column.name!r} holds {below.type}{inside}, which no Spark type holds"
                " exactly",
                hint=f"leave {column.name!r} out with columns=[…], or read with engine='local'",
            )
    return _type(column)


def type_sql(kind: t.DataType) -> str:
    """The type as Spark's SQL spells it, whatever the names in it are."""
    if isinstance(kind, t.ArrayType):
        return f"ARRAY<{type_sql(kind.elementType)}>"
    if isinstance(kind, t.MapType):
        return f"MAP<{type_sql(kind.keyType)}, {type_sql(kind.valueType)}>"
    if isinstance(kind, t.StructType):
        fields = (f"{backtick(field.name)}: {type_sql(field.dataType)}" for field in kind)
        return f"STRUCT<{', '.join(fields)}>"
    return kind.simpleString()


def is_exact(column: Column) -> bool:
    """Whether Spark has types that hold the column, and all in it, exactly."""
    return all(_has_exact_type(below) for below in column.walk())


def _has_exact_type(column: Column) -> bool:
    return column.is_nested or column.type in _EXACT or _DECIMAL.fullmatch(column.type) is not None


def _type(column: Column) -> t.DataType:
    if column.type == "list":
        return t.ArrayType(_type(column.children[0]))
    if column.type == "map":
        key, value = column.children
        return t.MapType(_type(key), _type(value))
    if column.type == "struct":
        return t.StructType([t.StructField(c.name, _type(c)) for c in column.children])
    if decimal := _DECIMAL.fullmatch(column.type):
        return t.DecimalType(int(decimal[1]), int(decimal[2]))
    return _EXACT[column.type]
