"""Can a file hold a row that a condition keeps? Judged from its partition values.

A value only speaks under the partitioning its file was written with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tidelake.model.comparable import Comparable, comparable, comparables
from tidelake.model.normal_form import combine_judgements, positive
from tidelake.model.predicate import Always, Compare, In, Predicate
from tidelake.model.schema import Column, Schema
from tidelake.model.statistics import column_test, single_column
from tidelake.model.table import PartitionSpec
from tidelake.plan.partitioning.interface import Transform, Values
from tidelake.plan.partitioning.transforms import transform_of


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
    judge = combine_judgements(positive(predicate), lambda part: _leaf(part, schema, spec, types))
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
    places = _places(spec, column)
    tests = _value_tests(predicate, column, places)
    tests += _equality_tests(predicate, column, places, types_then.get(column.id))
    return lambda values: all(test(values) for test in tests)


def _places(spec: PartitionSpec, column: Column) -> dict[Transform, int]:
    """Where the column's values are among those of a file."""
    places: dict[Transform, int] = {}
    for at, key in enumerate(spec.keys):
        if key.column_id == column.id:
            places.setdefault(transform_of(key.transform), at)
    return places


def _value_tests(
    predicate: Predicate, column: Column, places: Mapping[Transform, int]
) -> list[Callable[[Values], bool]]:
    """What the values say about the column, judged like statistics of the file."""
    judge = column_test(predicate, column)
    if judge is None:
        return []
    asked = (transform.reader(column, places) for transform in places)
    readers = [read for read in asked if read is not None]

    def test(values: Values) -> bool:
        facts = (read(values) for read in readers)
        return all(fact is None or judge(fact) for fact in facts)

    return [test]


def _equality_tests(
    predicate: Predicate, column: Column, places: Mapping[Transform, int], type_then: str | None
) -> list[Callable[[Values], bool]]:
    operands = _equal_to(predicate, column)
    if operands is None:
        return []
    asked = ((at, each.may_hold(column, operands, type_then)) for each, at in places.items())
    return [_at(at, test) for at, test in asked if test is not None]


def _at(at: int, test: Callable[[str | None], bool]) -> Callable[[Values], bool]:
    return lambda values: test(values[at])


def _equal_to(predicate: Predicate, column: Column) -> list[Comparable] | None:
    """The values, one of which the column must equal; None if the test is not of that sort."""
    if isinstance(predicate, In):
        return comparables(column, [value for value in predicate.values if value is not None])
    if isinstance(predicate, Compare) and predicate.op == "=" and predicate.value is not None:
        operand = comparable(column, predicate.value)
        return None if operand is None else [operand]
    return None
