"""Many rows of a table for small writes at once: PostgreSQL puts the values of each column one
after another, which takes a fraction of what Python needs for as many values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from tidelake.catalog.database.dialect import InlineColumn
from tidelake.model.file import PackedColumn, PackedRows
from tidelake.model.names import quote

_MOST = 900_000_000
"""Bytes of an answer: PostgreSQL makes no row of a gigabyte."""
_NUMBER, _LENGTH, _SHORT = 9, 4, 64
"""Bytes of a whole number, of a length, and at most of a text that is not long."""


class AskForBytes(Protocol):
    """A query with one row as its answer, in which bytes are bytes."""

    def __call__(self, sql: str, parameters: Mapping[str, object], /) -> Any: ...


def rows_of(
    ask: AskForBytes,
    table: str,
    kept: Sequence[InlineColumn],
    given: tuple[str, Mapping[str, object]],
) -> PackedRows | None:
    """The rows that meet a condition with these parameters, whole numbers or UTF-8; the first
    two columns have no NULL. None: there are more bytes than PostgreSQL puts together, or somebody
    has written meanwhile."""
    condition, parameters = given
    found = f"FROM {quote(table)} WHERE {condition}"
    size = " + ".join(map(_size, kept))
    counts = "".join(f", count({each.sql})" for each in kept)
    count, bytes_, *there = ask(f"SELECT count(*), {size}{counts} {found}", parameters)
    if bytes_ > _MOST or min(there[:2]) < count:
        return None
    parts = ", ".join(_parts(e, has_nulls=n < count) for e, n in zip(kept, there, strict=True))
    again, *values = ask(f"SELECT count(*), {parts} {found}", parameters)
    columns = tuple(map(_packed, kept, values[::2], values[1::2]))
    return PackedRows(count, columns) if again == count else None


def _packed(
    kept: InlineColumn, values: bytes | str | None, told: bytes | str | None
) -> PackedColumn:
    return PackedColumn(b"" if values is None else values, told, kept.is_whole)


def _size(kept: InlineColumn) -> str:
    """SQL of how many bytes a column takes, at most."""
    if kept.is_long:
        return f"coalesce(sum(octet_length({kept.sql})), 0) + count(*) * {_LENGTH}"
    return f"count(*) * {_NUMBER if kept.is_whole else _SHORT}"


def _parts(kept: InlineColumn, *, has_nulls: bool) -> str:
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
