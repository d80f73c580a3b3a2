"""Rules for columns that are to be: their names, and the ids they get."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import count

from tidelake.errors import Invalid
from tidelake.model.names import fold, is_unicode
from tidelake.model.schema import Column

_OURS = "_tidelake_"
_RESERVED = frozenset({"_ducklake_internal_row_id", "_ducklake_internal_snapshot_id"})


def assign_ids(columns: Iterable[Column], first: int = 1) -> tuple[Column, ...]:
    """The columns with ids from `first` upwards, children right after their parent."""
    ids = count(first)

    def number(column: Column) -> Column:
        own = next(ids)
        return replace(column, id=own, children=tuple(number(c) for c in column.children))

    return tuple(number(column) for column in columns)


def check_names(columns: Sequence[Column], inside: str = "") -> None:
    """Raise Invalid unless a table, or a struct `inside` it, can have these columns.

    Names that differ only in case are refused: neither engine can tell them apart in SQL.
    """
    where = f" in {inside}" if inside else ""
    if not columns:
        raise Invalid(
            f"there are no columns{where}",
            hint="a struct needs at least one field" if inside else "name at least one column",
        )
    seen: dict[str, str] = {}
    for column in columns:
        check_name(column.name, where)
        other = seen.get(fold(column.name))
        if other is not None:
            raise Invalid(
                f"two columns{where} are called {other!r} and {column.name!r}",
                hint="names must differ in more than case: rename one of them",
            )
        seen[fold(column.name)] = column.name
        if column.is_nested:
            check_names(column.children, f"{inside}.{column.name}" if inside else column.name)


def check_name(name: object, where: str = "") -> None:
    """Raise Invalid unless DuckLake can have a column of that name; odd names are fine."""
    if not isinstance(name, str):
        raise Invalid(
            f"a column{where} is called {name!r}, which is no text",
            hint="column names are strings: rename the columns first",
        )
    if not name:
        raise Invalid(f"a column{where} has an empty name", hint="give it a name")
    check_characters(name, f"the column name {name!r}{where}")
    if name.lower() in _RESERVED or name.lower().startswith(_OURS):
        raise Invalid(
            f"the column name {name!r}{where} is taken: DuckLake or Tidelake itself uses it",
            hint="choose another name",
        )


def check_characters(text: str, what: str) -> None:
    """Raise Invalid unless all databases can keep a text."""
    if "\x00" in text or not is_unicode(text):
        raise Invalid(
            f"{what} holds characters that no database takes",
            hint="leave out NUL characters and lone surrogates",
        )
