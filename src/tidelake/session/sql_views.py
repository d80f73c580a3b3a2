"""Views in DuckDB's SQL, for Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelake.errors import Unsupported

if TYPE_CHECKING:
    from sqlglot import exp

    from tidelake.model.names import TableName

_WHOLE = ("TINYINT", "SMALLINT", "INT", "BIGINT", "UTINYINT", "USMALLINT", "UINT", "UBIGINT")
_UNKNOWN = ("HUGEINT", "UHUGEINT", "INT128", "UINT128", "TIME", "TIMETZ", "INTERVAL", "JSON")


def in_spark(tree: exp.Expr, view: TableName) -> exp.Expr:
    """A query in DuckDB's SQL as one in Spark's, in words that no parser need read again;
    Unsupported where Spark has no equal, or would mean something else by it."""
    import sqlglot
    from sqlglot import exp

    for node in tree.walk():
        if isinstance(node, exp.Anonymous):
            raise _unsupported(view, node, "the function is DuckDB's own")
        if isinstance(node, exp.Join) and node.method not in ("", "NATURAL"):
            raise _unsupported(view, node, "it joins otherwise")
        if isinstance(node, exp.Cast) and node.to.this.name in _UNKNOWN:
            raise _unsupported(view, node, "Spark has no such type")
        if isinstance(node, exp.Cast) and node.to.this.name in _WHOLE:
            raise _unsupported(view, node, "DuckDB rounds where Spark cuts off")
    try:
        return exp.Var(this=tree.sql("spark", unsupported_level=sqlglot.ErrorLevel.RAISE))
    except sqlglot.errors.UnsupportedError as error:
        raise _unsupported(view, tree, str(error).split("\n")[0]) from None


def _unsupported(view: TableName, node: exp.Expr, reason: str) -> Unsupported:
    return Unsupported(
        f"view {view} is in DuckDB's SQL, and Spark has no equal of {node.sql('duckdb')}: {reason}",
        hint="read it with engine='local', or query the tables behind it",
    )
