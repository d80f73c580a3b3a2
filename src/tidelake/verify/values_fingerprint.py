"""Fingerprints: the content of a table at a snapshot as one number that anybody can recompute.

The sum of the hashes of all rows does not depend on their order, nor on which file they lie in.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from tidelake.model.schema import Column

_WORD = 1 << 64


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Of one table at one snapshot."""

    table_id: int
    snapshot_id: int
    rows: int
    content_hash: str


@dataclass(frozen=True, slots=True)
class Content:
    """So many rows, and the sums of the upper and lower halves of their hashes."""

    rows: int = 0
    upper: int = 0
    lower: int = 0

    def plus(self, other: Content) -> Content:
        return Content(self.rows + other.rows, self.upper + other.upper, self.lower + other.lower)

    def hash(self, columns: Iterable[Column]) -> str:
        sums = f"{self.upper % _WORD:016x}{self.lower % _WORD:016x}"
        text = f"{_described(columns)}\n{self.rows}\n{sums}"
        return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def _described(columns: Iterable[Column]) -> str:
    return ",".join(f"{c.id} {c.type} {c.name}({_described(c.children)})" for c in columns)
