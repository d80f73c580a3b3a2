"""The history of keys as a plan and SQL: when each version of their rows was in the lake.

Which of them was the answer, for which times and while the lake knew what, is arithmetic on
whole numbers (`event_time.values.belief`). It is done where the rows are: in this process, or by
tasks of Spark's.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from tidelake.engine.arrow_rows import ArrowRows
from tidelake.event_time.row_versions import ENDED
from tidelake.event_time.values.belief import Belief, Fact, answers, beliefs
from tidelake.history import changes_sql as feed
from tidelake.history.changes_sql import AT, ChangePlan
from tidelake.model.event_time import EventTime
from tidelake.model.names import quote
from tidelake.model.schema import ROW_NUMBER, Column
from tidelake.session.source import Record

if TYPE_CHECKING:
    from tidelake.engine.local.workbench import Workbench

LIVES, TOLD, OF_KEY = "_tidelake_lives", "_tidelake_told", "_tidelake_of_key"
PLACE = "_tidelake_place"
"""A column in which all versions of a key have the same value, by which they come together."""
_KEY, _TIME, _MOMENT = "_tidelake_key", "_tidelake_time", "_tidelake_moment"
_SINCE, _UNTIL, _KNOWN = "_tidelake_since", "_tidelake_until", "_tidelake_known"
_KNOWN_FROM, _KNOWN_TO = "_tidelake_known_from", "_tidelake_known_to"
_A, _B, _C, _D = "_tidelake_a", "_tidelake_b", "_tidelake_c", "_tidelake_d"
_STARTS, _ENDS = "_tidelake_starts", "_tidelake_ends"
_VERSIONS, _BELIEFS, _MOMENTS = "_tidelake_versions", "_tidelake_beliefs", "_tidelake_moments"
_TOLD = {
    **dict.fromkeys((ROW_NUMBER, AT, _SINCE, _UNTIL), "int64"),
    **dict.fromkeys((_KNOWN_FROM, _KNOWN_TO), "timestamptz"),
}
_MANY = 1 << 20
NAMES = ("valid_from", "valid_to", "known_from", "known_to")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Outline:
    """What makes the versions of rows into the history of their keys. `snapshots` are those that
    are left, oldest first; of these, `seen` are the first and the last at which an answer was given
    that is wanted. With `moment`, only what was the answer for that moment is wanted; with
    `is_state` all versions are there at the one moment that is asked about. `record` tells of the
    time before the lake, if a column does."""

    columns: tuple[Column, ...]
    event: EventTime
    snapshots: tuple[tuple[int, datetime], ...]
    moment: int | None = None
    seen: tuple[int, int] | None = None
    is_state: bool = False
    record: Record | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return feed.free_names(NAMES, self.columns)


@dataclass(frozen=True, slots=True)
class HistoryPlan:
    """`changes` tell of the rows for which `where` is true, or of all."""

    changes: ChangePlan
    where: str | None
    outline: Outline


def of_key_sql(changes: ChangePlan, where: str | None) -> str:
    """Those of the rows that came that are asked about."""
    chosen = f" WHERE ({where})" if where and changes.window.unknown else ""
    return f"SELECT * FROM {feed.CAME}{chosen}"


def versions_sql(changes: ChangePlan) -> str:
    """Every version of the rows, with the snapshots at which it came and went."""
    own = changes.columns
    listed = "".join(f"{_A}.{quote(column.name)}, " for column in own)
    same = bool(changes.window.unknown)
    first = f"CAST({changes.window.after} AS BIGINT)"
    columns = "".join(f"{quote(column.name)}, " for column in own)
    return (
        f"WITH {_STARTS} AS (SELECT {listed}{_A}.{ROW_NUMBER}, {_A}.{AT} FROM {OF_KEY} AS {_A}"
        f"{_unmoved(same)} UNION ALL SELECT {columns}{ROW_NUMBER}, {first} AS {AT}"
        f" FROM {feed.BASE}),"
        f" {_ENDS} AS (SELECT {_A}.{ROW_NUMBER}, {_A}.{AT} FROM {feed.WENT} AS {_A}"
        f"{_unmoved(same)})"
        f" SELECT {listed}{_A}.{ROW_NUMBER}, {_A}.{AT}, {_B}.{ENDED} FROM {_STARTS} AS {_A}"
        f" LEFT JOIN (SELECT {_C}.{ROW_NUMBER}, {_C}.{AT}, min({_D}.{AT}) AS {ENDED}"
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


def lives_sql(outline: Outline, *, one_key: bool) -> str:
    """All versions, with the place at which those of their key come together, and room for what
    the history tells. They are those of a relation `LIVES`."""
    keys = ", ".join(f"{_A}.{quote(column.name)}" for column in outline.event.key)
    place = "CAST(0 AS BIGINT)" if one_key else f"CAST(hash({keys}) % {_MANY} AS BIGINT)"
    listed = "".join(f"{_A}.{quote(column.name)}, " for column in outline.columns)
    return (
        f"SELECT {listed}{_A}.{ROW_NUMBER}, {_A}.{AT}, {_A}.{ENDED}, {place} AS {PLACE},"
        f" {_room(outline)} FROM {LIVES} AS {_A}"
    )


def _room(outline: Outline) -> str:
    time = f"{_A}.{quote(outline.event.time.name)}"
    values = (time, time, *["CAST(NULL AS TIMESTAMPTZ)"] * 2)
    names = map(quote, outline.names)
    return ", ".join(f"{value} AS {name}" for value, name in zip(values, names, strict=True))


def tell(work: Workbench, sql: str, outline: Outline) -> str:
    """A query of what the lake answered, from one of all versions as `lives_sql` has them. It has
    the same columns."""
    run = work.connection.execute
    time, end = quote(outline.event.time.name), outline.event.valid_to
    ends = "" if end is None else f" UNION SELECT {quote(end.name)} FROM {_VERSIONS}"
    run(
        f"CREATE TEMP TABLE {_VERSIONS} AS SELECT *, {_known(outline)} AS {_KNOWN}"
        f" FROM ({sql}) AS {_A} WHERE {time} IS NOT NULL"
    )
    run(
        f"CREATE TEMP TABLE {_MOMENTS} AS SELECT {_MOMENT}, row_number() OVER (ORDER BY {_MOMENT})"
        f" AS {_TIME} FROM (SELECT {time} AS {_MOMENT} FROM {_VERSIONS}{ends}) AS {_A}"
        f" WHERE {_MOMENT} IS NOT NULL GROUP BY {_MOMENT}"
    )
    told = list(_told(outline, _come(work, outline), _rows(work, outline)))
    work.define(_BELIEFS, ArrowRows.of(_TOLD, told))
    listed = "".join(f"{_A}.{quote(column.name)}, " for column in outline.columns)
    valid_from, valid_to, known_from, known_to = map(quote, outline.names)
    return (
        f"SELECT {listed}{_A}.{ROW_NUMBER}, {_A}.{AT}, {_A}.{ENDED}, {_A}.{PLACE},"
        f" {_C}.{_MOMENT} AS {valid_from}, {_D}.{_MOMENT} AS {valid_to},"
        f" {_B}.{_KNOWN_FROM} AS {known_from}, {_B}.{_KNOWN_TO} AS {known_to}"
        f" FROM {_BELIEFS} AS {_B} JOIN {_VERSIONS} AS {_A}"
        f" ON {_A}.{ROW_NUMBER} = {_B}.{ROW_NUMBER} AND {_A}.{AT} = {_B}.{AT}"
        f" JOIN {_MOMENTS} AS {_C} ON {_C}.{_TIME} = {_B}.{_SINCE}"
        f" LEFT JOIN {_MOMENTS} AS {_D} ON {_D}.{_TIME} = {_B}.{_UNTIL}"
    )


def _come(work: Workbench, outline: Outline) -> int | None:
    """How many of the times have come at the moment that is asked for."""
    if outline.moment is None:
        return None
    time = replace(outline.event.time, name=_MOMENT)
    until = replace(outline.event, time=time).until(outline.moment).sql()
    row = work.connection.execute(f"SELECT count(*) FROM {_MOMENTS} WHERE {until}").fetchone()
    return int(row[0]) if row else 0


def _known(outline: Outline) -> str:
    """When a version was known, in microseconds, if that was before the lake's own record."""
    if outline.record is None:
        return "NULL"
    time = quote(outline.record.column.name)
    early = f"{ENDED} IS NULL AND {outline.record.before.sql()}"
    return f"CASE WHEN {early} THEN epoch_us(CAST({time} AS TIMESTAMPTZ)) END"


