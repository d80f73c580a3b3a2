"""Waiting until what is expected is there."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from math import isfinite

from tidelake.coverage.answer import Coverage
from tidelake.coverage.question import Question, coverage
from tidelake.coverage.requirement import check_kept, is_enough, refusal, required_ratio
from tidelake.coverage.values.clock import COUNT
from tidelake.coverage.values.series import Series
from tidelake.errors import Invalid
from tidelake.model import instant
from tidelake.model.event_time import as_moment, moment_text
from tidelake.model.span import Span
from tidelake.session.source import Source

_SHORTEST_POLL = 0.01


def wait_complete(
    source: Source,
    question: Question,
    require: float | bool,
    timeout: float | str | timedelta | None,
    poll: float | str | timedelta,
) -> Coverage:
    """Wait until there is as much of what is asked about as is required. What nobody has committed
    to cannot have changed, so the rows are looked at after each commit alone."""
    wanted = required_ratio(require)
    step = max(seconds_of(poll, "poll"), _SHORTEST_POLL)
    deadline = None if timeout is None else time.monotonic() + seconds_of(timeout, "timeout")
    _check_moves(source)
    check_kept(source)
    asked = _fixed(source, question)
    seen: int | None = None
    while True:
        with source.session.reading() as reader:
            head = source.session.at(reader)
        if head != seen:
            found, seen = coverage(source.session, source.name, None, asked), head
            if is_enough(found, wanted):
                return found
        left = step if deadline is None else deadline - time.monotonic()
        if left <= 0:
            raise refusal(found, wanted)
        time.sleep(min(step, left))


def seconds_of(given: object, what: str) -> float:
    """A length of time in seconds: given so, as a timedelta, or as text."""
    found: float | None = None
    if isinstance(given, timedelta):
        found = given.total_seconds()
    elif isinstance(given, int | float) and not isinstance(given, bool):
        found = float(given)
    elif isinstance(given, str) and (span := Span.maybe(given)) is not None and not span.months:
        found = span.nanoseconds / instant.SECOND
    if found is None or found < 0 or not isfinite(found):
        raise Invalid(f"{what}={given!r} is no length of time", hint='seconds, or "10m"')
    return found


def _check_moves(source: Source) -> None:
    """Raise Invalid if nothing can come any more to what is waited for."""
    if source.session.is_transaction:
        raise Invalid("a transaction sees nothing that others commit", hint="wait outside of it")
    pinned = source.session.pinned if source.snapshot_id is None else source.snapshot_id
    if pinned is not None:
        raise Invalid(
            f"{source.name} is pinned to snapshot {pinned}, to which nothing is added",
            hint="wait for the unpinned table",
        )


def _fixed(source: Source, question: Question) -> Question:
    """With an end that stays where it is: what is given, else after the bucket of the moment as of
    which the table is asked, else before the bucket that is not over now."""
    if question.end is not None:
        return question
    with source.session.reading() as reader:
        at = source.at(reader)
        series = Series.of(source.info(reader, at), at)
    if series.clock.kind == COUNT:
        raise Invalid(
            f"there is no now on the clock {series.time.name!r}, which counts",
            hint="say up to which value: until=…",
        )
    clock = series.clock
    if source.as_of is not None:
        end = clock.start(clock.number(source.as_of) + 1)
    else:
        end = clock.start(clock.number(as_moment(datetime.now(UTC))))
    return replace(question, end=moment_text(end))
