"""A time given without a zone is UTC, and a column without one holds UTC."""

from __future__ import annotations

from datetime import UTC, date, datetime, time

from tidelake.model import instant
from tidelake.model.literal import Value, in_utc
from tidelake.model.schema import Column
from tidelake.model.types import TIMESTAMPS


def with_zone_of(column: Column | None, value: Value) -> Value:
    """The same moment, written so that no session's time zone can change the comparison."""
    if column is None:
        return value
    if column.type == "timestamptz":
        return _zoned(value)
    if not isinstance(value, datetime) or value.tzinfo is None:
        return value
    if column.type == "date" or column.type in TIMESTAMPS:
        shifted = in_utc(value)
        return value if shifted.utcoffset() else shifted.replace(tzinfo=None)
    return value


def _zoned(value: Value) -> Value:
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value
    if isinstance(value, date):
        return datetime.combine(value, time(), UTC)
    if isinstance(value, str) and isinstance(instant.parse_moment(value, zoned=False), int):
        return f"{value}+00" if ":" in value else f"{value} 00:00:00+00"
    return value
