"""What the text of a condition may hold, and the columns it may name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelake.errors import Invalid, NotFound
from tidelake.model.predicate import Predicate
from tidelake.model.schema import ROW_ID, ROW_SNAPSHOT, Column, Schema

if TYPE_CHECKING:
    from sqlglot.expressions import Expr

VIRTUAL = (ROW_ID, ROW_SNAPSHOT)
"""Names that every table answers to beside its columns."""


def parse(text: str, schema: Schema) -> Predicate:
    """One DuckDB condition as a Predicate; Invalid if it is anything else."""
    # Not at the top: sqlglot takes a third of a second to load, and most reads have no text.
    from tidelake.plan.understand import understood

    tree = _tree(text)
    _refuse_what_is_no_row_filter(tree, text)
    return understood(tree, schema)


def column_name(name: str, schema: Schema) -> str:
    """The name as the schema spells it; Invalid if there is no such column."""
    try:
        return schema.column(name).name
    except NotFound:
        if name.casefold() in VIRTUAL:
            return name.casefold()
    raise Invalid(
        f"the condition names {name!r}, which is not a column",
        hint=f"the columns are: {', '.join(schema.names)}",
    )


def find_column(name: str, schema: Schema) -> Column | None:
    """The column, or None for the virtual ones."""
    try:
        return schema.column(name)
    except NotFound:
        return None


def _tree(text: str) -> Expr:
    import sqlglot
    from sqlglot import exp

    if not text.strip():
        raise Invalid("the condition is empty", hint='leave where out, or write one: "x > 5"')
    try:
        return sqlglot.parse_one(text, read="duckdb", into=exp.Condition)
    except sqlglot.errors.SqlglotError as error:
        raise Invalid(f"cannot read the condition {text!r}", hint=_reason(error)) from None


def _reason(error: Exception) -> str:
    details = getattr(error, "errors", None) or [{}]
    said = details[-1].get("description") or "it does not parse"
    return (
        f"{str(said).rstrip('.')}; write one condition in DuckDB's SQL, such as x > 5 AND y = 'a'"
    )


def _refuse_what_is_no_row_filter(tree: Expr, text: str) -> None:
    from sqlglot import exp

    refused: tuple[tuple[tuple[type[Expr], ...], str], ...] = (
        ((exp.Query, exp.Exists, exp.DDL, exp.DML, exp.Command), "a subquery or statement"),
        ((exp.AggFunc, exp.Window), "an aggregate or window function"),
        ((exp.Placeholder, exp.Parameter), "a parameter"),
        ((exp.Star, exp.Columns), "a star"),
    )
    for node in tree.walk():
        for kinds, what in refused:
            if isinstance(node, kinds):
                raise Invalid(
                    f"the condition {text!r} holds {what}: {node.sql('duckdb')}",
                    hint="a condition can only look at the columns of one row",
                )
        _refuse_ambiguity(node, text)


def _refuse_ambiguity(node: Expr, text: str) -> None:
    """SQL dialects disagree on how `a = b IS NULL` groups; a filter must not guess."""
    from sqlglot import exp

    comparisons = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)
    chained = (*comparisons, exp.Is, exp.Not, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Between, exp.In)
    patterns = (exp.Like, exp.ILike, exp.SimilarTo, exp.Glob)
    if not isinstance(node, (*chained, *patterns)) or isinstance(node, exp.Not):
        return
    operands = (node.this, node.args.get("expression"))
    if any(isinstance(operand, (*chained, *patterns)) for operand in operands):
        raise Invalid(
            f"the condition {text!r} can be read in two ways",
            hint=f"put parentheses into: {node.sql('duckdb')}",
        )
