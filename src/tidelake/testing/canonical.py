"""Rows and types in one form, whatever Arrow type carried them.

Values become plain Python: times and dates integers (so nothing is out of Python's range), floats
with NaN and -0.0 made comparable, intervals (months, days, microseconds), UUIDs text, structs
tuples of pairs, maps sorted lists of pairs. Rows are sorted by their repr.
"""

import math
import uuid
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pyarrow.types as types

_NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_OPAQUE_INTEGERS = {"hugeint": True, "uhugeint": False}


def rows(table: pa.Table) -> list[tuple[Any, ...]]:
    columns = [values(column) for column in table.columns]
    return sorted(zip(*columns, strict=True), key=repr)


def values(array: pa.Array | pa.ChunkedArray) -> list[Any]:
    if isinstance(array, pa.ChunkedArray):
        return [value for chunk in array.chunks for value in values(chunk)]
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        return _extension(array)
    if types.is_dictionary(kind):
        return values(array.dictionary_decode())
    if types.is_nested(kind):
        return _nested(array)
    return _scalars(array)


def _scalars(array: pa.Array) -> list[Any]:
    kind = array.type
    if types.is_floating(kind):
        return [_float(value) for value in array.to_pylist()]
    if types.is_date32(kind):
        return [_unbounded(days, 1, 2**31 - 1) for days in array.cast(pa.int32()).to_pylist()]
    if types.is_timestamp(kind) or types.is_time64(kind):
        factor = _NANOSECONDS[kind.unit]
        return [
            _unbounded(ticks, factor, 2**63 - 1) for ticks in array.cast(pa.int64()).to_pylist()
        ]
    if types.is_interval(kind):
        return [v and (v.months, v.days, v.nanoseconds / 1000) for v in array.to_pylist()]
    if types.is_decimal(kind) and kind.scale == 0:
        return [v if v is None else int(v) for v in array.to_pylist()]
    found: list[Any] = array.to_pylist()
    return found


def _float(value: float | None) -> float | str | None:
    if value is None:
        return None
    if math.isnan(value):
        return "nan"
    return "-0.0" if value == 0 and math.copysign(1, value) < 0 else value


def _unbounded(ticks: int | None, factor: int, most: int) -> int | str | None:
    """DuckDB keeps the infinities of dates and timestamps as the two outermost numbers."""
    if ticks is None:
        return None
    if abs(ticks) == most:
        return "infinity" if ticks > 0 else "-infinity"
    return ticks * factor


def _extension(array: pa.Array) -> list[Any]:
    stored = array.storage
    if array.type.extension_name == "arrow.uuid":
        return [v if v is None else str(uuid.UUID(bytes=v)) for v in stored.to_pylist()]
    if array.type.extension_name == "arrow.bool8":
        return [v if v is None else bool(v) for v in stored.to_pylist()]
    name = getattr(array.type, "type_name", None)
    if name in _OPAQUE_INTEGERS:
        signed = _OPAQUE_INTEGERS[name]
        return [
            v if v is None else int.from_bytes(v, "little", signed=signed)
            for v in stored.to_pylist()
        ]
    return values(stored)


def _nested(array: pa.Array) -> list[Any]:
    valid = array.is_valid().to_pylist()
    if types.is_struct(array.type):
        names = [array.type.field(i).name for i in range(array.type.num_fields)]
        fields = [values(array.field(i)) for i in range(array.type.num_fields)]
        found: list[Any] = [
            tuple(zip(names, row, strict=True)) for row in zip(*fields, strict=True)
        ]
    else:
        offsets = array.offsets.to_pylist()
        is_map = types.is_map(array.type)
        inner = (
            list(zip(values(array.keys), values(array.items), strict=True))
            if is_map
            else values(array.values)
        )
        found = [inner[start:end] for start, end in pairwise(offsets)]
        found = [sorted(pairs, key=repr) for pairs in found] if is_map else found
    return [value if ok else None for value, ok in zip(found, valid, strict=True)]


def type_name(kind: pa.DataType) -> str:
    """How Tidelake is to hand out a type, given the one DuckDB (without loss) or Tidelake uses."""
    if isinstance(kind, pa.BaseExtensionType):
        return _extension_type_name(kind)
    if types.is_struct(kind):
        return "struct<" + ", ".join(f"{f.name}: {type_name(f.type)}" for f in kind) + ">"
    if types.is_map(kind):
        return f"map<{type_name(kind.key_type)}, {type_name(kind.item_type)}>"
    if types.is_list(kind) or types.is_large_list(kind):
        return f"list<{type_name(kind.value_type)}>"
    if types.is_timestamp(kind):
        return f"timestamp[{kind.unit}]" + (" with zone" if kind.tz else "")
    return str(kind).removeprefix("large_")


def _extension_type_name(kind: pa.BaseExtensionType) -> str:
    if getattr(kind, "type_name", None) in _OPAQUE_INTEGERS:
        return "decimal128(38, 0)"
    if kind.extension_name in ("arrow.uuid", "arrow.json"):
        return "string"
    return "bool" if kind.extension_name == "arrow.bool8" else str(kind)
