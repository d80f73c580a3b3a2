"""Calendars as texts, for those who cannot give a value of Python's."""

from __future__ import annotations

import re

from tidelake.coverage.values.calendar import Calendar
from tidelake.errors import Invalid

SESSIONS = re.compile(r"(\d\d?:\d\d)\s*-\s*(\d\d?:\d\d)(?:\s+(\S+))?")
"""Hours of a day, and perhaps their zone."""
_EXCHANGE = re.compile(r"exchange\s+(\S+)", re.IGNORECASE)
_WORDS = {"always": Calendar.always, "weekdays": Calendar.weekdays}


def calendar_of(text: str | None) -> Calendar | None:
    """`weekdays`, or `09:30-16:00 America/New_York` for that part of weekdays, `exchange XNYS`, or
    `always`."""
    if text is None:
        return None
    word = text.strip() if isinstance(text, str) else ""
    if word.lower() in _WORDS:
        return _WORDS[word.lower()]()
    if named := _EXCHANGE.fullmatch(word):
        return Calendar.exchange(named[1])
    found = SESSIONS.fullmatch(word)
    if found is None:
        raise Invalid(
            f"{text!r} is no calendar",
            hint="write weekdays, the hours of weekdays (09:30-16:00 America/New_York), exchange"
            " XNYS, or always",
        )
    return Calendar.sessions(found[1], found[2], tz=found[3] or "UTC")
