"""A lazy read of one table: nothing happens until rows, files or an explanation are asked for."""

from __future__ import annotations

from collections.abc import Sequence

from tidelake.engine import Engine, Reading
from tidelake.event_time.explanation import Explanation, explain
from tidelake.event_time.state import plan_read
from tidelake.model.file import DataFile
from tidelake.model.predicate import Predicate
from tidelake.plan.as_of import AsOfPlan
from tidelake.plan.scan import ScanPlan
from tidelake.session.lazy_rows import LazyRows
from tidelake.session.planning import ReadRequest
from tidelake.session.source import Source


class Scan(LazyRows):
    """A table, the columns and rows wanted of it, and the snapshot to read.

    Immutable; every `to_*` plans afresh, unless the catalog has not moved since.
    """

    def __init__(
        self,
        source: Source,
        columns: Sequence[str] | None = None,
        where: str | Predicate | None = None,
    ) -> None:
        self.source = source
        self._session = source.session
        self.columns = (columns,) if isinstance(columns, str) else columns
        self.where = where

    def plan(self) -> ScanPlan | AsOfPlan:
        return self._plan()

    def _plan(self, *, counted: bool = False) -> ScanPlan | AsOfPlan:
        return plan_read(self.source, ReadRequest(self.columns, self.where, counted=counted))

    def files(self) -> list[DataFile]:
        """The data files the scan would read, after pruning."""
        return list(self.plan().files)

    def explain(self) -> Explanation:
        """How many files would be read, and why the others would not."""
        return explain(self._plan(counted=True), self.source.session.engine_name)

    def count(self) -> int:
        """How many rows; from the catalog alone where it knows."""
        if self.columns is not None:
            self.plan()  # which refuses columns that are not there
        if self.where is None and self.source.as_of is None and self.source.known_by is None:
            known = self.source.session.row_count(self.source.name, self.source.snapshot_id)
            if known is not None:
                return known
        return int(self.source.session.engine.read(self.plan()).count())

    def _reading(self, engine: Engine, *, ordered: bool = True) -> Reading:  # noqa: ARG002
        return engine.read(self.plan())

    def __repr__(self) -> str:
        return f"<Scan of {self.source!r} columns={self.columns} where={self.where!r}>"
