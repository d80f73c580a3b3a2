"""Calendars as texts, for those who cannot give a value of Python's."""

from __future__ import annotations

import re

from tidelake.coverage.values.calendar import Calendar
from tidelake.errors import Invalid

SESSIONS = re.compile(r"(\d\d?:\d\d)\s*-\s*(\d\d?:\d\d)(?:\s+(\S+))?")
"""Hours of a day, and perhaps their zone."""


def calendar_of(text: str | None) -> Calendar | None:
    """`weekdays`, or `09:30-16:00 America/New_York` for that part of weekdays."""
    if text is None:
        return None
    if isinstance(text, str) and text.strip().lower() == "weekdays":
        return Calendar.weekdays()
    found = SESSIONS.fullmatch(text.strip()) if isinstance(text, str) else None
    if found is None:
        raise Invalid(
            f"{text!r} is no calendar",
            hint="write weekdays, or the hours of weekdays: 09:30-16:00 America/New_York",
        )
    return Calendar.sessions(found[1], found[2], tz=found[3] or "UTC")
