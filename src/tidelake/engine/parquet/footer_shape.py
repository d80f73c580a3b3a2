"""The shape of Parquet files, read from their footers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from tidelake.engine.local.reshape import Source
from tidelake.model.names import text_literal

if TYPE_CHECKING:
    import duckdb

_LISTS = {"LIST", "ListType()"}
_MAPS = {"MAP", "MAP_KEY_VALUE", "MapType()"}


def shapes(
    connection: duckdb.DuckDBPyConnection, paths: Sequence[str]
) -> dict[str, tuple[Source, ...]]:
    """The top-level fields of each file, with field ids where the file has them. Paths are no
    parameters: to take those, DuckDB imports pandas."""
    listed = ", ".join(map(text_literal, paths))
    rows = connection.execute(
        "SELECT file_name, name, num_children, field_id, converted_type, logical_type, duckdb_type"
        f" FROM parquet_schema([{listed}])"
    ).fetchall()
    found = {}
    for path, group in groupby(rows, key=lambda row: row[0]):
        nodes = iter(group)
        root = next(nodes)
        found[path] = tuple(_field(nodes) for _ in range(root[2] or 0))
    return found


def _field(nodes: Iterator[Any]) -> Source:
    return _told(nodes)[0]


def _told(nodes: Iterator[Any]) -> tuple[Source, set[str | None]]:
    """The next field, and what it is said to be."""
    _, name, child_count, field_id, converted, logical, kind = next(nodes)
    children = [_told(nodes) for _ in range(child_count or 0)]
    said = {converted, logical}
    return Source(name, field_id, _unwrapped(children, said), kind), said


def _unwrapped(
    children: Sequence[tuple[Source, set[str | None]]], kinds: set[str | None]
) -> tuple[Source, ...]:
    """The children of a list or map without the repeated group that Parquet puts between. Old
    writers left it out: what is repeated there may be a list itself."""
    found = tuple(child for child, _ in children)
    if len(found) != 1:
        return found
    within = found[0].children
    if kinds & _MAPS:
        return within
    wraps = len(within) == 1 and not children[0][1] & _LISTS
    return within if kinds & _LISTS and wraps else found


def named_shape(relation: duckdb.DuckDBPyRelation) -> tuple[Source, ...]:
    """The fields of a relation by their names alone, for files whose footers are closed to us."""
    return tuple(map(_source, relation.columns, relation.types))


def _source(name: str, kind: Any) -> Source:
    if kind.id not in ("struct", "list", "map"):
        return Source(name, None, type=str(kind))
    below = tuple(_source(label, child) for label, child in kind.children)
    return Source(name, None, below)
