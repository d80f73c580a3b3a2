"""Expressions that a caller writes for new values: what they may hold and which columns they name.

They are DuckDB's SQL over one row, or in a merge over a row of the table and one of the source.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from tidelake.errors import Corrupt, Invalid, NotFound
from tidelake.model.names import fold, quote
from tidelake.model.schema import Schema
from tidelake.model.table import SortKey
from tidelake.plan.condition import is_called, references, refuse_more_than_a_row
from tidelake.syntax import tree
from tidelake.syntax.tokens import Edit, apply_edits, tokens, without_comments
from tidelake.syntax.tree import Node

_QUOTES = 'text that stands for itself has quotes of its own, "\'abc\'", or is a lit("abc")'


def qualified_name(place: str, name: str) -> str:
    return f"{quote(place)}.{quote(name)}"


def expression_sql(
    text: str,
    tables: Mapping[str, Schema],
    bare: str | None,
    spell: Callable[[str, str], str] = qualified_name,
) -> str:
    """The expression with every column spelled as its table spells it."""

    def spelled(names: Sequence[str]) -> tuple[int, str] | None:
        place, name, taken = _column(names, text, tables, bare)
        return taken, spell(place, name)

    return f"({respell(text, spelled, list(tables.values()))})"


def respell(
    text: str,
    spell: Callable[[Sequence[str]], tuple[int, str] | None],
    tables: Sequence[Schema] = (),
) -> str:
    """The expression with other names for its columns. `spell` gets the parts of a name, and says
    how many of them are to be another, and which."""
    written = without_comments(text)
    node = _tree(written, text)
    refuse_more_than_a_row(node, f"the expression {text!r}")
    found = tokens(written)
    starts = {token.start: at for at, token in enumerate(found)}
    edits = []
    for each in references(node):
        names = each["column_names"]
        if is_called(each) and not any(_has(schema, names[0]) for schema in tables):
            continue
        new = spell(names)
        place = tree.place(each, written)
        if new is not None and place in starts:
            taken, name = new
            last = found[starts[place] + 2 * (taken - 1)]
            edits.append(Edit(place, last.end + 1, name))
    return apply_edits(written, edits)


def _column(
    names: Sequence[str], text: str, tables: Mapping[str, Schema], bare: str | None
) -> tuple[str, str, int]:
    """Whose column is meant, its name as its table spells it, and how many of the names say so:
    the others are of fields inside it."""
    place, taken = fold(names[0]) if names[1:] else None, 1
    if bare is not None and _has(tables[bare], names[0]):
        place = bare
    elif place in tables:
        taken = 2
    elif bare is None or names[1:]:
        raise Invalid(
            f"in {text!r} it is not clear whose column {'.'.join(names)} is",
            hint=f"write {' or '.join(f'{name}.column' for name in tables)}"
            if bare is None
            else f"the columns are: {', '.join(tables[bare].names)}; {_QUOTES}",
        )
    else:
        place = bare
    assert place is not None
    try:
        return place, tables[place].column(names[taken - 1]).name, taken
    except NotFound:
        raise Invalid(
            f"{text!r} names {'.'.join(names)}, which is not a column",
            hint=f"the columns are: {', '.join(tables[place].names)}; {_QUOTES}",
        ) from None


def _has(schema: Schema, name: str) -> bool:
    return any(fold(column.name) == fold(name) for column in schema)


def _tree(written: str, text: str) -> Node:
    try:
        return tree.expression(written)
    except Invalid as error:
        raise Invalid(
            f"cannot read the expression {text!r}: {error.message.rsplit(': ', 1)[-1]}",
            hint=f"write DuckDB's SQL; {_QUOTES}",
        ) from None


def sort_sql(key: SortKey, *, apart: bool = False) -> str:
    """A key to sort by, which others may have written into the catalog: nothing but an expression
    over one row, and its way. What is sorted by a bare column has that column from DuckDB's keys,
    in which -0.0 is 0.0: `apart`, the key is a copy."""
    check_stored(key.expression, "the sort key")
    if key.direction not in _WAYS or key.nulls not in _NULLS:
        raise Corrupt(
            f"the catalog sorts by {key.expression!r} {key.direction} {key.nulls}",
            hint="declare it anew: t.set_sorting([…])",
        )
    value = f"({key.expression})"
    if apart:
        value = f"CASE WHEN {value} IS NOT NULL THEN {value} END"
    return f"{value} {key.direction} {key.nulls.replace('_', ' ')}"


def default_sql(text: str) -> str:
    """A column's default, which others may have written: nothing but an expression."""
    check_stored(text, "the default")
    return f"({text})"


_WAYS = ("ASC", "DESC")
_NULLS = ("NULLS_FIRST", "NULLS_LAST")


@lru_cache(maxsize=1024)
def check_stored(text: str, what: str) -> None:
    """Denied for an expression in the catalog that could reach beyond a row."""
    refuse_more_than_a_row(tree.expression(text), f"{what} {text!r}")
