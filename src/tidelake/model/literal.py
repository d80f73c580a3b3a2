"""Python values as DuckDB literals that mean exactly the same."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import SupportsIndex
from uuid import UUID

from tidelake.errors import Invalid
from tidelake.model.names import text_literal
from tidelake.model.numpy_scalar import python_value

Value = (
    bool | int | float | Decimal | str | bytes | date | datetime | time | timedelta | UUID | None
)


@dataclass(frozen=True, slots=True)
class Literal:
    """A value that stands for itself, also where text is SQL."""

    value: object


def lit(value: object) -> Literal:
    """A value that stands for itself, also where text would be SQL: `{"name": lit("id")}`."""
    return Literal(value)


def plain(value: object) -> Value:
    """The value as one of the types of `Value`, or Invalid; None stays None."""
    value = python_value(value.value if isinstance(value, Literal) else value)
    if value is None or isinstance(value, bool | str | bytes | UUID | timedelta | time):
        return value
    if isinstance(value, datetime):
        return _plain_datetime(value)
    if isinstance(value, date):
        return value
    if isinstance(value, Decimal):
        if not value.is_finite():
            raise Invalid(
                f"{value} is not a decimal number", hint="use float('nan') or float('inf')"
            )
        return value
    if isinstance(value, float):
        return float(value)
    if isinstance(value, SupportsIndex) and not hasattr(value, "shape"):
        return operator.index(value)
    raise Invalid(
        f"{value!r} ({type(value).__name__}) cannot stand in a condition",
        hint="use numbers, text, bytes, booleans, dates, times, timedeltas or UUIDs",
    )


def _plain_datetime(value: datetime) -> datetime:
    if value != value:  # pandas' NaT: no other datetime is unlike itself
        raise Invalid("NaT cannot be compared", hint="use is_null() or is_not_null()")
    if getattr(value, "nanosecond", 0):
        raise Invalid(f"{value} has nanoseconds, which Python's datetime has not", hint="use text")
    return value


def sql_literal(value: Value) -> str:
    """The value in DuckDB's SQL."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _float_literal(value)
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, str):
        return _string_literal(value)
    if isinstance(value, bytes):
        return "'" + "".join(f"\\x{byte:02X}" for byte in value) + "'::BLOB"
    if isinstance(value, UUID):
        return f"'{value}'::UUID"
    return _temporal_literal(value)


def _float_literal(value: float) -> str:
    """Without an exponent DuckDB would take it for a DECIMAL."""
    text = repr(value)
    if text in ("nan", "inf", "-inf"):
        return f"'{text}'::DOUBLE"
    return text if "e" in text else text + "e0"


def _string_literal(value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise Invalid(
            f"{value!r} is not valid Unicode text", hint="leave out lone surrogates"
        ) from None
    if "\0" not in value:
        return text_literal(value)
    return "(" + " || chr(0) || ".join(text_literal(part) for part in value.split("\0")) + ")"


def _temporal_literal(value: date | datetime | time | timedelta) -> str:
    if isinstance(value, timedelta):
        parts = f"{value.days} days {value.seconds} seconds {value.microseconds} microseconds"
        return f"INTERVAL '{parts}'"
    if isinstance(value, time):
        return f"{'TIME' if value.tzinfo is None else 'TIMETZ'} '{value.isoformat()}'"
    if not isinstance(value, datetime):
        return f"DATE '{value.isoformat()}'"
    if value.tzinfo is None:
        return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
    return f"TIMESTAMPTZ '{in_utc(value).isoformat(sep=' ')}'"


def in_utc(value: datetime) -> datetime:
    """The same instant in UTC; near the ends of Python's calendar, as it was given."""
    try:
        return value.astimezone(UTC)
    except OverflowError:
        return value
