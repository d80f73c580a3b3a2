"""What a Delta log says of a file, in DuckLake's words."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import unquote

from tidelake.delta.log.partition_text import ducklake_text, is_plain
from tidelake.delta.log.types import DeltaField
from tidelake.model.change import ColumnFacts
from tidelake.model.file import MappedField
from tidelake.model.schema import Column
from tidelake.model.types import INTEGERS, is_decimal

_DECODER = json.JSONDecoder(parse_float=str)
Bounds = tuple[str | None, str | None]
NULL_FOLDER = "__HIVE_DEFAULT_PARTITION__"
_MOST = 1 << 62
_DECIMAL = re.compile(r"-?(\d+)(?:\.(\d+))?")
_DOUBLE_DIGITS = 15
"""So many digits survive in a double, which is how some writers keep decimals."""
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_EXACT_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d\.\d{4,6})(?:Z|\+00:?00)?")
_TEXT = 32
"""Texts as long as this may be the beginning of longer ones."""
_CUT = ("\x7f", "\U0010ffff")
"""With these ends a text that has been cut short."""
_NOT_IN_FOLDERS = re.compile(r"[=?\n\\*\[\]{}]")
_ROWS_FIRST = re.compile(r'\{"numRecords": ?(\d{1,18})[,}]')
_BOUNDED = INTEGERS | {"varchar", "date", "timestamp"}


def mapping_of(
    fields: Iterable[DeltaField], partitioned_by: Sequence[str]
) -> tuple[MappedField, ...]:
    """How columns are called in the files, and which of them are told by folders."""
    return tuple(
        MappedField(field.physical, field.column.id, _children(field), field.column.name in names)
        for names in [set(partitioned_by)]
        for field in fields
        if not field.void
    )


def _children(field: DeltaField) -> tuple[MappedField, ...]:
    """The element of a list is found by the name of the group around it."""
    names = ["list"] if field.column.type == "list" else [c.physical for c in field.children]
    return tuple(
        MappedField(name, child.column.id, _children(child))
        for name, child in zip(names, field.children, strict=True)
        if not child.void
    )


def partition_values(
    values: Mapping[str, str | None], columns: Mapping[str, Column]
) -> tuple[str | None, ...]:
    """A file's partition values as DuckLake spells them; `columns` by their names in files."""
    return tuple(ducklake_text(column, values.get(name)) for name, column in columns.items())


def is_told_by_folders(
    path: str, values: Mapping[str, str | None], columns: Mapping[str, Column]
) -> bool:
    """Whether readers that go by the folders of a file would find its partition values."""
    if not columns:
        return True
    told = [part.partition("=") for part in path.split("/") if "=" in part]
    for name, column in columns.items():
        known = values.get(name) or None
        mine = [value for key, _, value in told if key.casefold() == name.casefold()]
        if len(mine) != 1 or not any(key == name for key, _, _ in told):
            return False
        found = None if mine[0] == NULL_FOLDER else unquote(mine[0])
        odd = _NOT_IN_FOLDERS.search(mine[0]) or (found or "x").upper() == "NULL" or found == ""
        plain = ducklake_text(column, known) == known and is_plain(column, known)
        if odd or found != known or not plain:
            return False
    return "=" not in path.rpartition("/")[2]


def parsed_stats(text: str | None) -> Mapping[str, Any]:
    """Statistics as a log has them, with fractions as they are spelled; nothing if unreadable."""
    try:
        found = _DECODER.decode(text or "{}")
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def row_count(stats: Mapping[str, Any]) -> int | None:
    return _count(stats.get("numRecords"))


def row_count_of_stats(text: str | None) -> int | None:
    """How many rows a file has, as its statistics say. Most writers say that first."""
    if found := _ROWS_FIRST.match(text or ""):
        return int(found.group(1))
    return row_count(parsed_stats(text))


def has_no_nulls(stats: Mapping[str, Any], field: DeltaField) -> bool:
    """Whether a log is sure that a column of a file has no nulls."""
    return _count(_dict(stats.get("nullCount")).get(field.physical)) == 0


def _count(found: object) -> int | None:
    return found if type(found) is int and 0 <= found < _MOST else None


