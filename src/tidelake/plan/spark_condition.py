"""A condition as Spark SQL that keeps the same rows as its DuckDB SQL."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from uuid import UUID

from tidelake.errors import Unsupported
from tidelake.model.comparable import FLOATS, INTEGERS, TIMESTAMPS, comparable
from tidelake.model.literal import Value, in_utc, sql_literal
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
from tidelake.plan.condition import find_column

_WIDEST_DECIMAL = 38
_EPOCH = datetime(1970, 1, 1)


def render(predicate: Predicate, schema: Schema) -> str:
    """Requires: names and zones are settled, as in a Where."""
    if isinstance(predicate, And | Or):
        word, empty = (" AND ", "TRUE") if isinstance(predicate, And) else (" OR ", "FALSE")
        return f"({word.join(render(p, schema) for p in predicate.parts) or empty})"
    if isinstance(predicate, Not):
        return f"(NOT {render(predicate.part, schema)})"
    if isinstance(predicate, Opaque):
        return _translated(predicate.text)
    if isinstance(predicate, Always):
        return predicate.sql()
    return _test(predicate, schema)


def _test(predicate: Predicate, schema: Schema) -> str:
    (name,) = predicate.columns()
    column = find_column(name, schema)
    spelled = "`" + name.replace("`", "``") + "`"
    if isinstance(predicate, Compare):
        left = _operand(spelled, column, [predicate.value])
        return f"({left} {predicate.op} {_literal(column, predicate.value)})"
    if isinstance(predicate, In):
        if not predicate.values:
            return "FALSE"
        values = ", ".join(_literal(column, value) for value in predicate.values)
        return f"({_operand(spelled, column, predicate.values)} IN ({values}))"
    if isinstance(predicate, IsNull):
        return f"({spelled} IS {'NOT ' if predicate.negated else ''}NULL)"
    if isinstance(predicate, Like):
        return _like(spelled, predicate)
    assert isinstance(predicate, StartsWith)
    return f"startswith({spelled}, {_string(predicate.prefix)})"


def _operand(spelled: str, column: Column | None, values: list[Value] | tuple[Value, ...]) -> str:
    """DuckDB compares a boolean with numbers; Spark wants to be told."""
    numbers = any(isinstance(v, int) and not isinstance(v, bool) for v in values)
    boolean = column is not None and column.type == "boolean"
    return f"CAST({spelled} AS INT)" if boolean and numbers else spelled


def _like(spelled: str, predicate: Like) -> str:
    """Spark takes a backslash in a pattern for an escape, DuckDB for itself."""
    word = ("NOT " if predicate.negated else "") + (
        "ILIKE" if predicate.case_insensitive else "LIKE"
    )
    escape = ""
    if "\\" in predicate.pattern:
        unused = next(c for c in map(chr, range(33, 2**16)) if c not in predicate.pattern + "%_'\\")
        escape = f" ESCAPE {_string(unused)}"
    return f"({spelled} {word} {_string(predicate.pattern)}{escape})"


def _literal(column: Column | None, value: Value) -> str:
    if value is None or column is None:
        return _plain(value)
    if isinstance(value, str):
        return _text_literal(column, value)
    if isinstance(value, bool):
        return str(int(value)) if column.type in INTEGERS else _plain(value)
    if column.type in FLOATS and isinstance(value, int | Decimal):
        kind = "FLOAT" if column.type == "float32" else "DOUBLE"
        return f"CAST({_plain(value)} AS {kind})"
    return _plain(value)


def _text_literal(column: Column, text: str) -> str:
    """DuckDB casts plain text to the column's type; here the cast is done beforehand."""
    if column.type in ("varchar", "json"):
        return _string(text)
    known = comparable(column, text)
    if known is None:
        raise _unsupported(column, text, "Spark might read this text otherwise")
    if known.kind == "text":
        return _string(str(known.value))
    if column.type == "boolean":
        return "TRUE" if known.value else "FALSE"
    if known.kind != "instant":
        return _literal(column, known.value)
    return _plain(_moment(column, text, known.value))


def _moment(column: Column, text: str, nanos: object) -> Value:
    if not isinstance(nanos, int) or nanos % 1000:
        raise _unsupported(column, text, "Spark has no infinite times and no nanoseconds")
    try:
        found = _EPOCH + timedelta(microseconds=nanos // 1000)
    except OverflowError:
        raise _unsupported(column, text, "the year is outside 1 to 9999") from None
    if column.type in TIMESTAMPS:
        return found.replace(tzinfo=UTC) if column.type == "timestamptz" else found
    return found.date() if column.type == "date" else found.time()


def _plain(value: Value) -> str:
    if value is None or isinstance(value, bool):
        return sql_literal(value)
    if isinstance(value, int) and -(2**63) < value < 2**63:
        return str(value) if -(2**31) <= value < 2**31 else f"{value}L"
    if isinstance(value, int | Decimal):
        return _decimal(Decimal(value))
    if isinstance(value, float):
        return f"{value!r}D" if math.isfinite(value) else f"CAST('{value!r}' AS DOUBLE)"
    if isinstance(value, str | UUID):
        return _string(str(value))
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    return _temporal(value)


def _decimal(value: Decimal) -> str:
    """Not a literal: Spark 4 takes an integer column compared with a decimal literal beyond
    its range for TRUE or FALSE even where the column is NULL."""
    text = f"{value:f}"
    whole, _, fraction = text.removeprefix("-").partition(".")
    width = len(whole) + len(fraction)
    if width > _WIDEST_DECIMAL:
        return _plain(float(value))
    return f"CAST('{text}' AS DECIMAL({width}, {len(fraction)}))"


def _temporal(value: date | time | timedelta) -> str:
    if isinstance(value, timedelta) or (isinstance(value, time) and value.tzinfo is not None):
        raise Unsupported(
            f"Spark cannot compare with {sql_literal(value)} as DuckDB does",
            hint="read with the local engine",
        )
    if isinstance(value, time):
        return f"TIME '{value.isoformat()}'"
    if not isinstance(value, datetime):
        return f"DATE '{value.isoformat()}'"
    if value.tzinfo is None:
        return f"TIMESTAMP_NTZ '{value.isoformat(sep=' ')}'"
    return f"TIMESTAMP_LTZ '{in_utc(value).isoformat(sep=' ')}'"


def _string(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _translated(sql: str) -> str:
    import sqlglot

    try:
        (text,) = sqlglot.transpile(
            sql,
            read="duckdb",
            write="spark",
            comments=False,
            unsupported_level=sqlglot.ErrorLevel.RAISE,
        )
    except sqlglot.errors.SqlglotError as error:
        raise Unsupported(
            f"Spark has no equal of {sql!r}: {error}", hint="read with the local engine"
        ) from None
    return f"({text})"


def _unsupported(column: Column, text: str, reason: str) -> Unsupported:
    return Unsupported(
        f"column {column.name!r} ({column.duckdb_type}) cannot be compared with {text!r} on Spark:"
        f" {reason}",
        hint="write a typed literal, or read with the local engine",
    )
