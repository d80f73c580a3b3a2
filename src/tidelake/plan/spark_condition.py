"""A condition as Spark SQL that keeps the same rows as its DuckDB SQL.

Only what is proven to be equal is said in Spark's words: tests of a column against values of its
own kind. Everything else is NotEqual, and DuckDB judges it. No text made here depends on settings
of the session: its time zone, its ANSI mode, how it reads literals.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from decimal import Decimal

from tidelake.errors import Unsupported
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
from tidelake.model.types import FLOATS
from tidelake.plan.condition import find_column
from tidelake.plan.spark_literal import NotEqual, backtick, literal, text_literal

_FEW_FLOATS = 10
_ESCAPES = "!#@&~^|"


def _mute(_: str) -> None:
    """Nothing that was not understood is said."""


def render(predicate: Predicate, schema: Schema, say: Callable[[str], str | None] = _mute) -> str:
    """Requires: names and zones are settled, as in a Where. `say` gives Spark's words for a
    condition that was not understood, or None. Unsupported if Spark might judge otherwise."""
    try:
        return _rendered(predicate, schema, say)
    except NotEqual as error:
        raise Unsupported(
            f"Spark might judge {predicate.sql()} otherwise than DuckDB: {error}",
            hint="read with the local engine",
        ) from None


def _rendered(predicate: Predicate, schema: Schema, say: Callable[[str], str | None]) -> str:
    if isinstance(predicate, And | Or):
        word, empty = (" AND ", "TRUE") if isinstance(predicate, And) else (" OR ", "FALSE")
        parts = [_rendered(part, schema, say) for part in predicate.parts]
        return f"({word.join(parts) or empty})"
    if isinstance(predicate, Not):
        return f"(NOT {_rendered(predicate.part, schema, say)})"
    if isinstance(predicate, Opaque):
        if (said := say(predicate.text)) is None:
            raise NotEqual(predicate.text)
        return f"({said})"
    if isinstance(predicate, Always):
        return predicate.sql()
    return _test(predicate, schema)


def _test(predicate: Predicate, schema: Schema) -> str:
    (name,) = predicate.columns()
    column = find_column(name, schema) or Column(0, name, "int64")
    spelled = backtick(name)
    if isinstance(predicate, Compare):
        return comparison(spelled, column, predicate.op, predicate.value)
    if isinstance(predicate, In):
        return membership(spelled, column, predicate.values)
    if isinstance(predicate, IsNull):
        return f"({spelled} IS {'NOT ' if predicate.negated else ''}NULL)"
    if column.type != "varchar":
        raise NotEqual(f"{name!r} is no text")
    if isinstance(predicate, Like):
        return like(spelled, predicate)
    assert isinstance(predicate, StartsWith)
    return f"startswith({spelled}, {text_literal(predicate.prefix)})"


def comparison(spelled: str, column: Column, op: str, value: Value) -> str:
    """A column, as Spark spells it, compared with a value."""
    if value is None:
        return "CAST(NULL AS BOOLEAN)"
    return f"({spelled} {op} {literal(column, value)})"


def membership(spelled: str, column: Column, values: Sequence[Value]) -> str:
    """A column equal to one of the values. Spark tells -0.0 from 0.0 in long lists of floats."""
    if not values:
        return "FALSE"
    kinds = {type(value) for value in values if value is not None}
    if len(kinds) > 1 and not kinds <= {int, Decimal}:
        raise NotEqual("a list of values of several kinds")
    if column.type not in FLOATS:
        said = ["NULL" if value is None else literal(column, value) for value in values]
        return f"({spelled} IN ({', '.join(said)}))"
    if len(values) > _FEW_FLOATS:
        raise NotEqual("a long list of floats")
    return f"({' OR '.join(comparison(spelled, column, '=', value) for value in values)})"


def like(spelled: str, predicate: Like) -> str:
    """Spark takes a backslash in a pattern for an escape, DuckDB for itself. Capitals beyond
    ASCII are not the same to both."""
    if predicate.case_insensitive:
        raise NotEqual("ILIKE")
    escape = ""
    if "\\" in predicate.pattern:
        unused = re.sub(f"[{re.escape(predicate.pattern)}]", "", _ESCAPES)
        if not unused:
            raise NotEqual("no character is left for an escape")
        escape = f" ESCAPE '{unused[0]}'"
    word = "NOT LIKE" if predicate.negated else "LIKE"
    return f"({spelled} {word} {text_literal(predicate.pattern)}{escape})"
