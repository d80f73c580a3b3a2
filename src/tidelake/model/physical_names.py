"""What columns are called in files: by the first name they had, for ever.

Readers that go by name, as Delta's do, then find a renamed column in old files and in new ones
alike. A name that another column beside it had before is not given twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tidelake.model.names import fold
from tidelake.model.schema import Column


def physical_names(versions: Iterable[tuple[int, int | None, str]]) -> dict[int, str]:
    """Names by column id, from (id, parent, name) of every version of every column, oldest
    first."""
    found: dict[int, str] = {}
    taken: set[tuple[int | None, str]] = set()
    for column_id, parent, name in versions:
        if column_id not in found:
            while (parent, fold(name)) in taken:
                name = f"{name}_{column_id}"
            taken.add((parent, fold(name)))
            found[column_id] = name
    return found


def with_new_columns(
    names: Mapping[int, str], columns: Iterable[Column], parents: Mapping[int, int | None]
) -> dict[int, str]:
    """The names, and those of columns that a transaction has just added. `parents` are the columns
    that others are inside of."""
    found = dict(names)
    taken = {(parents.get(column_id), fold(name)) for column_id, name in names.items()}
    inside = parents_of(columns)
    new = sorted((c.id, c.name) for top in columns for c in top.walk() if c.id not in names)
    for column_id, name in new:
        while (inside[column_id], fold(name)) in taken:
            name = f"{name}_{column_id}"
        taken.add((inside[column_id], fold(name)))
        found[column_id] = name
    return found


def parents_of(columns: Iterable[Column]) -> dict[int, int | None]:
    """The column that each column, at any depth, is inside of; None at the top."""
    found: dict[int, int | None] = {}
    for top in columns:
        found[top.id] = None
        for column in top.walk():
            found |= {child.id: column.id for child in column.children}
    return found
