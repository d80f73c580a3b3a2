"""Buckets in which an append and a table overlap: where such rows are, and how it is told."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

from tidelake.coverage.values.bitmaps import Buckets
from tidelake.coverage.values.clock import COUNT
from tidelake.coverage.values.interval import Interval, interval
from tidelake.coverage.values.series import Series
from tidelake.drawing.amounts import quantity
from tidelake.errors import Corrupt, Overlap
from tidelake.model import instant
from tidelake.model.literal import Value
from tidelake.model.names import TableName
from tidelake.model.predicate import And, Compare, In, IsNull, Predicate

BucketsByEntity = Mapping[str, Buckets]
"""Buckets by entity, as it is kept."""

_FEW = 100
"""Entities that a condition should name."""
_PYTHON = (instant.of_date(date.min), instant.of_date(date.max))
_NANOSECONDS = (instant.of_date(date(1678, 1, 1)), instant.of_date(date(2262, 1, 1)))


def condition(series: Series, found: BucketsByEntity) -> Predicate | None:
    """What all rows in the buckets meet, and many others do not."""
    low = _moment(series, min(ids.min() for ids in found.values()))
    high = _moment(series, max(ids.max() for ids in found.values()) + 1)
    parts: list[Predicate] = []
    if low is not None:
        parts.append(Compare(series.time.name, ">=", low))
    if high is not None:
        parts.append(Compare(series.time.name, "<", high))
    if len(found) <= _FEW:
        parts += _about(series, found)
    return And(tuple(parts)) if parts else None


def _moment(series: Series, bucket: int) -> Value | None:
    """When a bucket begins, if Python and every database can say that."""
    number = series.clock.number_of(bucket)
    start = series.clock.start(number)
    if series.clock.kind == COUNT:
        return start if abs(start) < 1 << 63 else None
    first, last = _NANOSECONDS if series.time.type == "timestamp_ns" else _PYTHON
    return series.moment(number) if first <= start <= last else None


def _about(series: Series, found: BucketsByEntity) -> list[Predicate]:
    try:
        entities = [series.entity_of(text) for text in found]
    except Corrupt:  # a date that Python cannot hold
        return []
    parts: list[Predicate] = []
    for place, column in enumerate(series.entity):
        values = {entity[place] for entity in entities}
        listed = In(column.name, tuple(value for value in values if value is not None))
        parts.append(listed | IsNull(column.name) if None in values else listed)
    return parts


def refusal(name: TableName, series: Series, taken: BucketsByEntity) -> Overlap:
    """The error that says which buckets are covered already."""
    first = min(taken, key=lambda entity: (taken[entity].min(), entity))
    entity, bucket = series.entity_of(first), taken[first].min()
    count = sum(len(ids) for ids in taken.values())
    last = max(ids.max() for ids in taken.values())
    whole = interval(series, bucket, last + 1, entity if len(taken) == 1 else None)
    at = interval(series, bucket, bucket + 1, entity)
    listed = quantity(count, "bucket")
    return Overlap(
        f"{name} already covers {listed} of the rows to append"
        f"{_whose(series, at, len(taken))}, from {_said(whole.start)} to {_said(whole.end)}",
        hint='append only what t.missing(…) gives, or declare overlap="skip" or "replace" with'
        " t.set_coverage(…)",
        entity=entity,
        bucket=at,
        range=whole,
        count=count,
    )


def _whose(series: Series, at: Interval, entities: int) -> str:
    if not series.entity:
        return ""
    pairs = zip(series.entity, at.entity or (), strict=True)
    told = ", ".join(f"{column.name}={value!r}" for column, value in pairs)
    if entities == 1:
        return f" ({told})"
    return f" ({entities:,} entities, the first {told} at {_said(at.start)})"


def _said(moment: object) -> str:
    return moment.isoformat() if isinstance(moment, date) else str(moment)
