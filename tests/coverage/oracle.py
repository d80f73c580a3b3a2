"""What a table covers by the rows that it has: read them all, and put each into its bucket."""

from datetime import date, timedelta
from typing import Any
from uuid import UUID

import pyarrow as pa

import tidelake
from tidelake.coverage.lookup import find_coverage
from tidelake.coverage.values.series import Series
from tidelake.model.settings import Settings
from tidelake.model.types import INTEGERS, TIMESTAMPS

SECOND = 1_000_000_000
UNITS = {"s": SECOND, "ms": SECOND // 1000, "us": 1000, "ns": 1}
WIDTHS = {
    "ms": SECOND // 1000,
    "s": SECOND,
    "m": 60 * SECOND,
    "h": 3600 * SECOND,
    "d": 86_400 * SECOND,
    "w": 7 * 86_400 * SECOND,
}
Covering = dict[tuple[Any, ...], set[int]]


def is_series(table: tidelake.Table) -> bool:
    """Whether coverage is kept: its columns are there, and of types that it can be kept by."""
    settings = Settings.of(table.info.tags)
    types = {column.id: column.type for column in table.schema}
    if settings.bucket is None or not settings.series <= types.keys():
        return False
    assert settings.event_time is not None
    entities = INTEGERS | {"varchar", "date", "uuid"}
    clocks = INTEGERS if settings.bucket.isdigit() else TIMESTAMPS | {"date"}
    return types[settings.event_time] in clocks and all(
        types[each] in entities for each in settings.entity
    )


def by_rows(table: tidelake.Table) -> Covering:
    """Buckets by entity."""
    settings = Settings.of(table.info.tags)
    names = {column.id: column.name for column in table.schema}
    assert settings.event_time is not None
    assert settings.bucket is not None
    entity = [names[each] for each in settings.entity]
    time = names[settings.event_time]
    rows = table.scan([*entity, time]).to_arrow()
    values = [rows[name].to_pylist() for name in entity]
    found: Covering = {}
    for n, position in enumerate(positions(rows[time])):
        if position is not None:
            key = tuple(column[n] for column in values)
            found.setdefault(key, set()).add(bucket(position, settings.bucket))
    return found


def positions(column: pa.ChunkedArray) -> list[int | None]:
    """Nanoseconds since 1970 of moments, integers as they are."""
    kind = column.type
    if pa.types.is_timestamp(kind):
        tick = UNITS[kind.unit]
        return [v if v is None else v * tick for v in column.cast(pa.int64()).to_pylist()]
    if pa.types.is_date32(kind):
        days = column.cast(pa.int32()).to_pylist()
        return [v if v is None else v * WIDTHS["d"] for v in days]
    found: list[int | None] = column.to_pylist()
    return found


def bucket(position: int, width: str) -> int:
    """Its number, by Python's own division and calendar."""
    digits = width.rstrip("abcdefghijklmnopqrstuvwxyz")
    count, unit = int(digits), width[len(digits) :]
    if not unit:
        return position // count
    if unit in ("mo", "y"):
        day = date(1970, 1, 1) + timedelta(days=position // WIDTHS["d"])
        months = (day.year - 1970) * 12 + day.month - 1
        return months // (count * (12 if unit == "y" else 1))
    monday = 4 * WIDTHS["d"] if unit == "w" else 0
    return (position - monday) // (count * WIDTHS[unit])


def by_catalog(table: tidelake.Table, texts: list[str] | None = None) -> Covering:
    """The same from what is kept of the files; of some entities, by their texts, or of all."""
    found = find_coverage(
        table.source.session, table.source.name, table.source.snapshot_id, texts=texts
    )
    clock = found.series.clock
    return {
        _plain(found.series.entity_of(text)): {clock.number_of(each) for each in ids}
        for text, ids in found.buckets.items()
    }


def _plain(entity: tuple[Any, ...]) -> tuple[Any, ...]:
    """As rows have it."""
    return tuple(str(v) if isinstance(v, UUID) else v for v in entity)


def of_one(table: tidelake.Table, entity: tuple[Any, ...]) -> set[int]:
    """What one entity covers."""
    series = Series.of(table.info, 0)
    return by_catalog(table, [series.text(series.given(entity))]).get(entity, set())


def differences(table: tidelake.Table, wanted: Covering, label: str) -> list[str]:
    """Where the two do not agree. One is asked about alone, and once more."""
    got = by_catalog(table)
    for one in 2 * sorted(wanted, key=repr)[:1]:
        alone = of_one(table, one)
        if alone != wanted[one]:
            got[one] = alone
    return [
        f"{label}: {key!r} covers {sorted(got.get(key, ()))}, rows {sorted(wanted.get(key, ()))}"
        for key in sorted({*wanted, *got}, key=repr)
        if wanted.get(key) != got.get(key)
    ]
