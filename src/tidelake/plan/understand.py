"""From DuckDB's tree of a single test to a Predicate node, if that means the same for every row."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from tidelake.errors import NotFound
from tidelake.model import instant
from tidelake.model.literal import Value
from tidelake.model.names import fold
from tidelake.model.predicate import (
    Always,
    And,
    Compare,
    In,
    IsNull,
    Like,
    Not,
    Or,
    Predicate,
    StartsWith,
)
from tidelake.model.schema import ROW_ID, ROW_SNAPSHOT, Column, Schema
from tidelake.syntax.tree import Node

_OPERATORS = {
    "COMPARE_EQUAL": "=",
    "COMPARE_NOTEQUAL": "!=",
    "COMPARE_LESSTHAN": "<",
    "COMPARE_LESSTHANOREQUALTO": "<=",
    "COMPARE_GREATERTHAN": ">",
    "COMPARE_GREATERTHANOREQUALTO": ">=",
}
_MIRRORED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_JOINED: dict[str, type[And | Or]] = {"CONJUNCTION_AND": And, "CONJUNCTION_OR": Or}
_LIKES = {"~~": (False, False), "!~~": (True, False), "~~*": (False, True), "!~~*": (True, True)}
_PREFIXES = ("starts_with", "prefix", "^@")
_INTEGER_BITS = {"TINYINT": 7, "SMALLINT": 15, "INTEGER": 31, "BIGINT": 63, "HUGEINT": 127}
_EPOCH = datetime(1970, 1, 1)
_ZONED = "TIMESTAMP WITH TIME ZONE"


class _Foreign(Exception):
    """This part of a condition is the engine's to judge."""


def understand(node: Node, schema: Schema) -> Predicate | None:
    """The condition that a node is, or None if only an engine can judge it or some of it. A
    parameter whose value is known is a node of class BOUND."""
    try:
        return _test(node, schema)
    except _Foreign:
        return None


def _test(node: Node, schema: Schema) -> Predicate:
    if node["type"] == "OPERATOR_NOT":
        return Not(_test(node["children"][0], schema))
    if node["type"] in _JOINED:
        return _JOINED[node["type"]](tuple(_test(each, schema) for each in node["children"]))
    if node["class"] in ("CONSTANT", "CAST"):
        return _always(node)
    read = _TESTS.get(node["type"]) or _TESTS.get(node["class"])
    if read is None:
        raise _Foreign
    return read(node, schema)


def _always(node: Node) -> Predicate:
    found = _value(node, None)
    if found is None or isinstance(found, bool):
        return Always(found)
    raise _Foreign


def _column(node: Node, schema: Schema) -> tuple[str, Column | None]:
    if node["class"] != "COLUMN_REF" or len(node["column_names"]) != 1:
        raise _Foreign
    (name,) = node["column_names"]
    try:
        column = schema.column(name)
        return column.name, column
    except NotFound:
        if fold(name) in (ROW_ID, ROW_SNAPSHOT):
            return fold(name), None
        raise _Foreign from None


def _comparison(node: Node, schema: Schema) -> Predicate:
    op = _OPERATORS[node["type"]]
    left, right = node["left"], node["right"]
    if right["class"] == "COLUMN_REF":
        left, right, op = right, left, _MIRRORED[op]
    name, column = _column(left, schema)
    return Compare(name, op, _value(right, column))


def _membership(node: Node, schema: Schema) -> Predicate:
    first, *items = node["children"]
    name, column = _column(first, schema)
    found = In(name, tuple(_value(item, column) for item in items))
    return Not(found) if node["type"] == "COMPARE_NOT_IN" else found


def _between(node: Node, schema: Schema) -> Predicate:
    name, column = _column(node["input"], schema)
    low, high = _value(node["lower"], column), _value(node["upper"], column)
    # DuckDB brings all three to one type, which two comparisons of different types would not.
    if type(low) is not type(high):
        raise _Foreign
    return And((Compare(name, ">=", low), Compare(name, "<=", high)))


def _is_null(node: Node, schema: Schema) -> Predicate:
    name, _ = _column(node["children"][0], schema)
    return IsNull(name, negated=node["type"] == "OPERATOR_IS_NOT_NULL")


def _distinct(node: Node, schema: Schema) -> Predicate:
    """IS [NOT] DISTINCT FROM a value, and what DuckDB takes for one: IS [NOT] TRUE or FALSE."""
    left, right = node["left"], node["right"]
    if left["class"] == "CAST" and left["cast_type"]["id"] == "BOOLEAN" and not left["try_cast"]:
        left = left["child"]
        column = _column(left, schema)[1]
        if column is None or column.type != "boolean":
            raise _Foreign
    name, column = _column(left, schema)
    value = _value(right, column)
    same: Predicate = IsNull(name)
    if value is not None:
        same = And((IsNull(name, negated=True), Compare(name, "=", value)))
    return Not(same) if node["type"] == "COMPARE_DISTINCT_FROM" else same


