"""Moments that are told from now on: `now`, `now - 1h`, `now + 1 month`."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from tidelake.errors import Invalid
from tidelake.model.span import HINT, Span

_FROM_NOW = re.compile(r"\s*now\s*(?:([+-])\s*(\S.*?))?\s*", re.IGNORECASE | re.DOTALL)

Given = TypeVar("Given")


def from_now(given: Given, now: datetime | None = None) -> Given | datetime:
    """A text that tells a moment from now on, as that moment; anything else as it is. Whoever asks
    later must keep what comes of it: the next call has another now."""
    match = _FROM_NOW.fullmatch(given) if isinstance(given, str) else None
    if match is None:
        return given
    sign, written = match.groups()
    at = datetime.now(UTC) if now is None else now
    if sign is None:
        return at
    span = Span.maybe(written)
    if span is None or span.nanoseconds < 0:
        raise Invalid(f"{given!r}: {written!r} is not a span of time", hint=HINT)
    return shift(at, span, 1 if sign == "+" else -1, str(given))


def shift(now: datetime, span: Span, sign: int, given: str) -> datetime:
    """A span after or before a moment. A month before the 31st is the last day of a shorter one."""
    years, month = divmod(now.year * 12 + now.month - 1 + sign * span.months, 12)
    rest = Span(0, span.nanoseconds).length(given, "span")
    try:
        there = now.replace(year=years, month=month + 1, day=1)
        last = (there.replace(day=28) + timedelta(days=4)).replace(day=1) - timedelta(days=1)
        return there.replace(day=min(now.day, last.day)) + sign * rest
    except (ValueError, OverflowError):
        raise Invalid(f"{given!r} is out of range", hint="the years are 1 to 9999") from None
