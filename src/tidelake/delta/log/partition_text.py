"""Partition values as Delta logs spell them, and as DuckLake does."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from tidelake.errors import Corrupt, Unsupported
from tidelake.model.schema import Column
from tidelake.model.types import BITS, FLOATS, INTEGERS, decimal_shape, is_decimal

_INTEGER = re.compile(r"[+-]?\d+")
_DECIMAL = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
_FLOAT = re.compile(r"[+-]?(?:NaN|Infinity|(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_MOMENT = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?\s*(Z|UTC|[+-]\d\d:?\d\d)?)?"
)
_DOUBTFUL = re.compile("[\x80-\xff\ufffd]")
_PLAIN_FLOAT = re.compile(r"-?(?:0|[1-9]\d{0,4})\.(?:0|\d{0,3}[1-9])")


def ducklake_text(column: Column, text: str | None) -> str | None:
    """A value as DuckLake spells it: the one spelling that all readers take for the same. An
    empty text is null, whatever the type. Corrupt if it is no value of the column's type."""
    if text is None or text == "":
        return None
    kind = column.type
    found: str | None = None
    if kind == "varchar":
        found = text
    elif kind in INTEGERS:
        found = _integer(kind, text)
    elif is_decimal(kind):
        found = _decimal(kind, text)
    elif kind == "boolean":
        found = text.lower() if text.lower() in ("true", "false") else None
    elif kind in FLOATS:
        found = text if _FLOAT.fullmatch(text) else None
    elif kind == "date":
        found = _date(text)
    elif kind in ("timestamp", "timestamptz"):
        found = _moment(text, zoned=kind == "timestamptz")
    elif kind == "blob":
        return _binary(column, text)
    if found is None:
        raise Corrupt(
            f"the log has {text!r} as partition value of {column.name}, which is no"
            f" {column.duckdb_type}",
            hint="restore the log, or write that partition again in Delta",
        )
    return found


def is_plain(column: Column, text: str | None) -> bool:
    """Whether a value is spelled so that every reader takes it for the same, whatever its
    settings: DuckDB reads times without a zone as those of its session."""
    if column.type in FLOATS:
        return text is None or _PLAIN_FLOAT.fullmatch(text) is not None
    return column.type not in ("timestamptz", "blob") or text is None


def _integer(kind: str, text: str) -> str | None:
    if not _INTEGER.fullmatch(text):
        return None
    value, limit = int(text), 1 << (BITS[kind] - 1)
    return str(value) if -limit <= value < limit else None


def _decimal(kind: str, text: str) -> str | None:
    width, scale = decimal_shape(kind)
    if not _DECIMAL.fullmatch(text) or len(text) > 100:
        return None
    sign, digits, exponent = Decimal(text).as_tuple()
    if not isinstance(exponent, int) or abs(exponent) > 100:
        return None
    value = int("".join(map(str, digits)))
    shift = exponent + scale
    unscaled, rest = (value * 10**shift, 0) if shift >= 0 else divmod(value, 10**-shift)
    if rest or len(str(unscaled)) > width:
        return None
    whole, part = divmod(unscaled, 10**scale)
    return f"{'-' if sign and unscaled else ''}{whole}" + (f".{part:0{scale}d}" if scale else "")


def _date(text: str) -> str | None:
    if not _DATE.fullmatch(text):
        return None
    try:
        return datetime.strptime(text, "%Y-%m-%d").date().isoformat()
    except ValueError:
        return None


def _moment(text: str, *, zoned: bool) -> str | None:
    found = _MOMENT.fullmatch(text)
    if found is None or (found.group(4) and not zoned) or (found.group(3) or "")[6:].strip("0"):
        return None
    day, clock, fraction, zone = found.groups()
    micros = int((fraction or "")[:6].ljust(6, "0"))
    try:
        when = datetime.fromisoformat(f"{day}T{clock or '00:00:00'}").replace(tzinfo=UTC)
        when = when.replace(microsecond=micros) - _offset(zone)
    except (ValueError, OverflowError):
        return None
    rest = f".{when.microsecond:06d}".rstrip("0") if when.microsecond else ""
    return f"{when:%Y-%m-%d %H:%M:%S}".zfill(19) + rest + ("+00" if zoned else "")


def _offset(zone: str | None) -> timedelta:
    if zone in (None, "Z", "UTC"):
        return timedelta()
    assert zone is not None
    minutes = int(zone[1:3]) * 60 + int(zone[-2:])
    return timedelta(minutes=-minutes if zone[0] == "-" else minutes)


def _binary(column: Column, text: str) -> str:
    """Bytes as the characters that they spell. Writers disagree on what those between ASCII and
    U+0100 stand for, and nobody knows what was there before a replacement character."""
    if _DOUBTFUL.search(text):
        raise Unsupported(
            f"the log has {text!r} as partition value of {column.name}, and writers spell such"
            " bytes in different ways",
            hint="write the table in Delta without partitioning by a binary column",
        )
    return text
