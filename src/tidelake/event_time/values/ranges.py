"""Ranges of the two times: from one moment until before another."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime

from tidelake.errors import Invalid
from tidelake.model.event_time import as_moment, moment_text
from tidelake.model.moment import from_now
from tidelake.model.tag import parse_moment

_FIRST = as_moment(datetime.min)
_EXCHANGE = "exchange them: a range begins with the earlier moment"


@dataclass(frozen=True, slots=True)
class ValidRange:
    """From `start` until before `end`, or if it is `closed` until `end` itself, in nanoseconds
    since 1970; None is no bound."""

    start: int | None = None
    end: int | None = None
    closed: bool = False

    def __post_init__(self) -> None:
        if self.end == _FIRST and not self.closed:
            raise Invalid("there is no time before the year 1", hint="give a later end")
        if self.start is not None and self.end is not None and self.start > self.end:
            raise Invalid(
                f"{moment_text(self.start)} is after {moment_text(self.end)}", hint=_EXCHANGE
            )

    @staticmethod
    def of(start: str | date | None, end: str | date | None) -> ValidRange:
        """Between moments as callers give them."""
        first = None if start is None else as_moment(start, "start")
        last = None if end is None else as_moment(end, "end")
        return ValidRange(first, last)

    @staticmethod
    def of_pair(given: object) -> ValidRange:
        """The same of two moments in a tuple."""
        if not isinstance(given, tuple | list) or len(given) != 2:
            raise Invalid(
                f"portion={given!r} is not a pair of moments",
                hint='portion=("2024-03-01", "2024-04-01"); None is no bound',
            )
        return ValidRange.of(*given)

    @property
    def is_empty(self) -> bool:
        """Whether no time lies in it."""
        return self.start is not None and self.start == self.end and not self.closed


@dataclass(frozen=True, slots=True)
class SystemRange:
    """From `start` until before `end`, or if it is `closed` until `end` itself. Each is a snapshot
    id, a time (UTC if it has no zone) or a tag; None is no bound."""

    start: int | str | date | None = None
    end: int | str | date | None = None
    closed: bool = False

    def __post_init__(self) -> None:
        for bound in ("start", "end"):
            object.__setattr__(self, bound, from_now(getattr(self, bound)))
        first, last = self._bounds()
        if isinstance(first, int) and isinstance(last, int) and first > last:
            raise Invalid(f"snapshot {first} is later than {last}", hint=_EXCHANGE)
        if isinstance(first, datetime) and isinstance(last, datetime):
            ValidRange(as_moment(first), as_moment(last))

    def _bounds(self) -> tuple[int | str | date | None, int | str | date | None]:
        start, end = self.start, self.end
        return (
            None if start is None else parse_moment(start),
            None if end is None else parse_moment(end),
        )

    @property
    def is_empty(self) -> bool:
        """Whether no time lies in it, whatever the lake."""
        first, last = self._bounds()
        if isinstance(first, datetime) and isinstance(last, datetime):
            return as_moment(first) == as_moment(last) and not self.closed
        return first is not None and first == last and not self.closed
