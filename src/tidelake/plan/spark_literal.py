"""Values as Spark literals that compare with a column as DuckDB's literals do."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from uuid import UUID

from tidelake.model.comparable import comparable
from tidelake.model.literal import Value, in_utc
from tidelake.model.schema import Column
from tidelake.model.types import FLOATS, INTEGERS, TIMESTAMPS, decimal_shape, is_decimal

_WIDEST_DECIMAL = 38
_WIDEST_INTEGER = 20
_EXACT_DIGITS = 15
_EXACT_DIGITS_32 = 7
_EPOCH = datetime(1970, 1, 1)
_SAFE = re.compile(r"[A-Za-z0-9 _.,:+/%-]*", re.ASCII)


class NotEqual(Exception):
    """Spark might understand this otherwise than DuckDB, or not at all."""


def backtick(name: str) -> str:
    """An identifier as Spark SQL reads it."""
    return "`" + name.replace("`", "``") + "`"


def text_literal(text: str) -> str:
    """Settings of a session say how Spark reads backslashes and dollars in a literal, so these
    are not written."""
    if _SAFE.fullmatch(text):
        return f"'{text}'"
    return f"CAST(X'{text.encode().hex()}' AS STRING)"


def literal(column: Column, value: Value) -> str:
    """A value, not NULL, that is compared with the column; NotEqual unless both engines surely
    judge every row alike."""
    if isinstance(value, str) and column.type != "varchar":
        value = read(column, value)
    for kinds, say in _LITERALS:
        if kinds(column.type):
            return say(column.type, value)
    raise NotEqual(f"{column.name!r} is {column.duckdb_type}")


def read(column: Column, text: str) -> Value:
    """DuckDB casts plain text to the column's type; here the cast is done beforehand."""
    known = comparable(column, text)
    if known is None or column.type == "float32":
        raise NotEqual(f"{text!r} as {column.duckdb_type}")
    if column.type == "boolean":
        return bool(known.value)
    if known.kind == "instant":
        return _moment(column, text, known.value)
    if column.type in INTEGERS and not _fits(column.type, int(known.value)):
        raise NotEqual(f"{text!r} as {column.duckdb_type}")
    return known.value


def _fits(kind: str, value: int) -> bool:
    bits = int(kind.removeprefix("u").removeprefix("int"))
    least, most = (0, 1 << bits) if kind.startswith("u") else (-1 << bits - 1, 1 << bits - 1)
    return least <= value < most


def _moment(column: Column, text: str, nanos: object) -> Value:
    if not isinstance(nanos, int) or nanos % 1000:
        raise NotEqual(f"{text!r}: Spark has no infinite times and no nanoseconds")
    try:
        found = _EPOCH + timedelta(microseconds=nanos // 1000)
    except OverflowError:
        raise NotEqual(f"{text!r} is outside the years 1 to 9999") from None
    if column.type in TIMESTAMPS:
        return found.replace(tzinfo=UTC) if column.type == "timestamptz" else found
    return found.date() if column.type == "date" else found.time()


def _boolean(_: str, value: Value) -> str:
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    raise NotEqual("a boolean and another kind of value")


def _whole(kind: str, value: Value) -> str:
    if isinstance(value, float) and kind != "uint64":
        return _double(value)
    return _exact(value, _WIDEST_INTEGER)


def _decimal(kind: str, value: Value) -> str:
    width, scale = decimal_shape(kind)
    if isinstance(value, float) and width <= _EXACT_DIGITS:
        return _double(value)
    said = _exact(value, width - scale)
    if _whole_digits(Decimal(value)) + scale > _WIDEST_DECIMAL:  # type: ignore[arg-type]
        raise NotEqual("a number with more digits than a decimal has")
    return said


def _exact(value: Value, whole_digits: int) -> str:
    """A number that both compare exactly with one of so many digits before the point."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise NotEqual("a number and another kind of value")
    if isinstance(value, int) and -(2**63) < value < 2**63:
        return str(value) if -(2**31) <= value < 2**31 else f"{value}L"
    return _cast_decimal(Decimal(value), whole_digits)


def _cast_decimal(value: Decimal, whole_digits: int) -> str:
    """Not a literal: Spark 4 takes an integer column compared with a decimal literal beyond
    its range for TRUE or FALSE even where the column is NULL."""
    scale = _scale(value)
    if max(_whole_digits(value), whole_digits) + scale > _WIDEST_DECIMAL:
        raise NotEqual("a number with more digits than a decimal has")
    return f"CAST('{value:f}' AS DECIMAL({_whole_digits(value) + scale}, {scale}))"


def _whole_digits(value: Decimal) -> int:
    return max(value.adjusted() + 1, 1)


def _scale(value: Decimal) -> int:
    return max(-int(value.as_tuple().exponent), 0)


def _float(kind: str, value: Value) -> str:
    if isinstance(value, float):
        return _double(value)
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise NotEqual("a number and another kind of value")
    most = _EXACT_DIGITS_32 if kind == "float32" else _EXACT_DIGITS
    if _whole_digits(Decimal(value)) + _scale(Decimal(value)) > most:
        raise NotEqual("a number with more digits than a float has")
    return f"CAST('{Decimal(value):f}' AS {'FLOAT' if kind == 'float32' else 'DOUBLE'})"


def _double(value: float) -> str:
    return f"{value!r}D" if math.isfinite(value) else f"CAST('{value!r}' AS DOUBLE)"


def _text(_: str, value: Value) -> str:
    if isinstance(value, str | UUID):
        return text_literal(str(value))
    raise NotEqual("a text and another kind of value")


def _bytes(_: str, value: Value) -> str:
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    raise NotEqual("bytes and another kind of value")


def _date(_: str, value: Value) -> str:
    if isinstance(value, date) and not isinstance(value, datetime):
        return f"DATE '{value.isoformat()}'"
    raise NotEqual("a date and another kind of value")


def _timestamp(_: str, value: Value) -> str:
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime.combine(value, time())
    if isinstance(value, datetime) and value.tzinfo is None:
        return f"TIMESTAMP_NTZ '{value.isoformat(sep=' ')}'"
    raise NotEqual("a time without a zone and another kind of value")


def _timestamptz(_: str, value: Value) -> str:
    if isinstance(value, datetime) and value.tzinfo is not None:
        settled = in_utc(value)
        if not settled.utcoffset():
            return f"TIMESTAMP_LTZ '{settled.isoformat(sep=' ')}'"
    raise NotEqual("a time with a zone and another kind of value")


def _time(_: str, value: Value) -> str:
    if isinstance(value, time) and value.tzinfo is None:
        return f"TIME '{value.isoformat()}'"
    raise NotEqual("a time of day and another kind of value")


_LITERALS: tuple[tuple[Callable[[str], bool], Callable[[str, Value], str]], ...] = (
    ("boolean".__eq__, _boolean),
    (INTEGERS.__contains__, _whole),
    (FLOATS.__contains__, _float),
    (is_decimal, _decimal),
    ("date".__eq__, _date),
    ("timestamptz".__eq__, _timestamptz),
    ((TIMESTAMPS - {"timestamptz", "timestamp_ns"}).__contains__, _timestamp),
    ("time".__eq__, _time),
    (("varchar", "uuid").__contains__, _text),
    ("blob".__eq__, _bytes),
)
