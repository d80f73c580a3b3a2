"""What the WHERE around a table says of that table alone, for reading fewer files of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from tidelake.errors import Invalid, NotFound
from tidelake.model.literal import Value
from tidelake.model.names import fold
from tidelake.model.schema import Schema
from tidelake.plan.where import as_where
from tidelake.session.sql_parameters import put_literals

if TYPE_CHECKING:
    from sqlglot import exp


def own_condition(node: exp.Table, values: Mapping[str, Value]) -> str | None:
    """The part of the enclosing WHERE that speaks of this table alone.

    Only where no join could bring back, or match with others, rows that the condition would drop.
    """
    from sqlglot import exp

    select = node.parent.parent if isinstance(node.parent, exp.From | exp.Join) else None
    if not isinstance(select, exp.Select) or select.args.get("where") is None:
        return None
    joins = select.args.get("joins") or []
    if any(join.side or join.method not in ("", "NATURAL") for join in joins):
        return None
    if _is_changed(node) or select.args.get("sample"):
        return None
    chosen = [
        f"({put_literals(part, values).sql(dialect='duckdb')})"
        for part in _own_parts(select.args["where"].this, node.alias_or_name, alone=not joins)
    ]
    return " AND ".join(chosen) or None


def _is_changed(node: exp.Table) -> bool:
    """Whether the WHERE sees other rows or other names than the table's own."""
    renamed = node.args.get("alias") is not None and node.args["alias"].args.get("columns")
    return bool(renamed or any(node.args.get(each) for each in ("joins", "sample", "pivots")))


def _own_parts(condition: exp.Expr, name: str, *, alone: bool) -> Iterator[exp.Expr]:
    from sqlglot import exp

    alias = fold(name)
    for part in conjuncts(condition):
        columns = list(part.find_all(exp.Column))
        if part.find(exp.Query) or not columns:
            continue
        qualifiers = {fold(column.table) for column in columns}
        if qualifiers == {alias} or (alone and qualifiers <= {alias, ""}):
            bare = part.copy()
            for column in bare.find_all(exp.Column):
                column.set("table", None)
            yield bare


def conjuncts(condition: exp.Expr) -> Iterator[exp.Expr]:
    from sqlglot import exp

    if isinstance(condition, exp.And):
        yield from conjuncts(condition.left)
        yield from conjuncts(condition.right)
    elif isinstance(condition, exp.Paren):
        yield from conjuncts(condition.this)
    else:
        yield condition


def understood(condition: str | None, schema: Schema) -> str | None:
    """The condition, if it is one on columns of the table."""
    try:
        as_where(condition, schema)
    except (Invalid, NotFound):
        return None
    return condition
