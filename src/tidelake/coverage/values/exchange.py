"""When exchanges are open, as the library `exchange_calendars` knows it: holidays, half days, lunch
breaks, and hours that have changed over the years."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from functools import lru_cache
from textwrap import shorten
from typing import Any

from tidelake.errors import Invalid
from tidelake.model import instant
from tidelake.model.extras import require

Span = tuple[int, int]

_EPOCH = datetime(1970, 1, 1)
_AROUND = timedelta(days=3)
"""A session may open on the day before that which it is named for."""
_YEARS = (1680, 2260)
"""What the library's times can hold."""
_BRIEF = {"start": "2024-03-04", "end": "2024-03-08"}
_FAILURES = (ValueError, TypeError, NotImplementedError)
"""Of a library that is older than its pandas, or than the rules of an exchange."""
_LONGEST = 300


def exchange_name(given: object) -> str:
    """The name that an exchange has in the library; Invalid if it has none."""
    library = _library()
    names = library.get_calendar_names()
    if given not in names:
        near = get_close_matches(str(given).upper(), names, 3)
        listed = f"is it {' or '.join(near)}?" if near else "an exchange is named as XNYS or XLON"
        raise Invalid(f"{given!r} is no exchange that is known here", hint=listed)
    return str(library.resolve_alias(given))


def trading_times(name: str, start: int, stop: int) -> Iterator[Span]:
    """The stretches in which an exchange is open between two moments, in nanoseconds since 1970,
    and some around."""
    first, last = (_year(name, each) for each in (start, stop))
    low, high = _limits(name)
    if start < low or stop > high:
        raise Invalid(
            f"when {name} is open is known from {_day(low)} to {_day(high)} only",
            hint="give a start and an end within that",
        )
    for opened, closed in _listed(name, first[0], last[1]):
        if opened < stop and closed > start:
            yield opened, closed


def _year(name: str, moment: int) -> tuple[int, int]:
    """The years a few days before and after."""
    try:
        day = _EPOCH + timedelta(microseconds=moment // 1000)
        before, after = (day - _AROUND).year, (day + _AROUND).year
    except OverflowError:
        before = after = 0
    if not _YEARS[0] <= before <= after <= _YEARS[1]:
        raise Invalid(
            f"when {name} is open cannot be told of all time", hint="give a start and an end"
        )
    return before, after


@lru_cache(maxsize=64)
def _listed(name: str, first: int, last: int) -> tuple[Span, ...]:
    """All stretches of some years, as far as they are known."""
    low, high = (_EPOCH + timedelta(microseconds=each // 1000) for each in _limits(name))
    start = max(datetime(first, 1, 1), low)
    end = min(datetime(last, 12, 31), high - timedelta(days=1))
    known = _known(name, start=start.date().isoformat(), end=end.date().isoformat())
    found: list[Span] = []
    for opened, rested, resumed, closed in known.schedule.itertuples(index=False):
        if rested != rested:  # no break
            found.append((opened.value, closed.value))
        else:
            found += [(opened.value, rested.value), (resumed.value, closed.value)]
    return tuple(found)


@lru_cache(maxsize=64)
def _limits(name: str) -> Span:
    """From when to when it is known, as whole days. A few days of it are enough to ask that."""
    known = type(_known(name, **_BRIEF))
    low, high = known.bound_min(), known.bound_max()
    first = datetime(_YEARS[0], 1, 1) if low is None else low.to_pydatetime()
    last = datetime(_YEARS[1], 12, 31) if high is None else high.to_pydatetime()
    return instant.of_date(first.replace(tzinfo=UTC)), instant.of_date(
        last.replace(tzinfo=UTC) + timedelta(days=1)
    )


def _known(name: str, **bounds: str) -> Any:
    library = _library()
    try:
        return library.get_calendar(name, **bounds)
    except (*_FAILURES, library.errors.CalendarError) as error:
        said = shorten(str(error), _LONGEST, placeholder=" …")
        raise Invalid(
            f"the library of exchanges cannot tell when {name} is open: {said}",
            hint="pip install --upgrade exchange_calendars, or give a start and an end",
        ) from None


def _day(moment: int) -> str:
    return (_EPOCH + timedelta(microseconds=moment // 1000)).date().isoformat()


def _library() -> Any:
    require("calendars", "a calendar of an exchange", "exchange_calendars")
    import exchange_calendars

    return exchange_calendars
