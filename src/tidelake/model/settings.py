"""What a table is to Tidelake beyond its columns: its key, its event time, its series.

Settings live in DuckLake tags named `tidelake.*`, so they are versioned with the table. Columns
are kept by id there: DuckDB may rename them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, TypedDict

from tidelake.coverage.values.clock import Clock
from tidelake.errors import Corrupt, Invalid
from tidelake.model.reflexes import ARGUMENTS
from tidelake.model.schema import Column, Schema
from tidelake.model.terms import CommitTerms
from tidelake.model.types import INTEGERS, TIMESTAMPS

PREFIX = "tidelake."
MIRROR_TAG = f"{PREFIX}mirror"
"""What a table bears that is mirrored: the formats, with commas between them."""
FROZEN_TAG = f"{PREFIX}frozen"
"""What a table bears that is a frozen data set: its rows do not change."""
OVERLAPS = ("allow", "reject", "skip", "replace")

_MOMENTS = TIMESTAMPS | {"date"}
ENTITIES = INTEGERS | {"varchar", "date", "uuid"}


def mirror_formats(tags: Mapping[str, str]) -> set[str]:
    """The formats in which a table is mirrored."""
    return set(filter(None, tags.get(MIRROR_TAG, "").split(",")))


class TableDeclaration(TypedDict, total=False):
    """What a new table may be declared as, by the names of its columns: see `Settings` for what
    each means. `partition_by` takes columns and `year`, `month`, `day`, `hour` or `bucket(n, …)`
    of them."""

    partition_by: str | Sequence[str]
    sort_by: str | Sequence[str]
    comment: str | None
    key: str | Sequence[str]
    event_time: str | None
    tombstone: str | None
    valid_to: str | None
    knowledge_time: str | None
    entity: str | Sequence[str]
    bucket: str | int | timedelta | None
    overlap: str | None


class TableSettings(TableDeclaration, CommitTerms, total=False):
    """The same, and the terms of the commit."""


def known_settings(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """Those that are given; Invalid for a name that is none of them."""
    for name in settings:
        if name not in TableDeclaration.__optional_keys__:
            listed = ", ".join(TableDeclaration.__annotations__)
            hint = ARGUMENTS.get(name, f"settings: {listed}")
            raise Invalid(f"create_table takes no {name!r}", hint=hint)
    return {name: value for name, value in settings.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Settings:
    """`key` and `event_time` make a table one of facts in time, `tombstone` says that a key has
    ended, `valid_to` until when a fact holds at most. `knowledge_time` says when rows became known,
    for moments before `recorded_since`, when the lake's own record began. `event_time` and `bucket`
    make it a series whose coverage is kept, for each `entity` if there are such columns, and
    `overlap` says what an append does with buckets that are covered already."""

    key: tuple[int, ...] = ()
    event_time: int | None = None
    tombstone: int | None = None
    knowledge_time: int | None = None
    recorded_since: str | None = None
    entity: tuple[int, ...] = ()
    bucket: str | None = None
    overlap: str | None = None
    valid_to: int | None = None

    @property
    def columns(self) -> frozenset[int]:
        """Ids of all columns that the settings name."""
        single = [self.event_time, self.tombstone, self.valid_to, self.knowledge_time]
        return frozenset([*self.key, *self.entity, *(i for i in single if i is not None)])

    @property
    def facts(self) -> frozenset[int]:
        """Ids of the columns that make rows facts in time."""
        return replace(self, entity=(), knowledge_time=None).columns

    @property
    def series(self) -> frozenset[int]:
        """Ids of the columns by which coverage is kept."""
        return frozenset([*self.entity, *([] if self.event_time is None else [self.event_time])])

    @property
    def required(self) -> frozenset[int]:
        """Ids of columns that cannot be null."""
        return frozenset([*self.key, *([] if self.event_time is None else [self.event_time])])

    def tags(self) -> dict[str, str]:
        known: dict[str, object] = {
            "key": list(self.key) or None,
            "event_time": self.event_time,
            "tombstone": self.tombstone,
            "valid_to": self.valid_to,
            "knowledge_time": self.knowledge_time,
            "recorded_since": self.recorded_since,
            "entity": list(self.entity) or None,
            "bucket": self.bucket,
            "overlap": self.overlap,
        }
        return {
            f"{PREFIX}{name}": value if isinstance(value, str) else json.dumps(value)
            for name, value in known.items()
            if value is not None
        }

    @staticmethod
    def of(tags: Mapping[str, str]) -> Settings:
        """The settings that a table's tags hold."""

        def ids(name: str) -> tuple[int, ...]:
            text = tags.get(f"{PREFIX}{name}")
            try:
                found = [] if text is None else json.loads(text)
                return tuple(int(i) for i in (found if isinstance(found, list) else [found]))
            except (TypeError, ValueError):
                raise Corrupt(
                    f"the tag {PREFIX}{name} is {text!r}, which names no columns",
                    hint="declare the setting again",
                ) from None

        event_time, tombstone, valid_to = ids("event_time"), ids("tombstone"), ids("valid_to")
        knowledge = ids("knowledge_time")
        return Settings(
            key=ids("key"),
            event_time=event_time[0] if event_time else None,
            tombstone=tombstone[0] if tombstone else None,
            knowledge_time=knowledge[0] if knowledge else None,
            recorded_since=tags.get(f"{PREFIX}recorded_since"),
            entity=ids("entity"),
            bucket=tags.get(f"{PREFIX}bucket"),
            overlap=tags.get(f"{PREFIX}overlap"),
            valid_to=valid_to[0] if valid_to else None,
        )


