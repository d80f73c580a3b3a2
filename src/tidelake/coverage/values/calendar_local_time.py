"""Times of day in a zone, and the moments that they are on a day."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

from tidelake.errors import Invalid
from tidelake.model import instant

_EPOCH = datetime(1970, 1, 1)
_ZONE = 'give a name such as "Europe/London" or "UTC"; where none is known: pip install tzdata'


def zone_of(given: object) -> tzinfo:
    """The zone with that name; Invalid if this machine does not know it."""
    if isinstance(given, ZoneInfo | timezone):
        return given
    if given == "UTC":
        return UTC
    try:
        return ZoneInfo(str(given))
    except (LookupError, ValueError, OSError):
        raise Invalid(f"tz={given!r} is no time zone that is known here", hint=_ZONE) from None


def time_of(given: object, what: str) -> time:
    """A time of day, as such or as text."""
    try:
        found = time.fromisoformat(given) if isinstance(given, str) else given
    except ValueError:
        found = None
    if not isinstance(found, time) or found.tzinfo is not None:
        raise Invalid(f"{what}={given!r} is no time of day", hint='give it as "09:30"')
    return found


def moments(zone: tzinfo, day: date, at: time) -> tuple[int, int]:
    """When it is that time on a day, in nanoseconds since 1970: the first time and the last, which
    differ if clocks are turned back. A time that they skip is at the moment of the change."""
    local = datetime.combine(day, at)
    position = instant.of_date(local)
    early, late = (_offset(zone, local.replace(fold=fold)) for fold in (0, 1))
    if early < late:
        change = _change(zone, position - late, position - early)
        return change, change
    return position - early, position - late


def _offset(zone: tzinfo, local: datetime) -> int:
    found = zone.utcoffset(local)
    assert found is not None
    return found // timedelta(microseconds=1) * 1000


def _change(zone: tzinfo, before: int, after: int) -> int:
    """The second after one moment, and up to another, at which clocks are put forward."""
    old = _offset_at(zone, before)
    low, high = before // instant.SECOND, -(-after // instant.SECOND)
    while high - low > 1:
        middle = (low + high) // 2
        if _offset_at(zone, middle * instant.SECOND) == old:
            low = middle
        else:
            high = middle
    return high * instant.SECOND


def _offset_at(zone: tzinfo, moment: int) -> timedelta | None:
    utc = _EPOCH + timedelta(microseconds=moment // 1000)
    return utc.replace(tzinfo=UTC).astimezone(zone).utcoffset()
