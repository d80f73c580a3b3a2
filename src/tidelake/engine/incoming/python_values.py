"""Python values as a column takes them: text, numbers, booleans or bytes that DuckDB casts exactly.

A converter returns the value to hand over and raises ValueError, saying why, for any that the
column cannot hold as it is. None never comes to a converter.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Context, Decimal
from functools import partial
from numbers import Integral, Real
from operator import index
from typing import Any
from uuid import UUID

from tidelake.engine.declare.type_fit import INTEGERS, WIDE
from tidelake.model.instant import fraction_digits, parse_date, parse_moment, parse_time
from tidelake.model.names import fold
from tidelake.model.numpy_scalar import is_not_a_time, python_value
from tidelake.model.schema import Column
from tidelake.model.types import FRACTION_DIGITS, decimal_shape, is_decimal

Converter = Callable[[Any], Any]

_WIDE_CONTEXT = Context(prec=200)


class Number(float):
    """A number of a JSON file, with its text: a decimal column takes all its digits."""

    text: str

    def __new__(cls, text: str) -> Number:
        number = super().__new__(cls, text)
        number.text = text
        return number


def converter(column: Column) -> Converter:
    kind = column.type
    if kind in INTEGERS:
        return partial(_integer, *INTEGERS[kind])
    if kind in WIDE:
        return partial(_wide, *WIDE[kind])
    if is_decimal(kind):
        return partial(_decimal, *decimal_shape(kind))
    if kind.startswith("timestamp"):
        return partial(_moment, FRACTION_DIGITS[kind])
    if kind in ("time", "time_ns"):
        return partial(_time, FRACTION_DIGITS[kind])
    if kind == "struct":
        return _struct(column)
    if kind == "list":
        return partial(_list, optional(converter(column.children[0])))
    if kind == "map":
        key, value = column.children
        return partial(_map, converter(key), optional(converter(value)))
    return _CONVERTERS.get(kind, _nothing)


def optional(convert: Converter) -> Converter:
    return lambda value: None if value is None or is_missing(value) else convert(value)


def is_missing(value: Any) -> bool:
    """pandas' NaT and NA, and numpy's NaT, which can stand for nothing else."""
    return type(value).__name__ in ("NaTType", "NAType") or is_not_a_time(value)


def _not(value: object, wanted: str) -> ValueError:
    shown = repr(value)
    shown = shown if len(shown) <= 100 else shown[:99] + "…"
    return ValueError(f"{shown} ({type(value).__name__}) is not {wanted}")


def _nothing(value: object) -> Any:
    raise _not(value, "of a type that dicts can give")


def _boolean(value: Any) -> bool:
    if type(value) is bool:
        return value
    if type(value).__module__ == "numpy" and type(value).__name__ in ("bool", "bool_"):
        return bool(value)
    raise _not(value, "a boolean")


def _integer(low: int, high: int, value: Any) -> int:
    if type(value) is not int:
        if isinstance(value, bool) or not hasattr(value, "__index__"):
            raise _not(value, "an integer")
        value = index(value)
    if not low <= value <= high:
        raise ValueError(f"{value} is not between {low} and {high}")
    return int(value)


def _wide(low: int, high: int, value: Any) -> int:
    """Reading gives such a number as a Decimal, as Arrow has it."""
    if isinstance(value, Decimal) and value.is_finite() and value == value.to_integral_value():
        value = int(value)
    number = _integer(-(1 << 127), 1 << 128, value)
    if not low <= number <= high:
        raise ValueError(
            f"{number} is beyond 2^53, which files cannot hold exactly in this type;"
            " use a decimal(38,0) column"
        )
    return number


def _double(value: Any) -> float:
    if type(value) is float:
        return value
    if isinstance(value, bool) or not isinstance(value, Real):
        raise _not(value, "a number")
    try:
        number = float(value)
    except OverflowError:
        number = float("inf")
    if number == value or number != number:
        return number
    raise ValueError(f"{value} does not fit a float exactly")


def _single(value: Any) -> float:
    number = _double(value)
    try:
        struct.pack("<f", number)
    except OverflowError:
        raise ValueError(f"{value} is too large for FLOAT") from None
    return number


def _decimal(digits: int, scale: int, value: Any) -> str:
    if isinstance(value, Number):
        number = Decimal(value.text)
    elif isinstance(value, Decimal):
        number = value
    elif isinstance(value, bool) or not isinstance(value, Integral):
        raise _not(value, "a Decimal or an integer")
    else:
        number = Decimal(_integer(-(10**digits), 10**digits, value))
    if not number.is_finite():
        raise ValueError(f"{number} is not a decimal number")
    scaled = number.scaleb(scale, _WIDE_CONTEXT)
    if scaled.copy_abs() >= 10**digits or scaled != scaled.to_integral_value(context=_WIDE_CONTEXT):
        raise ValueError(f"{value} does not fit DECIMAL({digits},{scale}) exactly")
    return format(number, "f")


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise _not(value, "text")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ValueError(f"{value!r} is not valid Unicode text") from None
    return str(value)


def _json(value: Any) -> str:
    """A str is JSON text already; anything else is written as JSON."""
    if not isinstance(value, str):
        return json_text(value)
    try:
        json.loads(_text(value), parse_constant=_no_constant)
    except ValueError:
        raise ValueError(f"{value[:100]!r} is not valid JSON") from None
    return value


def _no_constant(name: str) -> None:
    raise ValueError(name)


def json_text(value: Any) -> str:
    """The value as JSON, with the digits that a JSON file had."""
    value = python_value(value)
    if isinstance(value, Number):
        return value.text
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(json_text, value))}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_key(k)}: {json_text(v)}' for k, v in value.items())}}}"
    try:
        return json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        raise _not(value, "something that JSON can hold") from None


def _key(value: Any) -> str:
    return json.dumps(_text(value))


def _uuid(value: Any) -> str:
    if isinstance(value, UUID):
        return str(value)
    try:
        return str(UUID(_text(value)))
    except ValueError:
        raise _not(value, "a UUID") from None


def _blob(value: Any) -> bytes:
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    raise _not(value, "bytes")


def _date(value: Any) -> str:
    value = python_value(value)
    if type(value) is date:
        return value.isoformat()
    if isinstance(value, str):
        if parse_date(value) is not None:
            return value
        try:
            return date.fromisoformat(value).isoformat()
        except ValueError:
            pass
    raise _not(value, "a date")


def _moment(digits: int, value: Any) -> str:
    value = python_value(value)
    if isinstance(value, str):
        return _moment_text(digits, value)
    if not isinstance(value, date):
        raise _not(value, "a timestamp")
    if isinstance(value, datetime) and value.tzinfo is not None:
        value = _in_utc(value)
    text = value.isoformat(" ") if isinstance(value, datetime) else f"{value} 00:00:00"
    return _fitting(text, digits)


def _in_utc(value: datetime) -> datetime:
    try:
        return value.astimezone(UTC).replace(tzinfo=None)
    except OverflowError:
        raise ValueError(f"{value} is out of range") from None


def _moment_text(digits: int, text: str) -> str:
    if parse_moment(text, zoned=False) is not None:
        return _fitting(text, digits)
    _fitting(text, min(digits, 6))
    try:
        return _moment(digits, datetime.fromisoformat(text))
    except ValueError:
        raise _not(text, "a timestamp") from None


def _fitting(text: str, digits: int) -> str:
    """The text, if all digits of its seconds that are not zero can be kept."""
    if (given := fraction_digits(text)) > digits:
        start = text.rindex(".") + 1
        if text[start + digits : start + given].strip("0"):
            raise ValueError(f"{text} has more than {digits} digits of a second")
        text = text[: start + digits].rstrip(".") + text[start + given :]
    return text


def _time(digits: int, value: Any) -> str:
    if isinstance(value, time) and value.tzinfo is None:
        return _fitting(value.isoformat(), digits)
    if isinstance(value, str):
        if parse_time(value) is not None:
            return _fitting(value, digits)
        try:
            return _time(digits, time.fromisoformat(_fitting(value, 6)))
        except ValueError:
            pass
    raise _not(value, "a time without a zone")


def _timetz(value: Any) -> str:
    if isinstance(value, str):
        try:
            value = time.fromisoformat(_fitting(value, 6))
        except ValueError:
            raise _not(value, "a time") from None
    if isinstance(value, time) and not value.utcoffset():
        return f"{value.replace(tzinfo=None).isoformat()}+00"
    raise _not(value, "a time in UTC")


def _interval(value: Any) -> str:
    value = python_value(value)
    if isinstance(value, timedelta):
        parts = (0, value.days, value.seconds * 1_000_000 + value.microseconds)
        nanoseconds = getattr(value, "nanoseconds", 0)
    elif type(value).__name__ == "MonthDayNano":
        parts = (value[0], value[1], int(value[2] / 1000))
        nanoseconds = value[2] % 1000
    else:
        raise _not(value, "a timedelta")
    if nanoseconds:
        raise ValueError(f"{value} has nanoseconds, which an interval has not")
    return "{} months {} days {} microseconds".format(*parts)


def _geometry(value: Any) -> str:
    """WKT as it is, WKB in hexadecimal digits."""
    return value.hex() if isinstance(value, bytes) else _text(value)


def _struct(column: Column) -> Converter:
    fields = {child.name: optional(converter(child)) for child in column.children}
    spelled = {fold(name): name for name in fields}

    def convert(value: Any) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise _not(value, "a dict")
        found: dict[str, Any] = dict.fromkeys(fields)
        for key, inner in value.items():
            name = key if key in fields else spelled.get(fold(str(key)))
            if name is None:
                raise ValueError(f"there is no field {key!r}")
            found[name] = _inside(name, fields[name], inner)
        if len({fold(str(key)) for key in value}) < len(value):
            raise ValueError("a field is there twice; case does not tell fields apart")
        return found

    return convert


def _inside(name: str, convert: Converter, value: Any) -> Any:
    try:
        return convert(value)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def _list(convert: Converter, value: Any) -> list[Any]:
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise _not(value, "a list")
    return [convert(item) for item in value]


def _map(key: Converter, convert: Converter, value: Any) -> list[tuple[Any, Any]]:
    """A dict, or a list of pairs."""
    pairs = value.items() if isinstance(value, Mapping) else value
    if isinstance(value, str | bytes) or not isinstance(pairs, Iterable):
        raise _not(value, "a dict")
    try:
        found = [(key(k), convert(v)) for k, v in pairs]
    except TypeError:
        raise _not(value, "a dict") from None
    if len({k if not isinstance(k, dict | list) else repr(k) for k, _ in found}) < len(found):
        raise ValueError("a map holds a key only once")
    return found


_CONVERTERS: dict[str, Converter] = {
    "boolean": _boolean,
    "float32": _single,
    "float64": _double,
    "varchar": _text,
    "json": _json,
    "blob": _blob,
    "uuid": _uuid,
    "date": _date,
    "timetz": _timetz,
    "interval": _interval,
    "variant": json_text,
    "geometry": _geometry,
}
