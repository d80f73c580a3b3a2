"""The sides of a point-in-time join: rows of tables, of queries, and frames of any kind."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from tidelake.coverage.requirement import check_kept, check_required, required_ratio
from tidelake.engine import Job
from tidelake.engine.declare.ddl import from_duckdb_type
from tidelake.engine.row_source import RowSource, Tables
from tidelake.engine.spark_frame import is_spark_frame
from tidelake.errors import Invalid, Unsupported
from tidelake.event_time.state import plan_read
from tidelake.model.event_time import EventTime
from tidelake.model.names import TableName, fold, quote
from tidelake.model.predicate import Predicate
from tidelake.model.schema import ROW_NUMBER, Column, Schema
from tidelake.plan.as_of import AsOfPlan
from tidelake.plan.scan import ScanPlan
from tidelake.session.planning import ReadRequest
from tidelake.session.readable import Read
from tidelake.session.session import Session
from tidelake.session.source import Source

TAKEN = (
    "give a Table, a Scan, a query of lake.sql(…), a pandas, Polars or Spark frame, an Arrow"
    " table, or a list of dicts"
)


class Side(ABC):
    """What was given for one side. `what` is what errors call it: left or right."""

    what: str
    session: Session | None = None

    @abstractmethod
    def enter(self, job: Job, name: str, *, numbered: bool) -> tuple[Column, ...]:
        """Make a relation of its rows, and say which columns they have; if `numbered`, also
        `_tidelake_row`, which grows in the order in which rows came."""

    def reads(self) -> Iterable[Read]:
        """What is read of tables for it."""
        return ()

    @property
    def event(self) -> EventTime | None:
        """What the side itself says of keys and times."""
        return None

    @property
    def key(self) -> str | None:
        """What its rows are and remain, if they can be told by a name."""
        return None

    @property
    def spark(self) -> Any:
        """The Spark session that its rows are bound to."""
        return None

    @property
    def is_ordered(self) -> bool:
        """Whether its rows have an order that a result should keep."""
        return False


@dataclass(frozen=True, slots=True)
class Rows(Side):
    """Rows of a table of a lake."""

    what: str
    source: Source
    columns: Sequence[str] | None = None
    where: str | Predicate | None = None

    @property
    def session(self) -> Session:  # type: ignore[override]
        return self.source.session

    def reads(self) -> Iterable[Read]:
        asked = ReadRequest(self.columns, self.where, counted=True)
        return ((self.source, plan_read(self.source, asked)),)

    @property
    def event(self) -> EventTime | None:
        """As of a moment nothing has ended any more."""
        with self.session.reading() as reader:
            found = EventTime.maybe(self.source.info(reader, self.source.at(reader)))
        state = self.source.as_of is not None
        return replace(found, tombstone=None, valid_to=None) if found and state else found

    @property
    def key(self) -> str | None:
        if self.session.is_transaction:
            return None
        with self.session.reading() as reader:
            at = self.source.at(reader)
        moments = f"{at} {self.source.as_of} {self.source.known_by}"
        return f"{self.source.name} {moments} {self.where!r}"

    def enter(self, job: Job, name: str, *, numbered: bool) -> tuple[Column, ...]:
        plan = self.planned(numbered=numbered)
        job.scan(name, plan)
        known = {column.name: column for column in plan.columns}
        hidden = ROW_NUMBER if numbered else None
        asked = (each for each in plan.output if each != hidden)
        return tuple(known.get(each) or Column(0, each, "int64") for each in asked)

    def planned(self, *, numbered: bool) -> ScanPlan | AsOfPlan:
        """Its rows, if there are as many of those that are expected as the source requires."""
        check_required(self.source)
        if not numbered:
            return plan_read(self.source, ReadRequest(self.columns, self.where))
        wanted = list(self._names() if self.columns is None else self.columns)
        if self.columns is not None and (event := self.event):
            lowered = {fold(str(each)) for each in self.columns}
            ends = (column.name for column in (event.tombstone, event.valid_to) if column)
            wanted += [name for name in ends if fold(name) not in lowered]
        return plan_read(self.source, ReadRequest([*wanted, ROW_NUMBER], self.where))

    def _names(self) -> Sequence[str]:
        with self.session.reading() as reader:
            return self.source.info(reader, self.source.at(reader)).schema.names

    def __repr__(self) -> str:
        return repr(self.source)


class SqlQuery(Protocol):
    """A query over a lake, as `lake.sql` gives it."""

    session: Session

    @property
    def tables(self) -> Tables: ...

    def reads(self) -> Iterable[Read]: ...

    def whole_sql(self) -> str: ...

    def to_duckdb(self) -> Any: ...

    def to_spark(self, spark: Any = ...) -> Any: ...


@dataclass(frozen=True, slots=True)
class Result(Side):
    """Rows of a query over a lake."""

    what: str
    query: SqlQuery

    def reads(self) -> Iterable[Read]:
        return self.query.reads()

    @property
    def session(self) -> Session:  # type: ignore[override]
        return self.query.session

    @property
    def spark(self) -> Any:
        return self.session.engine.session

    def enter(self, job: Job, name: str, *, numbered: bool) -> tuple[Column, ...]:
        if self.spark is not None:
            return Frame(self.what, self.query.to_spark()).enter(job, name, numbered=numbered)
        if not job.in_process:
            raise Unsupported(
                f"the {self.what} side is a query in DuckDB's SQL, which Spark does not run",
                hint="open the lake with engine='spark', or give a table",
            )
        relation = self.query.to_duckdb()
        columns = tuple(map(from_duckdb_type, relation.columns, relation.types))
        _check_names(self.what, columns)
        _define(job, name, self._defined(job, name), numbered=numbered)
        return columns

    def _defined(self, job: Job, name: str) -> str:
        for handle, plan in self.query.tables.items():
            job.scan(f"{name}{handle}", plan)
        tables = ", ".join(
            f"{quote(handle)} AS (SELECT * FROM {quote(name + handle)})"
            for handle in self.query.tables
        )
        return f"WITH {tables} ({self.query.whole_sql()})" if tables else self.query.whole_sql()


class TypedRows(RowSource, Protocol):
    """Rows that tell their columns, and what is read for them, before they are read."""

    def reads(self) -> Iterable[Read]: ...

    def types(self) -> Sequence[tuple[str, Any]]: ...


@dataclass(frozen=True, slots=True)
class Subquery(Side):
    """Rows of a query that stands in another."""

    what: str
    home: Session
    rows: TypedRows

    def reads(self) -> Iterable[Read]:
        return self.rows.reads()

    @property
    def session(self) -> Session:  # type: ignore[override]
        return self.home

    @property
    def spark(self) -> Any:
        return self.session.engine.session

    def enter(self, job: Job, name: str, *, numbered: bool) -> tuple[Column, ...]:
        if self.spark is not None and not job.in_process:
            return Frame(self.what, self.rows.to_spark()).enter(job, name, numbered=numbered)
        columns = tuple(from_duckdb_type(each, kind) for each, kind in self.rows.types())
        _check_names(self.what, columns)
        job.scan(f"{name}_given", self.rows)
        _define(job, name, f"SELECT * FROM {quote(f'{name}_given')}", numbered=numbered)
        return columns


@dataclass(frozen=True, slots=True, repr=False)
class Frame(Side):
    """Rows that the caller has."""

    what: str
    data: Any

    @property
    def spark(self) -> Any:
        return self.data.sparkSession if is_spark_frame(self.data) else None

    @property
    def is_ordered(self) -> bool:
        return not is_spark_frame(self.data)

    def enter(self, job: Job, name: str, *, numbered: bool) -> tuple[Column, ...]:
        if is_spark_frame(self.data) and job.in_process:
            raise Unsupported(
                f"the {self.what} side is a Spark DataFrame, which DuckDB does not read",
                hint="ask for to_spark(), to_arrow() or to_pandas()",
            )
        taken = job.take(f"{name}_given", self.data, TableName("main", self.what))
        if taken is None or not taken[1].repeatable:
            raise self._unknown()
        columns, found = taken
        sql = found.sql
        if not found.rereadable:
            job.hold(f"{name}_held", sql)
            sql = f"SELECT * FROM {quote(f'{name}_held')}"
        _define(job, name, sql, numbered=numbered)
        return columns

    def __repr__(self) -> str:
        """What it is, and none of its rows: a data set keeps this text for ever."""
        kind = type(self.data).__name__
        if is_spark_frame(self.data) or not hasattr(self.data, "__len__"):
            return f"<{kind}>"
        return f"<{kind} of {len(self.data)} rows>"

    def _unknown(self) -> Invalid:
        kind = f"{type(self.data).__module__}.{type(self.data).__qualname__}"
        return Invalid(
            f"the {self.what} side is a {kind.removeprefix('builtins.')}, which cannot be gone"
            " through again and again, or says nothing of its columns",
            hint=TAKEN,
        )


def at_least(side: Side, ratio: object) -> Side:
    """A right side of which so much must be there as `ratio` says, from 0 to 1; None: any part."""
    if ratio is None:
        return side
    if not isinstance(side, Rows):
        raise Invalid(
            f"require={ratio!r}: only a table of a lake can tell how complete it is",
            hint="give a Table or a Scan as the right side",
        )
    check_kept(side.source)
    return replace(side, source=replace(side.source, required=required_ratio(ratio)))


def column_of(side: Side, columns: Sequence[Column], name: object, as_what: str) -> Column:
    folded = fold(name) if isinstance(name, str) else None
    same = [column for column in columns if fold(column.name) == folded]
    exact = [column for column in same if column.name == name]
    if found := (exact or same):
        return found[0]
    listed = ", ".join(Schema(tuple(columns)).names)
    raise Invalid(
        f"the {side.what} side has no column {name!r} ({as_what})", hint=f"there are: {listed}"
    )


def _define(job: Job, name: str, sql: str, *, numbered: bool) -> None:
    if numbered:
        job.number(name, sql)
    else:
        job.define(name, sql)


def _check_names(what: str, columns: Sequence[Column]) -> None:
    folded = [fold(column.name) for column in columns]
    twice = next((c.name for c in columns if folded.count(fold(c.name)) > 1), None)
    if twice is not None:
        raise Invalid(f"the {what} side has two columns {twice!r}", hint="rename one with AS")
