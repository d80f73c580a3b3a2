"""What a Delta log says of a file, in DuckLake's words."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from tidelake.mirror.types import Field
from tidelake.model.change import ColumnFacts
from tidelake.model.comparable import INTEGERS
from tidelake.model.file import MappedField
from tidelake.model.schema import Column

NULL_FOLDER = "__HIVE_DEFAULT_PARTITION__"
_INTEGER = re.compile(r"-?\d+")
_DECIMAL = re.compile(r"-?\d+(?:\.\d+)?")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:?\d\d)?")
_TEXT = 32
"""Texts as long as this may be the beginning of longer ones."""


def mapping_of(fields: Iterable[Field], partitioned_by: Sequence[str]) -> tuple[MappedField, ...]:
    """How columns are called in the files, and which of them are told by folders."""
    return tuple(
        MappedField(field.physical, field.column.id, _children(field), field.column.name in names)
        for names in [set(partitioned_by)]
        for field in fields
    )


def _children(field: Field) -> tuple[MappedField, ...]:
    return tuple(
        MappedField(child.physical, child.column.id, _children(child)) for child in field.children
    )


def folder_values(path: str) -> dict[str, str | None]:
    """What the folders of a path tell: `column=value`."""
    told = (part.split("=", 1) for part in path.split("/")[:-1] if "=" in part)
    return {unquote(name): None if value == NULL_FOLDER else unquote(value) for name, value in told}


def is_told_by_folders(
    path: str, values: Mapping[str, str | None], columns: Mapping[str, Column]
) -> bool:
    """Whether readers that go by the folders of a file would find its partition values."""
    told = folder_values(path)
    for name, column in columns.items():
        value = values.get(name) or None
        if name not in told or told[name] != value:
            return False
        odd = value is not None and (value.upper() == "NULL" or column.type == "blob")
        if odd:
            return False
    return True


def parsed_stats(text: str | None) -> Mapping[str, Any]:
    """Statistics as a log has them, with numbers as they are spelled; nothing if unreadable."""
    try:
        found = json.loads(text or "{}", parse_float=str, parse_int=str)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def row_count(stats: Mapping[str, Any]) -> int | None:
    found = stats.get("numRecords")
    return int(found) if isinstance(found, str) and _INTEGER.fullmatch(found) else None


def facts_of(fields: Iterable[Field], stats: Mapping[str, Any], rows: int) -> Iterator[ColumnFacts]:
    """What is known of every column of a file. Bounds that a log has cut short are widened, or
    left out."""
    parts = [_dict(stats.get(name)) for name in ("minValues", "maxValues", "nullCount")]
    yield from _facts(fields, parts, rows)


def _facts(fields: Iterable[Field], parts: list[Mapping[str, Any]], rows: int) -> Any:
    for field in fields:
        low, high, nulls = (part.get(field.physical) for part in parts)
        if field.column.type == "struct":
            yield from _facts(field.children, [_dict(each) for each in (low, high, nulls)], rows)
        elif not field.column.is_nested:
            count = int(nulls) if isinstance(nulls, str) and _INTEGER.fullmatch(nulls) else None
            bounds = bounds_of(field.column.type, low, high)
            yield ColumnFacts(
                field.column.id,
                values=None if count is None else rows - count,
                nulls=count,
                min=bounds[0],
                max=bounds[1],
                contains_nan=None,
            )


def _dict(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def bounds_of(kind: str, low: object, high: object) -> tuple[str | None, str | None]:
    """A column's bounds as DuckLake spells them; None, None if they cannot be relied on."""
    if not isinstance(low, str) or not isinstance(high, str):
        return None, None
    if kind in INTEGERS:
        return _matching(_INTEGER, low, high)
    if kind.startswith("decimal"):
        return _matching(_DECIMAL, low, high)
    if kind == "date":
        return _matching(_DATE, low, high)
    if kind == "varchar":
        return (low, high) if max(len(low), len(high)) < _TEXT else (None, None)
    if kind in ("timestamp", "timestamptz"):
        return _moment(low, kind, "0"), _moment(high, kind, "9")
    return None, None


def _matching(pattern: re.Pattern[str], low: str, high: str) -> tuple[str | None, str | None]:
    fits = pattern.fullmatch(low) and pattern.fullmatch(high)
    return (low, high) if fits else (None, None)


def _moment(text: str, kind: str, filler: str) -> str | None:
    """Logs cut times to milliseconds: what is left of a bound may be anything in between."""
    found = _MOMENT.fullmatch(text)
    if found is None or found.group(4) not in (None, "Z", "+00:00", "+0000"):
        return None
    day, clock, fraction, _ = found.groups()
    spelled = (fraction or "").ljust(3, "0")[:6].ljust(6, filler)
    return f"{day} {clock}.{spelled}{'+00' if kind == 'timestamptz' else ''}"
