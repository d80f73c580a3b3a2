"""Rows that wait for one commit, each of them checked when it comes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Any
from uuid import uuid4

from tidelake.engine.incoming.from_dicts import plan_of, take
from tidelake.event_time.facts import complete_fact, dicts_of
from tidelake.model.change import WriteResult
from tidelake.model.event_time import EventTime
from tidelake.model.names import TableName
from tidelake.model.table import TableInfo
from tidelake.session.drafting import DraftSession
from tidelake.write import rows as writes

_LASTING = (str, int, float, bool, bytes, type(None), datetime, date)
"""Types of values that nobody can change afterwards."""
_SMALL = 16
"""Bytes that a number, a time or a truth value counts for."""

Row = Mapping[str, Any]
Identity = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class RowCheck:
    """What is declared of a table, for rows that come one by one."""

    table: TableInfo
    snapshot_id: int

    def take(self, given: Any, doing: str) -> list[tuple[Row, Identity | None]]:
        """The rows as they are to be kept, or Invalid, which names the first that does not fit.
        Those of which the order must stay have an identity: two facts about one key and moment,
        where files do not keep the order in which rows came."""
        rows = dicts_of(given, doing)
        event = EventTime.maybe(self.table)
        if doing == "put":
            event = EventTime.of(self.table, self.snapshot_id)
            rows = [complete_fact(self.table.name, event, row) for row in rows]
        columns = self.table.schema.columns
        taken = take(plan_of(columns), rows, 1, str(self.table.name), defaults=True)
        kept = [_kept(row) for row in rows]
        if event is None or not (self.table.sorting or self.table.partitioning):
            return [(row, None) for row in kept]
        places = [columns.index(column) for column in (*event.key, event.time)]
        return [
            (row, tuple(taken.values[place][at] for place in places)) for at, row in enumerate(kept)
        ]


@dataclass(slots=True)
class RowBatch:
    """Rows for one commit, which bears the `token`. `since`: a snapshot from before the first
    attempt to make it, whose outcome may be `unknown`. To one that is `closed` nothing is added."""

    token: str = field(default_factory=lambda: uuid4().hex)
    rows: list[Row] = field(default_factory=list)
    doings: set[str] = field(default_factory=set)
    size: int = 0
    since: int = 0
    unknown: bool = False
    closed: bool = False
    _known: set[Identity] = field(default_factory=set)

    def add(self, row: Row, identity: Identity | None, doing: str) -> bool:
        """Whether the row could be added: one that corrects another needs a commit of its own."""
        if self.unknown or self.closed or identity in self._known:
            return False
        if identity is not None:
            self._known.add(identity)
        self.rows.append(row)
        self.doings.add(doing)
        self.size += sum(_size(value) for value in row.values())
        return True

    @property
    def doing(self) -> str:
        return "put" if self.doings == {"put"} else "append"

    def write(self, tx: DraftSession, name: TableName) -> WriteResult:
        return replace(writes.append(tx, name, self.rows), operation=self.doing)

    def part(self, rows: Sequence[Row]) -> RowBatch:
        """A batch of some of the rows."""
        return RowBatch(rows=list(rows), doings=set(self.doings), size=self.size, closed=True)


def _kept(row: Row) -> Row:
    """The row as it is now, whatever its owner does with it."""
    return {
        name: value if type(value) in _LASTING else deepcopy(value) for name, value in row.items()
    }


def _size(value: Any) -> int:
    """About how many bytes a value needs."""
    if isinstance(value, str | bytes | bytearray):
        return len(value)
    if isinstance(value, Mapping):
        return sum(_size(key) + _size(inner) for key, inner in value.items())
    return sum(map(_size, value)) if isinstance(value, list | tuple | set) else _SMALL
