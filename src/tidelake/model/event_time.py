"""Event time: which columns make a table one of facts in time, and moments to ask it about."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from tidelake.errors import Invalid
from tidelake.model import instant
from tidelake.model.literal import Value
from tidelake.model.predicate import Compare
from tidelake.model.schema import Column
from tidelake.model.settings import Settings
from tidelake.model.table import TableInfo

_EPOCH = datetime(1970, 1, 1)
_MICROSECOND = 1000


@dataclass(frozen=True, slots=True)
class EventTime:
    """The columns by which the rows of a table are facts: "from this time on, this key looks like
    this", or with the tombstone set, "this key is no more". Of several facts about one key the
    one with the greatest time holds, and of those with one time the one with the greatest row
    id."""

    key: tuple[Column, ...]
    time: Column
    tombstone: Column | None = None

    @staticmethod
    def of(table: TableInfo, at: int) -> EventTime:
        """What the table's settings say at a snapshot; Invalid if they say nothing."""
        found = EventTime.maybe(table)
        if found is None:
            raise Invalid(
                f"{table.name} has no key and event time at snapshot {at}",
                hint='declare them: t.set_event_time("ts", key=["id"])',
            )
        return found

    @staticmethod
    def maybe(table: TableInfo) -> EventTime | None:
        settings = Settings.of(table.tags)
        if not settings.key or settings.event_time is None:
            return None
        columns = {column.id: column for column in table.schema}
        if not settings.columns <= columns.keys():
            return None
        end = None if settings.tombstone is None else columns[settings.tombstone]
        return EventTime(
            tuple(columns[key] for key in settings.key), columns[settings.event_time], end
        )

    @property
    def columns(self) -> tuple[Column, ...]:
        return (*self.key, self.time, *((self.tombstone,) if self.tombstone else ()))

    def until(self, moment: int) -> Compare:
        """A fact is there at a moment."""
        return Compare(self.time.name, "<=", _floor(self.time, moment))

    def after(self, moment: int) -> Compare:
        """A fact is later than a moment."""
        return Compare(self.time.name, ">", _floor(self.time, moment))


def as_moment(value: object, what: str = "as_of") -> int:
    """A moment as nanoseconds since 1970; without a zone it is UTC, and a date is its midnight."""
    found = _parsed(value)
    if found is None or found != found:
        raise Invalid(
            f"{what}={value!r} is not a time",
            hint="give a datetime, a date or a text such as 2024-03-15T14:30:00Z",
        )
    if not _EARLIEST <= found <= _LATEST:
        raise Invalid(f"{what}={value!r} is out of range", hint="the years are 1 to 9999")
    return int(found)


def spelled(moment: int) -> str:
    """The moment as people write it, in UTC."""
    time = _EPOCH + timedelta(microseconds=moment // _MICROSECOND)
    rest = moment % instant.SECOND
    text = time.replace(microsecond=0).isoformat()
    return f"{text}{f'.{rest:09d}'.rstrip('0') if rest else ''}Z"


def _parsed(value: object) -> int | float | None:
    if isinstance(value, str):
        found = instant.parse_moment(value, zoned=None)
        if found is not None:
            return found
        try:
            return instant.of_date(datetime.fromisoformat(value))
        except ValueError:
            return None
    if isinstance(value, date) and value == value:
        return instant.of_date(value) + getattr(value, "nanosecond", 0)
    return None


def _floor(column: Column, moment: int) -> Value:
    """The last value of the column's type that is not after the moment."""
    time = _EPOCH + timedelta(microseconds=moment // _MICROSECOND)
    if column.type == "date":
        return time.date()
    if column.type == "timestamptz":
        return time.replace(tzinfo=UTC)
    if column.type == "timestamp_ns" and moment % _MICROSECOND:
        return f"{time.isoformat(sep=' ', timespec='microseconds')}{moment % _MICROSECOND:03d}"
    return time


_EARLIEST = instant.of_date(datetime.min)
_LATEST = instant.of_date(datetime.max) + _MICROSECOND - 1


def names(columns: Iterable[Column]) -> tuple[str, ...]:
    return tuple(column.name for column in columns)
