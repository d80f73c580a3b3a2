"""Rows that are read again and again, kept in memory.

Files never change, so what was read of them stays right. The key of an answer holds all that its
rows depend on: the SQL, its values, the files with their deletes, the rows from the catalog.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import replace
from threading import Lock

import pyarrow as pa

from tidelake.plan.scan import ScanPlan
from tidelake.sql.query import EngineQuery

_REMEMBERED = 4096


def key_of(part: EngineQuery) -> str | None:
    """None for what may give other rows the next time."""
    if not part.rowwise:
        return None
    ((name, plan),) = part.tables.items()
    assert isinstance(plan, ScanPlan)
    if not any(file.partial_max for file in plan.files):
        plan = replace(plan, snapshot_id=0)  # all rows of its files and the catalog are seen
    plan = replace(plan, total_files=0, pruned=())
    said = repr(replace(part, tables={name: plan}))
    return hashlib.sha256(said.encode()).hexdigest()


class Hoard:
    """What is asked for a second time is kept, in so many bytes at most; what was not asked for
    the longest goes first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[str, tuple[pa.Table, int]] = OrderedDict()
        self._asked: OrderedDict[str, None] = OrderedDict()
        self._size = 0
        self._lock = Lock()

    def get(self, key: str) -> pa.Table | None:
        with self._lock:
            if key not in self._kept:
                return None
            self._kept.move_to_end(key)
            return self._kept[key][0]

    def wants(self, key: str) -> bool:
        """Whether somebody has asked for it before."""
        with self._lock:
            known = key in self._asked
            self._asked[key] = None
            if len(self._asked) > _REMEMBERED:
                self._asked.popitem(last=False)
            return known and self._most > 0

    def gathering(
        self, key: str, schema: pa.Schema, batches: Iterator[pa.RecordBatch]
    ) -> Iterator[pa.RecordBatch]:
        """The same batches, which are kept if they come to their end, and fit."""
        found: list[pa.RecordBatch] | None = []
        size = 0
        try:
            for batch in batches:
                if found is not None:
                    found.append(batch)
                    size += batch.nbytes
                    found = found if self._has_room(batch.nbytes) else None
                yield batch
            if found is not None:
                self._keep(key, pa.Table.from_batches(found, schema), size)
                size = 0
        finally:
            self._free(size)

    def _has_room(self, more: int) -> bool:
        """Room is taken as rows come, so that all who gather keep to it together."""
        with self._lock:
            self._size += more
            while self._size > self._most and self._kept:
                _, (_, size) = self._kept.popitem(last=False)
                self._size -= size
            return self._size <= self._most

    def _keep(self, key: str, rows: pa.Table, size: int) -> None:
        with self._lock:
            if key in self._kept:
                self._size -= size
            else:
                self._kept[key] = rows, size

    def _free(self, size: int) -> None:
        with self._lock:
            self._size -= size

    @property
    def size(self) -> int:
        return self._size
