"""Views in DuckDB's SQL, for Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelake.errors import Unsupported

if TYPE_CHECKING:
    from sqlglot import exp

    from tidelake.model.names import TableName, fold

_WHOLE = ("TINYINT", "SMALLINT", "INT", "BIGINT", "UTINYINT", "USMALLINT", "UINT", "UBIGINT")
_PARTS = ("YEAR", "QUARTER", "MONTH", "DAY", "HOUR", "MINUTE")
_UNKNOWN = ("HUGEINT", "UHUGEINT", "INT128", "UINT128", "TIME", "TIMETZ", "INTERVAL", "JSON")


def in_spark(tree: exp.Expr, view: TableName) -> exp.Expr:
    """A query in DuckDB's SQL as one in Spark's, in words that no parser need read again;
    Unsupported where Spark has no equal, or would mean something else by it."""
    import sqlglot
    from sqlglot import exp

    tree = tree.transform(_as_written, copy=False)
    for node in tree.walk():
        if reason := _difference(node):
            raise _unsupported(view, node, reason)
    try:
        return exp.Var(this=tree.sql("spark", unsupported_level=sqlglot.ErrorLevel.RAISE))
    except sqlglot.errors.UnsupportedError as error:
        raise _unsupported(view, tree, str(error).split("\n")[0]) from None


def _difference(node: exp.Expr) -> str | None:
    """What Spark would make of it otherwise, without a word."""
    from sqlglot import exp

    if isinstance(node, exp.Anonymous):
        return "the function is DuckDB's own"
    if isinstance(node, exp.Join) and node.method not in ("", "NATURAL"):
        return "it joins otherwise"
    if isinstance(node, exp.ArrayAgg):
        return "Spark leaves out nulls"
    counted = isinstance(node, exp.Extract) and node.name.upper() not in _PARTS
    if counted or isinstance(node, exp.DayOfWeek):
        return "Spark counts otherwise"
    if not isinstance(node, exp.Cast):
        return None
    kind = node.to.this.name
    if kind in _WHOLE:
        return "DuckDB rounds where Spark cuts off"
    return "Spark has no such type" if kind in _UNKNOWN else None


def _as_written(node: exp.Expr) -> exp.Expr:
    """What DuckDB spells otherwise when it keeps a view: `count_star()`, `main.trim(…)`."""
    import sqlglot
    from sqlglot import exp

    if isinstance(node, exp.Anonymous) and fold(node.name) == "count_star":
        return exp.Count(this=exp.Star())
    if isinstance(node, exp.Dot) and fold(node.this.name) == "main":
        function = node.expression
        if isinstance(function, exp.Anonymous):
            given = ", ".join(each.sql("duckdb") for each in function.expressions)
            return sqlglot.parse_one(f"{function.name}({given})", read="duckdb")
        if isinstance(function, exp.Func):
            return function
    return node


def _unsupported(view: TableName, node: exp.Expr, reason: str) -> Unsupported:
    return Unsupported(
        f"view {view} is in DuckDB's SQL, and Spark has no equal of {node.sql('duckdb')}: {reason}",
        hint="read it with engine='local', or query the tables behind it",
    )
