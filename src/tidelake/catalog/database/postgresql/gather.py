"""Many rows of a table for small writes at once: PostgreSQL puts the values of each column one
after another, which takes a fraction of what Python needs for as many values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from tidelake.catalog.database.dialect import Kept
from tidelake.model.names import quote

if TYPE_CHECKING:
    import pyarrow as pa

_MOST = 900_000_000
"""Bytes of an answer: PostgreSQL makes no row of a gigabyte."""
_NUMBER, _LENGTH, _SHORT = 9, 4, 64
"""Bytes of a whole number, of a length, and at most of a text that is not long."""


class AskForBytes(Protocol):
    """A query with one row as its answer, in which bytes are bytes."""

    def __call__(self, sql: str, parameters: Mapping[str, object], /) -> Any: ...


def table_of(
    ask: AskForBytes, table: str, kept: Sequence[Kept], given: tuple[str, Mapping[str, object]]
) -> pa.Table | None:
    """The rows that meet a condition with these parameters, whole numbers or UTF-8. None: there
    are more bytes than PostgreSQL puts together, or they are no UTF-8, or somebody has written
    meanwhile."""
    import pyarrow as pa

    condition, parameters = given
    found = f"FROM {quote(table)} WHERE {condition}"
    size = " + ".join(map(_size, kept))
    counts = "".join(f", count({each.sql})" for each in kept)
    count, bytes_, *there = ask(f"SELECT count(*), {size}{counts} {found}", parameters)
    if bytes_ > _MOST:
        return None
    parts = ", ".join(_parts(e, has_nulls=n < count) for e, n in zip(kept, there, strict=True))
    values = ask(f"SELECT {parts} {found}", parameters)
    pairs = zip(values[::2], values[1::2], strict=True)
    try:
        columns = [_array(*pair, each) for pair, each in zip(pairs, kept, strict=True)]
        if {len(column) for column in columns} != {count}:
            return None
    except pa.ArrowInvalid:
        return None
    return pa.Table.from_arrays(columns, [f"c{place}" for place in range(len(kept))])


def _size(kept: Kept) -> str:
    """SQL of how many bytes a column takes, at most."""
    if kept.is_long:
        return f"coalesce(sum(octet_length({kept.sql})), 0) + count(*) * {_LENGTH}"
    return f"count(*) * {_NUMBER if kept.is_whole else _SHORT}"


def _parts(kept: Kept, *, has_nulls: bool) -> str:
    """The values, and what says which are NULL: a letter for each number, a length for each text
    that is long. A short one has a line of its own, which is empty where there is none."""
    sql = kept.sql
    if kept.is_long:
        lengths = f"string_agg(int4send(coalesce(octet_length({sql}), -1)), '')"
        return f"string_agg({sql}, ''), {lengths}"
    if not kept.is_whole:
        return f"string_agg(coalesce({sql}, ''), E'\\n'), NULL"
    if not has_nulls:
        return f"string_agg(int8send({sql}), ''), NULL"
    flags = f"string_agg(CASE WHEN {sql} IS NULL THEN '1' ELSE '0' END, '')"
    return f"string_agg(int8send(coalesce({sql}, 0)), ''), {flags}"


def _array(values: Any, told: Any, kept: Kept) -> pa.Array:
    if kept.is_whole:
        return _numbers(values, told)
    return _long_texts(values, told) if kept.is_long else _short_texts(values)


def _numbers(values: bytes, flags: str | None) -> pa.Array:
    import numpy as np
    import pyarrow as pa

    missing = None if flags is None else np.frombuffer(flags.encode(), np.uint8) == ord("1")
    return pa.array(np.frombuffer(values, ">i8").astype(np.int64), mask=missing)


def _short_texts(values: str) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    lines = pc.split_pattern(pa.array([values]), "\n").flatten()
    return pc.if_else(pc.equal(lines, ""), pa.scalar(None, pa.string()), lines)


def _long_texts(values: str | bytes | None, lengths: bytes) -> pa.Array:
    """Their UTF-8 is checked."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    found = np.frombuffer(lengths, ">i4").astype(np.int32)
    ends = np.zeros(len(found) + 1, np.int32)
    np.cumsum(np.maximum(found, 0), out=ends[1:])
    there = pc.greater_equal(pa.array(found), 0).buffers()[1]
    text = values.encode() if isinstance(values, str) else values or b""
    if len(text) != ends[-1]:
        raise pa.ArrowInvalid("texts and lengths are not of the same rows")
    buffers = [there, pa.py_buffer(ends), pa.py_buffer(text)]
    texts = pa.Array.from_buffers(pa.string(), len(found), buffers)
    texts.validate(full=True)
    return texts