def _function(node: Node, schema: Schema) -> Predicate:
    name, given = node["function_name"].lower(), node["children"]
    if len(given) != 2 or node["distinct"] or node["filter"] or node["schema"]:
        raise _Foreign
    if name in _LIKES:
        negated, insensitive = _LIKES[name]
        return Like(_column(given[0], schema)[0], _text(given[1]), negated, insensitive)
    if name in _PREFIXES:
        return StartsWith(_column(given[0], schema)[0], _text(given[1]))
    raise _Foreign


def _bare(node: Node, schema: Schema) -> Predicate:
    name, column = _column(node, schema)
    if column is None or column.type != "boolean":
        raise _Foreign
    return Compare(name, "=", True)


_TESTS: dict[str, Callable[[Node, Schema], Predicate]] = {
    **dict.fromkeys(_OPERATORS, _comparison),
    "COMPARE_IN": _membership,
    "COMPARE_NOT_IN": _membership,
    "COMPARE_BETWEEN": _between,
    "BETWEEN": _between,
    "OPERATOR_IS_NULL": _is_null,
    "OPERATOR_IS_NOT_NULL": _is_null,
    "COMPARE_DISTINCT_FROM": _distinct,
    "COMPARE_NOT_DISTINCT_FROM": _distinct,
    "FUNCTION": _function,
    "COLUMN_REF": _bare,
}


def _text(node: Node) -> str:
    if node["class"] == "CONSTANT" and node["value"]["type"]["id"] == "VARCHAR":
        found = _constant(node)
        if isinstance(found, str):
            return found
    raise _Foreign


def _value(node: Node, column: Column | None) -> Value:
    """A literal as the Python value that DuckDB compares in the same way."""
    if node["class"] == "CONSTANT":
        return _constant(node)
    if node["class"] == "CAST" and not node["try_cast"]:
        return _cast(node, column)
    if node["class"] == "BOUND":
        return _bound(node["value"], column)
    raise _Foreign


def _bound(value: Value, column: Column | None) -> Value:
    """The value of a parameter. Text has a type then, and is not what a literal would be."""
    if isinstance(value, str) and (column is None or column.type != "varchar"):
        raise _Foreign
    return value


def _constant(node: Node) -> Value:
    held = node["value"]
    kind = held["type"]["id"]
    if held["is_null"]:
        return None
    if kind in ("INTEGER", "BIGINT", "HUGEINT"):
        return _whole(held["value"])
    if kind == "DECIMAL":
        scale = held["type"]["type_info"]["scale"]
        sign, digits, _ = Decimal(_whole(held["value"])).as_tuple()
        return Decimal((sign, digits, -scale))
    if kind == "DOUBLE" and isinstance(held["value"], float):
        return float(held["value"])
    if kind in ("VARCHAR", "BOOLEAN"):
        return held["value"]  # type: ignore[no-any-return]
    raise _Foreign


def _whole(value: int | dict[str, int]) -> int:
    """Wide integers come as two halves."""
    return value["upper"] * 2**64 + value["lower"] if isinstance(value, dict) else int(value)


def _cast(node: Node, column: Column | None) -> Value:
    target = _type_sql(node["cast_type"])
    child = node["child"]
    if child["class"] != "CONSTANT":
        raise _Foreign  # of a cast of a cast only DuckDB knows what is left
    inner = _constant(child)
    if isinstance(inner, str):
        return _typed_text(target, inner, column)
    if isinstance(inner, bool) or not isinstance(inner, int):
        raise _Foreign
    if target == "DOUBLE" and abs(inner) < 2**53:
        return float(inner)
    bits = _INTEGER_BITS.get(target)
    if bits is not None and -(2**bits) <= inner < 2**bits:
        return inner
    raise _Foreign


def _type_sql(kind: Node) -> str:
    info = kind.get("type_info") or {}
    if kind["id"] == "DECIMAL":
        return f"DECIMAL({info['width']},{info['scale']})"
    if info and kind["id"] != "VARCHAR":
        raise _Foreign
    return str(kind["id"])


def _own_type(column: Column) -> str:
    return {"TIMESTAMPTZ": _ZONED}.get(column.duckdb_type, column.duckdb_type)


def _typed_text(target: str, text: str, column: Column | None) -> Value:
    """Text of the column's own type is what DuckDB makes of plain text."""
    if target == "BOOLEAN" and text in ("t", "f"):
        return text == "t"
    if column is not None and not column.is_nested and target == _own_type(column):
        return text
    moment = None
    if target == "DATE":
        moment = instant.parse_date(text)
    elif target in ("TIMESTAMP", _ZONED) and instant.fraction_digits(text) <= 6:
        moment = instant.parse_moment(text, zoned=None if target == _ZONED else False)
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
