"""Spark's filters as conditions of ours: those of which both say the same of every row.

They skip files and rows early; Spark asks all of them again, so what is not understood is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from pyspark.sql import datasource as spark

from tidelake.model.names import fold
from tidelake.model.predicate import And, Compare, In, IsNull, Not, Predicate, StartsWith
from tidelake.model.schema import Column
from tidelake.model.types import FLOATS, INTEGERS, is_decimal

_OPERATORS: dict[type[spark.Filter], str] = {
    spark.EqualTo: "=",
    spark.GreaterThan: ">",
    spark.GreaterThanOrEqual: ">=",
    spark.LessThan: "<",
    spark.LessThanOrEqual: "<=",
}


def understood_filters(
    filters: Iterable[spark.Filter], columns: Sequence[Column]
) -> Predicate | None:
    """All that is understood of the filters, which hold together."""
    known = {column.name: column for column in columns}
    found = [each for each in (_predicate(one, known) for one in filters) if each is not None]
    return And(tuple(found)) if found else None


def _predicate(asked: spark.Filter, known: dict[str, Column]) -> Predicate | None:
    if isinstance(asked, spark.Not):
        inner = _predicate(asked.child, known)
        return None if inner is None else Not(inner)
    path: tuple[str, ...] = getattr(asked, "attribute", ())
    column = _column(path, known)
    if column is None:
        return None
    if isinstance(asked, spark.IsNull):
        return IsNull(column.name)
    if isinstance(asked, spark.IsNotNull):
        return IsNull(column.name, negated=True)
    return _comparison(asked, column)


def _column(path: tuple[str, ...], known: dict[str, Column]) -> Column | None:
    """Spark may spell it in another case."""
    if len(path) != 1:
        return None
    if path[0] in known:
        return known[path[0]]
    alike = [column for name, column in known.items() if fold(name) == fold(path[0])]
    return alike[0] if len(alike) == 1 else None


def _comparison(asked: spark.Filter, column: Column) -> Predicate | None:
    fits = _fit(column)
    value: Any = getattr(asked, "value", None)
    if fits is None or value is None:
        return None
    if isinstance(asked, spark.In):
        values = tuple(value)
        return In(column.name, values) if all(map(fits, values)) else None
    if not fits(value):
        return None
    if isinstance(asked, spark.StringStartsWith):
        return StartsWith(column.name, value)
    operator = _OPERATORS.get(type(asked))
    return None if operator is None else Compare(column.name, operator, value)


def _fit(column: Column) -> Callable[[Any], bool] | None:
    """Which values of Python compare with the column in DuckDB as in Spark."""
    kind = column.type
    if kind in INTEGERS or is_decimal(kind):
        return lambda value: isinstance(value, int | Decimal) and not isinstance(value, bool)
    if kind in FLOATS:
        return lambda value: isinstance(value, float)
    return _PLAIN.get(kind)


def _is_date(value: Any) -> bool:
    return isinstance(value, date) and not isinstance(value, datetime)


def _is_instant(value: Any) -> bool:
    return isinstance(value, datetime) and value.tzinfo is not None


def _is_wall_clock(value: Any) -> bool:
    return isinstance(value, datetime) and value.tzinfo is None


_PLAIN: dict[str, Callable[[Any], bool]] = {
    "boolean": lambda value: isinstance(value, bool),
    "varchar": lambda value: isinstance(value, str),
    "date": _is_date,
    "timestamptz": _is_instant,
    "timestamp": _is_wall_clock,
    "timestamp_us": _is_wall_clock,
}
