"""The bucket transform: a 32-bit Murmur3 hash of a value, in DuckLake's encodings."""

from __future__ import annotations

import struct
from decimal import Decimal

from tidelake.model.comparable import Comparable
from tidelake.model.types import FLOATS, SIGNED, TICKS, UNSIGNED, decimal_shape, is_decimal

LONG_DECIMAL_DIGITS = 18
_NANOS_PER_UNIT = TICKS | {"time": 1_000}
# What DuckLake lets become what. A file's bucket was computed under the type of its day.
_COULD_HAVE_BEEN: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(SIGNED, ("boolean", "uint64", "int64")),
    **dict.fromkeys(UNSIGNED, ("boolean", "uint64")),
    **{kind: (kind,) for kind in ("boolean", "date", "time", "varchar", "uuid")},
    "timestamp_s": ("date", "timestamp_s"),
    "timestamp_ms": ("date", "timestamp_s", "timestamp_ms"),
    "timestamp": ("date", "timestamp_s", "timestamp_ms", "timestamp"),
    "timestamp_us": ("date", "timestamp_s", "timestamp_ms", "timestamp"),
    "timestamp_ns": ("date", "timestamp_s", "timestamp_ms", "timestamp", "timestamp_ns"),
}


def buckets_of(
    operand: Comparable, column_type: str, count: int, *, type_then: str | None = None
) -> frozenset[int] | None:
    """Every bucket in which a row equal to the operand can be; None if that is not known.

    `type_then` is the column's type when the partitioning was declared. Unless it is the
    type of today, a file under the partitioning may come from any type in between.
    """
    if type_then == column_type:
        kinds: tuple[str, ...] = (column_type,)
    elif type_then in SIGNED and column_type in SIGNED:
        kinds = ("int64",)
    else:
        kinds = _COULD_HAVE_BEEN.get(column_type, ())
    found: set[int] = set()
    for kind in kinds:
        encodings = _encodings(operand, kind)
        if encodings is None:
            return None
        found.update(bucket(data, count) for data in encodings)
    return frozenset(found) if kinds else None


def keeps_buckets(old: str, new: str) -> bool:
    """Whether a value hashes into the same bucket after its column has gone to a wider type."""
    if old == new or any({old, new} <= alike for alike in (SIGNED, UNSIGNED, FLOATS)):
        return True
    if is_decimal(old) and is_decimal(new):
        (width, scale), (wide, wide_scale) = decimal_shape(old), decimal_shape(new)
        is_long = [digits > LONG_DECIMAL_DIGITS for digits in (width, wide)]
        return scale == wide_scale and is_long[0] == is_long[1]
    return False


def bucket(data: bytes, count: int) -> int:
    """The bucket of encoded bytes."""
    return (murmur3(data) & 0x7FFFFFFF) % count


def murmur3(data: bytes) -> int:
    """Murmur3 for x86, 32 bits, seed 0, unsigned."""
    state = 0
    whole = len(data) // 4 * 4
    for (word,) in struct.iter_unpack("<I", data[:whole]):
        state = _rotated(state ^ _mixed(word), 13) * 5 + 0xE6546B64 & 0xFFFFFFFF
    state ^= _mixed(int.from_bytes(data[whole:], "little")) ^ len(data)
    state = (state ^ state >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    state = (state ^ state >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    return state ^ state >> 16


def _mixed(word: int) -> int:
    return _rotated(word * 0xCC9E2D51 & 0xFFFFFFFF, 15) * 0x1B873593 & 0xFFFFFFFF


def _rotated(word: int, bits: int) -> int:
    return (word << bits | word >> 32 - bits) & 0xFFFFFFFF


def _encodings(operand: Comparable, kind: str) -> list[bytes] | None:
    """What is hashed for the value in a column of that kind.

    Empty if such a column cannot hold it; None if its encoding is not known.
    """
    value = operand.value
    if isinstance(value, str):
        return [value.encode("utf-8", "surrogatepass")]
    if operand.kind == "instant":
        return _of_instant(value, kind)
    if operand.kind == "rounded":
        return _of_rounded(value, kind)
    if is_decimal(kind):
        return _of_decimal(value, kind)
    return _of_whole(value, kind)


def _of_instant(value: int | float | Decimal, kind: str) -> list[bytes] | None:
    unit = _NANOS_PER_UNIT.get(kind)
    if unit is None or not isinstance(value, int):
        return None
    return _long(value // unit) if value % unit == 0 else []


def _of_whole(value: int | float | Decimal, kind: str) -> list[bytes] | None:
    if value != int(value):
        return []
    number = int(value)
    if kind == "boolean":
        return _long(number) if number in (0, 1) else []
    if kind in SIGNED:
        return _long(number)
    if kind in UNSIGNED:
        return [str(number).encode()] if number >= 0 else []
    return None


def _of_decimal(value: int | float | Decimal, kind: str) -> list[bytes] | None:
    """The digits without the point, as a number if they fit into one and else as text."""
    width, scale = decimal_shape(kind)
    sign, digits, exponent = Decimal(value).as_tuple()
    shift = int(exponent) + scale
    number = int("".join(map(str, digits)))
    if shift < 0 and number % 10**-shift:
        return []
    number = number * 10**shift if shift >= 0 else number // 10**-shift
    if width <= LONG_DECIMAL_DIGITS:
        return _long(-number if sign else number)
    text = str(number).rjust(scale if scale == width else scale + 1, "0")
    text = f"{text[:-scale]}.{text[-scale:]}" if scale else text
    return [("-" + text if sign and number else text).encode()]


def _of_rounded(value: int | float | Decimal, kind: str) -> list[bytes] | None:
    """Only numbers that every float in question holds exactly."""
    if isinstance(value, Decimal) or value != value or abs(value) == float("inf"):
        return None
    small = abs(value) < (2**24 if kind == "float32" else 2**53)
    if kind in FLOATS and (small or isinstance(value, float)):
        return [struct.pack("<d", float(value) + 0.0)]
    return _of_whole(value, kind) if small and kind in SIGNED | UNSIGNED else None


def _long(number: int) -> list[bytes]:
    return [struct.pack("<q", number)] if -(2**63) <= number < 2**63 else []
