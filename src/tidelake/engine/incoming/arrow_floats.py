"""Whether Arrow data has a `-0.0` or a NaN, found as fast as memory can be read."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa


def may_have_negative_zeros(table: pa.Table) -> bool:
    """False only if there is none, at whatever depth."""
    return _any_floats(table, _has_lowest)


def may_have_nans(table: pa.Table) -> bool:
    """False only if there is none, at whatever depth."""
    return _any_floats(table, _has_no_sum)


def _any_floats(table: pa.Table, has: Callable[[Any], bool]) -> bool:
    return any(_has(chunk, has) for column in table.columns for chunk in column.chunks)


def _has(array: Any, has: Callable[[Any], bool]) -> bool:
    import pyarrow as pa

    kind = array.type
    if pa.types.is_float32(kind) or pa.types.is_float64(kind):
        return has(array)
    if pa.types.is_struct(kind):
        return any(_has(array.field(place), has) for place in range(kind.num_fields))
    if pa.types.is_map(kind):
        return _has(array.keys, has) or _has(array.items, has)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return _has(array.values, has)
    return "float" in str(kind) or "double" in str(kind)


def _has_lowest(array: Any) -> bool:
    """The bits of `-0.0`, taken as an integer, are the lowest of all."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind, lowest = (
        (pa.int32(), -(2**31)) if pa.types.is_float32(array.type) else (pa.int64(), -(2**63))
    )
    bits = pa.Array.from_buffers(kind, len(array), [None, array.buffers()[1]], 0, array.offset)
    return bool(pc.min(bits).as_py() == lowest)


def _has_no_sum(array: Any) -> bool:
    """One NaN makes the sum NaN, and little else does."""
    import pyarrow.compute as pc

    total = pc.sum(array).as_py()
    return total is not None and total != total
