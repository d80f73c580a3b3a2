"""Literals and statistics in the domain where DuckDB compares them with a column.

DuckDB compares a column with a literal after casting one to the type of the other. What is
certain about that is written down here; whatever is not gives None, which means "unknown".
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, time
from decimal import Decimal
from functools import lru_cache
from typing import TypeAlias
from uuid import UUID

from tidelake.model import instant
from tidelake.model.literal import Value
from tidelake.model.schema import Column
from tidelake.model.types import (
    FLOATS,
    FRACTION_DIGITS,
    INTEGERS,
    TYPES,
    WIDE_INTEGERS,
    Order,
    decimal_shape,
    is_decimal,
)

Kind: TypeAlias = Order
Point: TypeAlias = int | float | Decimal | str


_LARGEST_HUGEINT = 2**127 - 1
_LARGEST_DECIMAL_DIGITS = 38
_LARGEST_FLOAT32 = 3.4028234663852886e38
# DuckDB's own casts between decimals, huge integers and floats are off by up to two steps.
_ULPS = 4
_INTEGER = re.compile(r"-?\d+", re.ASCII)
_DECIMAL = re.compile(r"-?\d+(\.\d+)?", re.ASCII)
_FLOAT = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?", re.ASCII)
_CLOCK = r" (?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{0,8}[1-9])?"
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_FLOAT_WORDS = frozenset({"nan", "inf", "-inf"})
_BOOLEANS = {"true": 1, "t": 1, "1": 1, "false": 0, "f": 0, "0": 0}


@dataclass(frozen=True, slots=True)
class Comparable:
    """A literal as it is compared with a column.

    exact: a whole or decimal number; rounded: a float, compared after rounding; instant:
    nanoseconds; text: code points in order.
    """

    kind: Kind
    value: Point


def comparable(column: Column, value: Value) -> Comparable | None:
    """The literal in the column's domain; None if DuckDB might compare it otherwise."""
    if value is None:
        return None
    kind = domain(column.type)
    if kind == "text":
        return _text(column.type, value)
    if kind == "instant":
        moment = _instant(column.type, value)
        return None if moment is None else Comparable("instant", moment)
    return None if kind is None else _number(column.type, value)


def comparables(column: Column, values: Sequence[Value]) -> list[Comparable] | None:
    """The literals of an IN list, which DuckDB brings to one type before it compares them."""
    found = [comparable(column, value) for value in values]
    known = [operand for operand in found if operand is not None]
    texts = sum(isinstance(value, str) for value in values)
    if len(known) < len(found) or texts not in (0, len(values)):
        return None
    if {operand.kind for operand in known} == {"exact", "rounded"}:
        return [Comparable("rounded", float(operand.value)) for operand in known]
    return known


@lru_cache(maxsize=1024)
def domain(column_type: str) -> Kind | None:
    """How a column is ordered by default; None if its statistics cannot be trusted to tell."""
    if is_decimal(column_type):
        return "exact"
    return TYPES[column_type].order if column_type in TYPES else None


def are_whole(column_type: str, texts: Iterable[str]) -> bool:
    """Whether all are whole numbers, of a column that is ordered as such: each is at its `int`."""
    return domain(column_type) == "exact" and all(map(_INTEGER.fullmatch, texts))


def are_in_text_order(column_type: str, texts: Iterable[str]) -> bool:
    """Whether all are values, of a column of texts or times, that come in the order in which these
    texts do, and each has one text alone: then nobody needs to know where each of them is."""
    if column_type == "varchar":
        return True
    if domain(column_type) != "instant" or column_type in ("time", "time_ns"):
        return False
    found = list(map(_in_text_order(column_type).fullmatch, texts))
    days = {each[1] for each in found if each is not None}
    return None not in found and all(instant.parse_date(day) is not None for day in days)


@lru_cache(maxsize=16)
def _in_text_order(column_type: str) -> re.Pattern[str]:
    """Days with four digits of a year; clocks that do not reach 24:00, nor end in a zero of a
    fraction. A zone is always the same: "+" comes before "." and all digits."""
    clock = "" if column_type == "date" else _CLOCK
    zone = r"\+00" if column_type == "timestamptz" else ""
    return re.compile(rf"(\d{{4}}-\d\d-\d\d){clock}{zone}", re.ASCII)


def lower_bound(column_type: str, kind: Kind, text: str) -> Point | None:
    """The least value that statistics with this minimum allow; None if it says nothing."""
    return _bound(column_type, kind, text, upper=False)


def upper_bound(column_type: str, kind: Kind, text: str) -> Point | None:
    """The greatest value that statistics with this maximum allow; None if it says nothing."""
    return _bound(column_type, kind, text, upper=True)


def _bound(column_type: str, kind: Kind, text: str, *, upper: bool) -> Point | None:
    if kind == "rounded":
        return _rounded_bound(column_type, text, upper=upper)
    return _EXACT_BOUNDS[kind](column_type, text)


def _exact_bound(_: str, text: str) -> Point | None:
    if _INTEGER.fullmatch(text):
        return int(text)
    if _DECIMAL.fullmatch(text):
        return Decimal(text)
    # A column that was boolean before it was promoted to a number.
    return {"true": 1, "false": 0}.get(text)


