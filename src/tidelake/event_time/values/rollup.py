"""Rollups: the state of a table as of a moment, kept so that it need not be found again.

How often rollups are made: at boundaries of the calendar, in UTC.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice

from tidelake.drawing.amounts import quantity
from tidelake.drawing.report import DrawableReport
from tidelake.errors import Corrupt, Invalid
from tidelake.model import instant
from tidelake.model.event_time import EventTime, moment_text
from tidelake.model.settings import PREFIX
from tidelake.model.span import Span, text_of

SUFFIX = "rollup"
"""How the names of a rollup's files end. DuckDB takes every `*.parquet` under the data path that
it does not know for an orphan."""


@dataclass(frozen=True, slots=True)
class RollupFile:
    """A Parquet file of a rollup; `path` is complete."""

    path: str
    rows: int
    bytes: int
    footer_size: int | None = None


@dataclass(frozen=True, slots=True)
class Rollup(DrawableReport):
    """Of every key the fact that held at `as_of` (nanoseconds since 1970, UTC), tombstones too, as
    snapshot `snapshot_id` knew it.

    Up to `valid_through` no row that it rests on has gone; what has happened since is looked up.
    `next_row_id` and `next_file_id` are the first ids that were free at its snapshot, `settings`
    are the columns that it goes by, and `lacks` are ids of columns that it could not take in
    because they had been dropped by then. `usable`: whether a read of the newest snapshot may
    begin with it; None if nobody looked.
    """

    id: int
    table_id: int
    as_of: int
    snapshot_id: int
    valid_through: int
    next_row_id: int
    next_file_id: int
    settings: str
    lacks: frozenset[int]
    rows: int
    bytes: int
    made_at: datetime
    files: tuple[RollupFile, ...] = ()
    usable: bool | None = None

    def facts(self) -> dict[str, object]:
        """What matters of it, in plain values."""
        return {
            "as_of": moment_text(self.as_of),
            "snapshot_id": self.snapshot_id,
            "valid_through": self.valid_through,
            "rows": self.rows,
            "files": len(self.files),
            "bytes": self.bytes,
            "made_at": self.made_at,
            "usable": self.usable,
        }

    def __str__(self) -> str:
        state = {True: "", False: ", no longer usable", None: ""}[self.usable]
        return (
            f"as of {moment_text(self.as_of)} known at snapshot {self.snapshot_id}:"
            f" {quantity(self.rows, 'row')}, {self.bytes:,} bytes{state}"
        )


@dataclass(frozen=True, slots=True)
class RollupUse:
    """A rollup that a read begins with, and what it need not read because of it; the latter only
    where somebody asked for an explanation."""

    as_of: int
    snapshot_id: int
    rows: int
    saved_files: int
    saved_rows: int

    def __str__(self) -> str:
        return (
            f"as of {moment_text(self.as_of)} known at snapshot {self.snapshot_id}:"
            f" {quantity(self.rows, 'row')} in place of {quantity(self.saved_files, 'file')}"
            f" ({quantity(self.saved_rows, 'row')})"
        )


def settings_text(event: EventTime) -> str:
    """What decides between facts, by column id: equal for two rollups that can stand for each
    other."""
    end = None if event.tombstone is None else event.tombstone.id
    until = [] if event.valid_to is None else [event.valid_to.id]
    return json.dumps([[column.id for column in event.key], event.time.id, end, *until])


def lacks_text(ids: Iterable[int]) -> str:
    return json.dumps(sorted(ids))


def parse_lacks(text: str) -> frozenset[int]:
    try:
        return frozenset(int(each) for each in json.loads(text))
    except (TypeError, ValueError):
        raise Corrupt(
            f"a rollup lacks the columns {text!r}, which is no list of ids",
            hint="drop the tables tidelake_rollup and tidelake_rollup_file: no answer changes",
        ) from None


TAG = f"{PREFIX}rollup"
_FIRST_MONDAY = 4 * instant.DAY
"""From 1970-01-01, a Thursday, to the first boundary of weeks."""
_LONGEST = 12 * 3000
_EPOCH = datetime(1970, 1, 1)
_EARLIEST = instant.of_date(datetime.min)
MOST = 10_000
"""More rollups of one table than this are a mistake."""


@dataclass(frozen=True, slots=True)
class RollupPolicy:
    """`every` is a span of time, in months and years or in anything shorter; of the boundaries up
    to the newest event the last `keep` have a rollup each, without it all from the first event
    on."""

    every: str
    keep: int | None = None

    @staticmethod
    def checked(every: object, keep: object) -> RollupPolicy:
        _check_even(Span.of(every, "every"), every)
        whole = isinstance(keep, int) and not isinstance(keep, bool) and 1 <= keep <= MOST
        if keep is not None and not whole:
            raise Invalid(
                f"keep={keep!r} is no number of rollups", hint=f"a whole number from 1 to {MOST:,}"
            )
        text = text_of(every) if isinstance(every, timedelta) else str(every).strip()
        return RollupPolicy(text, keep if isinstance(keep, int) else None)

    @staticmethod
    def of(tags: Mapping[str, str]) -> RollupPolicy | None:
        """The policy that a table's tags hold."""
        text = tags.get(TAG)
        if text is None:
            return None
        try:
            found = json.loads(text)
            return RollupPolicy.checked(found["every"], found.get("keep"))
        except (AttributeError, KeyError, TypeError, ValueError, Invalid):
            raise Corrupt(
                f"the tag {TAG} is {text!r}, which is no policy",
                hint='declare it again: t.rollup(every="1mo")',
            ) from None

    def text(self) -> str:
        return json.dumps({"every": self.every, "keep": self.keep})

    def boundaries(self, first: int, last: int) -> list[int]:
        """The boundaries from the first event up to the last, the earliest first: the last `keep`
        of them, and never many more than `MOST`."""
        return list(islice(self._backwards(first, last), self.keep or MOST + 1))[::-1]

    def is_boundary(self, moment: int) -> bool:
        return self._floor(moment) == moment

    def _backwards(self, first: int, last: int) -> Iterator[int]:
        """Boundaries, the latest first. What is before the first event has no state."""
        boundary = self._floor(last)
        while boundary is not None and boundary >= first:
            yield boundary
            boundary = self._floor(boundary - 1)

    def _floor(self, moment: int) -> int | None:
        """The last boundary that is not after a moment; None before the calendar begins."""
        span = Span.of(self.every, "every")
        if not span.months:
            shift = _FIRST_MONDAY if span.in_weeks else 0
            width = span.nanoseconds
            found = (moment - shift) // width * width + shift
        else:
            at = _EPOCH + timedelta(seconds=moment // instant.SECOND)
            months = (at.year * 12 + at.month - 1) // span.months * span.months
            if months < 12:
                return None
            found = instant.of_date(datetime(months // 12, months % 12 + 1, 1))
        return found if found >= _EARLIEST else None


def _check_even(span: Span, every: object) -> None:
    if bool(span.months) == bool(span.nanoseconds) or span.months > _LONGEST:
        raise Invalid(
            f"every={every!r} does not divide time into equal pieces",
            hint='months and years alone, or none of them, such as "1mo", "1 week" or "6h"',
        )