def _rows(work: Workbench, outline: Outline) -> list[tuple[object, ...]]:
    """Of every version its key as a number, its row, when it came and went, the place of its time
    among all times, whether it ends its key, the place of the time at which it ends itself, and
    when it was known, if that was before the lake's own record."""
    event = outline.event
    keys = [quote(column.name) for column in event.key]
    listed = ", ".join(keys)
    same = " AND ".join(f"{_A}.{key} = {_B}.{key}" for key in keys)
    gone = event.tombstone
    ends = "FALSE" if gone is None else f"coalesce({_A}.{quote(gone.name)}, FALSE)"
    place, ended = "NULL", ""
    if event.valid_to is not None:
        name = quote(event.valid_to.name)
        place = f"{_D}.{_TIME}"
        ended = f" LEFT JOIN {_MOMENTS} AS {_D} ON {_A}.{name} = {_D}.{_MOMENT}"
    return work.connection.execute(
        f"SELECT {_B}.{_KEY}, {_A}.{ROW_NUMBER}, {_A}.{AT}, {_A}.{ENDED}, {_C}.{_TIME}, {ends},"
        f" {place}, {_A}.{_KNOWN} FROM {_VERSIONS} AS {_A}"
        f" JOIN (SELECT {listed}, row_number() OVER () AS {_KEY} FROM {_VERSIONS}"
        f" GROUP BY {listed}) AS {_B} ON {same}"
        f" JOIN {_MOMENTS} AS {_C} ON {_A}.{quote(event.time.name)} = {_C}.{_MOMENT}{ended}"
        f" ORDER BY {_B}.{_KEY}"
    ).fetchall()


