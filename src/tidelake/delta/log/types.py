"""Columns in Delta's words, and Delta's columns in ours."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from tidelake.delta.values.actions import plainly
from tidelake.errors import Corrupt, TidelakeError, Unsupported
from tidelake.model.schema import Column
from tidelake.model.types import DELTA_NAMES, FROM_DELTA

ID, PHYSICAL = "delta.columnMapping.id", "delta.columnMapping.physicalName"
_VOID = ("void", "null")
_OF_NOTHING = "int32"
"""What DuckDB makes of a column of nothing but NULL."""
_DECIMAL = re.compile(r"decimal\((\d+),\s*(-?\d+)\)")
_WIDEST = 38
_TEXT = re.compile(r"(?:varchar|char)\(\d+\)")
_REASONS = {
    "int128": "Parquet keeps it as a double, which is not exact",
    "uint128": "Parquet keeps it as a double, which is not exact",
    "timestamp_ns": "Delta has no nanoseconds",
    "time": "Delta has no times of day",
    "time_ns": "Delta has no times of day",
    "timetz": "Delta has no times of day",
    "interval": "Delta has no intervals",
    "variant": "few Delta readers know variants",
    "geometry": "few Delta readers know geometries",
}


@dataclass(frozen=True, slots=True)
class DeltaField:
    """A column of a Delta table: ours, with the name that it has in files and, where columns are
    mapped, the id that Delta gave it. One that is `void` has no values, whatever files have."""

    column: Column
    physical: str
    delta_id: int | None
    children: tuple[DeltaField, ...] = ()
    void: bool = False


def obstacles(columns: Iterable[Column]) -> list[str]:
    """Why Delta cannot express columns; nothing if it can."""
    found = []
    listed = list(columns)
    for column in listed:
        for below in column.walk():
            reason = _REASONS.get(below.type)
            if reason or not (below.is_nested or _plain(below.type)):
                where = column.name if below is column else f"{column.name} (inside)"
                found.append(
                    f"{where} is {below.duckdb_type}: {reason or 'Delta has no such type'}"
                )
    return found + _alike(listed)


def _alike(columns: Iterable[Column]) -> list[str]:
    """Names that differ in case alone, at any depth."""
    found, seen = [], set()
    for column in columns:
        if column.name.casefold() in seen:
            found.append(f"two columns are called {column.name}, which Delta takes for one")
        seen.add(column.name.casefold())
        if column.type == "struct":
            found += _alike(column.children)
    return found


def _plain(kind: str) -> str | None:
    return kind if _DECIMAL.fullmatch(kind) else DELTA_NAMES.get(kind)


def schema_text(columns: Iterable[Column], physical: Mapping[int, str], *, mapped: bool) -> str:
    """The table's columns as a log has them; with `mapped`, and the names that they have in files.
    All may be null: readers refuse old files that lack a column which may not."""
    fields = [_field(column, physical, mapped) for column in columns]
    return json.dumps({"type": "struct", "fields": fields}, separators=(",", ":"))


def _field(column: Column, physical: Mapping[int, str], mapped: bool) -> dict[str, Any]:
    said: dict[str, Any] = {}
    if column.comment is not None:
        said["comment"] = column.comment
    if mapped:
        said |= {ID: column.id, PHYSICAL: physical.get(column.id, column.name)}
    kind = _type(column, physical, mapped)
    return {"name": column.name, "type": kind, "nullable": True, "metadata": said}


def _type(column: Column, physical: Mapping[int, str], mapped: bool) -> Any:
    if column.type == "struct":
        fields = [_field(child, physical, mapped) for child in column.children]
        return {"type": "struct", "fields": fields}
    below = [_type(child, physical, mapped) for child in column.children]
    if column.type == "list":
        return {"type": "array", "elementType": below[0], "containsNull": True}
    if column.type == "map":
        named = {"keyType": below[0], "valueType": below[1], "valueContainsNull": True}
        return {"type": "map", **named}
    found = _plain(column.type)
    assert found is not None
    return found


def uses(columns: Iterable[Column], delta_type: str) -> bool:
    """Whether any column, at any depth, is of one of Delta's types."""
    return any(_plain(below.type) == delta_type for column in columns for below in column.walk())


def fields_of(schema: str, mode: str, first_id: int = 1) -> tuple[DeltaField, ...]:
    """The columns of a Delta table. Ours get ids from `first_id` on, parents before children."""
    try:
        given = json.loads(schema)
        if given["type"] != "struct":
            raise ValueError(f"it is {given['type']!r}")
        ids = count(first_id)
        found = tuple(_column(field, mode, ids) for field in given["fields"])
        _check_distinct(found)
        return found
    except TidelakeError:
        raise
    except RecursionError:
        raise Unsupported(
            "the table's columns are nested without end", hint="flatten them in Delta"
        ) from None
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise Corrupt(
            f"the table's schema is not one: {plainly(error)}", hint="restore the log from a copy"
        ) from None


