"""A query over the lake: its tables are found and planned, and the engine does the rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from tidelake.coverage.requirement import completeness
from tidelake.drawing.sheet import Sheet
from tidelake.engine import Engine, Reading
from tidelake.engine.arrow_rows import ArrowRows
from tidelake.engine.export import as_dicts
from tidelake.engine.row_source import RowSource, Tables, pass_on
from tidelake.errors import Invalid, Unsupported
from tidelake.event_time.explanation import Explanation, explain
from tidelake.model.event_time import as_moment
from tidelake.model.forms import ColumnType
from tidelake.model.literal import Value
from tidelake.model.misfit import naming_misfits
from tidelake.model.names import DEFAULT_SCHEMA
from tidelake.model.schema import Column
from tidelake.plan.as_of import AsOfPlan
from tidelake.plan.scan import ScanPlan
from tidelake.session.lazy_rows import LazyRows, Subquery
from tidelake.session.readable import Read, reads_of
from tidelake.session.session import Session
from tidelake.session.source import Source, seen_at
from tidelake.sql.binding import DECLARE, QueryTables
from tidelake.sql.calls import FUNCTIONS
from tidelake.sql.moments import MomentReader
from tidelake.sql.parameters import NOTHING, Bindings, parameter_values
from tidelake.sql.rowwise import is_rowwise, is_whole
from tidelake.sql.scope import Scope
from tidelake.sql.summary import reading_of, shows
from tidelake.sql.text import Text, read
from tidelake.sql.words import not_supported
from tidelake.syntax.harmless import refuse_growth, refuse_harm
from tidelake.syntax.tokens import apply_edits
from tidelake.syntax.tree import NotSelect


def query_of(text: str, beside: Bindings = NOTHING) -> tuple[Text, dict[str, Value]]:
    """A query, read by DuckDB whoever runs it, and the values of its parameters."""
    try:
        query = read(text)
    except NotSelect:
        raise not_supported(text) from None
    return query, parameter_values(query, beside.parameters)


def written_query(session: Session, text: str, beside: Bindings) -> Query:
    """A query whose rows are to be written."""
    return Query(session, text, *query_of(text, beside), beside, written=True)


def check_view(session: Session, text: str) -> None:
    """Raise unless the text can be a view's: a query in DuckDB's SQL of what is there."""
    _query_of_view(session, text)


def check_new_view(session: Session, text: str) -> None:
    """Raise also unless its columns and functions are there. No file is looked at for that."""
    query = _query_of_view(session, text)
    bare = {
        name: _without_rows(plan)
        for name, plan in query.tables.items()
        if isinstance(plan, ScanPlan | AsOfPlan)
    }
    if len(bare) == len(query.tables):  # functions of the lake would have to be run
        session.local.described(query.whole_sql(), bare)


def _without_rows(plan: ScanPlan | AsOfPlan) -> ScanPlan | AsOfPlan:
    """As of a table that has the same columns, and is empty."""
    if isinstance(plan, AsOfPlan):
        parts = tuple(replace(part, files=(), inlined=()) for part in plan.parts)
        return replace(plan, parts=parts, rollup=None)
    return replace(plan, files=(), inlined=())


def _query_of_view(session: Session, text: str) -> Query:
    query, values = query_of(text)
    refuse_harm(query.node, "a view", FUNCTIONS)
    return Query(session, text, query, values)


_PLANS = "_tidelake_plans"
_TOLD = {
    **dict.fromkeys(("table", "as_of"), "varchar"),
    **dict.fromkeys(("snapshot_id", "files", "total_files", "rows_in_files", "bytes"), "int64"),
    "inlined_rows": "int64",
    **dict.fromkeys(("skipped", "rollup", "engine"), "varchar"),
    "completeness": "float64",
}


def explained_rows(found: Sequence[Explanation]) -> ArrowRows:
    """A row for each table that a query reads."""
    rows = []
    for each in found:
        skipped = ", ".join(f"{step.files} by {step.reason}" for step in each.pruned)
        told = {"table": str(each.table), "skipped": skipped or None}
        told["rollup"] = None if each.rollup is None else str(each.rollup)
        rows.append([told[name] if name in told else getattr(each, name) for name in _TOLD])
    return ArrowRows.of(_TOLD, rows)


def _known_completeness(source: Source) -> float | None:
    try:
        return completeness(source)
    except Unsupported:  # a calendar needs a library that is not here
        return None


_NEVER = -1
"""A snapshot that there is not."""


@dataclass(frozen=True, slots=True)
class EngineQuery:
    """What an engine is asked: a SELECT over plans, and the values of its parameters. If it is
    `rowwise`, parts of its one table may be asked instead, each by itself."""

    sql: str
    tables: Mapping[str, ScanPlan | AsOfPlan | RowSource]
    parameters: Mapping[str, Any]
    rowwise: bool = False


@naming_misfits
class Query(LazyRows):
    """A SELECT over a lake, with the same `to_*` methods as a Scan. Nothing runs until asked, and
    then it sees the lake as it is by then. If it is `explained`, its rows tell how its tables would
    be read.

    If its rows are to be `written`, parameters become part of the SQL where that is DuckDB's: it
    goes into larger statements then.
    """

    def __init__(
        self,
        session: Session,
        text: str,
        asked: Text,
        values: Mapping[str, Value],
        beside: Bindings = NOTHING,
        *,
        written: bool = False,
        explained: bool = False,
    ) -> None:
        self.session = self._session = session
        self._text = text
        self._given = asked, values, beside
        self._written = written
        self._explained = explained
        self._at = _NEVER
        self._find_tables()

    def _find_tables(self) -> None:
        """Plan the tables of the query, as the lake is now."""
        asked, values, beside = self._given
        self.tables: dict[str, ScanPlan | AsOfPlan | RowSource] = {}
        self._clock = MomentReader(self.session.local, values, datetime.now(UTC))
        self._parameters: Mapping[str, Any] = {}
        source = asked.node.get("from_table") or {}
        self._is_values = source.get("type") == "EXPRESSION_LIST"
        timed = self._bind(asked, beside)
        if self._written and not self.tables:
            beside.refuse_moments("a write")
        if beside.as_of is not None and not timed:
            raise Invalid(
                f"as_of={beside.as_of!r}, and no table of the query has an event time",
                hint=DECLARE,
            )

    def _bind(self, asked: Text, beside: Bindings) -> bool:
        """Whether one of its tables has an event time."""
        values = self._clock.values
        if self._written and self.session.is_sandbox:
            refuse_growth(asked.node, "a query whose rows are written")
        binding = QueryTables(self._clock, self.tables)
        edits, timed = binding.bind(asked, DEFAULT_SCHEMA, self._start(beside))
        self._sources = binding.sources
        stands_alone = bool(asked.calls) or not edits  # what is a view has been written anew
        self._is_passage = asked.is_passage and stands_alone
        self._is_whole = self._is_passage and is_whole(asked.node)
        self._whole_sql = apply_edits(asked.sql, [*edits, *asked.literals(values)])
        self._sql = self._whole_sql if self._written else apply_edits(asked.sql, edits)
        self._parameters = {} if self._written else asked.used(values)
        return timed

    def _look_again(self) -> None:
        """Rows are those of the lake when they are asked for, as a scan's are; those of a write
        when it began."""
        if self._written:
            return
        with self.session.reading() as reader:
            at = seen_at(self.session, reader)
        if at != self._at or self.session.committed is not self.session:
            try:
                self._find_tables()
            except BaseException:
                self._at = _NEVER  # it is half of one and half of another: look again next time
                raise

    def _start(self, beside: Bindings) -> Scope:
        as_of = None if beside.as_of is None else as_moment(beside.as_of)
        with self.session.reading() as reader:
            time = self.session.time
            self._at = seen_at(self.session, reader)
            now = None if self.session.pinned is not None else as_moment(self._clock.now)
            seen = Scope(self.session, self._at, as_of, counted=self._explained, now=now, time=time)
            self._now = now if beside.known_at is None else None
            return seen.moved(reader, beside.known_at)

    def to_dicts(self) -> list[dict[str, Any]]:
        """The rows as dicts. Invalid if two columns have one name, as a dict would lose one."""
        found = self.to_arrow()
        if len(set(found.column_names)) < len(found.column_names):
            raise Invalid("two columns of the query have one name", hint="rename one with AS")
        return as_dicts(found)

    def _local_engine(self) -> Engine:
        """A query is in the SQL of the lake's engine."""
        return self.session.engine

    def _on_spark(self, spark: Any) -> Engine:
        if self.session.engine_name == "local":
            raise Unsupported(
                "this query is in DuckDB's SQL", hint="open the lake with engine='spark'"
            )
        return super()._on_spark(spark)

    def _sheet(self) -> Sheet:
        tables = sorted({str(each.name) for each in self._sources.values()})
        told = Sheet.of("Query", sql=self.text, tables=", ".join(tables) or None)
        return told.with_note("head() runs it and shows a few rows")

    def __repr__(self) -> str:
        return f"<Query {self._text!r}>"

    @property
    def text(self) -> str:
        """As it was written, and the values of its parameters."""
        _, values, _ = self._given
        given = ", ".join(f"{name} = {value!r}" for name, value in values.items())
        return f"{self._text.strip()} [{given}]" if given else self._text.strip()

    @property
    def moments(self) -> Bindings:
        """Those that were given beside it."""
        return replace(self._given[2], parameters=None)

    def as_written(self, session: Session, moments: Bindings) -> Query:
        """The same query in a transaction that writes its rows, at its own moments or these."""
        asked, values, beside = self._given
        own = replace(
            beside,
            as_of=moments.as_of if beside.as_of is None else beside.as_of,
            known_at=moments.known_at if beside.known_at is None else beside.known_at,
        )
        return Query(session, self._text, asked, values, own, written=True)

    def _reading(self, engine: Engine, *, ordered: bool = True) -> Reading:
        self._look_again()
        if self._explained:
            return engine.query(f"FROM {_PLANS}", {_PLANS: explained_rows(self.explain())})
        if self._is_whole and not self.session.is_sandbox:
            (rows,) = self.tables.values()
            if isinstance(rows, LazyRows):
                return rows._reading(engine, ordered=ordered)
        if engine.session is not None and shows(self._sql):
            return reading_of(self.session, engine, self._sql, self.tables, self._parameters)
        tables: Tables = self.tables
        if self._is_passage:
            tables = {name: pass_on(rows) for name, rows in tables.items()}
        return engine.query(self._sql, tables, self._parameters)

    def _asked(self) -> Subquery:
        if self._explained or shows(self._sql):
            return super()._asked()
        self._look_again()
        return Subquery(self._sql, self.tables, self._parameters)

    def reads(self) -> Iterator[Read]:
        """The tables that it reads, those behind views and functions of the lake among them."""
        self._look_again()
        for source, plan in reads_of(self.tables, self._sources):
            is_newest = source.now is None and plan.snapshot_id == self._at
            yield (replace(source, now=self._now) if is_newest else source), plan

    def explain(self) -> list[Explanation]:
        """How each table of the query would be read, and how complete it is. Files are counted if
        it is an EXPLAIN."""
        engine = self.session.engine_name
        return [
            replace(explain(plan, engine), completeness=_known_completeness(source))
            for source, plan in self.reads()
        ]

    @property
    def completeness(self) -> float | None:
        """How much of what is expected is there, from 0 to 1, of the table of the query that lacks
        most, up to the moment as of which it is read, else up to now. None if none of its tables
        keeps coverage."""
        found = [completeness(source) for source, _ in self.reads()]
        return min((each for each in found if each is not None), default=None)

    def for_engine(self) -> EngineQuery:
        """What the engine is asked, as the lake is now: the same rows whenever it is asked."""
        self._look_again()
        if self._explained:
            rows = explained_rows(self.explain())
            return EngineQuery(f"FROM {_PLANS}", {_PLANS: rows}, {})
        asked, _, _ = self._given
        rowwise = is_rowwise(asked.node, self.tables)
        return EngineQuery(self._sql, dict(self.tables), dict(self._parameters), rowwise)

    def whole_sql(self) -> str:
        """In DuckDB's SQL with its parameters as literals, to stand in a larger statement."""
        return self._whole_sql

    # For writes of what a query gives.

    def column_types(self) -> dict[str, ColumnType]:
        """Its columns, as create_table takes them."""
        listed = self._described()
        columns = dict(listed)
        if len(columns) < len(listed):
            raise Invalid("two columns of the query have one name", hint="rename one with AS")
        return columns

    def column_names(self) -> list[str]:
        """The names of its columns, in their order."""
        return [name for name, _ in self._described()]

    def _described(self) -> list[tuple[str, Any]]:
        self._look_again()
        return self.session.engine.described(self._sql, self.tables, self._parameters)

    def rows_for(self, columns: Sequence[Column]) -> object:
        """Its rows as writes take them, for these columns, by position, cast as DuckDB's INSERT
        casts."""
        engine = self.session.engine
        return engine.incoming(self._sql, self.tables, columns, few=self._is_values)
