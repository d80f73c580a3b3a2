"""The history of a key as a plan and SQL: when each version of its rows was in the lake.

Which of them was the answer, for which times and while the lake knew what, is arithmetic on
whole numbers (`event_time.values.belief`). It is done where the rows are: in this process, or by a
task of Spark's.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from tidelake.event_time.values.belief import Belief, Fact, beliefs
from tidelake.history import changes_sql as feed
from tidelake.history.changes_sql import AT, ChangePlan
from tidelake.model.event_time import EventTime, moment_text
from tidelake.model.names import quote
from tidelake.model.schema import ROW_NUMBER, Column
from tidelake.session.source import Record

if TYPE_CHECKING:
    from tidelake.engine.local.workbench import Workbench

LIVES, TOLD, OF_KEY = "_tidelake_lives", "_tidelake_told", "_tidelake_of_key"
ALL = "_tidelake_all"
"""A column in which all versions have the same value, by which they come together."""
_ENDED, _HOLDS, _TIME, _ENDS_KEY = (
    "_tidelake_ended",
    "_tidelake_holds",
    "_tidelake_time",
    "_tidelake_ends_key",
)
_NEXT_ROW, _NEXT_AT = "_tidelake_next_row", "_tidelake_next_at"
_KNOWN_FROM, _KNOWN_TO = "_tidelake_known_from", "_tidelake_known_to"
_A, _B, _C, _D = "_tidelake_a", "_tidelake_b", "_tidelake_c", "_tidelake_d"
_STARTS, _ENDS = "_tidelake_starts", "_tidelake_ends"
_VERSIONS, _BELIEFS = "_tidelake_versions", "_tidelake_beliefs"
NAMES = ("valid_from", "valid_to", "known_from", "known_to")


@dataclass(frozen=True, slots=True)
class Outline:
    """What makes the versions of a key's rows into its history. `snapshots` are those that are
    left, oldest first. With `moment`, only what was the answer for that moment is wanted. `record`
    tells of the time before the lake, if a column does."""

    columns: tuple[Column, ...]
    event: EventTime
    snapshots: tuple[tuple[int, datetime], ...]
    moment: int | None = None
    record: Record | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return feed.free_names(NAMES, self.columns)


@dataclass(frozen=True, slots=True)
class HistoryPlan:
    """`changes` tell of the key's rows, for which `where` is true."""

    changes: ChangePlan
    where: str
    outline: Outline


def of_key_sql(plan: HistoryPlan) -> str:
    """Those of the rows that came that are about the key."""
    where = f" WHERE ({plan.where})" if plan.changes.window.unknown else ""
    return f"SELECT * FROM {feed.CAME}{where}"


def lives_sql(plan: HistoryPlan) -> str:
    """Every version of the key's rows, with the snapshots at which it came and went; and room for
    what the history tells."""
    own = plan.changes.columns
    listed = "".join(f"{_A}.{quote(column.name)}, " for column in own)
    same = bool(plan.changes.window.unknown)
    first = f"CAST({plan.changes.window.after} AS BIGINT)"
    columns = "".join(f"{quote(column.name)}, " for column in own)
    return (
        f"WITH {_STARTS} AS (SELECT {listed}{_A}.{ROW_NUMBER}, {_A}.{AT} FROM {OF_KEY} AS {_A}"
        f"{_unmoved(same)} UNION ALL SELECT {columns}{ROW_NUMBER}, {first} AS {AT}"
        f" FROM {feed.BASE}),"
        f" {_ENDS} AS (SELECT {_A}.{ROW_NUMBER}, {_A}.{AT} FROM {feed.WENT} AS {_A}"
        f"{_unmoved(same)})"
        f" SELECT {listed}{_A}.{ROW_NUMBER}, {_A}.{AT}, {_B}.{_ENDED}, TRUE AS {ALL},"
        f" {_room(plan.outline)} FROM {_STARTS} AS {_A}"
        f" LEFT JOIN (SELECT {_C}.{ROW_NUMBER}, {_C}.{AT}, min({_D}.{AT}) AS {_ENDED}"
        f" FROM {_STARTS} AS {_C} JOIN {_ENDS} AS {_D}"
        f" ON {_C}.{ROW_NUMBER} = {_D}.{ROW_NUMBER} AND {_D}.{AT} > {_C}.{AT}"
        f" GROUP BY {_C}.{ROW_NUMBER}, {_C}.{AT}) AS {_B}"
        f" ON {_A}.{ROW_NUMBER} = {_B}.{ROW_NUMBER} AND {_A}.{AT} = {_B}.{AT}"
    )