class _Axis:
    """Moments of knowing, in their order: those before the lake's own record, of which rows tell in
    microseconds, then when that began, then the snapshots that are left."""

    def __init__(self, outline: Outline, early: Iterable[int]) -> None:
        record = outline.record
        self._ids = [snapshot_id for snapshot_id, _ in outline.snapshots]
        self._early = sorted(set(early))
        self._first = None if record is None or record.first is None else record.first.snapshot_id
        before = [_EPOCH + timedelta(microseconds=micros) for micros in self._early]
        began = [] if record is None else [_EPOCH + timedelta(microseconds=record.since // 1000)]
        self.record = len(before)
        self._offset = len(before) + len(began)
        self.times = [*before, *began, *(time for _, time in outline.snapshots)]

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


def _told(
    outline: Outline, come: int | None, rows: Sequence[Sequence[object]]
) -> Iterator[tuple[object, ...]]:
    """What the lake answered: the row of each answer, from which time until which it was that, and
    from when to when it was known."""
    axis = _Axis(outline, (_number(known) for *_, known in rows if known is not None))
    found = answers if outline.is_state else beliefs
    for _, versions in groupby(rows, itemgetter(0)):
        born = {fact: version[2] for version in versions for fact in _facts(axis, version)}
        for belief in found(born):
            if not (_contains(belief, come) and _was_seen(belief, outline.seen)):
                continue
            yield (
                belief.fact.row,
                born[belief.fact],
                belief.since,
                belief.until,
                axis.times[belief.known_from],
                None if belief.known_to is None else axis.times[belief.known_to],
            )


def _facts(axis: _Axis, version: Sequence[object]) -> Iterator[Fact]:
    """A version as a fact; and if it was known before the lake's own record, as one that was known
    from then on until that began, unless it came with it."""
    _, row, came, went, time, ends, until, known = version
    began = axis.came(_number(came))
    fact = Fact(
        _number(row),
        _number(time),
        began,
        axis.went(went),
        bool(ends),
        None if until is None else _number(until),
    )
    if known is None:
        yield fact
        return
    early = replace(fact, came=axis.early(_number(known)))
    if began == axis.record:
        yield early
    else:
        yield replace(early, went=axis.record)
        yield fact


def _contains(belief: Belief, come: int | None) -> bool:
    """Whether the moment asked for lies in it, by which so many times have come."""
    return come is None or (belief.since <= come and (belief.until is None or belief.until > come))


def _was_seen(belief: Belief, seen: tuple[int, int] | None) -> bool:
    if seen is None:
        return True
    first, last = seen
    return belief.known_from <= last and (belief.known_to is None or belief.known_to > first)


def _number(value: object) -> int:
    assert isinstance(value, int)
    return value


def history_sql(outline: Outline, *, ordered: bool) -> str:
    names = (*(column.name for column in outline.columns), *outline.names)
    valid_from, _, known_from, _ = map(quote, outline.names)
    order = f" ORDER BY {known_from}, {valid_from}" if ordered else ""
    return f"SELECT {', '.join(map(quote, names))} FROM {TOLD}{order}"
