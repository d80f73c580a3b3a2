"""How complete an answer is, and answers that are refused because they are not complete enough."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice, product
from math import prod
from typing import Any

from tidelake.coverage.answer import Coverage
from tidelake.coverage.question import Question, coverage
from tidelake.coverage.values.axis import span_of
from tidelake.coverage.values.calendars import TAG
from tidelake.coverage.values.picture import name_of, percent
from tidelake.coverage.values.series import Entity, Series
from tidelake.drawing.amounts import quantity
from tidelake.errors import Incomplete, Invalid
from tidelake.model.event_time import EventTime, as_moment
from tidelake.model.literal import Value
from tidelake.model.predicate import And, Compare, In, Predicate
from tidelake.model.table import TableInfo
from tidelake.plan.where import as_where
from tidelake.session.source import Source

_DECLARE = 'declare it: t.set_coverage("1m", entity=["id"], event_time="ts")'
_EXPECT = 'say when rows are expected: t.set_calendar("weekdays"), or a Calendar'
_FETCH = "t.missing(…) lists what to fetch; t.wait_complete(…) waits for it"
_SHOWN = 3
_LISTED = 100
"""So many gaps come with a refusal."""
_MOST_ENTITIES = 10_000


def required_ratio(required: object) -> float:
    """What is required, as a number; True is all. Invalid if it is no such number."""
    number = isinstance(required, int | float)
    if not number or not 0 < required <= 1:  # type: ignore[operator]
        raise Invalid(
            f"require={required!r} is no part of a whole",
            hint="give a number above 0, up to 1, such as 0.99",
        )
    return float(required)  # type: ignore[arg-type]


def completeness(
    source: Source, entity: Any = None, *, as_of: int | None = None, start: Any = None
) -> float | None:
    """How much of what is expected of these entities (None: of all) is there, from 0 to 1: up to a
    moment in nanoseconds since 1970, else that of the source, else now. None if the table keeps no
    coverage, and for a time before the lake's own record."""
    if source.known_by is not None or Series.maybe(_info(source)) is None:
        return None
    return _up_to_now(source, entity, as_of, start).ratio


def check_complete(
    source: Source,
    required: float | bool,
    entity: Any = None,
    *,
    as_of: int | None = None,
    start: Any = None,
) -> None:
    """Raise Incomplete if there is less than that; Invalid if nobody can tell, since the table
    keeps no coverage."""
    wanted = required_ratio(required)
    source.check_recorded("coverage")
    check_kept(source)
    found = _up_to_now(source, entity, as_of, start)
    if not is_enough(found, wanted):
        raise refusal(found, wanted, has_calendar=TAG in _info(source).tags)


def check_kept(source: Source) -> None:
    """Raise Invalid if the table keeps no coverage."""
    if Series.maybe(_info(source)) is None:
        raise Invalid(
            f"nothing can be required of {source.name}: its coverage is not kept", hint=_DECLARE
        )


def check_required(source: Source) -> None:
    """Raise Incomplete unless there is as much as the source itself requires."""
    if source.required is not None:
        check_complete(source, source.required)


def is_enough(found: Coverage, wanted: float) -> bool:
    return found.is_complete if wanted == 1 else found.ratio >= wanted


def at_newest(source: Source) -> Source:
    """The same at the snapshot that is the newest by now: so what is checked is what is read."""
    pinned = source.snapshot_id is not None or source.session.pinned is not None
    if pinned or source.session.is_transaction:
        return source
    with source.session.reading() as reader:
        at = source.at(reader)
    return replace(source, snapshot_id=at, now=as_moment(datetime.now(UTC)))


def _info(source: Source) -> TableInfo:
    with source.session.reading() as reader:
        return source.info(reader, source.at(reader))


def _up_to_now(source: Source, entity: Any, as_of: int | None, start: Any) -> Coverage:
    until = source.as_of if as_of is None else as_of
    question = Question(entity, start, None, None, until, source.now, until_now=True)
    return coverage(source.session, source.name, source.snapshot_id, question)


def refusal(found: Coverage, wanted: float, *, has_calendar: bool = True) -> Incomplete:
    """The error that says what is missing."""
    first = next(found.missing(_LISTED), [])
    gaps = [gap for _, gap in first]
    start, end = found.start, found.end
    span = "" if start is None or end is None else f" from {span_of(start, end)}"
    told = (
        f"{found.table} is {percent(found.ratio)} complete{span}, less than {wanted * 100:.12g} %"
    )
    return Incomplete(
        f"{told}; {_lacking(found, first)}",
        hint=_FETCH if has_calendar else f"{_EXPECT}; {_FETCH}",
        table=found.table,
        ratio=found.ratio,
        required=wanted,
        missing=gaps,
    )


def _lacking(found: Coverage, first: list[tuple[Entity, Any]]) -> str:
    if not first:
        return "there is nothing of it at all"
    listed = [
        f"{f'{name_of(entity)} ' if entity else ''}{span_of(gap.start, gap.end)}"
        f" ({quantity(gap.buckets, 'bucket')})"
        for entity, gap in first[:_SHOWN]
    ]
    buckets = found.expected - found.covered - sum(gap.buckets for _, gap in first[:_SHOWN])
    more = f", and {quantity(buckets, 'bucket')} more" if buckets else ""
    return f"missing: {', '.join(listed)}{more}"


def asked_entities(source: Source, where: str | Predicate | None) -> list[Entity] | None:
    """The entities that a condition holds a read to, if it names a value for each column of them;
    else None, which stands for all. A state as of a moment is one of keys: their facts may be those
    of other entities, unless these are part of the key."""
    info = _info(source)
    series = Series.maybe(info)
    if where is None or series is None or not series.entity:
        return None
    if source.as_of is not None:
        event = EventTime.maybe(info)
        if event is None or not {*series.entity} <= {*event.key}:
            return None
    condition = as_where(where, info.schema)
    named: dict[str, tuple[Value, ...]] = {}
    for column, values in _equalities(condition.predicate if condition else And(())):
        named.setdefault(column, values)
    columns = [column.name for column in series.entity]
    if not named.keys() >= {*columns}:
        return None
    listed = [named[column] for column in columns]
    if not 0 < prod(map(len, listed)) <= _MOST_ENTITIES:
        return None
    try:
        return [series.given(each) for each in product(*listed)]
    except Invalid:  # compared with what is no value of the column
        return None


def _equalities(condition: Predicate) -> Iterator[tuple[str, tuple[Value, ...]]]:
    """Columns of which all rows that meet a condition have one of these values."""
    if isinstance(condition, And):
        for part in condition.parts:
            yield from _equalities(part)
    elif isinstance(condition, Compare) and condition.op == "=" and condition.value is not None:
        yield condition.column, (condition.value,)
    elif isinstance(condition, In):
        values = (value for value in condition.values if value is not None)
        yield condition.column, tuple(islice(values, _MOST_ENTITIES + 1))
