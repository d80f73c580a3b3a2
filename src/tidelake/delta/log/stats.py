"""Statistics of a file in Delta's words. What is not certain is left out: readers skip files by
them.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from tidelake.model import instant
from tidelake.model.schema import Column
from tidelake.model.statistics import ColumnStats
from tidelake.model.types import FLOATS, INTEGERS

_COLUMNS = 32
_TEXT = 32
_LAST = chr(0x10FFFF)
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_MILLISECOND = instant.SECOND // 1000
_DECIMAL = "decimal"


class _Digits(str):
    """A number that is written as it is spelled."""


Leaf = tuple[tuple[str, ...], Column]


def stats_text(
    columns: Iterable[Column],
    physical: Mapping[int, str],
    known: Mapping[int, ColumnStats],
    rows: int,
    *,
    tight: bool,
) -> str:
    """The `stats` of a file with so many rows. `tight`: none of these has been deleted."""
    low: dict[str, Any] = {}
    high: dict[str, Any] = {}
    nulls: dict[str, Any] = {}
    for path, column in islice(_leaves(columns, physical), _COLUMNS):
        found = known.get(column.id)
        if found is None:
            continue
        if found.null_count is not None:
            _put(nulls, path, found.null_count)
        bounds = _bounds(column, found)
        for into, value in zip((low, high), bounds, strict=True):
            if value is not None:
                _put(into, path, value)
    said = {"numRecords": rows, "tightBounds": tight}
    return _json(said | {"minValues": low, "maxValues": high, "nullCount": nulls})


def _leaves(
    columns: Iterable[Column], physical: Mapping[int, str], above: tuple[str, ...] = ()
) -> Iterator[Leaf]:
    """Columns that have statistics: not those inside lists and maps."""
    for column in columns:
        path = (*above, physical.get(column.id, column.name))
        if column.type == "struct":
            yield from _leaves(column.children, physical, path)
        elif not column.is_nested:
            yield path, column


def _put(into: dict[str, Any], path: tuple[str, ...], value: object) -> None:
    for name in path[:-1]:
        into = into.setdefault(name, {})
    into[path[-1]] = value


def _bounds(column: Column, found: ColumnStats) -> tuple[Any, Any]:
    low, high = found.min, found.max
    if low is None or high is None or not found.value_count:
        return None, None
    kind = column.type
    if kind in INTEGERS or kind.startswith(_DECIMAL):
        return _number(low), _number(high)
    if kind in FLOATS:
        return _floats(low, high, found)
    if kind == "varchar":
        return low[:_TEXT], _above(high)
    if kind == "date":
        return _date(low), _date(high)
    if kind.startswith("timestamp"):
        return _moment(low, kind), _moment(high, kind, up=True)
    return None, None


def _number(text: str) -> _Digits | None:
    return _Digits(text) if _NUMBER.fullmatch(text) else None


def _floats(low: str, high: str, found: ColumnStats) -> tuple[Any, Any]:
    """To some readers -0.0 comes before 0.0, which it is equal to."""
    if found.contains_nan is not False:
        return None, None
    values = float(low), float(high)
    finite = all(math.isfinite(value) for value in values)
    return (values[0] or -0.0, values[1] or 0.0) if finite else (None, None)


def _above(text: str) -> str | None:
    """A text that nothing which begins so comes after."""
    if len(text) <= _TEXT:
        return text
    return None if text[_TEXT] == _LAST else text[:_TEXT] + _LAST


def _date(text: str) -> str | None:
    return text if re.fullmatch(r"\d{4}-\d\d-\d\d", text) else None


def _moment(text: str, kind: str, *, up: bool = False) -> str | None:
    found = instant.parse_moment(text, zoned=None)
    if found is None or not isinstance(found, int):
        return None
    ticks = -(-found // _MILLISECOND) if up else found // _MILLISECOND
    days, rest = divmod(ticks, 86_400_000)
    day = instant.date_text(days)
    if day is None:
        return None
    seconds, fraction = divmod(rest, 1000)
    clock = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.{fraction:03d}"
    return f"{day}T{clock}{'Z' if kind == 'timestamptz' else ''}"


def _json(value: Any) -> str:
    if isinstance(value, dict):
        inside = (f"{json.dumps(name)}:{_json(each)}" for name, each in value.items())
        return "{" + ",".join(inside) + "}"
    return str(value) if isinstance(value, _Digits) else json.dumps(value)
