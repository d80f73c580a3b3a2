"""Points in time as integer nanoseconds, read from the texts that DuckDB writes.

DuckDB's calendar is wider than Python's: years beyond 9999, years BC, and two infinities.
"""

from __future__ import annotations

import re
from datetime import date, datetime, time
from functools import lru_cache

Instant = int | float
"""Nanoseconds since 1970-01-01 00:00:00 (a time of day: since midnight), or ±infinity."""

SECOND = 1_000_000_000
DAY = 86_400 * SECOND

_INFINITIES = {"infinity": float("inf"), "-infinity": float("-inf")}
_CLOCK = r"(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?"
_FRACTION = re.compile(r"\.(\d+)", re.ASCII)
_TIME = re.compile(_CLOCK, re.ASCII)
_MOMENT = re.compile(
    rf"(\d{{4,7}})-(\d\d)-(\d\d)( \(BC\))?(?:[ T]{_CLOCK}(Z|[+-]\d\d(?::?\d\d)?)?)?", re.ASCII
)
_MONTH_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def parse_date(text: str) -> Instant | None:
    """`YYYY-MM-DD[ (BC)]` or an infinity; None for anything else."""
    return parse_moment(text, zoned=False) if ":" not in text else None


@lru_cache(maxsize=8192)  # the same bounds are judged for one condition after the other
def parse_moment(text: str, *, zoned: bool | None) -> Instant | None:
    """`YYYY-MM-DD[ (BC)][ HH:MM:SS[.f]][zone]`; None for anything else.

    `zoned`: whether a zone must be there (True), must not (False) or may (None: without
    one it is UTC).
    """
    if text in _INFINITIES:
        return _INFINITIES[text]
    match = _MOMENT.fullmatch(text)
    if match is None:
        return None
    year, month, day, bc, *clock, zone = match.groups()
    if zoned is not None and zoned is not (zone is not None):
        return None
    known = 1 - int(year) if bc else int(year)
    days = day_number(known, int(month), int(day)) if int(year) else None
    in_day = _clock(*clock) if clock[0] is not None else 0
    if days is None or in_day is None:
        return None
    return days * DAY + in_day - _offset(zone)


def parse_time(text: str) -> int | None:
    match = _TIME.fullmatch(text)
    return None if match is None else _clock(*match.groups())


def fraction_digits(text: str) -> int:
    """How many digits follow the decimal point of the seconds."""
    match = _FRACTION.search(text)
    return 0 if match is None else len(match.group(1))


def of_date(value: date) -> int:
    """Midnight of that day; of a datetime, that moment, UTC if it has no zone."""
    midnight = (value.toordinal() - date(1970, 1, 1).toordinal()) * DAY
    if not isinstance(value, datetime):
        return midnight
    offset = value.utcoffset()
    shift = 0 if offset is None else (offset.days * 86_400 + offset.seconds) * SECOND
    micros = 0 if offset is None else offset.microseconds * 1000
    return midnight + of_time(value.time()) - shift - micros


def of_time(value: time) -> int:
    seconds = (value.hour * 60 + value.minute) * 60 + value.second
    return seconds * SECOND + value.microsecond * 1000


def _clock(hour: str, minute: str, second: str, fraction: str | None) -> int | None:
    seconds = (int(hour) * 60 + int(minute)) * 60 + int(second)
    nanos = int((fraction or "").ljust(9, "0"))
    total = seconds * SECOND + nanos
    if int(minute) > 59 or int(second) > 59 or total > DAY:
        return None
    return total


def _offset(zone: str | None) -> int:
    if zone is None or zone == "Z":
        return 0
    digits = zone[1:].replace(":", "").ljust(4, "0")
    seconds = int(digits[:2]) * 3600 + int(digits[2:]) * 60
    return (-seconds if zone[0] == "-" else seconds) * SECOND


def day_number(year: int, month: int, day: int) -> int | None:
    """Days since 1970-01-01 in the proleptic Gregorian calendar; year 0 is 1 BC."""
    if not 1 <= month <= 12 or not 1 <= day <= _MONTH_DAYS[month - 1]:
        return None
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if month == 2 and day == 29 and not leap:
        return None
    # March-based years put the leap day last, so that days before a month are a formula.
    shifted = year - (month <= 2)
    era, in_era = divmod(shifted, 400)
    in_year = (153 * ((month - 3) % 12) + 2) // 5 + day - 1
    return era * 146_097 + in_era * 365 + in_era // 4 - in_era // 100 + in_year - 719_468


def date_text(days: int) -> str | None:
    """Days since 1970 as `YYYY-MM-DD`, in the years that Python knows."""
    try:
        return date.fromordinal(_EPOCH_DAY + days).isoformat()
    except (ValueError, OverflowError):
        return None


_EPOCH_DAY = date(1970, 1, 1).toordinal()
