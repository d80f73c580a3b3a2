"""The history of a key as a plan and SQL: when each version of its rows was in the lake.

Which of them was the answer, for which times and while the lake knew what, is arithmetic on
whole numbers (`model.belief`); the values themselves stay with the engine.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from tidelake.event_time.values.belief import Belief, Fact, beliefs
from tidelake.history import changes_sql as feed
from tidelake.history.changes_sql import AT, ChangePlan
from tidelake.model.event_time import EventTime
from tidelake.model.file import InlinedRows
from tidelake.model.names import quote
from tidelake.model.schema import ROW_NUMBER, Column
from tidelake.plan.scan import ScanPlan

LIVES, VERSIONS, BELIEFS = "_tidelake_lives", "_tidelake_versions", "_tidelake_beliefs"
OF_KEY = "_tidelake_of_key"
_ENDED, _HOLDS = "_tidelake_ended", "_tidelake_holds"
_NEXT_ROW, _NEXT_AT = "_tidelake_next_row", "_tidelake_next_at"
_A, _B, _C, _D = "_tidelake_a", "_tidelake_b", "_tidelake_c", "_tidelake_d"
_STARTS, _ENDS = "_tidelake_starts", "_tidelake_ends"
NAMES = ("valid_from", "valid_to", "known_from", "known_to")


@dataclass(frozen=True, slots=True)
class HistoryPlan:
    """`changes` tell of the key's rows, for which `where` is true; `snapshots` are those that are
    left, oldest first. With `moment`, only what was the answer for that moment is wanted."""

    changes: ChangePlan
    event: EventTime
    where: str
    snapshots: tuple[tuple[int, datetime], ...]
    moment: int | None = None

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.changes.columns

    @property
    def names(self) -> tuple[str, ...]:
        return feed.free_names(NAMES, self.columns)


def of_key_sql(plan: HistoryPlan) -> str:
    """Those of the rows that came that are about the key."""
    where = f" WHERE ({plan.where})" if plan.changes.window.unknown else ""
    return f"SELECT * FROM {feed.CAME}{where}"


def lives_sql(plan: HistoryPlan) -> str:
    """Every version of the key's rows, with the snapshots at which it came and went."""
    listed = "".join(f"{_A}.{quote(column.name)}, " for column in plan.columns)
    same = bool(plan.changes.window.unknown)
    first = f"CAST({plan.changes.window.after} AS BIGINT)"
    columns = "".join(f"{quote(column.name)}, " for column in plan.columns)
    return (
        f"WITH {_STARTS} AS (SELECT {listed}{_A}.{ROW_NUMBER}, {_A}.{AT} FROM {OF_KEY} AS {_A}"
        f"{_unmoved(same)} UNION ALL SELECT {columns}{ROW_NUMBER}, {first} AS {AT}"
        f" FROM {feed.BASE}),"
        f" {_ENDS} AS (SELECT {_A}.{ROW_NUMBER}, {_A}.{AT} FROM {feed.WENT} AS {_A}"
        f"{_unmoved(same)})"
        f" SELECT {listed}{_A}.{ROW_NUMBER}, {_A}.{AT}, {_B}.{_ENDED} FROM {_STARTS} AS {_A}"
        f" LEFT JOIN (SELECT {_C}.{ROW_NUMBER}, {_C}.{AT}, min({_D}.{AT}) AS {_ENDED}"
        f" FROM {_STARTS} AS {_C} JOIN {_ENDS} AS {_D}"
        f" ON {_C}.{ROW_NUMBER} = {_D}.{ROW_NUMBER} AND {_D}.{AT} > {_C}.{AT}"
        f" GROUP BY {_C}.{ROW_NUMBER}, {_C}.{AT}) AS {_B}"
        f" ON {_A}.{ROW_NUMBER} = {_B}.{ROW_NUMBER} AND {_A}.{AT} = {_B}.{AT}"
    )


def _unmoved(same: bool) -> str:
    if not same:
        return ""
    return (
        f" LEFT JOIN {feed.SAME} AS {_B} ON {_A}.{ROW_NUMBER} = {_B}.{ROW_NUMBER}"
        f" AND {_A}.{AT} = {_B}.{AT} WHERE {_B}.{ROW_NUMBER} IS NULL"
    )


