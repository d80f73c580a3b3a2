"""The shape of Parquet files, read from their footers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from tidelake.engine.reshape import Source

if TYPE_CHECKING:
    import duckdb

_LISTS = {"LIST", "ListType()"}
_MAPS = {"MAP", "MAP_KEY_VALUE", "MapType()"}


def shapes(
    connection: duckdb.DuckDBPyConnection, paths: Sequence[str]
) -> dict[str, tuple[Source, ...]]:
    """The top-level fields of each file, with field ids where the file has them."""
    rows = connection.execute(
        "SELECT file_name, name, num_children, field_id, converted_type, logical_type"
        " FROM parquet_schema($1)",
        [list(paths)],
    ).fetchall()
    found = {}
    for path, group in groupby(rows, key=lambda row: row[0]):
        nodes = iter(group)
        root = next(nodes)
        found[path] = tuple(_field(nodes) for _ in range(root[2] or 0))
    return found


def _field(nodes: Iterator[Any]) -> Source:
    _, name, child_count, field_id, converted, logical = next(nodes)
    children = tuple(_field(nodes) for _ in range(child_count or 0))
    kinds = {converted, logical}
    if kinds & _MAPS and len(children) == 1:
        children = children[0].children
    elif kinds & _LISTS and len(children) == 1 and len(children[0].children) == 1:
        children = children[0].children
    return Source(name, field_id, children)
