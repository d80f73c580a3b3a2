"""How the rows of a data set are found: what is asked, and at which moments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any, Protocol

from tidelake.engine.row_source import RowSource
from tidelake.errors import Conflict, Invalid, NotFound
from tidelake.event_time.state import plan_read
from tidelake.model.event_time import as_moment, moment_text
from tidelake.model.names import quote
from tidelake.model.predicate import Predicate
from tidelake.model.schema import Column, Schema
from tidelake.model.snapshot import Snapshot
from tidelake.model.tag import parse_moment
from tidelake.plan.as_of import AsOfPlan
from tidelake.plan.scan import ScanPlan
from tidelake.session.drafting import DraftSession
from tidelake.session.lazy_rows import LazyRows
from tidelake.session.planning import ReadRequest
from tidelake.session.source import Source
from tidelake.sql.parameters import Bindings
from tidelake.sql.query import Query, written_query

_ROWS = "_tidelake_rows"


@dataclass(frozen=True, slots=True)
class Ingredients:
    """Rows that are ready to be written. `columns` are as a new table takes them, `rows` gives the
    rows for the columns that it got; `sources` are the tables they are from, by id, or None if
    nobody can tell."""

    columns: Any
    rows: Callable[[Sequence[Column]], Any]
    sources: frozenset[int] | None
    check: Callable[[], None] = lambda: None


class Recipe(Protocol):
    """Can be asked again: the rows are those of the transaction that asks."""

    @property
    def text(self) -> str:
        """What is asked, as people read it."""

    @property
    def as_of(self) -> str | None: ...

    @property
    def known_at(self) -> int | str | date | None: ...

    def ready(self, tx: DraftSession, /) -> Ingredients: ...


def snapshot_of(tx: DraftSession, known_at: int | str | date | None) -> Snapshot:
    """The snapshot that is read, for a tenant the newest of its own up to then. For a time before
    the lake it is the newest, with that time: whoever reads the tables is told if they know nothing
    of it."""
    with tx.reading() as reader:
        if known_at is not None:
            try:
                return tx.resolve(reader, known_at)
            except NotFound:
                early = parse_moment(known_at)
                if not isinstance(early, datetime):
                    raise
            return replace(tx.committed.resolve(reader, tx.base), time=early)
        with suppress(NotFound):
            return tx.committed.resolve(reader, tx.base)
    raise NotFound("there is nothing in this lake yet", hint="create a table first")


@dataclass(frozen=True, slots=True)
class OfSql:
    """A query in SQL, and what its caller gave beside it."""

    sql: str
    given: Bindings

    @property
    def text(self) -> str:
        return self.sql.strip()

    @property
    def as_of(self) -> str | None:
        return as_of_text(self.given.as_of)

    @property
    def known_at(self) -> int | str | date | None:
        return self.given.known_at

    def ready(self, tx: DraftSession, /) -> Ingredients:
        return _of_query(tx, written_query(tx, self.sql, self.given))


@dataclass(frozen=True, slots=True)
class OfQuery:
    """A query that its caller has made with `lake.sql`."""

    query: Query
    moments: Bindings

    @property
    def text(self) -> str:
        return self.query.text

    @property
    def as_of(self) -> str | None:
        return as_of_text(self.query.moments.as_of or self.moments.as_of)

    @property
    def known_at(self) -> int | str | date | None:
        own = self.query.moments.known_at
        return self.moments.known_at if own is None else own

    def ready(self, tx: DraftSession, /) -> Ingredients:
        return _of_query(tx, self.query.as_written(tx, self.moments))


@dataclass(frozen=True, slots=True)
class OfScan:
    """Some columns and rows of a table, at moments that are in its source."""

    source: Source
    columns: tuple[str, ...] | None = None
    where: str | Predicate | None = None

    @property
    def text(self) -> str:
        names = "*" if self.columns is None else ", ".join(map(quote, self.columns))
        given = self.where.sql() if isinstance(self.where, Predicate) else self.where
        known = early_text(self.source.known_by)
        where = f" WHERE {given}" if given else ""
        return f"SELECT {names} FROM {self.source.name}{known}{where}"

    @property
    def as_of(self) -> str | None:
        return None if self.source.as_of is None else moment_text(self.source.as_of)

    @property
    def known_at(self) -> int | str | date | None:
        """Its snapshot; what a column tells of the time before the lake is told by the text."""
        return self.source.snapshot_id

    def ready(self, tx: DraftSession, /) -> Ingredients:
        tx.check_computed(self.where)
        plan = self.plan(tx)
        with tx.reading() as reader:
            table = tx.table_info(reader, plan.snapshot_id, self.source.name)
        wanted = plan.output if self.columns is not None else table.schema.names
        columns = tuple(table.schema.column(name) for name in wanted)
        engine = tx.engine if tx.engine.holds(columns) else tx.local
        return Ingredients(
            Schema(columns),
            lambda new: engine.incoming(f"SELECT * FROM {_ROWS}", {_ROWS: plan}, new),
            frozenset({table.id}),
        )

    def plan(self, tx: DraftSession) -> ScanPlan | AsOfPlan:
        """A read of it, in a transaction."""
        at = tx.base if self.source.snapshot_id is None else self.source.snapshot_id
        asked = ReadRequest(self.columns, self.where)
        return plan_read(replace(self.source, session=tx, snapshot_id=at), asked)


@dataclass(frozen=True, slots=True)
class OfRows:
    """Rows that a feature finds, such as a point-in-time join. Their moments are their own."""

    lazy: LazyRows
    as_of: str | None = None
    known_at: int | str | date | None = None

    @property
    def text(self) -> str:
        return repr(self.lazy)

    def ready(self, tx: DraftSession, /) -> Ingredients:
        def check() -> None:
            if tx.newest()[0] != tx.base:
                raise Conflict("the lake has changed while rows were read", hint="freeze again")

        if tx.engine_name == "spark":
            frame = self.lazy.to_spark()
            return Ingredients(frame.schema, lambda _: frame, None, check)
        stream = self.lazy.to_batches()
        return Ingredients(stream.schema, lambda _: stream, None, check)


def _of_query(tx: DraftSession, query: Query) -> Ingredients:
    return Ingredients(query.column_types(), query.rows_for, _sources(tx, query.tables.values()))


def _sources(
    tx: DraftSession, read: Iterable[ScanPlan | AsOfPlan | RowSource]
) -> frozenset[int] | None:
    found = set()
    with tx.reading() as reader:
        for each in read:
            if not isinstance(each, ScanPlan | AsOfPlan):
                return None
            found.add(tx.view.find(reader, each.snapshot_id, "table", each.table))
    return None if None in found else frozenset(id_ for id_ in found if id_ is not None)


def early_text(known_by: int | None) -> str:
    """A moment from before the lake, as SQL names it behind a table."""
    return "" if known_by is None else f" FOR SYSTEM_TIME AS OF '{moment_text(known_by)}'"


def as_of_text(as_of: str | date | None) -> str | None:
    """A moment of event time as it is written down."""
    return None if as_of is None else moment_text(as_moment(as_of))


def refuse_two(own: object, given: object, what: str) -> None:
    """Invalid if a moment is given twice."""
    if own is not None and given is not None:
        raise Invalid(
            f"{what} is given twice", hint="leave it to the scan or query, or give it here"
        )