def _instant_bound(column_type: str, text: str) -> Point | None:
    if column_type in ("time", "time_ns"):
        return instant.parse_time(text)
    # A zone says how the text was written. Text without one in a timestamptz column was
    # written before the column was promoted, and its meaning depends on a session.
    return instant.parse_moment(text, zoned=column_type == "timestamptz")


def _text_bound(column_type: str, text: str) -> Point | None:
    return text if column_type == "varchar" or _UUID.fullmatch(text) else None


_EXACT_BOUNDS: dict[Kind, Callable[[str, str], Point | None]] = {
    "exact": _exact_bound,
    "instant": _instant_bound,
    "text": _text_bound,
}


def _rounded_bound(column_type: str, text: str, *, upper: bool) -> float | None:
    """Widened, so that no rounding on the way to a comparison can step over the bound."""
    if not _FLOAT.fullmatch(text) and text not in ("inf", "-inf"):
        return None
    value = float(text)
    narrow = to_float32(value)
    if column_type == "float32":
        return _step_float32(narrow, upper=upper)
    # '0.1' of a column promoted from float32 stands for 0.10000000149…, not for 0.1.
    nearest = (max if upper else min)(value, narrow) if column_type == "float64" else value
    return _step_float64(nearest, upper=upper)


def to_float32(value: float) -> float:
    """The nearest float32; what does not fit stays as it is."""
    if abs(value) > _LARGEST_FLOAT32:
        return value
    narrow: float = struct.unpack("<f", struct.pack("<f", value))[0]
    return narrow


def _step_float64(value: float, *, upper: bool) -> float:
    target = math.inf if upper else -math.inf
    for _ in range(_ULPS):
        value = math.nextafter(value, target)
    return value


def _step_float32(value: float, *, upper: bool) -> float:
    if math.isinf(value):
        return value if (value > 0) is upper else math.copysign(_LARGEST_FLOAT32, value)
    margin = max(abs(value) * 2**-23, 2**-149) * _ULPS
    return value + margin if upper else value - margin


def _number(column_type: str, value: Value) -> Comparable | None:
    if isinstance(value, str):
        return _number_from_text(column_type, value)
    if isinstance(value, bool):
        whole = column_type == "boolean" or column_type in INTEGERS | WIDE_INTEGERS
        return Comparable(_kind(column_type), int(value)) if whole else None
    if isinstance(value, float):
        return None if column_type == "boolean" else Comparable("rounded", value)
    if isinstance(value, int):
        exact = -_LARGEST_HUGEINT <= value <= _LARGEST_HUGEINT
        return Comparable(_kind(column_type), value) if exact else _as_double(value)
    if isinstance(value, Decimal) and column_type != "boolean":
        exact = _digits(value) <= _LARGEST_DECIMAL_DIGITS
        return Comparable(_kind(column_type), value) if exact else _as_double(value)
    return None


def _digits(value: Decimal) -> int:
    """How many digits the number has when it is written without an exponent."""
    return max(value.adjusted() + 1, 1) + max(-int(value.as_tuple().exponent), 0)


def _kind(column_type: str) -> Kind:
    return "rounded" if domain(column_type) == "rounded" else "exact"


def _as_double(value: int | Decimal) -> Comparable | None:
    """Numbers too long for any exact type are doubles in DuckDB."""
    try:
        return Comparable("rounded", float(value))
    except OverflowError:
        return None


def _number_from_text(column_type: str, text: str) -> Comparable | None:
    """DuckDB casts the text to the column's type; rounding on the way is left alone."""
    if column_type == "boolean":
        return Comparable("exact", _BOOLEANS[text]) if text in _BOOLEANS else None
    if column_type in FLOATS:
        known = _FLOAT.fullmatch(text) or text in _FLOAT_WORDS
        return Comparable("rounded", float(text)) if known else None
    if is_decimal(column_type):
        scale = decimal_shape(column_type)[1]
        fits = _DECIMAL.fullmatch(text) and instant.fraction_digits(text) <= scale
        return Comparable("exact", Decimal(text)) if fits else None
    if not _INTEGER.fullmatch(text):
        return None
    return Comparable(_kind(column_type), int(text))


def _instant(column_type: str, value: Value) -> instant.Instant | None:
    if column_type in ("time", "time_ns"):
        return _time(column_type, value)
    if isinstance(value, date):
        return instant.of_date(value)
    if not isinstance(value, str):
        return None
    if column_type == "date":
        return instant.parse_date(value)
    if instant.fraction_digits(value) > FRACTION_DIGITS[column_type]:
        return None
    # DuckDB's cast to a timestamp without zone skips a zone in some units and applies it in others.
    return instant.parse_moment(value, zoned=None if column_type == "timestamptz" else False)


def _time(column_type: str, value: Value) -> int | None:
    if isinstance(value, time):
        return instant.of_time(value) if value.tzinfo is None else None
    if isinstance(value, str) and instant.fraction_digits(value) <= FRACTION_DIGITS[column_type]:
        return instant.parse_time(value)
    return None


def _text(column_type: str, value: Value) -> Comparable | None:
    if column_type == "varchar":
        return Comparable("text", value) if isinstance(value, str) else None
    if isinstance(value, UUID):
        return Comparable("text", str(value))
    if isinstance(value, str) and _UUID.fullmatch(value.lower()):
        return Comparable("text", value.lower())
    return None
