"""Can a file hold a row that a condition keeps? Judged from its partition values.

A value only speaks under the partitioning its file was written with.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import TypeAlias

from tidelake.model.comparable import TIMESTAMPS, Comparable, comparable, comparables
from tidelake.model.normal_form import judged, positive
from tidelake.model.predicate import Always, Compare, In, Predicate
from tidelake.model.schema import Column, Schema
from tidelake.model.statistics import ColumnStats, column_test, single_column
from tidelake.model.table import PartitionSpec
from tidelake.plan.partitioning.bucket_hash import buckets_of

Values: TypeAlias = tuple[str | None, ...]
"""One text per key of the partitioning; None where the transform gave NULL."""

_CALENDAR = ("year", "month", "day", "hour")
_BUCKET = re.compile(r"bucket\((\d+)\)")
_NULLS_ONLY = ColumnStats(null_count=1, value_count=0)
_NO_NULLS = ColumnStats(null_count=0)


def may_match_partition(
    predicate: Predicate,
    schema: Schema,
    spec: PartitionSpec,
    values: Values,
    *,
    types_then: Mapping[int, str] | None = None,
) -> bool:
    """Could a row of a file with these partition values make the condition TRUE?

    Requires: `spec` is the partitioning the file was written with. `types_then` are the
    types of its columns, by id, when it was declared; without them buckets prune less.
    """
    return partition_matcher(predicate, schema, spec, types_then=types_then)(values)


def partition_matcher(
    predicate: Predicate,
    schema: Schema,
    spec: PartitionSpec,
    *,
    types_then: Mapping[int, str] | None = None,
) -> Callable[[Values], bool]:
    """`may_match_partition` with all that does not depend on the file done once."""
    types = types_then or {}
    judge = judged(positive(predicate), lambda part: _leaf(part, schema, spec, types))
    keys = len(spec.keys)
    return lambda values: len(values) != keys or judge(values)


def _leaf(
    predicate: Predicate, schema: Schema, spec: PartitionSpec, types_then: Mapping[int, str]
) -> Callable[[Values], bool]:
    if isinstance(predicate, Always):
        answer = predicate.value is True
        return lambda _: answer
    column = single_column(predicate, schema)
    if column is None:
        return lambda _: True
    tests = _value_tests(predicate, column, spec)
    tests += _bucket_tests(predicate, column, spec, types_then.get(column.id))
    return lambda values: all(test(values) for test in tests)


def _value_tests(
    predicate: Predicate, column: Column, spec: PartitionSpec
) -> list[Callable[[Values], bool]]:
    """What the values say about the column, judged like statistics of the file."""
    judge = column_test(predicate, column)
    if judge is None:
        return []
    readers = [_identity(at) for at in _positions(spec, column, "identity")]
    readers += [_null_bucket(at) for at, _ in _bucket_keys(spec, column)]
    if column.type == "date" or column.type in TIMESTAMPS - {"timestamptz"}:
        readers.append(_calendar(spec, column))

    def test(values: Values) -> bool:
        facts = (read(values) for read in readers)
        return all(fact is None or judge(fact) for fact in facts)

    return [test]


def _identity(at: int) -> Callable[[Values], ColumnStats | None]:
    def read(values: Values) -> ColumnStats | None:
        value = values[at]
        if value is None:
            return _NULLS_ONLY
        return ColumnStats(value, value, 0, 1, contains_nan=value.lower() in ("nan", "-nan"))

    return read


def _null_bucket(at: int) -> Callable[[Values], ColumnStats | None]:
    return lambda values: _NULLS_ONLY if values[at] is None else _NO_NULLS


def _calendar(spec: PartitionSpec, column: Column) -> Callable[[Values], ColumnStats | None]:
    """The span that year, then month, day and hour if they are keys too, leave to the column.

    NULL says nothing: it is also the year of an infinite date. Nanoseconds were rounded to
    microseconds first, and the last of a year may so have come into the next.
    """
    rounded = column.type == "timestamp_ns"
    places: list[int] = []
    for transform in _CALENDAR:
        found = _positions(spec, column, transform)
        if not found:
            break
        places.append(found[0])

    def read(values: Values) -> ColumnStats | None:
        parts = [values[at] for at in places]
        if not parts or not all(part and part.isdecimal() for part in parts):
            return None
        return _span([int(part) for part in parts if part], rounded=rounded)

    return read


def _span(parts: list[int], *, rounded: bool) -> ColumnStats | None:
    first, last = [*parts, *(1, 1, 1, 0)[len(parts) :]], [*parts, *(1, 12, 31, 23)[len(parts) :]]
    year, month = last[:2]
    if year < 1 or not (1 <= month <= 12 and 1 <= last[2] <= 31 and last[3] <= 23):
        return None
    if rounded and not 1677 <= year <= 2262:
        return None
    last[2] = min(last[2], monthrange(year, month)[1])
    low = "{:04}-{:02}-{:02} {:02}:00:00".format(*first)
    if rounded:
        start = datetime(year, first[1], 1) + timedelta(days=first[2] - 1, hours=first[3])
        low = str(start - timedelta(microseconds=1))
    high = "{:04}-{:02}-{:02} {:02}:59:59.999999999".format(*last)
    return ColumnStats(low, high, 0, 1)


def _bucket_tests(
    predicate: Predicate, column: Column, spec: PartitionSpec, type_then: str | None
) -> list[Callable[[Values], bool]]:
    operands = _equal_to(predicate, column)
    if operands is None:
        return []
    tests = []
    for at, count in _bucket_keys(spec, column):
        allowed: set[int] = set()
        for operand in operands:
            found = buckets_of(operand, column.type, count, type_then=type_then)
            if found is None:
                break
            allowed |= found
        else:
            tests.append(_in_bucket(at, frozenset(map(str, allowed))))
    return tests


def _in_bucket(at: int, allowed: frozenset[str]) -> Callable[[Values], bool]:
    def test(values: Values) -> bool:
        value = values[at]
        return value is not None and (value in allowed or not value.isdecimal())

    return test


def _equal_to(predicate: Predicate, column: Column) -> list[Comparable] | None:
    """The values, one of which the column must equal; None if the test is not of that sort."""
    if isinstance(predicate, In):
        return comparables(column, [value for value in predicate.values if value is not None])
    if isinstance(predicate, Compare) and predicate.op == "=" and predicate.value is not None:
        operand = comparable(column, predicate.value)
        return None if operand is None else [operand]
    return None


def _positions(spec: PartitionSpec, column: Column, transform: str) -> list[int]:
    return [
        at
        for at, key in enumerate(spec.keys)
        if key.column_id == column.id and key.transform == transform
    ]


def _bucket_keys(spec: PartitionSpec, column: Column) -> list[tuple[int, int]]:
    """Where the column's buckets are among the values, and how many of them there were."""
    return [
        (at, int(match.group(1)))
        for at, key in enumerate(spec.keys)
        if key.column_id == column.id and (match := _BUCKET.fullmatch(key.transform))
    ]
