"""Which types hold the values of which others."""

from __future__ import annotations

import re

from tidelake.model.schema import Column
from tidelake.model.types import BITS, FLOATS, SIGNED, TIMESTAMPS, UNSIGNED

INTEGERS = {
    **{kind: (-(1 << n - 1), (1 << n - 1) - 1) for kind, n in BITS.items() if kind in SIGNED},
    **{kind: (0, (1 << n) - 1) for kind, n in BITS.items() if kind in UNSIGNED},
}
WIDE = {"int128": (-(1 << 53) + 1, (1 << 53) - 1), "uint128": (0, (1 << 53) - 1)}
"""Parquet files hold these as DOUBLE, which is exact only so far."""
MOMENTS = (TIMESTAMPS | {"date"}) - {"timestamp_us"}

FLOAT_BITS = {kind: BITS[kind] for kind in FLOATS}
_DECIMAL = re.compile(r"decimal\((\d+), *(\d+)\)")
_NO_LOSS = {
    ("float32", "float64"),
    ("time", "timetz"),
    ("json", "varchar"),
    ("enum", "varchar"),
}


def type_name(kind: str) -> str:
    return Column(0, "", kind).duckdb_type


def decimal(kind: str) -> tuple[int, int] | None:
    found = _DECIMAL.fullmatch(kind)
    return (int(found[1]), int(found[2])) if found else None


def scale(kind: str) -> int | None:
    found = decimal(kind)
    return found[1] if found else None


def never_loses(source: str, target: str) -> bool:
    if (source, target) in _NO_LOSS:
        return True
    wanted = decimal(target)
    if source in INTEGERS:
        low, high = INTEGERS[source]
        if target in INTEGERS:
            return INTEGERS[target][0] <= low and high <= INTEGERS[target][1]
        if target in FLOAT_BITS:
            return max(-low, high) <= 1 << FLOAT_BITS[target]
        return wanted is not None and max(-low, high) < 10 ** (wanted[0] - wanted[1])
    given = decimal(source)
    if given is None or wanted is None:
        return False
    return wanted[1] >= given[1] and wanted[0] - wanted[1] >= given[0] - given[1]


def may_fit(source: str, target: str) -> bool:
    """Whether some values of the one type are also values of the other."""
    if source in INTEGERS or source in WIDE:
        return target in INTEGERS or target in FLOAT_BITS or decimal(target) is not None
    if decimal(source):
        whole = scale(source) == 0 and target in INTEGERS
        return whole or decimal(target) is not None
    return (source, target) == ("float64", "float32")


def is_cast(source: str, target: str) -> bool:
    """Whether SQL casts the one type to the other by itself, and some values stay the same."""
    if source in MOMENTS:
        return target == "date"
    return _is_number(source) and _is_number(target)


def _is_number(kind: str) -> bool:
    return kind in INTEGERS or kind in WIDE or kind in FLOAT_BITS or decimal(kind) is not None
