"""Can a file hold a row that a condition keeps? Judged from its column statistics alone.

The answer "no" must be certain: the condition is FALSE or NULL for every row that the statistics
allow. Whatever is missing, odd or unknown means "maybe", and only tests that are known to be NULL
where their column is say anything of files in which all of it is.
"""

from __future__ import annotations

import math
import operator
import re
from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from tidelake.errors import NotFound
from tidelake.model.comparable import (
    Comparable,
    Kind,
    Point,
    comparable,
    comparables,
    lower_bound,
    upper_bound,
)
from tidelake.model.normal_form import combine_judgements, positive
from tidelake.model.predicate import Always, Compare, In, IsNull, Like, Not, Predicate, StartsWith
from tidelake.model.schema import NESTED, Column, Schema
from tidelake.model.types import FLOATS

UNCOUNTED = NESTED | {"timetz", "interval", "variant", "geometry"}
"""Types whose counts of values cannot be relied on."""


@dataclass(frozen=True, slots=True)
class ColumnStats:
    """Statistics of one column in one file, as DuckLake stores them.

    `value_count` counts the values that are not NULL; None anywhere means unknown.
    """

    min: str | None = None
    max: str | None = None
    null_count: int | None = None
    value_count: int | None = None
    contains_nan: bool | None = None


Statistics: TypeAlias = Mapping[int, ColumnStats]
StatsTest: TypeAlias = Callable[[ColumnStats], bool]


def may_match(predicate: Predicate, schema: Schema, stats: Statistics) -> bool:
    """Could a row of a file with these statistics make the condition TRUE?"""
    return matcher(predicate, schema)(stats)


def matcher(predicate: Predicate, schema: Schema) -> Callable[[Statistics], bool]:
    """`may_match` with all that does not depend on the file done once."""
    return combine_judgements(positive(predicate), lambda part: _on_file(part, schema))


def _on_file(predicate: Predicate, schema: Schema) -> Callable[[Statistics], bool]:
    if isinstance(predicate, Always):
        answer = predicate.value is True
        return lambda _: answer
    column = single_column(predicate, schema)
    test = None if column is None else column_test(predicate, column)
    if column is None or test is None:
        return lambda _: True
    column_id, known_test = column.id, test

    def on_file(stats: Statistics) -> bool:
        known = stats.get(column_id)
        return known is None or known_test(known)

    return on_file


def single_column(predicate: Predicate, schema: Schema) -> Column | None:
    """The one column that a single test is about, if the schema has it."""
    names = predicate.columns()
    if len(names) != 1:
        return None
    try:
        return schema.column(next(iter(names)))
    except NotFound:
        return None


def column_test(predicate: Predicate, column: Column) -> StatsTest | None:
    """A test of the column's statistics; None if they cannot decide."""
    if column.type in UNCOUNTED:
        return None
    if isinstance(predicate, IsNull):
        return _has_values if predicate.negated else _has_nulls
    test = _strict_test(predicate)
    if test is None:
        return None
    on_values = test(predicate, column)
    return lambda stats: _has_values(stats) and on_values(stats)


def _strict_test(predicate: Predicate) -> Callable[[Predicate, Column], StatsTest] | None:
    """Of a test that is NULL for every row in which its column is; None if it may not be."""
    if isinstance(predicate, Not):
        return _STRICT_NEGATED.get(type(predicate.part))
    return _STRICT.get(type(predicate))


def _has_values(stats: ColumnStats) -> bool:
    return stats.value_count != 0


def _has_nulls(stats: ColumnStats) -> bool:
    return stats.null_count != 0


def _maybe(_: ColumnStats) -> bool:
    return True


def _never(_: ColumnStats) -> bool:
    return False


def _compare_test(predicate: Predicate, column: Column) -> StatsTest:
    assert isinstance(predicate, Compare)
    if predicate.value is None:
        return _never
    operand = comparable(column, predicate.value)
    if operand is None:
        return _maybe
    if _is_nan(operand):
        return _NAN_TESTS[predicate.op]
    test = _BOUND_TESTS[predicate.op](column.type, operand.kind, operand.value)
    if column.type in FLOATS and predicate.op in (">", ">=", "!="):
        return lambda stats: _may_hold_nan(stats) or test(stats)
    return test


def _member_test(predicate: Predicate, column: Column) -> StatsTest:
    assert isinstance(predicate, In)
    operands = comparables(column, [v for v in predicate.values if v is not None])
    if operands is None:
        return _maybe
    if not operands:
        return _never
    kind = operands[0].kind
    points: list[Any] = sorted(o.value for o in operands if not _is_nan(o))
    if len(points) < len(operands):
        return lambda stats: _may_hold_nan(stats) or _holds_one(stats, column.type, kind, points)
    return lambda stats: _holds_one(stats, column.type, kind, points)


