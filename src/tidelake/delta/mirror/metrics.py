"""Counting how publishing goes. The catalog is told now and then: a commit does not wait for it."""

from __future__ import annotations

import time

from tidelake.delta.mirror import counts as mirror_counts
from tidelake.delta.values.reports import PublishCounts
from tidelake.session.caches import HasDatabase, Memory
from tidelake.session.short_transactions import run_locked


class PublishedVersions(Memory):
    """The versions of logs that this session has published itself, by the id of the Delta table: a
    log that is made anew has another."""

    def __init__(self) -> None:
        self.versions: dict[str, int] = {}


class Tally(Memory):
    """What has come to pass, by table, since the catalog was last told."""

    def __init__(self) -> None:
        self._counts: dict[int, PublishCounts] = {}

    def published(self, table_id: int, committed_at: int) -> None:
        """A version is in the log; its commit was made at a time in milliseconds."""
        self._add(table_id, PublishCounts(1, max(time.time() - committed_at / 1000, 0.0)))

    def failed(self, table_id: int) -> None:
        self._add(table_id, PublishCounts(failures=1))

    def _add(self, table_id: int, more: PublishCounts) -> None:
        self._counts[table_id] = self._counts.get(table_id, PublishCounts()) + more

    def settle(self, session: HasDatabase) -> None:
        """Tell the catalog."""
        if self._counts:
            counts, self._counts = self._counts, {}
            run_locked(session, mirror_counts.add, counts)
