"""Which of our columns is which of Delta's, over all versions of a table.

Delta finds columns in files by a name that they keep for ever. So that is what tells them: a
column that goes and comes back under the name which it has in files is the same one again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

from tidelake.delta.log.types import DeltaField
from tidelake.model.schema import Column
from tidelake.model.widening import widens

Path = tuple[str, ...]
_VOID = "void"
Known = Mapping[str, Any]
"""By what it is called in files: a column's `id`, its last `type`, and what is `below` it."""


@dataclass
class ColumnNumbering:
    """Gives ids to the columns of one version after the other. Of the last: columns that are
    `retyped`, which files from before cannot have, by the path of names that they have in files,
    and only what is not inside another such one."""

    known: dict[str, Any] = field(default_factory=dict)
    next_id: int = 1
    retyped: list[Path] = field(default_factory=list)

    def numbered(self, fields: Iterable[DeltaField]) -> tuple[DeltaField, ...]:
        self.retyped = []
        return self._level(fields, self.known, ())

    def copy(self) -> ColumnNumbering:
        return ColumnNumbering(deepcopy(self.known), self.next_id)

    def _level(
        self, fields: Iterable[DeltaField], known: dict[str, Any], above: Path | None
    ) -> tuple[DeltaField, ...]:
        found = []
        for each in fields:
            entry = known.get(each.physical)
            path = None if above is None else (*above, each.physical)
            if entry is None or not _fits(entry, each):
                if path is not None and entry is not None and entry["type"] != _VOID:
                    self.retyped.append(path)
                path = None
                entry = known[each.physical] = {"id": self._take(), "below": {}}
            entry["type"] = _VOID if each.void else each.column.type
            found.append(self._with_id(each, entry, path))
        return tuple(found)

    def _with_id(self, found: DeltaField, entry: dict[str, Any], path: Path | None) -> DeltaField:
        children = self._level(found.children, entry["below"], path)
        below = tuple(child.column for child in children)
        column: Column = replace(found.column, id=entry["id"], children=below)
        return replace(found, column=column, children=children)

    def _take(self) -> int:
        self.next_id += 1
        return self.next_id - 1


def _fits(entry: Known, wanted: DeltaField) -> bool:
    """Whether a column can go on as this one: what is inside a list or a map must go on too."""
    if wanted.void or entry["type"] == _VOID:
        return wanted.void and bool(entry["type"] == _VOID)
    kind = wanted.column.type
    if not wanted.children:
        return not entry["below"] and widens(entry["type"], kind)
    if kind != entry["type"]:
        return False
    below = entry["below"]
    return kind == "struct" or all(_fits(below[c.physical], c) for c in wanted.children)
