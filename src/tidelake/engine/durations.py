"""Intervals of months, days and time as durations, where they are, and durations as intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

_DAY = 86_400_000_000
_MONTHS = 0xFFFFFFFF


def interval_sql(duration: str) -> str:
    """The interval of a duration, with days as Python's has them: files hold few hours beside."""
    number = f"epoch_us({duration})"
    days = f"to_days(CAST({number} // {_DAY} AS INTEGER))"
    return f"{days} + to_microseconds({number} % {_DAY})"


def durations(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """A column of intervals as microseconds; None if it holds something else, one has months, or
    one is too long. A day has 24 hours, as for Python's timedelta."""
    import pyarrow as pa

    if column.type != pa.month_day_nano_interval():
        return None
    found = []
    for chunk in column.chunks:
        spans = _spans(chunk)
        if spans is None:
            return None
        found.append(spans)
    return pa.chunked_array(found, pa.duration("us"))


def _spans(chunk: pa.Array) -> pa.Array | None:
    """An interval is 16 bytes: months and days of 4 each, then nanoseconds."""
    import pyarrow as pa
    from pyarrow import compute

    there = pa.array(range(len(chunk)), pa.int64())
    words = pa.Array.from_buffers(
        pa.int64(), 2 * len(chunk), [None, chunk.buffers()[1]], offset=2 * chunk.offset
    )
    missing = compute.is_null(chunk)
    first = words.take(compute.multiply(there, 2))
    first = compute.if_else(missing, pa.scalar(None, pa.int64()), first)
    second = words.take(compute.add(compute.multiply(there, 2), 1))
    if compute.any(compute.not_equal(compute.bit_wise_and(first, _MONTHS), 0)).as_py():
        return None
    days = compute.shift_right(first, 32)
    try:
        time = compute.divide(second, 1000)
        whole = compute.add_checked(compute.multiply_checked(days, _DAY), time)
    except pa.ArrowInvalid:
        return None
    return whole.view(pa.duration("us"))
