"""How Spark's own Parquet reader is to read a column, and whether it reads it exactly.

Spark matches fields by id but uses their names too: a filter is pushed down to the statistics
of whatever field has the name, and a field's type is looked up by name before id. So wherever a
name could mislead, the column is read under a name that no file has, and renamed afterwards.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pyspark.sql import types as t

from tidelake.engine.spark_types import spark_type
from tidelake.model.schema import Column
from tidelake.plan.scan import ScanPlan

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
_DIGITS = {"int8": 10, "int16": 10, "int32": 10, "int64": 20}
_DECIMAL = re.compile(r"decimal\((\d+), ?(\d+)\)")

_WHOLE = r"-?\d{1,20}"
_REAL = r"-?\d+(\.\d+)?([eE][+-]?\d+)?"
_DAY = r"\d{4}-\d\d-\d\d"
_MOMENT = rf"{_DAY} \d\d:\d\d:\d\d"
# Defaults that Spark's cast from text understands as DuckDB's does.
_PLAIN_DEFAULT = {
    "boolean": "true|false",
    **dict.fromkeys(("int8", "int16", "int32", "int64"), _WHOLE),
    **dict.fromkeys(("uint8", "uint16", "uint32", "uint64"), _WHOLE),
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
    pattern = _REAL if _DECIMAL.fullmatch(column.type) else _PLAIN_DEFAULT.get(column.type)
    return pattern is not None and bool(re.fullmatch(pattern, column.initial_default, re.DOTALL))


@dataclass(frozen=True, slots=True)
class Field:
    """A column under the name it is read by; `expression` turns it into what users see."""

    column: Column
    read: t.StructField
    expression: str


def field_of(plan: ScanPlan, column: Column) -> Field:
    """How to read `column`. Requires: `reads_exactly(plan, column)`."""
    insides_differ = _insides_differ(plan, column)
    named = not insides_differ and _name_is_safe(plan, column)
    name = column.name if named else _own_name(column)
    metadata: dict[str, object] = {"parquet.field.id": column.id}
    if column.initial_default is not None:
        metadata["EXISTS_DEFAULT"] = _default_sql(column)
    read = t.StructField(name, _read_type(column, insides_differ), True, metadata)
    seen = _seen(column, ticked(name), insides_differ)
    if not column.is_nested:
        # A cast to the same type costs nothing and drops the field's metadata.
        seen = f"CAST({seen} AS {spark_type(column).simpleString()})"
    return Field(column, read, f"{seen} AS {ticked(column.name)}")


def ticked(name: str) -> str:
    """An identifier as Spark SQL reads it."""
    return "`" + name.replace("`", "``") + "`"


def _own_name(column: Column) -> str:
    return f"__tidelake_{column.id}"


def _insides_differ(plan: ScanPlan, column: Column) -> bool:
    if not column.children:
        return False
    ids = {below.id for below in column.walk()}
    return plan.renamed is None or bool(ids & plan.reshaped) or bool(ids & plan.renamed)


def _name_is_safe(plan: ScanPlan, column: Column) -> bool:
    """Whether a filter on the column may be judged by statistics that a file has for the name.

    Never for floats: writers leave NaN out of their statistics, and NaN is above all numbers.
    """
    if plan.renamed is None or column.name.casefold() == "_metadata":
        return False
    if any(below.type in ("float32", "float64") for below in column.walk()):
        return False
    changed = plan.renamed | plan.promoted | plan.former_types.keys()
    return not any(below.id in changed for below in column.walk())


def _default_sql(column: Column) -> str:
    text = (column.initial_default or "").encode().hex()
    return f"CAST(CAST(X'{text}' AS STRING) AS {spark_type(column).simpleString()})"


def _read_type(column: Column, own_names: bool) -> t.DataType:
    if column.type == "uuid":
        return t.BinaryType()
    if column.type == "list":
        return t.ArrayType(_read_type(column.children[0], own_names))
    if column.type == "map":
        key, value = column.children
        return t.MapType(_read_type(key, own_names), _read_type(value, own_names))
    if column.type == "struct":
        return t.StructType(
            [
                t.StructField(
                    _own_name(child) if own_names else child.name,
                    _read_type(child, own_names),
                    True,
                    {"parquet.field.id": child.id},
                )
                for child in column.children
            ]
        )
    return spark_type(column)


def _seen(column: Column, value: str, own_names: bool, depth: int = 0) -> str:
    """The user's value of a column, over the value that was read."""
    if column.type == "uuid":
        return _uuid_text(value)
    if column.type == "variant":
        return without_variant_null(value)
    if not column.children or not _is_changed(column, own_names):
        return value
    item = f"x{depth}"
    if column.type == "list":
        element = _seen(column.children[0], item, own_names, depth + 1)
        return f"transform({value}, {item} -> {element})"
    if column.type == "map":
        return _seen_map(column, value, own_names, depth)
    fields = ", ".join(
        f"{_seen(child, f'{value}.{ticked(inner)}', own_names, depth)} AS {ticked(child.name)}"
        for child in column.children
        for inner in [_own_name(child) if own_names else child.name]
    )
    return f"IF({value} IS NULL, NULL, struct({fields}))"


def _seen_map(column: Column, value: str, own_names: bool, depth: int) -> str:
    key, item = f"k{depth}", f"x{depth}"
    for function, child, name in zip(
        ("transform_keys", "transform_values"), column.children, (key, item), strict=True
    ):
        if _is_changed(child, own_names):
            inner = _seen(child, name, own_names, depth + 1)
            value = f"{function}({value}, ({key}, {item}) -> {inner})"
    return value


def _is_changed(column: Column, own_names: bool) -> bool:
    return any(
        below.type in ("uuid", "variant") or (own_names and below.type == "struct")
        for below in column.walk()
    )


def _uuid_text(value: str) -> str:
    digits = f"lower(hex({value}))"
    ends = ((1, 8), (9, 4), (13, 4), (17, 4), (21, 12))
    parts = ", '-', ".join(f"substr({digits}, {start}, {length})" for start, length in ends)
    return f"concat({parts})"


def without_variant_null(value: str) -> str:
    """DuckDB's variants have one null; Spark tells a null inside from SQL's NULL."""
    return f"IF(is_variant_null({value}), NULL, {value})"


def lineage_field(field_id: int) -> t.StructField:
    """A row's id or snapshot, where a file carries it."""
    name = f"__tidelake_{field_id}"
    return t.StructField(name, t.LongType(), True, {"parquet.field.id": field_id})
