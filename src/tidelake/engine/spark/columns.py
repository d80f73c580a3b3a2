"""How Spark's own Parquet reader is to read a column, and whether it reads it exactly.

A column that has one name in all files is read by it, with whatever settings. Where a name could
mislead, a column is found by its field id, if the session lets us (`field_ids.py`). Even then
filters are pushed down to the statistics of whatever field has the name, types are looked up by
name before id, and a nested column of which only a part is wanted is matched by name alone. So
such a column is read under a name that no file has, and a nested one whole: a cast to its real
names is opaque to Spark.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pyspark.sql import types as t

from tidelake.engine.spark.field_ids import Witness, default_sql, own_name
from tidelake.engine.spark.types import spark_type, type_sql
from tidelake.model.names import fold
from tidelake.model.schema import ROW_ID_FIELD, ROW_SNAPSHOT_FIELD, Column
from tidelake.plan.scan import ScanPlan
from tidelake.plan.spark_literal import backtick

# Types that a file may have instead of the declared one, and Spark still gives the exact value.
# Found by trying every pair: others fail, or worse (uint32 and decimals as float64 are wrong).
_WIDENS = {
    "int8": {"int16", "int32", "int64", "float64"},
    "int16": {"int32", "int64", "float64"},
    "int32": {"int64", "float64"},
    "uint8": {"int16", "int32", "int64", "uint16", "uint32", "float64"},
    "uint16": {"int32", "int64", "uint32", "float64"},
    "uint32": {"int64"},
    "float32": {"float64"},
    "date": {"timestamp", "timestamp_us", "timestamp_ms", "timestamp_s"},
    "timestamp_s": {"timestamp", "timestamp_us", "timestamp_ms"},
    "timestamp_ms": {"timestamp", "timestamp_us"},
    "varchar": {"json"},
}
_LINEAGE_NAMES = {
    ROW_ID_FIELD: "_ducklake_internal_row_id",
    ROW_SNAPSHOT_FIELD: "_ducklake_internal_snapshot_id",
}
_FLOATS = ("float32", "float64")
_STORED_OTHERWISE = ("uuid", "variant")
_DIGITS = {"int8": 10, "int16": 10, "int32": 10, "int64": 20}
_DECIMAL = re.compile(r"decimal\((\d+), ?(\d+)\)")

_WHOLE = r"-?\d{1,20}"
_REAL = r"-?\d+(\.\d+)?([eE][+-]?\d+)?"
_DAY = r"\d{4}-\d\d-\d\d"
_MOMENT = rf"{_DAY} \d\d:\d\d:\d\d"
# Defaults that Spark's cast from text understands as DuckDB's does, and whose types its reader can
# fill in: not binary, and no decimals that are wider than 18 digits.
_PLAIN_DEFAULT = {
    "boolean": "true|false",
    **dict.fromkeys(("int8", "int16", "int32", "int64"), _WHOLE),
    **dict.fromkeys(("uint8", "uint16", "uint32"), _WHOLE),
    "float32": _REAL,
    "float64": _REAL,
    "varchar": ".*",
    "json": ".*",
    "date": _DAY,
    "timestamp": rf"{_MOMENT}(\.\d{{1,6}})?",
    "timestamp_us": rf"{_MOMENT}(\.\d{{1,6}})?",
    "timestamp_ms": rf"{_MOMENT}(\.\d{{1,3}})?",
    "timestamp_s": _MOMENT,
}


def reads_exactly(plan: ScanPlan, column: Column) -> bool:
    """Whether Spark's reader gives the column's exact values from every file that holds it."""
    for below in column.walk():
        former = plan.former_types.get(below.id, ())
        if below.id in plan.promoted and not former:
            return False
        if not all(reads_as(written, below.type) for written in former):
            return False
    return _default_is_plain(column)


def reads_as(written: str, declared: str) -> bool:
    """Whether Spark reads a field written as one type exactly as another."""
    new = _DECIMAL.fullmatch(declared)
    if new is None:
        return declared in _WIDENS.get(written, ())
    precision, scale = int(new[1]), int(new[2])
    if written in _DIGITS:
        return precision - scale >= _DIGITS[written]
    old = _DECIMAL.fullmatch(written)
    if old is None:
        return False
    return scale >= int(old[2]) and precision - scale >= int(old[1]) - int(old[2])


def _default_is_plain(column: Column) -> bool:
    if any(c.initial_default is not None for c in column.walk() if c is not column):
        return False
    if column.initial_default is None:
        return True
    pattern = _PLAIN_DEFAULT.get(column.type)
    if (decimal := _DECIMAL.fullmatch(column.type)) and int(decimal[1]) <= 18:
        pattern = _REAL
    return pattern is not None and bool(re.fullmatch(pattern, column.initial_default, re.DOTALL))


@dataclass(frozen=True, slots=True)
class ReadField:
    """A column under the name it is read by; `expression` turns it into what users see."""

    column: Column
    read: t.StructField
    expression: str


def field_of(plan: ScanPlan, column: Column, witness: Witness | None) -> ReadField:
    """How to read `column`. Requires: `reads_exactly(plan, column)`, and a witness if there is a
    column that `needs_id`."""
    if witness and column.id == witness.column.id:
        read, value, by_name = witness.field, witness.guard(backtick(witness.field.name)), False
    else:
        by_name = not needs_id(plan, column)
        read, value = _field(column, by_name)
        if witness and not by_name:
            value = witness.guard(value)
    if column.children and not by_name:
        value = f"CAST({value} AS {type_sql(_read_type(column, True))})"
    is_same = not by_name and not any(below.type in _STORED_OTHERWISE for below in column.walk())
    seen = value if is_same else _seen(column, value)
    if not column.children:
        # A cast to the same type costs nothing and drops the field's metadata.
        seen = f"CAST({seen} AS {spark_type(column).simpleString()})"
    return ReadField(column, read, f"{seen} AS {backtick(column.name)}")


def _field(column: Column, by_name: bool) -> tuple[t.StructField, str]:
    name = column.name if by_name else own_name(column)
    metadata: dict[str, object] = {"parquet.field.id": column.id}
    if column.initial_default is not None:
        metadata["EXISTS_DEFAULT"] = default_sql(column, column.initial_default)
    return t.StructField(name, _read_type(column, by_name), True, metadata), backtick(name)


def needs_id(plan: ScanPlan, column: Column) -> bool:
    """Whether a file may have the column, or a part of it, under another name, or another column
    under this one, or in another type."""
    if plan.renamed is None or fold(column.name) == "_metadata":
        return True
    changed = plan.renamed | plan.reshaped | plan.promoted | plan.former_types.keys()
    return any(below.id in changed for below in column.walk())


def _read_type(column: Column, by_name: bool) -> t.DataType:
    if column.type == "uuid":
        return t.BinaryType()
    if column.type == "list":
        return t.ArrayType(_read_type(column.children[0], by_name))
    if column.type == "map":
        key, value = column.children
        return t.MapType(_read_type(key, by_name), _read_type(value, by_name))
    if column.type == "struct":
        return t.StructType(
            [
                t.StructField(
                    child.name if by_name else own_name(child),
                    _read_type(child, by_name),
                    True,
                    {"parquet.field.id": child.id},
                )
                for child in column.children
            ]
        )
    return spark_type(column)


def _seen(column: Column, value: str, depth: int = 0) -> str:
    """The user's value of a column, over the value that was read."""
    if column.type == "uuid":
        return _uuid_text(value)
    if column.type == "variant":
        return without_variant_null(value)
    if column.type in _FLOATS:
        return f"nanvl({value}, {value})"
    if not _is_converted(column):
        return value
    item = f"x{depth}"
    if column.type == "list":
        return f"transform({value}, {item} -> {_seen(column.children[0], item, depth + 1)})"
    if column.type == "map":
        return _seen_map(column, value, depth)
    fields = ", ".join(
        f"{_seen(child, f'{value}.{backtick(child.name)}', depth)} AS {backtick(child.name)}"
        for child in column.children
    )
    return f"IF({value} IS NULL, NULL, struct({fields}))"