def _not_member_test(predicate: Predicate, column: Column) -> StatsTest:
    """NOT IN is a row of !=."""
    assert isinstance(predicate, Not)
    assert isinstance(predicate.part, In)
    if None in predicate.part.values:
        return _never
    operands = comparables(column, predicate.part.values)
    if operands is None:
        return _maybe
    points = {o.value for o in operands}
    kind = operands[0].kind

    def test(stats: ColumnStats) -> bool:
        low = _low(stats, column.type, kind)
        return low is None or low not in points or low != _high(stats, column.type, kind)

    return test


def _prefix_test(predicate: Predicate, column: Column) -> StatsTest:
    assert isinstance(predicate, Like | StartsWith)
    prefix = like_prefix(predicate) if isinstance(predicate, Like) else predicate.prefix
    if prefix is None or column.type != "varchar":
        return _maybe

    def test(stats: ColumnStats) -> bool:
        low_enough = stats.min is None or stats.min[: len(prefix)] <= prefix
        return low_enough and (stats.max is None or stats.max >= prefix)

    return test


def like_prefix(predicate: Like) -> str | None:
    """What every text that the pattern accepts begins with; None if there is no such text."""
    if predicate.negated or predicate.case_insensitive:
        return None
    return re.split("[%_]", predicate.pattern, maxsplit=1)[0]


_STRICT: dict[type[Predicate], Callable[[Predicate, Column], StatsTest]] = {
    Compare: _compare_test,
    In: _member_test,
    Like: _prefix_test,
    StartsWith: _prefix_test,
}
_STRICT_NEGATED: dict[type[Predicate], Callable[[Predicate, Column], StatsTest]] = {
    In: _not_member_test,
    StartsWith: lambda *_: _maybe,
}


def _low(stats: ColumnStats, column_type: str, kind: Kind) -> Any:
    return None if stats.min is None else lower_bound(column_type, kind, stats.min)


def _high(stats: ColumnStats, column_type: str, kind: Kind) -> Any:
    return None if stats.max is None else upper_bound(column_type, kind, stats.max)


def _holds_one(stats: ColumnStats, column_type: str, kind: Kind, points: list[Any]) -> bool:
    """Is any of the sorted points between the bounds?"""
    low, high = _low(stats, column_type, kind), _high(stats, column_type, kind)
    at = 0 if low is None else bisect_left(points, low)
    return at < len(points) and (high is None or points[at] <= high)


def _low_test(accept: Callable[[Any, Any], bool]) -> Callable[[str, Kind, Point], StatsTest]:
    def build(column_type: str, kind: Kind, value: Point) -> StatsTest:
        def test(stats: ColumnStats) -> bool:
            low = _low(stats, column_type, kind)
            return low is None or accept(low, value)

        return test

    return build


def _high_test(accept: Callable[[Any, Any], bool]) -> Callable[[str, Kind, Point], StatsTest]:
    def build(column_type: str, kind: Kind, value: Point) -> StatsTest:
        def test(stats: ColumnStats) -> bool:
            high = _high(stats, column_type, kind)
            return high is None or accept(high, value)

        return test

    return build


def _equal_test(column_type: str, kind: Kind, value: Point) -> StatsTest:
    return lambda stats: _holds_one(stats, column_type, kind, [value])


def _unequal_test(column_type: str, kind: Kind, value: Point) -> StatsTest:
    """False only if all values are this one; widened bounds of floats are never one value."""

    def test(stats: ColumnStats) -> bool:
        low, high = _low(stats, column_type, kind), _high(stats, column_type, kind)
        return bool(low != value or high != value)

    return test


_BOUND_TESTS: dict[str, Callable[[str, Kind, Point], StatsTest]] = {
    "=": _equal_test,
    "!=": _unequal_test,
    "<": _low_test(operator.lt),
    "<=": _low_test(operator.le),
    ">": _high_test(operator.gt),
    ">=": _high_test(operator.ge),
}


def _is_nan(operand: Comparable) -> bool:
    return isinstance(operand.value, float) and math.isnan(operand.value)


def _may_hold_nan(stats: ColumnStats) -> bool:
    return stats.contains_nan is None or bool(stats.contains_nan)


# NaN equals itself and is greater than everything else.
_NAN_TESTS: dict[str, StatsTest] = {
    "=": _may_hold_nan,
    ">=": _may_hold_nan,
    ">": _never,
    "<": _maybe,
    "<=": _maybe,
    "!=": _maybe,
}
