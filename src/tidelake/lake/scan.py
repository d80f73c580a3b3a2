"""A lazy read of one table: nothing happens until rows, files or an explanation are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tidelake.drawing.drawn_list import DrawnList
from tidelake.drawing.sheet import Sheet
from tidelake.engine import Engine, Reading
from tidelake.errors import Invalid, Unsupported
from tidelake.event_time.state import plan_read
from tidelake.model.file import DataFile
from tidelake.model.misfit import naming_misfits
from tidelake.model.names import quote
from tidelake.model.paths import fields_at, is_path, path_sql
from tidelake.model.predicate import Always, And, Opaque, Predicate
from tidelake.plan.as_of import AsOfPlan
from tidelake.plan.scan import ScanPlan
from tidelake.session.lazy_rows import ROWS, LazyRows, Subquery
from tidelake.session.planning import ReadRequest
from tidelake.session.source import Source

if TYPE_CHECKING:
    import pyarrow as pa

    from tidelake.event_time.explanation import Explanation


@dataclass(frozen=True, slots=True)
class _Selection:
    """The columns of the table that are read, and what is wanted of them."""

    columns: tuple[str, ...]
    sql: str


@naming_misfits
class Scan(LazyRows):
    """A table, the columns and rows wanted of it, and the snapshot to read.

    Immutable; every `to_*` plans afresh, unless the catalog has not moved since. If its source has
    `require`, a read raises Incomplete when too little is there.
    """

    def __init__(
        self,
        source: Source,
        columns: Sequence[str] | None = None,
        where: str | Predicate | None = None,
    ) -> None:
        self.source = source
        self._session = source.session
        self.selected = (columns,) if isinstance(columns, str) else columns
        self.condition = where

    def plan(self) -> ScanPlan | AsOfPlan:
        """The plan of the read, as engines get it."""
        return self._complete()._plan()

    def _plan(self, *, counted: bool = False) -> ScanPlan | AsOfPlan:
        chosen = self._selection()
        columns = self.selected if chosen is None else chosen.columns
        return plan_read(self.source, ReadRequest(columns, self.condition, counted=counted))

    def _selection(self) -> _Selection | None:
        """If fields of structs are wanted: which columns are read for them, and what of those."""
        if self.selected is None or not any("." in str(name) for name in self.selected):
            return None
        with self.source.session.reading() as reader:
            schema = self.source.info(reader, self.source.at(reader)).schema
        paths = [name for name in self.selected if is_path(schema, name)]
        if not paths:
            return None
        found = {name: fields_at(schema, name) for name in paths}
        read = [found[name][0].name if name in found else name for name in self.selected]
        parts = [
            f"{path_sql(found[name])} AS {quote(name)}" if name in found else quote(name)
            for name in self.selected
        ]
        if len(set(self.selected)) < len(self.selected):
            raise Invalid(
                f"a column is named twice in columns={list(self.selected)!r}",
                hint="name each column once",
            )
        return _Selection(tuple(dict.fromkeys(read)), f"SELECT {', '.join(parts)} FROM {ROWS}")

    def _complete(self) -> Scan:
        """A scan of the same, of which it is sure by now that it is as complete as required."""
        if self.source.required is None:
            return self
        from tidelake.coverage.requirement import asked_entities, at_newest, check_complete

        source = at_newest(self.source)
        assert source.required is not None
        check_complete(source, source.required, asked_entities(source, self.condition))
        return Scan(replace(source, required=None), self.selected, self.condition)

    @property
    def completeness(self) -> float | None:
        """How much of what is expected is there, from 0 to 1, as of `Table.completeness`; only of
        the entities that the condition names, if it does. None if no coverage is kept."""
        from tidelake.coverage.requirement import asked_entities, completeness

        return completeness(self.source, asked_entities(self.source, self.condition))

    def files(self) -> list[DataFile]:
        """The data files the scan would read, after pruning."""
        shown = ("path", "rows", "bytes", "begin_snapshot")
        return DrawnList(self.plan().files, one="file", show=shown)

    def explain(self) -> Explanation:
        """How many files would be read, and why the others would not; and how complete it is."""
        from tidelake.event_time.explanation import explain

        told = explain(self._plan(counted=True), self.source.session.engine_name)
        try:
            return replace(told, completeness=self.completeness)
        except Unsupported:  # a calendar needs a library that is not here
            return told

    def count(self) -> int:
        """How many rows; from the catalog alone where it knows."""
        if self.source.required is not None:
            return self._complete().count()
        if self.selected is not None:
            self.plan()  # which refuses columns that are not there
        if self.condition is None and self.source.as_of is None and self.source.known_by is None:
            known = self.source.session.row_count(self.source.name, self.source.snapshot_id)
            if known is not None:
                return known
        return int(self.source.session.engine.read(self.plan()).count())

    def _reading(self, engine: Engine, *, ordered: bool = True) -> Reading:  # noqa: ARG002
        chosen = self._selection()
        if chosen is None:
            return engine.read(self.plan())
        return engine.query(chosen.sql, {ROWS: self.plan()})

    def _asked(self) -> Subquery:
        chosen = self._selection()
        sql = f"SELECT * FROM {ROWS}" if chosen is None else chosen.sql
        return Subquery(sql, {ROWS: self.plan()})

    def _sheet(self) -> Sheet:
        columns = None if self.selected is None else ", ".join(self.selected)
        of = repr(self.source).strip("<>")
        told = Sheet.of(f"Scan of {of}", columns=columns, where=self.condition)
        return told.with_note("head() reads a few rows, explain() tells which files")

    def _arrow_schema(self) -> pa.Schema:
        """Of no rows, for which no file is looked at."""
        return self._narrowed(None, Always(False)).to_arrow().schema

    def _narrowed(self, columns: Sequence[str] | None, where: Predicate | None) -> LazyRows:
        chosen = self._selection()
        if chosen is not None:
            return super()._narrowed(columns, where)
        own = Opaque(self.condition) if isinstance(self.condition, str) else self.condition
        both = tuple(each for each in (own, where) if each is not None)
        condition = And(both) if len(both) > 1 else (both[0] if both else None)
        return Scan(self.source, self.selected if columns is None else columns, condition)

    def __repr__(self) -> str:
        return f"<Scan of {self.source!r} columns={self.selected} where={self.condition!r}>"
