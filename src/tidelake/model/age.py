"""How old is too old: a moment, a span of time before now, or either in words."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from tidelake.errors import Invalid

_SECONDS = {
    "s": 1,
    "sec": 1,
    "second": 1,
    "m": 60,
    "min": 60,
    "minute": 60,
    "h": 3600,
    "hour": 3600,
    "d": 86_400,
    "day": 86_400,
    "w": 604_800,
    "week": 604_800,
}
_MONTHS = {"month": 1, "mon": 1, "year": 12, "y": 12}
_PART = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+?)s?\s*(?=$|[\d,]),?", re.ASCII)
_CLOCK = re.compile(r"(\d+):(\d\d):(\d\d(?:\.\d+)?)\s*$", re.ASCII)
_HINT = 'write a span such as "7 days" or "12 hours", or a time such as "2024-03-15T00:00:00"'


def moment_before(now: datetime, older_than: object, *, name: str = "older_than") -> datetime:
    """The moment that `older_than` draws the line at; one without a zone is in UTC."""
    if isinstance(older_than, datetime):
        return older_than.replace(tzinfo=older_than.tzinfo or UTC).astimezone(UTC)
    if isinstance(older_than, timedelta):
        return _earlier(now, 0, older_than, older_than, name)
    if isinstance(older_than, str):
        span = _span(older_than)
        if span is not None:
            return _earlier(now, *span, older_than, name)
        try:
            return moment_before(now, datetime.fromisoformat(older_than.strip()))
        except ValueError:
            pass
    raise Invalid(f"{name}={older_than!r} is neither a span of time nor a moment", hint=_HINT)


def check_span(text: str, *, name: str) -> None:
    """Raise Invalid unless the text is a span of time."""
    if _span(text) is None:
        raise Invalid(f"{name}={text!r} is not a span of time", hint='for example "7 days"')


def as_span(value: str | timedelta, *, name: str) -> timedelta:
    """A length of time, from words such as "5m" too. Months have none."""
    found = (0, value) if isinstance(value, timedelta) else _span(value)
    if found is None or found[0]:
        what = "is not a span of time" if found is None else "has months, which differ in length"
        raise Invalid(f"{name}={value!r} {what}", hint='for example "5m", "12 hours" or "7 days"')
    if found[1] != found[1] or found[1] < timedelta():
        raise Invalid(f"{name}={value!r} is no length of time", hint='for example "5m"')
    return found[1]


def _span(text: str) -> tuple[int, timedelta] | None:
    """DuckDB's words for an interval as months and the rest; None if it is none."""
    months, seconds, rest = 0.0, 0.0, text.lower().strip()
    if clock := _CLOCK.search(rest):
        hours, minutes, rest_seconds = (float(group) for group in clock.groups())
        seconds, rest = (hours * 60 + minutes) * 60 + rest_seconds, rest[: clock.start()].strip()
    elif not rest:
        return None
    while rest:
        part = _PART.match(rest)
        if part is None or part.group(2) not in _SECONDS | _MONTHS:
            return None
        months += float(part.group(1)) * _MONTHS.get(part.group(2), 0)
        seconds += float(part.group(1)) * _SECONDS.get(part.group(2), 0)
        rest = rest[part.end() :]
    try:
        return (int(months), timedelta(seconds=seconds)) if months.is_integer() else None
    except OverflowError:
        return None


def _earlier(now: datetime, months: int, rest: timedelta, given: object, name: str) -> datetime:
    if rest < timedelta():
        raise Invalid(f"{name}={given!r} is in the future", hint=_HINT)
    years, month = divmod(now.year * 12 + now.month - 1 - months, 12)
    try:
        there = now.replace(year=years, month=month + 1, day=1)
        last = (there.replace(day=28) + timedelta(days=4)).replace(day=1) - timedelta(days=1)
        return there.replace(day=min(now.day, last.day)) - rest
    except (ValueError, OverflowError):
        raise Invalid(f"{name}={given!r} is before the first year", hint=_HINT) from None
