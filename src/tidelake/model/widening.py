"""Which types hold every value of which others, exactly: the only changes a column may make."""

from __future__ import annotations

from tidelake.model.types import (
    BITS,
    FLOATS,
    INTEGERS,
    SIGNED,
    TIMESTAMPS,
    UNSIGNED,
    WIDE_INTEGERS,
    decimal_shape,
    is_decimal,
)

_INSTANTS = ("date", "timestamp_s", "timestamp_ms", "timestamp")


def widens(old: str, new: str) -> bool:
    """Whether a column of type `old` can become `new` and keep every value it may hold.

    Both are scalar types in DuckLake's words; a type widens to itself.
    """
    old, new = _plain(old), _plain(new)
    if old == new:
        return True
    if old in INTEGERS:
        return _holds_integers(old, new)
    if is_decimal(old) and is_decimal(new):
        (width, scale), (wide, wide_scale) = decimal_shape(old), decimal_shape(new)
        return wide_scale >= scale and wide - wide_scale >= width - scale
    if old in _INSTANTS and new in _INSTANTS:
        return _INSTANTS.index(old) < _INSTANTS.index(new)
    return (old, new) == ("float32", "float64")


def _plain(kind: str) -> str:
    return "timestamp" if kind == "timestamp_us" else kind


def _holds_integers(old: str, new: str) -> bool:
    magnitude = BITS[old] - (old in SIGNED)
    if new in UNSIGNED:
        return old in UNSIGNED and BITS[new] >= magnitude
    if new in SIGNED:
        return BITS[new] - 1 >= magnitude
    if new in FLOATS:
        return BITS[new] >= magnitude
    if is_decimal(new):
        width, scale = decimal_shape(new)
        return width - scale >= len(str(2**magnitude))
    return False


def why_not(old: str, new: str) -> str:
    """Why a column cannot go from one scalar type to another. Requires: not `widens`."""
    if widens(new, old):
        return f"{new} does not hold every {old}"
    if new in WIDE_INTEGERS:
        return f"{new} is kept in files as a double, which loses digits"
    if new == "timestamp_ns" and old in _INSTANTS:
        return "timestamp_ns ends in 2262, and earlier than 1678 there is nothing"
    if new == "timestamptz" and (old in TIMESTAMPS or old == "date"):
        return f"which instant a {old} is depends on the time zone of whoever reads it"
    if old in INTEGERS and (new in FLOATS or new in INTEGERS or is_decimal(new)):
        return f"{new} does not hold every {old}"
    if is_decimal(old) and is_decimal(new):
        return f"{new} has fewer digits than {old} before or after the point"
    return f"{old} values would be read as something else"
