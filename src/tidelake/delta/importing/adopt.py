"""What a Delta log says of a file, in DuckLake's words."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from tidelake.delta.log.partition_text import ducklake_text, is_plain
from tidelake.delta.log.types import DeltaField
from tidelake.model.file import MappedField
from tidelake.model.schema import Column

_DECODER = json.JSONDecoder(parse_float=str)
_BLANK = " \t\n\r"
NULL_FOLDER = "__HIVE_DEFAULT_PARTITION__"
_MOST = 1 << 62
_NOT_IN_FOLDERS = re.compile(r"[=?\n\\*\[\]{}]")
_ROWS_FIRST = re.compile(r'\{"numRecords": ?(\d{1,18})[,}]')


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
    given = (text or "{}").strip(_BLANK)
    try:
        found, end = _DECODER.raw_decode(given)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) and end == len(given) else {}


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


def _dict(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
