"""From sqlglot's tree of a condition to Predicate nodes, and Opaque SQL for the rest."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from sqlglot import exp

from tidelake.model import instant
from tidelake.model.literal import Value
from tidelake.model.predicate import (
    Always,
    And,
    Compare,
    In,
    IsNull,
    Like,
    Not,
    Opaque,
    Or,
    Predicate,
    StartsWith,
)
from tidelake.model.schema import Column, Schema
from tidelake.plan.condition import column_name, find_column

_OPERATORS: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "!=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
_MIRRORED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_EPOCH = datetime(1970, 1, 1)


class _Foreign(Exception):
    """This part of a condition is the engine's to judge."""


def understood(tree: exp.Expr, schema: Schema) -> Predicate:
    """Requires: the tree holds nothing but a row filter."""
    node = tree.unnest()
    if isinstance(node, exp.And | exp.Or):
        kind = And if isinstance(node, exp.And) else Or
        return kind(tuple(understood(part, schema) for part in node.flatten()))
    if isinstance(node, exp.Not):
        return Not(understood(node.this, schema))
    if isinstance(node, exp.Boolean):
        return Always(bool(node.this))
    if isinstance(node, exp.Null):
        return Always(None)
    read = _TESTS.get(type(node))
    try:
        return _opaque(node, schema) if read is None else read(node, schema)
    except _Foreign:
        return _opaque(node, schema)


def _opaque(node: exp.Expr, schema: Schema) -> Opaque:
    """The SQL itself, with names spelled as in the schema."""
    tree = node.copy()
    local = {str(c.expression.name) for c in tree.find_all(exp.Comprehension)}
    names = set()
    for found in list(tree.find_all(exp.Column)):
        first, *fields = found.parts
        if first.name in local:
            continue
        name = column_name(first.name, schema)
        names.add(name)
        access: exp.Expr = exp.column(exp.to_identifier(name, quoted=True))
        for field in fields:
            access = exp.Dot(this=exp.paren(access, copy=False), expression=field.copy())
        if found is tree:
            tree = access
        else:
            found.replace(access)
    return Opaque(tree.sql("duckdb", comments=False), frozenset(names))


def _column(node: exp.Expr, schema: Schema) -> tuple[str, Column | None]:
    node = node.unnest()
    if not isinstance(node, exp.Column) or len(node.parts) != 1:
        raise _Foreign
    name = column_name(node.name, schema)
    return name, find_column(name, schema)


def _comparison(node: exp.Expr, schema: Schema) -> Predicate:
    op = _OPERATORS[type(node)]
    left, right = node.this, node.expression
    if isinstance(right.unnest(), exp.Column):
        left, right, op = right, left, _MIRRORED[op]
    name, column = _column(left, schema)
    return Compare(name, op, _value(right, column))


def _membership(node: exp.Expr, schema: Schema) -> Predicate:
    if not node.expressions or set(node.args) - {"this", "expressions"} & _present(node):
        raise _Foreign
    name, column = _column(node.this, schema)
    return In(name, tuple(_value(item, column) for item in node.expressions))


def _between(node: exp.Expr, schema: Schema) -> Predicate:
    name, column = _column(node.this, schema)
    low, high = _value(node.args["low"], column), _value(node.args["high"], column)
    # DuckDB brings all three to one type, which two comparisons of different types would not.
    if node.args.get("symmetric") or type(low) is not type(high):
        raise _Foreign
    return And((Compare(name, ">=", low), Compare(name, "<=", high)))


def _is(node: exp.Expr, schema: Schema) -> Predicate:
    name, column = _column(node.this, schema)
    if isinstance(node.expression, exp.Null):
        return IsNull(name)
    if isinstance(node.expression, exp.Boolean) and column and column.type == "boolean":
        return And((IsNull(name, negated=True), Compare(name, "=", bool(node.expression.this))))
    raise _Foreign


def _not_distinct(node: exp.Expr, schema: Schema) -> Predicate:
    name, column = _column(node.this, schema)
    value = _value(node.expression, column)
    if value is None:
        return IsNull(name)
    return And((IsNull(name, negated=True), Compare(name, "=", value)))


