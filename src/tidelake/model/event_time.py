"""Event time: which columns make a table one of facts in time, and moments to ask it about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from tidelake.errors import Invalid
from tidelake.model import instant
from tidelake.model.literal import Value
from tidelake.model.moment import from_now
from tidelake.model.names import fold
from tidelake.model.numpy_scalar import python_value
from tidelake.model.predicate import And, Compare, IsNull, Or, Predicate
from tidelake.model.schema import Column
from tidelake.model.settings import Settings
from tidelake.model.table import TableInfo
from tidelake.model.types import TICKS

_EPOCH = datetime(1970, 1, 1)
_MICROSECOND = 1000


@dataclass(frozen=True, slots=True)
class EventTime:
    """The columns by which the rows of a table are facts: "from this time on, this key looks like
    this", or with the tombstone set, "this key is no more". Of several facts about one key the
    one with the greatest time holds, and of those with one time the one with the greatest row
    id. Where `valid_to` is not null, the fact is none from then on: what held before it holds
    again."""

    key: tuple[Column, ...]
    time: Column
    tombstone: Column | None = None
    valid_to: Column | None = None

    @staticmethod
    def of(table: TableInfo, at: int) -> EventTime:
        """What the table's settings say at a snapshot; Invalid if they say nothing."""
        found = EventTime.maybe(table)
        if found is not None:
            return found
        hint = (
            'declare them: t.set_event_time("ts", key=["id"]); for the table as it was committed'
            " at a moment use known_at(…)"
        )
        if _settled(table):
            raise Invalid(
                f"the key, event time, tombstone or valid_to of {table.name} is a column that has"
                f" been dropped by snapshot {at}",
                hint=hint,
            )
        raise Invalid(f"{table.name} has no key and event time at snapshot {at}", hint=hint)

    @staticmethod
    def maybe(table: TableInfo) -> EventTime | None:
        settings = _settled(table)
        columns = {column.id: column for column in table.schema}
        if settings is None or not settings.facts <= columns.keys():
            return None
        gone = None if settings.tombstone is None else columns[settings.tombstone]
        end = None if settings.valid_to is None else columns[settings.valid_to]
        assert settings.event_time is not None
        keys = tuple(columns[key] for key in settings.key)
        return EventTime(keys, columns[settings.event_time], gone, end)

    @property
    def columns(self) -> tuple[Column, ...]:
        ends = (column for column in (self.tombstone, self.valid_to) if column is not None)
        return (*self.key, self.time, *ends)

    def until(self, moment: int) -> Compare:
        """A fact has begun at a moment."""
        return Compare(self.time.name, "<=", _floor(self.time, moment))

    def holds_at(self, moment: int) -> Predicate:
        """A fact is there at a moment: it has begun, and not ended by itself."""
        not_ended = self.not_ended(moment)
        return self.until(moment) if not_ended is None else And((self.until(moment), not_ended))

    def not_ended(self, moment: int) -> Predicate | None:
        """A fact has not ended by itself at a moment; None if facts have no such end."""
        if self.valid_to is None:
            return None
        later = Compare(self.valid_to.name, ">", _floor(self.valid_to, moment))
        return Or((IsNull(self.valid_to.name), later))

    def after(self, moment: int) -> Compare:
        """A fact is later than a moment."""
        return Compare(self.time.name, ">", _floor(self.time, moment))

    def exactly(self, moment: int, what: str = "at") -> Value:
        """The moment as a value of the event time's column; Invalid if it cannot hold it."""
        if moment % TICKS[self.time.type]:
            raise Invalid(
                f"{what}={moment_text(moment)} does not fit {self.time.name!r}, which is a"
                f" {self.time.type}",
                hint="give a moment that the column can hold exactly",
            )
        return _floor(self.time, moment)

    def key_values(self, given: object) -> dict[str, object]:
        """A key by column: of one column it may be given as it is, else as a dict."""
        listed = ", ".join(names(self.key))
        hint = "give it as {" + ", ".join(f"{column.name!r}: …" for column in self.key) + "}"
        if isinstance(given, Mapping):
            folded = {fold(str(name)): value for name, value in given.items()}
            found = {column.name: folded.pop(fold(column.name), None) for column in self.key}
            if folded or len(given) != len(found):
                raise Invalid(f"key={dict(given)!r} does not name the key ({listed})", hint=hint)
        elif len(self.key) > 1 or isinstance(given, list | tuple | set | frozenset):
            raise Invalid(f"key={given!r} is not a key of the columns {listed}", hint=hint)
        else:
            found = {self.key[0].name: given}
        for name, value in found.items():
            if value is None:
                raise Invalid(f"the key has no value for {name!r}", hint=hint)
        return found


@dataclass(frozen=True, slots=True)
class Knowledge:
    """The column that says when rows became known. It counts for moments before `since`, when the
    lake's own record of the table began: what was known from then on the commits tell."""

    column: Column
    since: int

    @staticmethod
    def maybe(table: TableInfo) -> Knowledge | None:
        settings = Settings.of(table.tags)
        columns = {column.id: column for column in table.schema}
        column = columns.get(-1 if settings.knowledge_time is None else settings.knowledge_time)
        if column is None or settings.recorded_since is None:
            return None
        return Knowledge(column, as_moment(settings.recorded_since, "recorded_since"))


def known_by(column: Column, moment: int) -> Compare:
    """A time of the column is not after a moment."""
    return Compare(column.name, "<=", _floor(column, moment))


def _settled(table: TableInfo) -> Settings | None:
    """The table's settings, if they declare facts in time."""
    settings = Settings.of(table.tags)
    return settings if settings.key and settings.event_time is not None else None


def as_moment(value: object, what: str = "as_of") -> int:
    """A moment as nanoseconds since 1970; without a zone it is UTC, a date is its midnight, and
    `now` may stand with a span."""
    found = _parsed(value)
    if found is None or found != found:
        raise Invalid(
            f"{what}={value!r} is not a time",
            hint='give a datetime, a date or a text such as "2024-03-15T14:30:00Z" or "now - 1h"',
        )
    if not _EARLIEST <= found <= _LATEST:
        raise Invalid(f"{what}={value!r} is out of range", hint="the years are 1 to 9999")
    return int(found)


def moment_text(moment: int) -> str:
    """The moment as people write it, in UTC."""
    time = _EPOCH + timedelta(microseconds=moment // _MICROSECOND)
    rest = moment % instant.SECOND
    text = time.replace(microsecond=0).isoformat()
    return f"{text}{f'.{rest:09d}'.rstrip('0') if rest else ''}Z"


def _parsed(value: object) -> int | float | None:
    value = from_now(python_value(value))
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
    if column.type == "timestamp_ns":
        return _nanoseconds(moment)
    return time


def _nanoseconds(moment: int) -> str:
    """As text of a type that ends in 2262, and begins in 1677."""
    if moment < _EARLIEST_NS:
        return "-infinity"
    whole, rest = divmod(min(moment, _LATEST_NS), _MICROSECOND)
    time = _EPOCH + timedelta(microseconds=whole)
    return f"{time.isoformat(sep=' ', timespec='microseconds')}{rest:03d}"


_EARLIEST_NS = instant.of_date(datetime(1677, 9, 22))
_LATEST_NS = 2**63 - 2
_EARLIEST = instant.of_date(datetime.min)
_LATEST = instant.of_date(datetime.max) + _MICROSECOND - 1


def names(columns: Iterable[Column]) -> tuple[str, ...]:
    return tuple(column.name for column in columns)
