"""A condition without NOT, so that "may it be TRUE?" can be asked part by part.

A condition is TRUE, FALSE or NULL for a row, and only TRUE keeps it. NOT swaps TRUE and FALSE and
leaves NULL: to take NOT away, one must know for which rows a test is FALSE, and of a test that
is not understood nobody knows that. It stays one that may be anything for any row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

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
)

NEGATED = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}

Evidence = TypeVar("Evidence")


def positive(predicate: Predicate) -> Predicate:
    """A condition that is TRUE for the same rows, with NOT left only before IN and StartsWith,
    which are NULL where their column is.

    FALSE and NULL may trade places: neither keeps a row.
    """
    return _where(predicate, truth=True)


def conjuncts(predicate: Predicate) -> tuple[Predicate, ...]:
    """Conditions that must all be TRUE for the whole to be; in positive form."""
    whole = positive(predicate)
    return whole.parts if isinstance(whole, And) else (whole,)


def combine_judgements(
    predicate: Predicate, leaf: Callable[[Predicate], Callable[[Evidence], bool]]
) -> Callable[[Evidence], bool]:
    """Combine a judgement of single tests into one of a condition in positive form."""
    if not isinstance(predicate, And | Or):
        return leaf(predicate)
    tests = [combine_judgements(part, leaf) for part in predicate.parts]
    if isinstance(predicate, And):
        return lambda evidence: all(test(evidence) for test in tests)
    return lambda evidence: any(test(evidence) for test in tests)


def _where(predicate: Predicate, *, truth: bool) -> Predicate:
    """A condition that is TRUE exactly where `predicate` has this truth."""
    if isinstance(predicate, Not):
        return _where(predicate.part, truth=not truth)
    if isinstance(predicate, And | Or):
        parts = tuple(_where(part, truth=truth) for part in predicate.parts)
        return _flat(And if isinstance(predicate, And) is truth else Or, parts)
    if isinstance(predicate, Always):
        return Always(predicate.value is truth)
    return predicate if truth else _negated(predicate)


def _negated(predicate: Predicate) -> Predicate:
    if isinstance(predicate, Compare):
        return Compare(predicate.column, NEGATED[predicate.op], predicate.value)
    if isinstance(predicate, IsNull):
        return IsNull(predicate.column, not predicate.negated)
    if isinstance(predicate, Like):
        return Like(
            predicate.column, predicate.pattern, not predicate.negated, predicate.case_insensitive
        )
    if isinstance(predicate, Opaque):
        return Opaque(f"NOT {predicate.sql()}", predicate.names)
    if isinstance(predicate, In) and not predicate.values:
        return Always(True)
    return Not(predicate)


def _flat(kind: type[And | Or], parts: tuple[Predicate, ...]) -> Predicate:
    inner = (p.parts if isinstance(p, kind) else (p,) for p in parts)
    return kind(tuple(part for group in inner for part in group))
