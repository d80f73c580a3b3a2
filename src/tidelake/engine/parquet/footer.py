"""What the footers of Parquet files say: their fields, and the statistics of every chunk."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING, Any

from tidelake.engine.local.errors import translate_duckdb_errors
from tidelake.errors import Invalid, NotFound, TidelakeError, Unsupported
from tidelake.model.types import FROM_DUCKDB
from tidelake.store.files import is_local, local_path

if TYPE_CHECKING:
    import duckdb

NULLS = "null"
INT96 = "int96"
"""Nanoseconds by their form, but written by programs that count microseconds."""

_QUERY = """
SELECT parquet_file_metadata[1] AS file,
    list_transform(parquet_schema, lambda x: struct_pack(
        name := x.name, kind := x.type, repetition := x.repetition_type,
        children := x.num_children, converted := x.converted_type, logical := x.logical_type,
        scale := x.scale, "precision" := x."precision", id := x.field_id,
        read_as := x.duckdb_type)) AS nodes,
    list_transform(parquet_metadata, lambda x: struct_pack(
        leaf := x.column_id, "values" := x.num_values, nulls := x.stats_null_count,
        low := x.stats_min_value, high := x.stats_max_value, low_is_exact := x.min_is_exact,
        high_is_exact := x.max_is_exact, bytes := x.total_compressed_size)) AS chunks,
    [x.value for x in parquet_kv_metadata if x.key = 'geo'::BLOB] AS geo
