"""SQL that turns a column as it was written into the column as it is declared.

Fields are matched by id at every depth, so renames, drops, additions and promotions
inside structs, lists and maps read the same as at the top.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tidelake.model.file import MappedField
from tidelake.model.names import fold, quote, text_literal
from tidelake.model.schema import Column


@dataclass(frozen=True, slots=True)
class Source:
    """A field as it stands in a file or in an inlined table: of a list the one child is the
    element, of a map the two children are key and value. `type` is DuckDB's name for what a
    file holds: files that differ in it cannot be read in one call."""

    name: str
    id: int | None
    children: tuple[Source, ...] = ()
    type: str | None = None

    @staticmethod
    def of(column: Column) -> Source:
        return Source(column.name, column.id, tuple(Source.of(c) for c in column.children))


def by_id(sources: Sequence[Source], field_id: int) -> Source | None:
    return next((source for source in sources if source.id == field_id), None)


def renumber(sources: Sequence[Source], mapped: Sequence[MappedField]) -> tuple[Source, ...]:
    """Give the fields of a foreign file the ids that a name mapping says they have."""
    by_name = {fold(field.source_name): field for field in mapped if not field.is_partition}
    result = []
    for source in sources:
        field = by_name.get(fold(source.name))
        if field is None and len(sources) == len(mapped) == 1:
            field = mapped[0]
        if field is not None:
            children = renumber(source.children, field.children)
            result.append(replace(source, id=field.field_id, children=children))
    return tuple(result)


def missing_sql(column: Column) -> str:
    """The value of a column in data written before the column existed."""
    default = column.initial_default
    value = "NULL" if default is None else text_literal(default)
    return f"CAST({value} AS {column.duckdb_type})"


def cast(column: Column, reference: str) -> str:
    return f"CAST({reference} AS {column.duckdb_type})"


def rebuild(
    column: Column,
    source: Source,
    reference: str,
    leaf: Callable[[Column, str], str] = cast,
    depth: int = 0,
) -> str:
    """An expression of `column`'s type over `reference`, which has the shape of `source`."""
    if leaf is cast and _is_alike(column, source):
        return cast(column, reference)
    item = f"x{depth}"
    if column.type == "struct":
        fields = ", ".join(
            f"{quote(child.name)} := {_child(child, source, reference, leaf, depth)}"
            for child in column.children
        )
        return f"CASE WHEN {reference} IS NULL THEN NULL ELSE struct_pack({fields}) END"
    if column.type == "list":
        element = rebuild(column.children[0], source.children[0], item, leaf, depth + 1)
        return f"list_transform({reference}, lambda {item}: {element})"
    if column.type == "map":
        key, value = (
            rebuild(child, below, f"{item}.{part}", leaf, depth + 1)
            for child, below, part in zip(
                column.children, source.children, ("key", "value"), strict=True
            )
        )
        pair = f"struct_pack(key := {key}, value := {value})"
        entries = f"list_transform(map_entries({reference}), lambda {item}: {pair})"
        return f"CASE WHEN {reference} IS NULL THEN NULL ELSE map_from_entries({entries}) END"
    return leaf(column, reference)


def _is_alike(column: Column, source: Source) -> bool:
    """Whether the names and ids inside are the same, so that a cast by name is one by id."""
    return (
        len(column.children) == len(source.children)
        and (column.id, column.name) == (source.id, source.name)
        and all(map(_is_alike, column.children, source.children))
    )


def _child(
    child: Column, source: Source, reference: str, leaf: Callable[[Column, str], str], depth: int
) -> str:
    below = by_id(source.children, child.id)
    if below is None:
        return missing_sql(child)
    return rebuild(child, below, f"{reference}.{quote(below.name)}", leaf, depth)