def _check_distinct(fields: Iterable[DeltaField]) -> None:
    """Of columns beside each other no two are the same in files, nor to a reader of SQL."""
    listed = list(fields)
    for names in (
        [each.physical.casefold() for each in listed],
        [each.column.name.casefold() for each in listed],
        [each.delta_id for each in listed if each.delta_id is not None],
    ):
        twice = [each for n, each in enumerate(names) if each in names[:n]]
        if twice:
            raise Unsupported(
                f"two columns are called {twice[0]!r}, or differ in case alone",
                hint="rename one of them in Delta",
            )
    for each in listed:
        if each.column.type == "struct":
            _check_distinct(each.children)
        for child in each.children:
            _check_distinct(child.children if child.column.type == "struct" else ())


def _column(given: Mapping[str, Any], mode: str, ids: Iterator[int]) -> DeltaField:
    said = given.get("metadata") or {}
    name = given["name"]
    mapped = mode != "none"
    if not isinstance(name, str) or not isinstance(said, dict):
        raise ValueError(f"{given!r} is no column")
    if not mapped and said.get(PHYSICAL, name) != name:
        raise Corrupt(
            f"column {name} is called otherwise in files, but columns are not mapped",
            hint="restore the log",
        )
    built = _built(name, given["type"], ids, mode)
    column = replace(
        built.column, nullable=bool(given.get("nullable", True)), comment=_comment(said)
    )
    known = int(said[ID]) if mapped else None
    return replace(
        built, column=column, physical=str(said[PHYSICAL]) if mapped else name, delta_id=known
    )


def _comment(said: Mapping[str, Any]) -> str | None:
    found = said.get("comment")
    return found if isinstance(found, str) and found else None


def _built(name: str, kind: Any, ids: Iterator[int], mode: str) -> DeltaField:
    number = next(ids)
    if not isinstance(kind, dict):
        void = kind in _VOID
        ours = _OF_NOTHING if void else _ours(str(kind))
        return DeltaField(Column(number, name, ours), name, None, void=void)
    if kind["type"] == "struct":
        ours, children = "struct", tuple(_column(field, mode, ids) for field in kind["fields"])
    elif kind["type"] == "array":
        ours, children = "list", (_built("element", kind["elementType"], ids, mode),)
    elif kind["type"] == "map":
        parts = (("key", kind["keyType"]), ("value", kind["valueType"]))
        ours, children = "map", tuple(_built(n, k, ids, mode) for n, k in parts)
    else:
        raise _unknown(kind["type"])
    if ours != "struct" and any(child.void for child in children):
        raise _unknown(f"{kind['type']} of void")
    below = tuple(child.column for child in children)
    return DeltaField(Column(number, name, ours, children=below), name, None, children)


def _ours(kind: str) -> str:
    if found := _DECIMAL.fullmatch(kind):
        width, scale = int(found.group(1)), int(found.group(2))
        if not 0 <= scale <= width <= _WIDEST or not width:
            raise _unknown(kind)
        return f"decimal({width},{scale})"
    if kind == "decimal":
        return "decimal(10,0)"
    if _TEXT.fullmatch(kind):
        return "varchar"
    if kind not in FROM_DELTA:
        raise _unknown(kind)
    return FROM_DELTA[kind]


def _unknown(kind: object) -> Unsupported:
    if kind == "variant":
        return Unsupported(
            "the table has a column of Delta's type 'variant', which Tidelake does not read exactly"
            " (features variantType and variantType-preview)",
            hint="copy the table in Delta with the column as text, to_json(column), or without it",
        )
    return Unsupported(
        f"the table has a column of Delta's type {kind!r}, which Tidelake does not read exactly",
        hint="drop the column in Delta, or copy the table without it",
    )


_WRITTEN_ONLY = {
    "delta.generationExpression": "is generated",
    "delta.identity.start": "is an identity column",
    "CURRENT_DEFAULT": "has a default",
}


def plain_columns(schema: str, configuration: Mapping[str, str]) -> Iterator[str]:
    """What Delta's writers would see to and nobody does here."""
    for given in json.loads(schema)["fields"]:
        for key, what in _WRITTEN_ONLY.items():
            if key in (given.get("metadata") or {}):
                yield f"column {given['name']} {what} in Delta; here it is a plain one"
    for name in sorted(configuration):
        if name.startswith("delta.constraints."):
            yield f"the constraint {name.rpartition('.')[2]} is not kept"
    if configuration.get("delta.appendOnly", "").lower() == "true":
        yield "rows can be deleted here, which Delta's writers would not do"
