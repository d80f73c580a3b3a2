"""Fields of structs by their path: `who.name` of a column `who`."""

from __future__ import annotations

from tidelake.errors import Invalid, NotFound
from tidelake.model.names import fold, quote, split_dotted
from tidelake.model.schema import Column, Schema


def is_path(schema: Schema, name: object) -> bool:
    """Whether it is a path that begins with a column, and not the name of one."""
    if not isinstance(name, str) or "." not in name:
        return False
    known = {fold(column.name) for column in schema}
    parts = split_dotted(name)
    return fold(name) not in known and len(parts) > 1 and fold(parts[0]) in known


def fields_at(schema: Schema, path: str) -> tuple[Column, ...]:
    """The column at the beginning of a path, and the fields of structs that follow. Requires:
    it is one."""
    first, *parts = split_dotted(path)
    found = [schema.column(first)]
    for part in parts:
        outer = found[-1]
        if outer.type != "struct":
            raise Invalid(
                f"no column {path!r}: {outer.name!r} is {outer.duckdb_type}, not a struct",
                hint="paths lead to fields of structs; read what is in lists with lake.sql(…)",
            )
        found.append(_field(outer, part, path))
    return tuple(found)


def path_sql(fields: tuple[Column, ...]) -> str:
    return ".".join(quote(field.name) for field in fields)


def _field(outer: Column, name: str, path: str) -> Column:
    same = [child for child in outer.children if fold(child.name) == fold(name)]
    exact = [child for child in same if child.name == name]
    if found := (exact or same):
        return found[0]
    listed = ", ".join(child.name for child in outer.children)
    raise NotFound(f"no column {path!r}: {outer.name!r} has no {name!r}", hint=f"it has: {listed}")
