"""Lengths of time as people write them: one grammar for buckets, rollups, tolerances and ages.

15min   1 hour   7 days   1d 12h   1.5 hours   2 weeks   1mo   1 year   36:00:00   P1DT12H
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction

from tidelake.errors import Invalid
from tidelake.model import instant
from tidelake.model.numpy_scalar import python_value

HINT = 'for example "15min", "1 hour", "7 days", "2 weeks", "1 month", or a timedelta'

_US = instant.SECOND // 1_000_000
_NANOSECONDS = {
    "ns": 1,
    "us": _US,
    "ms": 1000 * _US,
    "s": instant.SECOND,
    "min": 60 * instant.SECOND,
    "h": 3600 * instant.SECOND,
    "d": instant.DAY,
    "w": 7 * instant.DAY,
}
_MONTHS = {"mo": 1, "y": 12}
_SPELLED = {
    "ns": "ns nsec nanosecond",
    "us": "us µs μs usec microsecond",
    "ms": "ms msec millisecond",
    "s": "s sec second",
    "min": "m min minute",
    "h": "h hr hour",
    "d": "d day",
    "w": "w wk week",
    "mo": "mo mon month",
    "y": "y yr year",
}
_PLURALS = ("hr", "wk", "yr")
_UNITS = {word: unit for unit, words in _SPELLED.items() for word in words.split()}
_UNITS |= {f"{word}s": _UNITS[word] for word in _UNITS if len(word) > 2 or word in _PLURALS}
_PART = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Zµμ]+)\s*,?", re.ASCII)
_CLOCK = re.compile(r"(\d+):(\d\d):(\d\d(?:\.\d+)?)\s*$", re.ASCII)
_ISO = re.compile(
    r"P(?=[\dT])(?:(?P<y>\d+)Y)?(?:(?P<mo>\d+)M)?(?:(?P<w>\d+)W)?(?:(?P<d>\d+(?:\.\d+)?)D)?"
    r"(?:T(?=\d)(?:(?P<h>\d+(?:\.\d+)?)H)?(?:(?P<min>\d+(?:\.\d+)?)M)?(?:(?P<s>\d+(?:\.\d+)?)S)?)?",
    re.ASCII,
)
_DOUBTFUL = re.compile(r"(?<=[\d.])\s*m(?![a-zA-Z])", re.ASCII)
_LEAST_DIGITS = 18
"""Numbers with more are a mistake."""


@dataclass(frozen=True, slots=True)
class Span:
    """So many months, and so much time besides. `in_weeks`: it was told in weeks alone, which begin
    on Mondays. `is_doubtful`: it says `m`, which some take for months."""

    months: int
    nanoseconds: int
    in_weeks: bool = False
    is_doubtful: bool = False

    @staticmethod
    def maybe(value: object) -> Span | None:
        """From text or a timedelta, numpy's too; None if it is no span."""
        value = python_value(value)
        if isinstance(value, timedelta):
            return Span(0, _nanoseconds(value)) if value == value else None
        if not isinstance(value, str):
            return None
        text = value.strip()
        parts = _iso(text) if text.startswith("P") else _parts(text)
        return None if parts is None else _sum(parts)

    @staticmethod
    def of(value: object, name: str) -> Span:
        """The same; Invalid if it is none."""
        found = Span.maybe(value)
        if found is None:
            raise Invalid(f"{name}={value!r} is not a span of time", hint=HINT)
        if found.nanoseconds < 0:
            raise Invalid(f"{name}={value!r} is less than nothing", hint=HINT)
        return found

    def length(self, value: object, name: str) -> timedelta:
        """How long it is; months differ, so it must have none."""
        if self.months:
            raise Invalid(
                f"{name}={value!r} has months, which differ in length",
                hint='give days or weeks, such as "30 days"',
            )
        if self.nanoseconds % _US:
            raise Invalid(f"{name}={value!r} is finer than a microsecond", hint=HINT)
        try:
            return timedelta(microseconds=self.nanoseconds // _US)
        except OverflowError:
            raise Invalid(f"{name}={value!r} is longer than all of history", hint=HINT) from None

    def check_certain(self, value: object, name: str) -> None:
        """For what cannot be undone: it must not be possible to take months for minutes."""
        if self.is_doubtful:
            minutes, months = (_DOUBTFUL.sub(unit, str(value).strip()) for unit in ("min", "mo"))
            raise Invalid(
                f"{name}={value!r} may be minutes or months, and what goes does not come back",
                hint=f'write "{minutes}" or "{months}"',
            )


def text_of(span: timedelta) -> str:
    """A timedelta as text that means the same."""
    whole = _nanoseconds(span)
    unit = next(u for u in reversed(_NANOSECONDS) if u != "w" and whole % _NANOSECONDS[u] == 0)
    return f"{whole // _NANOSECONDS[unit]}{unit}"


def _nanoseconds(span: timedelta) -> int:
    """Those of pandas count these too."""
    rest = getattr(span, "nanoseconds", 0)
    return int(span // timedelta(microseconds=1)) * _US + int(rest)


def _parts(text: str) -> list[tuple[str, str, str]] | None:
    """Numbers, units, and how those were spelled."""
    found: list[tuple[str, str, str]] = []
    if clock := _CLOCK.search(text):
        found = [(n, unit, unit) for n, unit in zip(clock.groups(), ("h", "min", "s"), strict=True)]
        text = text[: clock.start()].strip()
    while text:
        part = _PART.match(text)
        unit = _unit(part.group(2)) if part else None
        if part is None or unit is None or len(part.group(1)) > _LEAST_DIGITS:
            return None
        found.append((part.group(1), unit, part.group(2)))
        text = text[part.end() :]
    return found or None


def _unit(word: str) -> str | None:
    """Capitals do not matter, but for a lone M, which is a month elsewhere."""
    return None if word == "M" else _UNITS.get(word.lower())


def _iso(text: str) -> list[tuple[str, str, str]] | None:
    found = _ISO.fullmatch(text)
    if found is None:
        return None
    parts = [(number, unit, unit) for unit, number in found.groupdict().items() if number]
    return parts if all(len(number) <= _LEAST_DIGITS for number, _, _ in parts) else None


def _sum(parts: list[tuple[str, str, str]]) -> Span | None:
    months = sum((Fraction(n) * _MONTHS.get(unit, 0) for n, unit, _ in parts), Fraction(0))
    rest = sum((Fraction(n) * _NANOSECONDS.get(unit, 0) for n, unit, _ in parts), Fraction(0))
    if months.denominator != 1 or rest.denominator != 1:
        return None
    in_weeks = all(unit == "w" for _, unit, _ in parts) and rest % _NANOSECONDS["w"] == 0
    doubtful = any(word == "m" for _, _, word in parts)
    return Span(int(months), int(rest), in_weeks, doubtful)
