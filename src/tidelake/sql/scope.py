"""Where the names of a query are looked up, and how what they mean is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import date
from pathlib import PurePath

from tidelake.catalog.database.database import Reader
from tidelake.engine.row_source import RowSource
from tidelake.errors import NotFound, TidelakeError
from tidelake.event_time.periods import Periods
from tidelake.event_time.state import plan_read, plan_state
from tidelake.event_time.values.ranges import SystemRange, ValidRange
from tidelake.event_time.versions import Versions
from tidelake.model.event_time import EventTime
from tidelake.model.names import DEFAULT_SCHEMA, TableName, fold
from tidelake.model.predicate import Predicate
from tidelake.model.schema import Schema
from tidelake.model.table import ViewInfo
from tidelake.plan.as_of import AsOfPlan
from tidelake.plan.scan import ScanPlan
from tidelake.session.known_time import KnownTime
from tidelake.session.planning import ReadRequest
from tidelake.session.session import Session
from tidelake.session.source import Source, find_then, known_then
from tidelake.sql.clauses import MomentClause
from tidelake.sql.moments import MomentReader

Hint = Callable[[Schema], str | Predicate | None]
"""Of the table's schema, a condition that is for skipping files alone."""


@dataclass(frozen=True, slots=True)
class Scope:
    """A lake, which may be a transaction with writes of its own, at a snapshot; and as of which
    moment. `insists`: on a table that has no event time that is an error. `counted`: plans tell
    how many files there are. `within`: facts of a range are asked for, and not a state. `known`: so
    is all that was held in a range of system time. `now`: what time it is, in nanoseconds since
    1970, where the snapshot is simply the newest. `time`: the snapshot was asked for by it, and
    some tables may know of times before the lake."""

    session: Session
    at: int
    as_of: int | None = None
    insists: bool = False
    counted: bool = False
    within: ValidRange | None = None
    now: int | None = None
    known: SystemRange | None = None
    time: KnownTime | None = None

    def asked(self, reader: Reader, clauses: Iterable[MomentClause], clock: MomentReader) -> Scope:
        """At the moments that the query names for a table."""
        found = self
        for clause in clauses:
            is_range = clause.kind in ("from", "between", "all")
            if clause.clock == "valid time":
                within = clock.valid_range(clause) if is_range else None
                as_of = None if is_range else clock.valid_time(clause)
                found = replace(found, as_of=as_of, within=within, insists=True)
            elif is_range:
                at = found.session.at(reader)
                asked = clock.system_range(clause)
                found = replace(found, at=at, known=asked, time=None)
            else:
                found = replace(found.moved(reader, clock.system_time(clause)), known=None)
        return found

    def plan(
        self, name: TableName, hint: Hint | None
    ) -> tuple[ScanPlan | AsOfPlan | RowSource, bool]:
        """A read of a table, and whether that has an event time, which is told only where it
        matters. The hint, of the table's schema, is a condition for skipping files alone."""
        if (early := self.early(name)) is not None:
            return self._plan_early(early, hint)
        plain = self.as_of is None and self.within is None and self.known is None
        if hint is None and plain:
            return self.session.plan(name, self.at, ReadRequest(counted=self.counted)), False
        with self.session.reading() as reader:
            table = self.session.table_info(reader, self.at, name)
        known = None if hint is None else hint(table.schema)
        timed = EventTime.maybe(table) is not None
        asks = timed or self.insists
        at = self.at if self.session.committed is self.session else None
        if self.known is not None:
            source = Source(self.session, name, at, self.as_of if asks else None)
            return Versions(source, self.known, self.within if asks else None), timed
        if self.within is not None and asks:
            return Periods(Source(self.session, name, at), self.within), True
        asked = ReadRequest(prune_by=known, counted=self.counted)
        if self.as_of is None or not asks:
            return self.session.plan(name, self.at, asked), timed
        return plan_state(self.session, name, self.at, self.as_of, asked), timed

    def source(self, name: TableName) -> Source:
        """The table that is meant, at these moments."""
        if (early := self.early(name)) is not None:
            return replace(early, as_of=self.as_of)
        at = None if self.session.is_transaction else self.at
        return Source(self.session, name, at, self.as_of, now=self.now)

    def early(self, name: TableName) -> Source | None:
        """A table at a time before the lake's own record of it, if a column of it tells."""
        if self.time is None:
            return None
        with self.session.reading() as reader:
            return Source(self.session, name).then(reader, self.time)

    def _plan_early(self, early: Source, hint: Hint | None) -> tuple[ScanPlan | AsOfPlan, bool]:
        with self.session.reading() as reader:
            table = early.info(reader, early.at(reader))
        if self.within is not None:
            early.check_recorded("periods")
        timed = EventTime.maybe(table) is not None
        as_of = self.as_of if timed or self.insists else None
        asked = ReadRequest(
            prune_by=None if hint is None else hint(table.schema), counted=self.counted
        )
        return plan_read(replace(early, as_of=as_of), asked), timed

    def moved(self, reader: Reader, moment: int | str | date | None) -> Scope:
        """At another snapshot; nothing uncommitted was there then."""
        if moment is None:
            return self
        session = self.session.committed
        at, time = find_then(self.session, reader, moment)
        if time is not None and self.session.is_transaction and known_then(session, reader, time):
            self.session.reads.everything()
        return replace(self, session=session, at=at, now=None, time=time)

    @property
    def is_lost(self) -> bool:
        """Whether there was no snapshot then."""
        return self.time is not None and self.time.lost is not None

    def check_there(self) -> None:
        """Raise for a time of which the lake knows nothing."""
        if self.time is not None:
            self.time.check_there()

    def resolve(
        self, reader: Reader, own: str, called: str, schema: str
    ) -> tuple[TableName, ViewInfo | None]:
        """What a name means: without a schema of its `own` it is looked for in `schema`, then in
        `main`."""
        homes = [own] if own else dict.fromkeys([schema, DEFAULT_SCHEMA])
        for home in homes:
            name = TableName(home, called)
            if self.early(name) is not None:
                return name, None
        self.check_there()
        for home in homes:
            name = TableName(home, called)
            if self.session.view.find(reader, self.at, "table", name) is not None:
                return name, None
            if (view_id := self.session.view.find(reader, self.at, "view", name)) is not None:
                return name, self.session.view.view_info(reader, self.at, view_id)
        raise _with_hint(self.session.view.unknown(reader, self.at, name), own, called)


_READERS = {
    **dict.fromkeys((".parquet", ".pq"), "read_parquet"),
    **dict.fromkeys((".csv", ".tsv"), "read_csv"),
    **dict.fromkeys((".json", ".jsonl", ".ndjson"), "read_json"),
}


def _with_hint(error: TidelakeError, schema: str, called: str) -> TidelakeError:
    """For names that DuckDB knows and a lake does not: files, and tables of its own."""
    function = _READERS.get(PurePath(called).suffix.casefold())
    if fold(schema) in ("information_schema", "pg_catalog"):
        error.hint = "SHOW TABLES, DESCRIBE t and FROM table_files('t') tell what there is"
    elif function is not None and isinstance(error, NotFound):
        error.hint = f"a file is read by FROM {function}('{called}'); {error.hint}"
    return error