def versions_sql(plan: HistoryPlan) -> str:
    """What decides about each version, and whether it is a fact at the moment asked for."""
    time, end = plan.event.time, plan.event.tombstone
    holds = "TRUE" if plan.moment is None else plan.event.until(plan.moment).sql()
    ends = "FALSE" if end is None else quote(end.name)
    return (
        f"SELECT {ROW_NUMBER}, {AT}, {_ENDED}, {quote(time.name)} AS {_A}, {ends} AS {_B},"
        f" {holds} AS {_HOLDS} FROM {LIVES}"
    )


def numbered_sql() -> str:
    """The versions in whole numbers: the place of their event time instead of the time."""
    return (
        f"SELECT {ROW_NUMBER}, {AT}, {_ENDED}, dense_rank() OVER (ORDER BY {_A}) AS {_C}, {_B},"
        f" {_HOLDS} FROM {VERSIONS} WHERE {_A} IS NOT NULL"
    )


def beliefs_plan(plan: HistoryPlan, rows: Iterable[Sequence[object]]) -> ScanPlan:
    """A read of what the lake answered, from the numbered versions."""
    kinds = ("int64", "int64", "int64", "int64", "timestamptz", "timestamptz")
    labels = (ROW_NUMBER, AT, _NEXT_ROW, _NEXT_AT, *NAMES[2:])
    columns = tuple(
        Column(place, name, kind)
        for place, (name, kind) in enumerate(zip(labels, kinds, strict=True), 1)
    )
    told = tuple(
        (place, 0, *(None if value is None else str(value) for value in row))
        for place, row in enumerate(_told(plan, rows))
    )
    inlined = (InlinedRows(columns, told),) if told else ()
    return ScanPlan(plan.changes.came.table, 0, columns, labels, inlined=inlined)


def _told(plan: HistoryPlan, rows: Iterable[Sequence[object]]) -> Iterator[tuple[object, ...]]:
    ids = [snapshot_id for snapshot_id, _ in plan.snapshots]
    times = [time.isoformat() for _, time in plan.snapshots]
    born: dict[Fact, int] = {}
    at: dict[int, tuple[Fact, bool]] = {}
    for row, came, went, time, ends, holds in rows:
        fact = Fact(
            _number(row),
            _number(time),
            bisect_left(ids, _number(came)),
            _seen(ids, went),
            bool(ends),
        )
        born[fact] = _number(came)
        at[fact.time] = fact, bool(holds)
    for belief in beliefs(born):
        if plan.moment is not None and not _contains(belief, at):
            continue
        following = None if belief.until is None else at[belief.until][0]
        yield (
            belief.fact.row,
            born[belief.fact],
            None if following is None else following.row,
            None if following is None else born[following],
            times[belief.known_from],
            None if belief.known_to is None else times[belief.known_to],
        )


def _contains(belief: Belief, at: dict[int, tuple[Fact, bool]]) -> bool:
    """Whether the moment asked for lies in it; of every time, `at` knows if it has come then."""
    return at[belief.fact.time][1] and (belief.until is None or not at[belief.until][1])


def _seen(ids: Sequence[int], went: object) -> int | None:
    """At which of the snapshots that are left it was no longer there."""
    place = len(ids) if went is None else bisect_left(ids, _number(went))
    return place if place < len(ids) else None


def _number(value: object) -> int:
    assert isinstance(value, int)
    return value


def history_sql(plan: HistoryPlan, *, ordered: bool) -> str:
    listed = "".join(f"{_A}.{quote(column.name)}, " for column in plan.columns)
    time = quote(plan.event.time.name)
    valid_from, valid_to, known_from, known_to = map(quote, plan.names)
    order = f" ORDER BY {known_from}, {valid_from}" if ordered else ""
    return (
        f"SELECT {listed}{_A}.{time} AS {valid_from}, {_C}.{time} AS {valid_to},"
        f" {_B}.{NAMES[2]} AS {known_from}, {_B}.{NAMES[3]} AS {known_to}"
        f" FROM {BELIEFS} AS {_B} JOIN {LIVES} AS {_A}"
        f" ON {_A}.{ROW_NUMBER} = {_B}.{ROW_NUMBER} AND {_A}.{AT} = {_B}.{AT}"
        f" LEFT JOIN {LIVES} AS {_C}"
        f" ON {_C}.{ROW_NUMBER} = {_B}.{_NEXT_ROW} AND {_C}.{AT} = {_B}.{_NEXT_AT}{order}"
    )
