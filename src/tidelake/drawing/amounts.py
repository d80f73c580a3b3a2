"""How many there are of something, in words."""

from __future__ import annotations


def quantity(count: int, noun: str) -> str:
    """`1 row`, `1,000 rows`, `0 entities`."""
    if count == 1:
        return f"1 {noun}"
    return f"{count:,} {noun[:-1]}ies" if noun.endswith("y") else f"{count:,} {noun}s"
