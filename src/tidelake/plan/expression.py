"""Expressions that a caller writes for new values: what they may hold and which columns they name.

They are DuckDB's SQL over one row, or in a merge over a row of the table and one of the source.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from tidelake.errors import Invalid, NotFound
from tidelake.model.names import quote
from tidelake.model.schema import Schema

if TYPE_CHECKING:
    from sqlglot.expressions import Column, Expr


_QUOTES = 'text that stands for itself has quotes of its own, "\'abc\'", or is a lit("abc")'


def qualified(place: str, name: str) -> str:
    return f"{quote(place)}.{quote(name)}"


def expression_sql(
    text: str,
    tables: Mapping[str, Schema],
    bare: str | None,
    spell: Callable[[str, str], str] = qualified,
) -> str:
    """The expression with every column spelled as its table spells it."""
    import sqlglot
    from sqlglot import exp

    tree = exp.Paren(this=_tree(text))
    _refuse(tree, text)
    for node in list(tree.find_all(exp.Column)):
        place, name, fields = _column(node, text, tables, bare)
        spelled: Expr = sqlglot.parse_one(spell(place, name), read="duckdb")
        for field in fields:
            spelled = exp.Dot(this=spelled, expression=field)
        node.replace(spelled)
    return tree.sql("duckdb")


def _column(
    node: Column, text: str, tables: Mapping[str, Schema], bare: str | None
) -> tuple[str, str, list[Expr]]:
    """Whose column is meant, its name as its table spells it, and the fields inside it."""
    first, *rest = node.parts
    place = first.name.casefold() if rest else None
    if bare is not None and _has(tables[bare], first.name):
        place = bare
    elif place in tables:
        first, *rest = rest
    elif bare is None or rest:
        raise Invalid(
            f"in {text!r} it is not clear whose column {node.sql('duckdb')} is",
            hint=f"write {' or '.join(f'{name}.column' for name in tables)}"
            if bare is None
            else f"the columns are: {', '.join(tables[bare].names)}; {_QUOTES}",
        )
    else:
        place = bare
    assert place is not None
    try:
        return place, tables[place].column(first.name).name, rest
    except NotFound:
        raise Invalid(
            f"{text!r} names {node.sql('duckdb')}, which is not a column",
            hint=f"the columns are: {', '.join(tables[place].names)}; {_QUOTES}",
        ) from None


def _has(schema: Schema, name: str) -> bool:
    return any(column.name.casefold() == name.casefold() for column in schema)


def _tree(text: str) -> Expr:
    import sqlglot
    from sqlglot import exp

    try:
        return sqlglot.parse_one(text, read="duckdb", into=exp.Condition)
    except sqlglot.errors.SqlglotError:
        raise Invalid(
            f"cannot read the expression {text!r}",
            hint=f"write DuckDB's SQL; {_QUOTES}",
        ) from None


def _refuse(tree: Expr, text: str) -> None:
    from sqlglot import exp

    no = (exp.Query, exp.Exists, exp.DDL, exp.DML, exp.Command, exp.AggFunc, exp.Window)
    for node in tree.walk():
        if isinstance(node, (*no, exp.Placeholder, exp.Parameter, exp.Star, exp.Columns)):
            raise Invalid(
                f"the expression {text!r} holds {node.sql('duckdb')}",
                hint="an expression can only look at the columns of one row",
            )
