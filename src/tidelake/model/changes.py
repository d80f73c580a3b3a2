"""DuckLake's `changes_made` text: a comma-separated list in which quoted names may hold commas."""

from __future__ import annotations

import re

_PART = re.compile(r'(?:"(?:[^"]|"")*"|[^",])+')


def split_changes(text: str) -> tuple[str, ...]:
    """`created_table:"main"."a,b",inserted_into_table:1` as its two parts."""
    return tuple(match.group().strip() for match in _PART.finditer(text))