def _like(node: exp.Expr, schema: Schema) -> Predicate:
    name, _ = _column(node.this, schema)
    insensitive = isinstance(node, exp.ILike)
    pattern = _text(node.expression)
    return Like(name, pattern, bool(node.args.get("negate")), insensitive)


def _starts_with(node: exp.Expr, schema: Schema) -> Predicate:
    return StartsWith(_column(node.this, schema)[0], _text(node.expression))


def _function(node: exp.Expr, schema: Schema) -> Predicate:
    if node.name.lower() != "prefix" or len(node.expressions) != 2:
        raise _Foreign
    column, prefix = node.expressions
    return StartsWith(_column(column, schema)[0], _text(prefix))


def _bare(node: exp.Expr, schema: Schema) -> Predicate:
    name, column = _column(node, schema)
    if column is None or column.type != "boolean":
        raise _Foreign
    return Compare(name, "=", True)


_TESTS: dict[type[exp.Expr], Callable[[exp.Expr, Schema], Predicate]] = {
    **dict.fromkeys(_OPERATORS, _comparison),
    exp.In: _membership,
    exp.Between: _between,
    exp.Is: _is,
    exp.NullSafeEQ: _not_distinct,
    exp.NullSafeNEQ: lambda node, schema: Not(_not_distinct(node, schema)),
    exp.Like: _like,
    exp.ILike: _like,
    exp.StartsWith: _starts_with,
    exp.Anonymous: _function,
    exp.Column: _bare,
}


def _present(node: exp.Expr) -> set[str]:
    return {name for name, value in node.args.items() if value}


def _text(node: exp.Expr) -> str:
    if isinstance(node, exp.Literal) and node.is_string:
        return str(node.this)
    raise _Foreign


def _value(node: exp.Expr, column: Column | None) -> Value:
    """A literal as the Python value that DuckDB compares in the same way."""
    node = node.unnest()
    if isinstance(node, exp.Null):
        return None
    if isinstance(node, exp.Boolean):
        return bool(node.this)
    if isinstance(node, exp.Literal):
        return str(node.this) if node.is_string else _number(str(node.this))
    if isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal) and not node.this.is_string:
        return _number("-" + str(node.this.this))
    if type(node) is exp.Cast:
        return _cast(node, column)
    raise _Foreign


def _number(text: str) -> int | float | Decimal:
    if text.removeprefix("-").isdigit():
        return int(text)
    try:
        return float(text) if "e" in text.lower() else Decimal(text)
    except ArithmeticError:
        raise _Foreign from None


def _cast(node: exp.Cast, column: Column | None) -> Value:
    target = node.to.sql("duckdb")
    inner = _value(node.this, column)
    if isinstance(inner, str):
        return _typed_text(target, inner, column)
    if isinstance(inner, bool) or not isinstance(inner, int):
        raise _Foreign
    if target == "DOUBLE" and abs(inner) < 2**53:
        return float(inner)
    if (
        target in _INTEGER_BITS
        and -(2 ** _INTEGER_BITS[target]) <= inner < 2 ** _INTEGER_BITS[target]
    ):
        return inner
    raise _Foreign


_INTEGER_BITS = {"TINYINT": 7, "SMALLINT": 15, "INT": 31, "BIGINT": 63, "INT128": 127}


def _typed_text(target: str, text: str, column: Column | None) -> Value:
    """Text of the column's own type is what DuckDB makes of plain text."""
    if column is not None and not column.is_nested and target == _type_sql(column):
        return text
    moment = None
    if target == "DATE":
        moment = instant.parse_date(text)
    elif target in ("TIMESTAMP", "TIMESTAMPTZ") and instant.fraction_digits(text) <= 6:
        moment = instant.parse_moment(text, zoned=None if target == "TIMESTAMPTZ" else False)
    elif target in _INTEGER_BITS and re.fullmatch(r"-?\d{1,9}", text, re.ASCII):
        return int(text)
    if not isinstance(moment, int):
        raise _Foreign
    try:
        found = _EPOCH + timedelta(microseconds=moment // 1000)
    except OverflowError:
        raise _Foreign from None
    if target == "DATE":
        return found.date()
    return found if target == "TIMESTAMP" else found.replace(tzinfo=UTC)


def _type_sql(column: Column) -> str:
    return exp.DataType.build(column.duckdb_type, dialect="duckdb").sql("duckdb")