def _seen_map(column: Column, value: str, depth: int) -> str:
    key, item = f"k{depth}", f"x{depth}"
    for function, child, name in zip(
        ("transform_keys", "transform_values"), column.children, (key, item), strict=True
    ):
        if _is_converted(child):
            inner = _seen(child, name, depth + 1)
            value = f"{function}({value}, ({key}, {item}) -> {inner})"
    return value


def _is_converted(column: Column) -> bool:
    """Whether users see another value than the one that is read, or one that Spark must not know
    for the same: it would push filters on floats down to statistics, and writers leave NaN, which
    is above all numbers, out of these. It pushes nothing into lists and maps."""
    if column.type == "struct":
        return any(map(_is_converted, column.children))
    if column.type in _FLOATS:
        return True
    return any(below.type in _STORED_OTHERWISE for below in column.walk())


def _uuid_text(value: str) -> str:
    digits = f"lower(hex({value}))"
    ends = ((1, 8), (9, 4), (13, 4), (17, 4), (21, 12))
    parts = ", '-', ".join(f"substr({digits}, {start}, {length})" for start, length in ends)
    return f"concat({parts})"


def without_variant_null(value: str) -> str:
    """DuckDB's variants have one null; Spark tells a null inside from SQL's NULL."""
    return f"IF(is_variant_null({value}), NULL, {value})"


def lineage_field(field_id: int) -> t.StructField:
    """A row's id or snapshot, where a file carries it: under a name that no column may have."""
    metadata = {"parquet.field.id": field_id}
    return t.StructField(_LINEAGE_NAMES[field_id], t.LongType(), True, metadata)
