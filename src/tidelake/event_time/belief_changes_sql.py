"""Keys whose answer for a moment is not what it was, as SQL over the two answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tidelake.history.changes_sql import CAME, WENT, free_names
from tidelake.model.event_time import EventTime
from tidelake.model.names import quote
from tidelake.model.predicate import And, In, Predicate
from tidelake.model.schema import Column
from tidelake.plan.as_of import AsOfPlan, by_keys
from tidelake.plan.differs import HAD, HAS, NEW, OLD

BEFORE, AFTER = "_tidelake_before", "_tidelake_after"
DIFFERING = "_tidelake_differing"
_A, _B = "_tidelake_a", "_tidelake_b"
_KEY = "_tidelake_key"


_LISTED = frozenset(
    {"boolean", "varchar", "uuid"}
    | {f"{u}int{bits}" for u in ("", "u") for bits in (8, 16, 32, 64)}
)
_MOST = 200


@dataclass(frozen=True, slots=True)
class BeliefPlan:
    """The answers `before` and `after`, both in the columns of the latter."""

    before: AsOfPlan
    after: AsOfPlan

    @property
    def event(self) -> EventTime:
        return self.after.event

    @property
    def values(self) -> tuple[Column, ...]:
        """The columns that are not of the key, in their order."""
        keys = {column.id for column in self.event.key}
        columns = {column.name: column for column in self.after.columns}
        return tuple(columns[n] for n in self.after.output if columns[n].id not in keys)


def can_list(event: EventTime) -> bool:
    """Whether Python holds every value of the key exactly."""
    return all(column.type in _LISTED for column in event.key)


def touched_sql(event: EventTime) -> str:
    """The keys of rows that came or went, or of more of them than are worth listing some."""
    keys = ", ".join(quote(column.name) for column in event.key)
    united = f"SELECT {keys} FROM {CAME} UNION ALL SELECT {keys} FROM {WENT}"
    return f"SELECT DISTINCT {keys} FROM ({united}) AS {_A} LIMIT {_MOST + 1}"


def among(event: EventTime, keys: Sequence[Sequence[Any]]) -> Predicate | None:
    """A condition that all these keys meet, and no others if the key has one column; None if
    they are too many."""
    if len(keys) > _MOST:
        return None
    parts = tuple(
        In(column.name, tuple({key[place] for key in keys if key[place] is not None}))
        for place, column in enumerate(event.key)
    )
    return And(parts)


def pairs_sql(plan: BeliefPlan) -> str:
    """Every key of the two answers, with what each says of it."""
    keys = [quote(column.name) for column in plan.event.key]
    named = "".join(
        f"coalesce({_A}.{key}, {_B}.{key}) AS {_KEY}_{n}, " for n, key in enumerate(keys)
    )
    images = "".join(
        f", {_A}.{quote(column.name)} AS {OLD}_{n}, {_B}.{quote(column.name)} AS {NEW}_{n}"
        for n, column in enumerate(plan.values)
    )
    same = " AND ".join(f"{_A}.{key} = {_B}.{key}" for key in keys)
    return (
        f"SELECT {named}{_A}.{keys[0]} IS NOT NULL AS {HAD}, {_B}.{keys[0]} IS NOT NULL AS {HAS}"
        f"{images} FROM {BEFORE} AS {_A} FULL JOIN {AFTER} AS {_B} ON {same}"
    )


def changes_sql(plan: BeliefPlan, *, ordered: bool) -> str:
    keys = ", ".join(
        f"{_KEY}_{n} AS {quote(column.name)}" for n, column in enumerate(plan.event.key)
    )
    wanted = ["change"]
    wanted += [f"{c.name}_{word}" for c in plan.values for word in ("before", "after")]
    kind, *names = map(quote, free_names(wanted, plan.event.key))
    images = "".join(
        f", {OLD}_{n} AS {names[2 * n]}, {NEW}_{n} AS {names[2 * n + 1]}"
        for n in range(len(plan.values))
    )
    order = by_keys(replace(key, name=f"{_KEY}_{n}") for n, key in enumerate(plan.event.key))
    return (
        f"SELECT {keys}, CASE WHEN NOT {HAD} THEN 'appeared' WHEN NOT {HAS} THEN 'vanished'"
        f" ELSE 'changed' END AS {kind}{images} FROM {DIFFERING}"
        f"{f' ORDER BY {order}' if ordered else ''}"
    )