class FactsReader:
    """What is known of every column of files that have these fields. DuckDB answers MIN and MAX
    from bounds, so those that a log may have cut short are left out."""

    def __init__(self, fields: Iterable[DeltaField]) -> None:
        self._fields = tuple(map(_FieldReader.of, fields))

    def facts(
        self,
        stats: Mapping[str, Any],
        rows: int,
        partition: Mapping[int, str | None] = MappingProxyType({}),
    ) -> tuple[ColumnFacts, ...]:
        """Of one file; `partition` are the values, by column id, that all its rows have."""
        tight = stats.get("tightBounds") is not False
        names = ("minValues", "maxValues") if tight else ("", "")
        parts = [_dict(stats.get(name)) for name in (*names, "nullCount")]
        found: list[ColumnFacts] = []
        _put_facts(found, self._fields, parts, rows, partition)
        if tight:
            return tuple(found)
        sure = (each if each.nulls in (0, rows) else ColumnFacts(each.column_id) for each in found)
        return tuple(sure)


class _FieldReader(NamedTuple):
    """A field, as it is looked for in many statistics. Without a `bounder` it has fields inside,
    `below`, or nothing that anything is known of."""

    id: int
    name: str
    column: Column
    bounder: Callable[[Any, Any], Bounds] | None
    below: tuple[_FieldReader, ...]
    void: bool

    @staticmethod
    def of(field: DeltaField) -> _FieldReader:
        column = field.column
        is_struct = column.type == "struct" and not field.void
        below = tuple(map(_FieldReader.of, field.children)) if is_struct else ()
        bounder = None if field.void or column.children else _bounder(column.type)
        return _FieldReader(column.id, field.physical, column, bounder, below, field.void)


def _put_facts(
    found: list[ColumnFacts],
    fields: Iterable[_FieldReader],
    parts: list[Mapping[str, Any]],
    rows: int,
    partition: Mapping[int, str | None],
) -> None:
    lows, highs, nulls = parts
    for column_id, name, column, bounder, below, void in fields:
        if column_id in partition and not void:
            found.append(_constant(column, partition[column_id], rows))
        elif bounder is not None:
            count = nulls.get(name)
            known = count if type(count) is int and 0 <= count <= rows else None
            if known == rows:
                found.append(ColumnFacts(column_id, None, 0, known))
                continue
            values = None if known is None else rows - known
            low, high = bounder(lows.get(name), highs.get(name))
            found.append(ColumnFacts(column_id, None, values, known, low, high))
        elif void:
            found.append(ColumnFacts(column_id, None, 0, rows))
        elif below:
            _put_facts(found, below, [_dict(part.get(name)) for part in parts], rows, {})


def _constant(column: Column, value: str | None, rows: int) -> ColumnFacts:
    if value is None:
        return ColumnFacts(column.id, values=0, nulls=rows)
    bound = value if column.type in _BOUNDED or is_decimal(column.type) else None
    return ColumnFacts(column.id, values=rows, nulls=0, min=bound, max=bound)


def _dict(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


@cache
def _bounder(kind: str) -> Callable[[Any, Any], Bounds]:
    """Gives the bounds of a column of a type as DuckLake spells them; None, None if they may not
    be exact."""
    if kind in INTEGERS:
        return _integers
    if is_decimal(kind):
        return lambda low, high: _both(_decimal(low), _decimal(high))
    if kind == "date":
        return lambda low, high: _both(_date(low), _date(high))
    if kind == "varchar":
        return _texts
    if kind in ("timestamp", "timestamptz"):
        return lambda low, high: _both(_moment(low, kind), _moment(high, kind))
    return lambda *_: (None, None)


def _integers(low: object, high: object) -> Bounds:
    if type(low) is int and type(high) is int and low <= high:
        return str(low), str(high)
    return None, None


def _texts(low: object, high: object) -> Bounds:
    if not isinstance(low, str) or not isinstance(high, str):
        return None, None
    short = len(low) < _TEXT and len(high) < _TEXT and not high.endswith(_CUT)
    return (low, high) if short and low <= high and "\0" not in low + high else (None, None)


def _date(value: object) -> str | None:
    return value if isinstance(value, str) and _DATE.fullmatch(value) else None


def _both(low: str | None, high: str | None) -> Bounds:
    return (None, None) if low is None or high is None else (low, high)


def _decimal(value: object) -> str | None:
    text = str(value) if type(value) in (int, str) else ""
    found = _DECIMAL.fullmatch(text)
    digits = "".join(part or "" for part in found.groups()) if found else ""
    return text if found and len(digits) <= _DOUBLE_DIGITS else None


def _moment(value: object, kind: str) -> str | None:
    """Most writers cut times to milliseconds: only what has more than those is whole."""
    found = _EXACT_MOMENT.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        return None
    clock = found.group(2).rstrip("0").rstrip(".")
    return f"{found.group(1)} {clock}{'+00' if kind == 'timestamptz' else ''}"