def _room(outline: Outline) -> str:
    time = f"{_A}.{quote(outline.event.time.name)}"
    values = (time, time, *["CAST(NULL AS TIMESTAMPTZ)"] * 2)
    names = map(quote, outline.names)
    return ", ".join(f"{value} AS {name}" for value, name in zip(values, names, strict=True))


def _unmoved(same: bool) -> str:
    if not same:
        return ""
    return (
        f" LEFT JOIN {feed.SAME} AS {_B} ON {_A}.{ROW_NUMBER} = {_B}.{ROW_NUMBER}"
        f" AND {_A}.{AT} = {_B}.{AT} WHERE {_B}.{ROW_NUMBER} IS NULL"
    )


def tell(work: Workbench, sql: str, outline: Outline) -> str:
    """A query of what the lake answered, from one of all versions as `lives_sql` has them. It has
    the same columns."""
    work.connection.execute(f"CREATE TEMP TABLE {_VERSIONS} AS {_versions_sql(sql, outline)}")
    rows = work.connection.execute(
        f"SELECT {ROW_NUMBER}, {AT}, {_ENDED}, {_TIME}, {_ENDS_KEY}, {_HOLDS}, {_known(outline)}"
        f" FROM {_VERSIONS}"
    ).fetchall()
    _keep(work, _told(outline, rows))
    listed = "".join(f"{_A}.{quote(column.name)}, " for column in outline.columns)
    time = quote(outline.event.time.name)
    valid_from, valid_to, known_from, known_to = map(quote, outline.names)
    return (
        f"SELECT {listed}{_A}.{ROW_NUMBER}, {_A}.{AT}, {_A}.{_ENDED}, {_A}.{ALL},"
        f" {_A}.{time} AS {valid_from}, {_C}.{time} AS {valid_to},"
        f" {_B}.{_KNOWN_FROM} AS {known_from}, {_B}.{_KNOWN_TO} AS {known_to}"
        f" FROM {_BELIEFS} AS {_B} JOIN {_VERSIONS} AS {_A}"
        f" ON {_A}.{ROW_NUMBER} = {_B}.{ROW_NUMBER} AND {_A}.{AT} = {_B}.{AT}"
        f" LEFT JOIN {_VERSIONS} AS {_C}"
        f" ON {_C}.{ROW_NUMBER} = {_B}.{_NEXT_ROW} AND {_C}.{AT} = {_B}.{_NEXT_AT}"
    )


def _known(outline: Outline) -> str:
    """When a version was known, in microseconds, if that was before the lake's own record."""
    if outline.record is None:
        return "NULL"
    time = quote(outline.record.column.name)
    early = f"{_ENDED} IS NULL AND {outline.record.before.sql()}"
    return f"CASE WHEN {early} THEN epoch_us(CAST({time} AS TIMESTAMPTZ)) END"


def _versions_sql(sql: str, outline: Outline) -> str:
    """The versions, each with the place of its event time among all of them, whether it ends its
    key, and whether it is a fact at the moment asked for."""
    time, end = quote(outline.event.time.name), outline.event.tombstone
    holds = "TRUE" if outline.moment is None else outline.event.until(outline.moment).sql()
    ends = "FALSE" if end is None else quote(end.name)
    return (
        f"SELECT *, dense_rank() OVER (ORDER BY {time}) AS {_TIME}, {ends} AS {_ENDS_KEY},"
        f" {holds} AS {_HOLDS} FROM ({sql}) AS {_A} WHERE {time} IS NOT NULL"
    )


