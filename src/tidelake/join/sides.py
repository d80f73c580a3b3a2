"""The two sides of a point-in-time join: tables, scans, queries and frames of any kind."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tidelake.engine import Job
from tidelake.engine.declare.ddl import from_duckdb_type
from tidelake.engine.spark_frame import is_spark_frame
from tidelake.errors import Invalid, Unsupported
from tidelake.lake.scan import Scan
from tidelake.lake.table import Table
from tidelake.model.event_time import EventTime
from tidelake.model.names import TableName, fold, quote
from tidelake.model.schema import ROW_NUMBER, Column, Schema
from tidelake.plan.as_of import AsOfPlan
from tidelake.plan.scan import ScanPlan
from tidelake.session.session import Session
from tidelake.session.source import Source
from tidelake.sql.query import Query

_TAKEN = (
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
    scan: Scan

    @property
    def session(self) -> Session:  # type: ignore[override]
        return self.source.session

    @property
    def source(self) -> Source:
        return self.scan.source

    @property
    def event(self) -> EventTime | None:
        """As of a moment there are no tombstones any more."""
        with self.session.reading() as reader:
            found = EventTime.maybe(self.source.info(reader, self.source.at(reader)))
        state = self.source.as_of is not None
        return replace(found, tombstone=None) if found and state else found

    @property
    def key(self) -> str | None:
        if self.session.is_transaction:
            return None
        with self.session.reading() as reader:
            at = self.source.at(reader)
        return f"{self.source.name} {at} {self.source.as_of} {self.scan.where!r}"

    def enter(self, job: Job, name: str, *, numbered: bool) -> tuple[Column, ...]:
        plan = self.planned(numbered=numbered)
        job.scan(name, plan)
        known = {column.name: column for column in plan.columns}
        hidden = ROW_NUMBER if numbered else None
        asked = (each for each in plan.output if each != hidden)
        return tuple(known.get(each) or Column(0, each, "int64") for each in asked)

    def planned(self, *, numbered: bool) -> ScanPlan | AsOfPlan:
        columns = self.scan.columns
        if not numbered:
            return self.scan.plan()
        wanted = list(self._names() if columns is None else columns)
        event = self.event
        if columns is not None and event and event.tombstone:
            lowered = {fold(str(each)) for each in columns}
            end = event.tombstone.name
            wanted += [] if fold(end) in lowered else [end]
        return Scan(self.source, [*wanted, ROW_NUMBER], self.scan.where).plan()

    def _names(self) -> Sequence[str]:
        with self.session.reading() as reader:
            return self.source.info(reader, self.source.at(reader)).schema.names


@dataclass(frozen=True, slots=True)
class Result(Side):
    """Rows of a query over a lake."""

    what: str
    query: Query

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


@dataclass(frozen=True, slots=True)
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
        if taken is None or not taken[1].rereadable:
            raise self._unknown()
        columns, found = taken
        _define(job, name, found.sql, numbered=numbered)
        return columns

    def _unknown(self) -> Invalid:
        kind = f"{type(self.data).__module__}.{type(self.data).__qualname__}"
        return Invalid(
            f"the {self.what} side is a {kind.removeprefix('builtins.')}, which cannot be gone"
            " through again and again, or says nothing of its columns",
            hint=_TAKEN,
        )


def side_of(what: str, data: Any) -> Side:
    if isinstance(data, Table):
        return Rows(what, data.scan())
    if isinstance(data, Scan):
        return Rows(what, data)
    if isinstance(data, Query):
        return Result(what, data)
    if data is None or isinstance(data, str | bytes | int | float):
        raise Invalid(f"the {what} side is {data!r}, which has no rows", hint=_TAKEN)
    return Frame(what, data)


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
