"""Many rows of a table for small writes at once: SQLite gathers each column as JSON, which takes a
fraction of what Python needs for as many values."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from tidelake.catalog.database.dialect import InlineColumn
from tidelake.model.file import GatheredPart, GatheredRows

Ask = Callable[[str, Mapping[str, object]], list[Any]]
"""A query with its parameters, on a connection of its own."""
_ROWS_AT_ONCE = 10_000
_EXACT = {"BIGINT", "VARCHAR", "BLOB"}
"""Columns of these types hold no broken numbers, which JSON would not have to the last digit."""
_NAME = "rowid"


def rows_of(
    asks: Sequence[Ask],
    table: str,
    kept: Sequence[InlineColumn],
    condition: str,
    given: Mapping[str, object],
) -> GatheredRows | None:
    """The rows that meet the condition, if their ids grow; the first two columns, row ids and
    snapshots, must be whole numbers. Who may be asked sees one moment. None: they are not to be had
    so."""
    ends = f'SELECT (SELECT min(rowid) FROM "{table}"), (SELECT max(rowid) FROM "{table}")'
    ((first, last),) = asks[0](ends, {})
    columns = asks[0](f"SELECT lower(name), type FROM pragma_table_info('{table}')", {})
    if any(name == _NAME or kind not in _EXACT for name, kind in columns):
        return None
    gathering = _Gathering(table, [each.sql for each in kept], condition, given)
    starts = range(first, last + 1, _ROWS_AT_ONCE)
    try:
        parts = _in_turns(gathering.part, asks, starts)
    except (sqlite3.Error, _Odd):  # the first of them for such as bytes, which JSON has not
        return None
    there = tuple(part for part in parts if part is not None)
    return GatheredRows(there) if there and _in_order(there) else None


def _in_turns(
    part: Callable[[Ask, int], GatheredPart | None], asks: Sequence[Ask], starts: Sequence[int]
) -> list[GatheredPart | None]:
    """A part from each start, in their order. SQLite lets other threads run meanwhile."""
    count = len(asks)
    found: list[GatheredPart | None] = [None] * len(starts)

    def gather(turn: int) -> None:
        found[turn::count] = [part(asks[turn], start) for start in starts[turn::count]]

    with ThreadPoolExecutor(count) as threads:
        others = [threads.submit(gather, turn) for turn in range(1, count)]
        gather(0)
        for each in others:
            each.result()
    return found


class _Odd(Exception):
    """There is a row id or a snapshot that is no whole number."""


@dataclass(frozen=True, slots=True)
class _Gathering:
    """A condition on the rows of a table, and the columns that are wanted of them."""

    table: str
    names: Sequence[str]
    condition: str
    given: Mapping[str, object]

    def part(self, ask: Ask, start: int) -> GatheredPart | None:
        """The rows of these places, which SQLite calls `rowid`. It goes through them in that order,
        since it may use no index."""
        row_id, snapshot, *others = self.names
        whole = f"typeof({row_id}) = 'integer' AND typeof({snapshot}) = 'integer'"
        count, good, *told = self._asked(
            ask,
            start,
            f"count(*), sum({whole}), min({row_id}), max({row_id}), min({row_id} - rowid),"
            f" max({row_id} - rowid), min({snapshot}), max({snapshot}){_arrays(others)}",
        )
        if good != count:
            raise _Odd
        if not count:
            return None
        first, last, least, most, oldest, newest, *texts = told
        ids, snapshots = str(first), str(oldest)
        if least != most or last - first != count - 1 or oldest != newest:
            _, ids, snapshots = self._asked(ask, start, f"count(*){_arrays((row_id, snapshot))}")
        return GatheredPart(count, ids, snapshots, tuple(texts))

    def _asked(self, ask: Ask, start: int, wanted: str) -> Sequence[Any]:
        sql = (
            f'SELECT {wanted} FROM "{self.table}" NOT INDEXED'
            f" WHERE rowid BETWEEN :first AND :last AND ({self.condition})"
        )
        last = start + _ROWS_AT_ONCE - 1
        found: Sequence[Any] = ask(sql, {"first": start, "last": last, **self.given})[0]
        return found


def _arrays(names: Sequence[str]) -> str:
    return "".join(f", json_group_array({name})" for name in names)


def _in_order(parts: Sequence[GatheredPart]) -> bool:
    ids = [part.ids() for part in parts]
    ends = all(before[-1] <= after[0] for before, after in pairwise(ids))
    return ends and all(isinstance(each, range) or each == sorted(each) for each in ids)
