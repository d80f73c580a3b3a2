"""Calendars as JSON, from which they can be made again: how a table keeps them."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from datetime import UTC, date, time, timedelta, timezone, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

from tidelake.coverage.values.bitmaps import unpack
from tidelake.coverage.values.calendar import Calendar, zone_of
from tidelake.coverage.values.calendar_rules import (
    OPERATIONS,
    Always,
    Both,
    BucketSet,
    Exchange,
    Rule,
    Sessions,
    Spans,
)
from tidelake.coverage.values.clock import Clock
from tidelake.errors import Invalid

_MICROSECOND = timedelta(microseconds=1)
_DEEPEST = 50
"""So many calendars may be put together one inside the other."""


def calendar_json(calendar: Calendar) -> dict[str, Any]:
    """What says how to make it again; Invalid if that cannot be said."""
    return _of_rule(calendar.rule, 0)


def calendar_from(said: Any) -> Calendar:
    """The calendar that was written so. ValueError, or an error of its kin, if none was."""
    return Calendar(_rule(said))


def _of_rule(rule: Rule, depth: int) -> dict[str, Any]:
    if depth > _DEEPEST:
        raise Invalid(
            f"more than {_DEEPEST} calendars are put together, one inside the other",
            hint="list what they have in common: Calendar.of([(start, end), …])",
        )
    match rule:
        case Always():
            return {"always": True}
        case Exchange(name):
            return {"exchange": name}
        case Both(operation, left, right):
            return {operation: [_of_rule(each, depth + 1) for each in (left, right)]}
        case Spans():
            return {"intervals": [[*span, counts] for span, counts in rule.spans]}
        case BucketSet():
            return _of_buckets(rule)
        case Sessions():
            return _of_sessions(rule)
    raise Invalid(
        f"{rule!r} is a rule that cannot be written down",
        hint="keep one of Calendar.sessions(…), .weekdays(…), .exchange(…) or .of(…)",
    )


def _of_buckets(rule: BucketSet) -> dict[str, Any]:
    ids = rule.ids.copy()
    ids.run_optimize()
    said: dict[str, Any] = {"buckets": b64encode(ids.serialize()).decode("ascii")}
    if rule.clock is not None:
        said["clock"] = rule.clock.key
    return said


def _of_sessions(rule: Sessions) -> dict[str, Any]:
    return {
        "sessions": [rule.open.isoformat(), rule.close.isoformat()],
        "tz": _zone_text(rule.zone),
        "days": sorted(rule.days),
        "holidays": sorted(day.isoformat() for day in rule.holidays),
    }


def _zone_text(zone: tzinfo) -> str | int:
    """Its name; of one without a name, by how many microseconds it is ahead of UTC."""
    if zone is UTC:
        return "UTC"
    if isinstance(zone, ZoneInfo) and zone.key:
        return zone.key
    if isinstance(zone, timezone):
        return zone.utcoffset(None) // _MICROSECOND
    raise Invalid(
        f"the time zone {zone!r} has no name by which it could be found again",
        hint='give tz= as a name, such as "Europe/London"',
    )


def _rule(said: Any) -> Rule:
    for kind, read in _READ.items():
        if kind in said:
            return read(said)
    raise ValueError(f"no rule is known in {list(said)}")


def _both(operation: str) -> Callable[[Mapping[str, Any]], Rule]:
    def read(said: Mapping[str, Any]) -> Rule:
        left, right = said[operation]
        return Both(operation, _rule(left), _rule(right))

    return read


def _intervals(said: Mapping[str, Any]) -> Rule:
    return Spans(
        tuple(((int(start), int(end)), bool(counts)) for start, end, counts in said["intervals"])
    )


def _buckets(said: Mapping[str, Any]) -> Rule:
    clock = said.get("clock")
    return BucketSet(
        None if clock is None else Clock(*clock), unpack(b64decode(said["buckets"], validate=True))
    )


def _sessions(said: Mapping[str, Any]) -> Rule:
    opens, closes = map(time.fromisoformat, said["sessions"])
    zone = said["tz"]
    return Sessions(
        opens,
        closes,
        timezone(zone * _MICROSECOND) if isinstance(zone, int) else zone_of(zone),
        frozenset(map(int, said["days"])),
        frozenset(map(date.fromisoformat, said["holidays"])),
    )


_READ: Mapping[str, Callable[[Mapping[str, Any]], Rule]] = {
    "always": lambda _: Always(),
    "exchange": lambda said: Exchange(str(said["exchange"])),
    "intervals": _intervals,
    "buckets": _buckets,
    "sessions": _sessions,
    **{operation: _both(operation) for operation in OPERATIONS},
}
