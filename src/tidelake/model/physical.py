"""What columns are called in files: by the first name they had, for ever.

Readers that go by name, as Delta's do, then find a renamed column in old files and in new ones
alike. A name that another column beside it had before is not given twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tidelake.model.schema import Column


def physical_names(versions: Iterable[tuple[int, int | None, str]]) -> dict[int, str]:
    """Names by column id, from (id, parent, name) of every version of every column, oldest
    first."""
    found: dict[int, str] = {}
    taken: set[tuple[int | None, str]] = set()
    for column_id, parent, name in versions:
        if column_id not in found:
            while (parent, name.casefold()) in taken:
                name = f"{name}_{column_id}"
            taken.add((parent, name.casefold()))
            found[column_id] = name
    return found


def with_new_columns(names: Mapping[int, str], columns: Iterable[Column]) -> dict[int, str]:
    """The names, and those of columns that a transaction has just added."""
    known: list[tuple[int, int | None, str]] = []
    top = list(columns)

    def walk(column: Column, parent: int | None) -> None:
        known.append((column.id, parent, names.get(column.id, column.name)))
        for child in column.children:
            walk(child, column.id)

    for column in top:
        walk(column, None)
    gone = [(i, None, n) for i, n in names.items() if i not in {k[0] for k in known}]
    return dict(names) | physical_names([*gone, *sorted(known, key=lambda entry: entry[0])])