FROM parquet_full_metadata($1)
"""
_UNREADABLE = {"int128", "uint128", "time_ns", "variant", "geometry"}
_READ_AS = {said: kind for said, kind in FROM_DUCKDB.items() if kind not in _UNREADABLE}
_READ_AS |= {'"NULL"': NULLS}
_UNITS = {"MilliSeconds": "_ms", "MicroSeconds": "", "NanoSeconds": "_ns"}
_UNIT = re.compile("|".join(_UNITS))


@dataclass(frozen=True, slots=True)
class FooterField:
    """A field as readers see it, without the group that Parquet repeats inside lists and maps.

    `type` is DuckLake's word for what is stored, or says in plain words why there is none.
    An element of a list is named as a name mapping must name it. `never_null`: the file's
    schema rules nulls out. `is_repeated`: it is inside a list or map. `leaf` numbers the chunks
    that hold the values.
    """

    name: str
    type: str
    id: int | None
    never_null: bool
    is_repeated: bool
    children: tuple[FooterField, ...] = ()
    leaf: int | None = None


@dataclass(frozen=True, slots=True)
class Chunk:
    """One leaf in one row group. `values` counts the nulls too; None means unknown."""

    values: int
    nulls: int | None
    low: str | None
    high: str | None
    low_is_exact: bool | None
    high_is_exact: bool | None
    bytes: int


@dataclass(frozen=True, slots=True)
class Footer:
    """`chunks` are those of every leaf, by number; without an order their bounds mean nothing."""

    path: str
    rows: int
    bytes: int
    size: int
    fields: tuple[FooterField, ...]
    chunks: Mapping[int, tuple[Chunk, ...]]
    ordered: frozenset[int] = field(default_factory=frozenset)


def footers(connection: duckdb.DuckDBPyConnection, paths: Sequence[str]) -> list[Footer]:
    """The footer of each file, in the order of `paths`."""
    import duckdb

    names = [str(local_path(path)) if is_local(path) else path for path in paths]
    try:
        rows = connection.execute(_QUERY, [names]).fetchall()
    except duckdb.Error:
        rows = [_alone(connection, *pair) for pair in zip(names, paths, strict=True)]
    found = {row[0]["file_name"]: row for row in rows}
    return [_footer(path, *found[name]) for path, name in zip(paths, names, strict=True)]


def _alone(connection: duckdb.DuckDBPyConnection, name: str, path: str) -> Any:
    import duckdb

    try:
        return connection.execute(_QUERY, [[name]]).fetchall()[0]
    except (duckdb.HTTPException, duckdb.IOException) as error:
        if "No files found" in str(error) or "404" in str(error):
            raise NotFound(
                f"there is no file {path}",
                hint="check the path; DuckDB opens no file of an object store with * ? [ in it",
            ) from error
        with translate_duckdb_errors(f"cannot read {path}"):
            raise
    except duckdb.Error as error:
        raise _unreadable(path, str(error)) from error


def _unreadable(path: str, text: str) -> TidelakeError:
    if "encrypted" in text:
        return Unsupported(
            f"{path} is encrypted", hint="a table can only have encrypted files of its own lake"
        )
    return Invalid(
        f"{path} is not a Parquet file that can be read: {text.splitlines()[0]}",
        hint="was it written to its end, and by a writer of Parquet?",
    )


def _footer(
    path: str,
    file: Mapping[str, Any],
    nodes: list[dict[str, Any]],
    chunks: list[dict[str, Any]],
    geo: list[bytes],
) -> Footer:
    if file["encryption_algorithm"]:
        raise _unreadable(path, "encrypted")
    root, *below = nodes
    rows, leaves = iter(below), count()
    tree = [_node(rows, leaves) for _ in range(root["children"] or 0)]
    by_leaf: dict[int, list[Chunk]] = {}
    for chunk in chunks:
        if (leaf := chunk.pop("leaf")) is not None:
            by_leaf.setdefault(leaf, []).append(Chunk(**chunk))
    orders = enumerate(file["column_orders"] or ())
    return Footer(
        path=path,
        rows=file["num_rows"],
        bytes=file["file_size_bytes"],
        size=file["footer_size"],
        fields=_with_shapes([_field(node) for node in tree], geo),
        chunks={leaf: tuple(found) for leaf, found in by_leaf.items()},
        ordered=frozenset(leaf for leaf, order in orders if "TypeDefined" in (order or "")),
    )


def _with_shapes(fields: Sequence[FooterField], geo: Sequence[bytes]) -> tuple[FooterField, ...]:
    """GeoParquet names its columns beside the schema; DuckDB reads those as nothing but shapes."""
    named = {name for text in geo for name in json.loads(text).get("columns", ())}
    return tuple(
        replace(field, type="geometry of an old form")
        if field.type == "blob" and field.name in named
        else field
        for field in fields
    )


@dataclass(frozen=True, slots=True)
class _Node:
    """A node of the schema as the file spells it."""

    facts: Mapping[str, Any]
    below: tuple[_Node, ...]
    leaf: int | None

    @property
    def name(self) -> str:
        return str(self.facts["name"])

    @property
    def is_repeated(self) -> bool:
        return bool(self.facts["repetition"] == "REPEATED")

    def says(self, word: str) -> bool:
        logical = {"LIST": "ListType", "MAP": "MapType"}[word]
        converted = {word, "MAP_KEY_VALUE"} if word == "MAP" else {word}
        return self.facts["converted"] in converted or logical in (self.facts["logical"] or "")


def _node(rows: Iterator[dict[str, Any]], leaves: Iterator[int]) -> _Node:
    facts = next(rows)
    leaf = None if facts["children"] else next(leaves)
    below = tuple(_node(rows, leaves) for _ in range(facts["children"] or 0))
    return _Node(facts, below, leaf)


def _field(node: _Node, name: str | None = None, *, inside: bool = False) -> FooterField:
    """`inside` a list or map. Only a node that such a one repeats is given another `name`."""
    kind, children = _kind(node, inside=inside)
    if node.is_repeated and name is None:
        kind, children = "a repeated field that is not a list", ()
    return FooterField(
        name=name or node.name,
        type=kind,
        id=node.facts["id"],
        never_null=node.facts["repetition"] == "REQUIRED",
        is_repeated=inside,
        children=children,
        leaf=node.leaf,
    )


def _kind(node: _Node, *, inside: bool) -> tuple[str, tuple[FooterField, ...]]:
    if node.leaf is not None:
        return _leaf_type(node.facts), ()
    if node.says("LIST"):
        return _list(node)
    if node.says("MAP"):
        return _map(node)
    return "struct", tuple(_field(child, inside=inside) for child in node.below)


def _list(node: _Node) -> tuple[str, tuple[FooterField, ...]]:
    """Lists have a repeated group around the element, or as old writers had it, none.

    DuckDB takes every repeated group with one child to be such a group, also where the rules
    of Parquet say that it is a struct. It finds the element by the name of the repeated node.
    """
    if len(node.below) != 1 or not node.below[0].is_repeated:
        return "a list of an unknown form", ()
    inner = node.below[0]
    if len(inner.below) != 1 or inner.says("LIST") or inner.says("MAP"):
        return "list", (_field(inner, inner.name, inside=True),)
    if inner.name == "array" or inner.name.endswith("_tuple"):
        return "a list of an old form that cannot be told from another", ()
    name = "list" if inner.name in ("list", "element") else inner.name
    return "list", (_field(inner.below[0], name, inside=True),)


def _map(node: _Node) -> tuple[str, tuple[FooterField, ...]]:
    inner = node.below[0]
    if len(node.below) != 1 or [child.name for child in inner.below] != ["key", "value"]:
        return "a map of an unknown form", ()
    return "map", tuple(_field(child, inside=True) for child in inner.below)


def _leaf_type(facts: Mapping[str, Any]) -> str:
    """Of a leaf that is repeated the type of one value, which DuckDB 2 calls a list of it."""
    logical, read_as = facts["logical"] or "", (facts["read_as"] or "").removesuffix("[]")
    if facts["kind"] == "INT96":
        return INT96
    if facts["converted"] == "DECIMAL" or logical.startswith("DecimalType"):
        return f"decimal({facts['precision']},{facts['scale']})"
    if logical.startswith("Geometry"):
        return "geometry"
    unit = _unit(logical, facts["converted"])
    if read_as.startswith("TIMESTAMP"):
        if read_as.endswith("ZONE"):
            return "timestamptz in nanoseconds" if unit == "_ns" else "timestamptz"
        return f"timestamp{unit}"
    if read_as.startswith("TIME") and unit == "_ns":
        return "time in nanoseconds"
    return _READ_AS.get(read_as, read_as or "unknown")


def _unit(logical: str, converted: str | None) -> str:
    if found := _UNIT.search(logical):
        return _UNITS[found[0]]
    return "_ms" if converted == "TIMESTAMP_MILLIS" else ""
