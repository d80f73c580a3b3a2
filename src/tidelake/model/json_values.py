"""Arrow values as JSON can hold them, without loss.

Bytes become hexadecimal text, decimals their digits as text, NaN and the infinities `"NaN"`,
`"Infinity"`, `"-Infinity"`. Dates and timestamps are ISO 8601; beyond Python's calendar they are
spelled as in SQL: `12000-01-01`, `0044-03-15 (BC)`, `infinity`. A map is a list of pairs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from typing import Any

Convert = Callable[[Any], Any]

_PLAIN = ("int", "uint", "bool", "string", "large_string")
_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_DIGITS = {"s": 0, "ms": 3, "us": 6, "ns": 9}
_SECONDS_A_DAY = 86_400
_ENDLESS_DATE = 2**31 - 1
_ENDLESS_TIMESTAMP = 2**63 - 1


def rows(batch: Any) -> Iterator[tuple[Any, ...]]:
    """The rows of an Arrow batch, each a tuple of such values."""
    return zip(*map(_values, batch.columns), strict=True)


def _values(column: Any) -> Iterable[Any]:
    if str(column.type).startswith(_PLAIN):
        plain: list[Any] = column.to_pylist()
        return plain
    return map(converter(column.type), column)


def python_values(column: Any) -> list[Any]:
    """The values of a column to look at: Python's, or where it has none for a date or time, texts
    as SQL spells them."""
    try:
        found: list[Any] = column.to_pylist()
    except (ValueError, OverflowError):
        chunks = getattr(column, "chunks", [column])
        found = [value for chunk in chunks for value in _values(chunk)]
    return found


def converter(kind: Any) -> Convert:
    """How to convert scalars of an Arrow type."""
    known = _converter(kind, str(kind))
    return lambda scalar: known(scalar) if scalar.is_valid else None


def _converter(kind: Any, name: str) -> Convert:
    if name.startswith("struct<"):
        fields = [
            (kind.field(n).name, converter(kind.field(n).type)) for n in range(kind.num_fields)
        ]
        return lambda s: {name: convert(s[n]) for n, (name, convert) in enumerate(fields)}
    if name.startswith("map<"):
        key, item = converter(kind.key_type), converter(kind.item_type)
        return lambda s: [[key(pair[0]), item(pair[1])] for pair in s.values]
    if name.startswith(("list<", "large_list<", "fixed_size_list<")):
        element = converter(kind.value_type)
        return lambda s: [element(each) for each in s.values]
    if name.startswith("timestamp["):
        zone = "+00:00" if kind.tz else ""
        return lambda s: timestamp(s.value, kind.unit, zone)
    if name.startswith("date32"):
        return lambda s: date(s.value)
    if name.startswith("time64"):
        return lambda s: time_of_day(s.value, kind.unit)
    return lambda s: _leaf(s.as_py())


def _leaf(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else _NOT_FINITE[str(value)]
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, bytes):
        return value.hex()
    if hasattr(value, "nanoseconds"):
        return {"months": value.months, "days": value.days, "nanoseconds": value.nanoseconds}
    return value if isinstance(value, bool | int | str | None) else str(value)


_NOT_FINITE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def timestamp(value: int, unit: str, zone: str = "") -> str:
    """`value` units since 1970, with the zone's text at the end."""
    if abs(value) == _ENDLESS_TIMESTAMP:
        return "infinity" if value > 0 else "-infinity"
    days, in_day = divmod(value, _SECONDS_A_DAY * _PER_SECOND[unit])
    day = date(days)
    separator = " " if day.endswith(")") else "T"
    return f"{day}{separator}{time_of_day(in_day, unit)}{zone}"


def date(days: int) -> str:
    """Days since 1970-01-01."""
    if abs(days) == _ENDLESS_DATE:
        return "infinity" if days > 0 else "-infinity"
    # Years that begin in March put the leap day last, so that months are a formula.
    era, in_era = divmod(days + 719_468, 146_097)
    year = (in_era - in_era // 1_460 + in_era // 36_524 - in_era // 146_096) // 365
    in_year = in_era - (365 * year + year // 4 - year // 100)
    march_month = (5 * in_year + 2) // 153
    day = in_year - (153 * march_month + 2) // 5 + 1
    month = march_month + 3 if march_month < 10 else march_month - 9
    year += era * 400 + (month <= 2)
    if year < 1:
        return f"{1 - year:04}-{month:02}-{day:02} (BC)"
    return f"{year:04}-{month:02}-{day:02}"


def time_of_day(value: int, unit: str) -> str:
    seconds, fraction = divmod(value, _PER_SECOND[unit])
    text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{text}.{fraction:0{_DIGITS[unit]}}" if fraction else text
