"""DuckLake's columns in Spark's types: exactly, or refused by name."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pyspark.sql import types as t

from tidelake.errors import Unsupported
from tidelake.model.schema import Column

TIMES = {"time"}

_EXACT: dict[str, t.DataType] = {
    "boolean": t.BooleanType(),
    "int8": t.ByteType(),
    "int16": t.ShortType(),
    "int32": t.IntegerType(),
    "int64": t.LongType(),
    "uint8": t.ShortType(),
    "uint16": t.IntegerType(),
    "uint32": t.LongType(),
    "uint64": t.DecimalType(20, 0),
    "float32": t.FloatType(),
    "float64": t.DoubleType(),
    "date": t.DateType(),
    "time": t.TimeType(6),
    "timestamp": t.TimestampNTZType(),
    "timestamp_us": t.TimestampNTZType(),
    "timestamp_ms": t.TimestampNTZType(),
    "timestamp_s": t.TimestampNTZType(),
    "timestamptz": t.TimestampType(),
    "varchar": t.StringType(),
    "json": t.StringType(),
    "uuid": t.StringType(),
    "blob": t.BinaryType(),
    "geometry": t.BinaryType(),
    "variant": t.VariantType(),
}

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
