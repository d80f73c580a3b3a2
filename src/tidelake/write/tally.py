"""What becomes of the rows that a merge has found, counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidelake.model.schema import ROW_FILE, ROW_POSITION

ACTION = "_tidelake_action"
"""The column that says which clause applies to a row, counted from one; 0 if none does."""
_NEW = "_tidelake_new"


@dataclass(frozen=True, slots=True)
class Tally:
    """How many rows of each file leave it, how many are written anew, and how many are added."""

    gone: Mapping[int | None, int]
    updated: int
    inserted: int


def tally_of(ask: Callable[[str], list[Any]], kinds: Mapping[str, Sequence[str]]) -> Tally:
    """`kinds` are those of the clauses for rows of the table, by the relation that has the rows."""
    gone: Counter[int | None] = Counter()
    updated = inserted = 0
    for name, listed in kinds.items():
        keys = f"{ROW_FILE}, {_NEW}, {ACTION}"
        rows = ask(
            f"SELECT {keys}, count(*) FROM (SELECT {ROW_FILE}, {ROW_POSITION} IS NULL AS {_NEW},"
            f" {ACTION} FROM {name} WHERE {ACTION} > 0) AS a GROUP BY {keys}"
        )
        for file, is_new, action, count in rows:
            if is_new:
                inserted += count
                continue
            gone[file] += count
            updated += count if listed[action - 1] == "update" else 0
    return Tally(gone, updated, inserted)
