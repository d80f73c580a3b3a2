"""Many rows of a table for small writes at once: SQLite gathers each column as JSON, which takes a
fraction of what Python needs for as many values."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from tidelake.catalog.database.dialect import Ask

_ROWS_AT_ONCE = 10_000
_FEW = 2_000
_EXACT = {"BIGINT", "VARCHAR", "BLOB"}
"""Columns of these types hold no broken numbers, which JSON would not have to the last digit."""
_NAME = "rowid"


def parts_of(
    ask: Ask, table: str, names: Sequence[str], condition: str, given: Mapping[str, object]
) -> list[Any] | None:
    """For each part of the table how many rows of it meet the condition, and a JSON array for each
    of the columns. The first two must be whole numbers. None: it has few rows, or they are not to
    be had so."""
    first, last = ask(
        f'SELECT (SELECT min(rowid) FROM "{table}"), (SELECT max(rowid) FROM "{table}")'
    )[0]
    if not isinstance(first, int) or not isinstance(last, int) or last - first < _FEW:
        return None
    columns = ask(f"SELECT lower(name), type FROM pragma_table_info('{table}')")
    if any(name == _NAME or kind not in _EXACT for name, kind in columns):
        return None
    whole = " AND ".join(f"typeof({name}) = 'integer'" for name in names[:2])
    arrays = "".join(f", json_group_array({name})" for name in names)
    sql = (
        f'SELECT count(*), sum({whole}){arrays} FROM "{table}"'
        f" WHERE rowid BETWEEN :first AND :last AND ({condition})"
    )
    parts: list[Any] = []
    try:
        for start in range(first, last + 1, _ROWS_AT_ONCE):
            until = start + _ROWS_AT_ONCE - 1
            count, good, *texts = ask(sql, first=start, last=until, **given)[0]
            if count and good != count:
                return None
            parts += [(count, *texts)] if count else []
    except sqlite3.Error:  # such as bytes, which JSON has not
        return None
    return parts
