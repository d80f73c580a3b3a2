"""Series: tables of which it is known, for every entity, in which buckets of time it has rows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from hashlib import blake2b
from itertools import accumulate
from operator import add, index, sub
from typing import Any
from uuid import UUID

from tidelake.coverage.values.clock import COUNT, SIGN, TIME, Clock
from tidelake.errors import Corrupt, Invalid
from tidelake.model.event_time import as_moment
from tidelake.model.instant import of_date, parse_date
from tidelake.model.names import fold
from tidelake.model.schema import Column
from tidelake.model.settings import ENTITIES, Settings
from tidelake.model.table import TableInfo
from tidelake.model.types import INTEGERS

Entity = tuple[int | str | date | UUID | None, ...]
"""The values of the entity columns, in their order; of a table without such, the empty tuple."""
Moment = datetime | date | int

_EPOCH = datetime(1970, 1, 1)
_MICROSECOND = 1000
_HINT = 'declare it: t.set_coverage("1m", entity=["id"], event_time="ts")'


@dataclass(frozen=True, slots=True)
class Series:
    """How the rows of a table fall into entities and buckets, and what an append does with
    buckets that are covered."""

    entity: tuple[Column, ...]
    time: Column
    clock: Clock
    overlap: str = "allow"

    @staticmethod
    def of(table: TableInfo, at: int) -> Series:
        """What the table's settings say at a snapshot; Invalid if they say nothing."""
        found = Series.maybe(table)
        if found is not None:
            return found
        if Settings.of(table.tags).bucket is not None:
            raise Invalid(
                f"an entity or event time column of {table.name} has been dropped by snapshot {at},"
                " or has another type, so its coverage cannot be told",
                hint=_HINT,
            )
        raise Invalid(f"the coverage of {table.name} is not kept at snapshot {at}", hint=_HINT)

    @staticmethod
    def maybe(table: TableInfo) -> Series | None:
        """The same; None also where DuckDB has made columns ones that no series can have."""
        settings = Settings.of(table.tags)
        columns = {column.id: column for column in table.schema}
        if settings.bucket is None or not settings.series <= columns.keys():
            return None
        assert settings.event_time is not None
        time = columns[settings.event_time]
        entity = tuple(columns[id_] for id_ in settings.entity)
        if not all(column.type in ENTITIES for column in entity):
            return None
        try:
            clock = Clock.of(settings.bucket, time.type)
        except Invalid:
            return None
        return Series(entity, time, clock, settings.overlap or "allow")

    @property
    def columns(self) -> tuple[Column, ...]:
        return (*self.entity, self.time)

    @property
    def number(self) -> int:
        """By which what is kept of this series is told from that of others of the table. Types
        count: what a merged file has of wider values is nothing to who reads narrower ones."""
        listed = [[[column.id, column.type] for column in self.columns], self.clock.key]
        return _hash(json.dumps(listed, separators=(",", ":")))

    def position(self, value: object, what: str) -> int:
        """A moment of the series' clock, as its buckets count."""
        if self.clock.kind != COUNT:
            return as_moment(value, what)
        if not isinstance(value, int) or isinstance(value, bool):
            raise Invalid(
                f"{what}={value!r} is not a value of {self.time.name!r}, which is an"
                f" {self.time.type}",
                hint="give an integer",
            )
        return value

    def moment(self, number: int) -> Moment:
        """When a bucket begins, as a value of the clock's column. What Python cannot hold is
        shown as the first or the last that it can."""
        start = self.clock.start(number)
        if self.clock.kind == COUNT:
            return start
        try:
            found = _EPOCH + timedelta(0, 0, start // _MICROSECOND)
        except OverflowError:
            found = datetime.max if start > 0 else datetime.min
        if self.time.type == "date":
            return found.date()
        return found.replace(tzinfo=UTC) if self.time.type == "timestamptz" else found

    def moments_of(
        self, firsts: Sequence[int], ends: Sequence[int], lengths: Sequence[int]
    ) -> tuple[list[Moment], list[Moment]]:
        """When buckets begin, by their ids, of many that follow each other: of the firsts of
        stretches, and of the ends of these, which are as long as `lengths` say."""
        if firsts and self.clock.kind == TIME and not self.clock.width % _MICROSECOND:
            with suppress(OverflowError):
                return self._moments_by_steps(firsts, lengths)
        number_of = self.clock.number_of
        starts = [self.moment(number_of(bucket)) for bucket in firsts]
        return starts, [self.moment(number_of(bucket)) for bucket in ends]

    def _moments_by_steps(
        self, firsts: Sequence[int], lengths: Sequence[int]
    ) -> tuple[list[Moment], list[Moment]]:
        """Each from the one before it. OverflowError if Python cannot hold all of them. Requires
        buckets that are whole microseconds long."""
        start = self.clock.start(self.clock.number_of(firsts[0]))
        first = _EPOCH + timedelta(0, 0, start // _MICROSECOND)
        if self.time.type == "timestamptz":
            first = first.replace(tzinfo=UTC)
        width = self.clock.width // _MICROSECOND
        steps = list(map(sub, firsts[1:], firsts))
        known = {step: timedelta(0, 0, step * width) for step in {*steps, *lengths}}
        starts: list[datetime] = list(accumulate(map(known.__getitem__, steps), add, initial=first))
        stops: list[datetime] = list(map(add, starts, map(known.__getitem__, lengths)))
        if self.time.type == "date":
            return [each.date() for each in starts], [each.date() for each in stops]
        return [*starts], [*stops]

    def given(self, entity: object) -> Entity:
        """An entity as callers spell it: the value of one column, a tuple, or a dict by column."""
        names = [column.name for column in self.entity]
        if isinstance(entity, Mapping):
            folded = {fold(str(name)): value for name, value in entity.items()}
            missing = [name for name in names if fold(name) not in folded]
            if missing or len(entity) != len(names):
                raise Invalid(f"entity={dict(entity)!r} does not name {self._spelled}", hint=_SHAPE)
            values = tuple(folded[fold(name)] for name in names)
        elif isinstance(entity, tuple):
            values = entity
        else:
            values = (entity,)
        if len(values) != len(names):
            raise Invalid(f"entity={entity!r} is not one of {self._spelled}", hint=_SHAPE)
        return tuple(_typed(c, value) for c, value in zip(self.entity, values, strict=True))

    @property
    def _spelled(self) -> str:
        listed = ", ".join(column.name for column in self.entity)
        return f"the entity columns ({listed})" if listed else "a table without entity columns"

    def text(self, entity: Entity) -> str:
        """The entity as it is kept: JSON, in which no two are spelled alike."""
        return json.dumps([_plain(value) for value in entity], separators=(",", ":"))

    def entity_of(self, text: str) -> Entity:
        """The entity that is kept so."""
        try:
            values = json.loads(text)
            return tuple(_typed(c, value) for c, value in zip(self.entity, values, strict=True))
        except (Invalid, TypeError, ValueError):
            raise Corrupt(
                f"{text!r} is kept as an entity and is none", hint="t.recompute_coverage()"
            ) from None

    def rank(self, entity: Entity) -> list[tuple[bool, Any]]:
        """By which entities are put in order: those without a value first."""
        pairs = zip(self.entity, entity, strict=True)
        return [(value is not None, _comparable(column, value)) for column, value in pairs]


_SHAPE = "give a value for one column, a tuple for several, or a dict by column name"


def hash_of(text: str) -> int:
    """A number to look an entity's text up by."""
    return _hash(text)


def _hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest()) - SIGN


def _plain(value: Any) -> str | int | None:
    if isinstance(value, date):
        return value.isoformat()
    return str(value) if isinstance(value, UUID) else value


def _typed(column: Column, value: Any) -> Any:
    """The value as one of the column's; Invalid if it is none."""
    if value is None:
        return None
    try:
        if column.type in INTEGERS and hasattr(value, "__index__") and not isinstance(value, bool):
            return index(value)
        if column.type == "varchar" and isinstance(value, str):
            return str(value)
        if column.type == "date" and isinstance(value, str | date):
            return _date(value)
        if column.type == "uuid" and isinstance(value, str | UUID):
            return UUID(str(value))
    except (ValueError, TypeError):  # of a class, `__index__` is there and cannot be asked
        pass
    raise Invalid(
        f"{value!r} is not a value of the entity column {column.name!r}",
        hint=f"the column is {column.duckdb_type}",
    )


def _comparable(column: Column, value: Any) -> Any:
    """Dates by how far they are from 1970: some are text."""
    if column.type != "date" or value is None:
        return value
    return parse_date(value) if isinstance(value, str) else of_date(value)


def _date(value: str | date) -> date | str:
    """What Python cannot hold, such as years BC, stays the text that DuckDB writes."""
    if isinstance(value, datetime):
        raise ValueError
    if not isinstance(value, str):
        return value
    try:
        return date.fromisoformat(value)
    except ValueError:
        if parse_date(value) is None:
            raise
        return value