def settings_from_names(
    schema: Schema,
    *,
    key: str | Sequence[str] = (),
    event_time: str | None = None,
    tombstone: str | None = None,
    valid_to: str | None = None,
    knowledge_time: str | None = None,
    entity: str | Sequence[str] = (),
    bucket: str | int | timedelta | None = None,
    overlap: str | None = None,
) -> Settings:
    """Settings from column names; Invalid if they cannot work."""
    keys = _columns(schema, "key", key)
    entities = _columns(schema, "entity", entity)
    time = None if event_time is None else _column(schema, "event_time", event_time)
    end = None if tombstone is None else _column(schema, "tombstone", tombstone)
    until = None if valid_to is None else _column(schema, "valid_to", valid_to)
    if time is not None and time.type not in _MOMENTS and (keys or time.type not in INTEGERS):
        raise Invalid(
            f"event_time={time.name!r} is a {time.type}", hint="it must be a time or date"
        )
    if time is not None and time.type in INTEGERS and bucket is None:
        raise Invalid(
            f"event_time={time.name!r} is an {time.type}, which can only be the clock of a series",
            hint="give the width of its buckets too: bucket=1000",
        )
    if end is not None and end.type != "boolean":
        raise Invalid(f"tombstone={end.name!r} is a {end.type}", hint="it must be a boolean")
    known = None if knowledge_time is None else _moments(schema, knowledge_time)
    _check_together(keys, time, end, entities, bucket, overlap)
    if until is not None:
        _check_end(keys, time, until)
    return Settings(
        key=tuple(column.id for column in keys),
        event_time=None if time is None else time.id,
        tombstone=None if end is None else end.id,
        entity=tuple(column.id for column in entities),
        bucket=None if bucket is None or time is None else Clock.of(bucket, time.type).given,
        overlap=overlap,
        valid_to=None if until is None else until.id,
        knowledge_time=None if known is None else known.id,
    )


def _check_end(keys: Sequence[Column], time: Column | None, until: Column) -> None:
    """Two times can be compared exactly if they are of one type."""
    if time is None or not keys:
        raise Invalid("valid_to needs key and event_time", hint="give all three")
    if until == time or until in keys:
        raise Invalid(
            f"{until.name!r} cannot say both when a fact begins, or what it is about, and when it"
            " ends",
            hint="choose another column for valid_to",
        )
    if until.type != time.type:
        raise Invalid(
            f"valid_to={until.name!r} is a {until.type}, and the event time a {time.type}",
            hint="they must be of one type",
        )


def _moments(schema: Schema, name: str) -> Column:
    """The column that says when rows became known."""
    found = _column(schema, "knowledge_time", name)
    if found.type not in _MOMENTS:
        raise Invalid(
            f"knowledge_time={found.name!r} is a {found.type}", hint="it must be a time or date"
        )
    return found


def _columns(schema: Schema, what: str, names: str | Sequence[str]) -> list[Column]:
    listed = [names] if isinstance(names, str) else list(names)
    found = [_column(schema, what, name) for name in listed]
    if len({column.id for column in found}) != len(found):
        raise Invalid(f"{what}={listed!r} names a column twice", hint="name it once")
    return found


def _column(schema: Schema, what: str, name: str) -> Column:
    if not isinstance(name, str):
        raise Invalid(f"{what}={name!r} is no column name", hint=f'{what}="a"')
    column = schema.column(name)
    if column.is_nested or column.type in ("variant", "geometry"):
        raise Invalid(f"{what}={name!r} is a {column.type}", hint="choose a column of plain values")
    return column


def _check_together(
    keys: Sequence[Column],
    time: Column | None,
    end: Column | None,
    entities: Sequence[Column],
    bucket: str | int | timedelta | None,
    overlap: str | None,
) -> None:
    if end is not None and (time is None or not keys):
        raise Invalid("tombstone needs key and event_time", hint="give all three")
    both = [column for column in (time, end) if column is not None and column in keys]
    if both:
        raise Invalid(
            f"{both[0].name!r} is part of the key and more than that",
            hint="a key is what facts are about, not when they hold",
        )
    if bucket is None and (entities or overlap):
        raise Invalid("coverage needs a bucket", hint='entity=["id"], bucket="1m"')
    if bucket is not None:
        _check_series(time, entities, bucket, overlap)


def _check_series(
    time: Column | None,
    entities: Sequence[Column],
    bucket: str | int | timedelta,
    overlap: str | None,
) -> None:
    if time is None:
        raise Invalid("coverage needs an event_time", hint='event_time="ts"')
    Clock.of(bucket, time.type)
    for column in entities:
        if column == time:
            raise Invalid(
                f"{time.name!r} cannot be both the event time and an entity",
                hint="an entity is what a series is about",
            )
        if column.type not in ENTITIES:
            raise Invalid(
                f"entity={column.name!r} is a {column.type}",
                hint="it must be a string, an integer, a date or a uuid",
            )
    if overlap is not None and overlap not in OVERLAPS:
        raise Invalid(f"overlap={overlap!r} is unknown", hint=f"one of {', '.join(OVERLAPS)}")


def with_required(schema: Schema, settings: Settings) -> Schema:
    """A key and its event time cannot be null."""
    required = settings.required
    return Schema(
        tuple(replace(c, nullable=c.nullable and c.id not in required) for c in schema.columns)
    )
