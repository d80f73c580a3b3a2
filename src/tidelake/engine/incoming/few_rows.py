"""A few dicts of plain values, as the catalog keeps them, without asking DuckDB.

A single row is then written in half the time. What is not certain to be DuckDB's own text of the
value is left to it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from typing import Any

from tidelake.engine.declare.type_fit import INTEGERS
from tidelake.engine.incoming.from_dicts import plan_of, take
from tidelake.engine.incoming.inline_text import Rows
from tidelake.model.schema import Column


def plain_rows(data: Any, columns: Sequence[Column], place: str, most: int) -> Rows | None:
    """The rows, checked as all data is; None if there are more than `most`, or if some value or
    column is not plain."""
    rows = [data] if isinstance(data, Mapping) else data
    if not isinstance(rows, list) or len(rows) > most:
        return None
    tellers = [_teller(column) for column in columns]
    texts = {column.name for column in columns if column.type == "varchar"}
    if any(teller is None for teller in tellers) or not all(_is_plain(row, texts) for row in rows):
        return None
    taken = take(plan_of(tuple(columns)), rows, 1, place, defaults=True)
    if any(columns[at].default is not None for at in taken.missing):
        return None
    told = [
        [None if value is None else teller(value) for value in values]  # type: ignore[misc]
        for teller, values in zip(tellers, taken.values, strict=True)
    ]
    return tuple(zip(*told, strict=True))


def _is_plain(row: Any, texts: set[str]) -> bool:
    """Whether all values are of Python's own types; text only where the column holds text."""
    return isinstance(row, Mapping) and all(
        value is None
        or type(value) in (int, bool, float, date, datetime)
        or (type(value) is str and name in texts and _is_text(value))
        for name, value in row.items()
    )


def _is_text(value: str) -> bool:
    return value.isascii() and "\0" not in value


def _teller(column: Column) -> Callable[[Any], str] | None:
    if column.type in INTEGERS:
        return str
    return _TELLERS.get(column.type)


def _moment(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


_TELLERS: dict[str, Callable[[Any], str]] = {
    "boolean": lambda value: "true" if value else "false",
    "varchar": str,
    "float64": repr,
    "date": str,
    "timestamp": _moment,
    "timestamptz": lambda text: f"{_moment(text)}+00",
}
