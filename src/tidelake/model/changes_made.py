"""DuckLake's `changes_made` text: a comma-separated list in which quoted names may hold commas."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

_PART = re.compile(r'(?:"(?:[^"]|"")*"|[^",])+')

UPKEEP = {
    "merge_adjacent": "merge files",
    "compacted_table": "merge files",
    "rewrite_delete": "rewrite files",
    "inline_flush": "flush",
    "flushed_inlined": "flush",
}
_ROWS = {
    "inserted_into_table": "append",
    "inlined_insert": "append",
    "deleted_from_table": "delete",
    "inlined_delete": "delete",
}
ADDS_ROWS = frozenset({"inserted_into_table", "inlined_insert"})
_DEFINES = {
    "created_scalar_macro": "create macro",
    "created_table_macro": "create macro",
    "dropped_scalar_macro": "drop macro",
    "dropped_table_macro": "drop macro",
}
_VERBS = {"created": "create", "dropped": "drop", "altered": "alter"}


def split_changes(text: str) -> tuple[str, ...]:
    """`created_table:"main"."a,b",inserted_into_table:1` as its two parts."""
    return tuple(match.group().strip() for match in _PART.finditer(text))


def named_tables(changes: Iterable[str]) -> set[int]:
    """The tables that a snapshot names by their ids."""
    known = {*UPKEEP, *_ROWS, "altered_table", "dropped_table"}
    return {
        int(subject)
        for kind, _, subject in (change.partition(":") for change in changes)
        if kind.lower() in known and subject.isdecimal()
    }


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
        if said - set(UPKEEP) and "rewrite_delete" not in said
    }


def kinds_of(changes: Iterable[str]) -> set[str]:
    """What was done, without to what."""
    return {change.partition(":")[0].lower() for change in changes}


def operation_of(changes: Iterable[str]) -> str:
    """What a snapshot did, in a word or two, as far as its changes tell: `append`, `delete`,
    `update` (rows came and rows went), `create table`, `merge files` and so on; `transaction`
    when it was several things."""
    kinds = kinds_of(changes)
    for kind, name in UPKEEP.items():
        if kind in kinds:
            return name
    rows = {_ROWS[kind] for kind in kinds if kind in _ROWS}
    others = {_definition(kind) for kind in kinds if kind not in _ROWS}
    if others == {"create table"} and rows <= {"append"}:
        return "create table"
    if rows == {"append", "delete"}:
        rows = {"update"}
    every = rows | others
    return every.pop() if len(every) == 1 else "transaction" if every else "nothing"


def _definition(kind: str) -> str:
    verb, _, what = kind.partition("_")
    return _DEFINES.get(kind) or f"{_VERBS.get(verb, verb)} {what}".replace("_", " ").strip()


def created_names(changes: Iterable[str]) -> list[str]:
    """The quoted names of tables that a snapshot created, or gave a new name."""
    return [each.partition(":")[2] for each in changes if each.lower().startswith("created_table:")]
