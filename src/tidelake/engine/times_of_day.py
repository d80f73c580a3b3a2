"""Times of day that Arrow holds, and Python, pandas or Polars do not: 24:00:00, and for Python
nanoseconds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

_DAY = {"us": 86_400_000_000, "ns": 86_400_000_000_000}


def odd_time(column: pa.ChunkedArray, *, nanoseconds: bool) -> str | None:
    """What a column holds, at whatever depth, that would come out as another time or as none.
    `nanoseconds` says whether these are held."""
    from pyarrow import compute, types

    if "time64" not in str(column.type):
        return None
    for values in (leaf for chunk in column.chunks for leaf in _leaves(chunk)):
        if not types.is_time64(values.type):
            continue
        unit, numbers = values.type.unit, values.view("int64")
        if compute.any(compute.greater_equal(numbers, _DAY[unit])).as_py():
            return "24:00:00"
        if unit == "ns" and not nanoseconds and compute.any(_beyond_microseconds(numbers)).as_py():
            return "nanoseconds"
    return None


def _beyond_microseconds(numbers: pa.Array) -> pa.Array:
    from pyarrow import compute

    whole = compute.multiply(compute.divide(numbers, 1000), 1000)
    return compute.not_equal(numbers, whole)


def _leaves(array: pa.Array) -> Iterator[pa.Array]:
    """All values that are in it; of what is null, none."""
    from pyarrow import types

    kind = array.type
    if types.is_map(kind):
        inside = array.drop_null()
        parts = [inside.keys, inside.items]
    elif types.is_struct(kind) or types.is_list(kind) or types.is_fixed_size_list(kind):
        inside = array.flatten()
        parts = inside if types.is_struct(kind) else [inside]
    else:
        yield array
        return
    for part in parts:
        yield from _leaves(part)