def _keep(work: Workbench, rows: Iterable[tuple[object, ...]]) -> None:
    """A table of what `_told` says."""
    numbers = (ROW_NUMBER, AT, _NEXT_ROW, _NEXT_AT)
    kinds = dict.fromkeys(numbers, "BIGINT") | {_KNOWN_FROM: "VARCHAR", _KNOWN_TO: "VARCHAR"}
    columns = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in kinds]
    listed = ", ".join(
        f"unnest(${place}::{kind}[]) AS {name}"
        for place, (name, kind) in enumerate(kinds.items(), 1)
    )
    times = ", ".join(f"{name}::TIMESTAMPTZ AS {name}" for name in (_KNOWN_FROM, _KNOWN_TO))
    work.connection.execute(
        f"CREATE TEMP TABLE {_BELIEFS} AS SELECT {', '.join(numbers)}, {times}"
        f" FROM (SELECT {listed})",
        columns,
    )


class _Axis:
    """Moments of knowing, in their order: those before the lake's own record, of which rows tell in
    microseconds, then when that began, then the snapshots that are left."""

    def __init__(self, outline: Outline, early: Iterable[int]) -> None:
        record = outline.record
        self._ids = [snapshot_id for snapshot_id, _ in outline.snapshots]
        self._early = sorted(set(early))
        self._first = None if record is None or record.first is None else record.first.snapshot_id
        before = [moment_text(micros * 1000) for micros in self._early]
        began = [] if record is None else [moment_text(record.since)]
        self.record = len(before)
        self._offset = len(before) + len(began)
        self.times = [*before, *began, *(time.isoformat() for _, time in outline.snapshots)]

    def early(self, micros: int) -> int:
        return bisect_left(self._early, micros)

    def came(self, snapshot_id: int) -> int:
        """The record begins with the snapshot that brought the first rows."""
        if snapshot_id == self._first:
            return self.record
        return self._offset + bisect_left(self._ids, snapshot_id)

    def went(self, snapshot_id: object) -> int | None:
        """At which of the snapshots that are left it was no longer there."""
        if snapshot_id is None:
            return None
        place = self._offset + bisect_left(self._ids, _number(snapshot_id))
        return place if place < len(self.times) else None


def _told(outline: Outline, rows: Sequence[Sequence[object]]) -> Iterator[tuple[object, ...]]:
    """What the lake answered: the row of each answer, the row that follows it in time, and from
    when to when it was known."""
    axis = _Axis(outline, (_number(known) for *_, known in rows if known is not None))
    born: dict[Fact, int] = {}
    at: dict[int, tuple[Fact, bool]] = {}
    for row, came, went, time, ends, holds, known in rows:
        began = axis.came(_number(came))
        fact = Fact(_number(row), _number(time), began, axis.went(went), bool(ends))
        if known is not None:
            early = replace(fact, came=axis.early(_number(known)), went=axis.record)
            fact = replace(fact, came=early.came) if began == axis.record else fact
            born |= {early: _number(came)} if began != axis.record else {}
        born[fact] = _number(came)
        at[fact.time] = fact, bool(holds)
    for belief in beliefs(born):
        if outline.moment is not None and not _contains(belief, at):
            continue
        following = None if belief.until is None else at[belief.until][0]
        yield (
            belief.fact.row,
            born[belief.fact],
            None if following is None else following.row,
            None if following is None else born[following],
            axis.times[belief.known_from],
            None if belief.known_to is None else axis.times[belief.known_to],
        )


def _contains(belief: Belief, at: dict[int, tuple[Fact, bool]]) -> bool:
    """Whether the moment asked for lies in it; of every time, `at` knows if it has come then."""
    return at[belief.fact.time][1] and (belief.until is None or not at[belief.until][1])


def _number(value: object) -> int:
    assert isinstance(value, int)
    return value


def history_sql(outline: Outline, *, ordered: bool) -> str:
    names = (*(column.name for column in outline.columns), *outline.names)
    valid_from, _, known_from, _ = map(quote, outline.names)
    order = f" ORDER BY {known_from}, {valid_from}" if ordered else ""
    return f"SELECT {', '.join(map(quote, names))} FROM {TOLD}{order}"
