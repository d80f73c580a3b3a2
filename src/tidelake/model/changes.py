"""DuckLake's `changes_made` text: a comma-separated list in which quoted names may hold commas."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

_PART = re.compile(r'(?:"(?:[^"]|"")*"|[^",])+')

_KEEP_ROWS = {
    "merge_adjacent",
    "rewrite_delete",
    "inline_flush",
    "flushed_inlined",
    "compacted_table",
}


def split_changes(text: str) -> tuple[str, ...]:
    """`created_table:"main"."a,b",inserted_into_table:1` as its two parts."""
    return tuple(match.group().strip() for match in _PART.finditer(text))


def touched_tables(changes: Iterable[str]) -> set[int]:
    """The tables whose rows or columns a snapshot may have changed. Maintenance does not; that
    a rewrite also says that it deletes only keeps others from deleting meanwhile."""
    kinds: dict[int, set[str]] = defaultdict(set)
    for change in changes:
        kind, _, subject = change.partition(":")
        if subject.isdecimal():
            kinds[int(subject)].add(kind.lower())
    return {
        table_id
        for table_id, said in kinds.items()
        if said - _KEEP_ROWS and "rewrite_delete" not in said
    }
