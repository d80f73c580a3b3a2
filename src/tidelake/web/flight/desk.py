"""What the server does for a caller: plan a query, run a write, keep what is begun."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

import pyarrow as pa

from tidelake.errors import Invalid, TidelakeError, Unavailable, Unsupported
from tidelake.lake.changeable import Changeable
from tidelake.lake.lake import Lake
from tidelake.lake.transaction import Transaction
from tidelake.plan.as_of import AsOfPlan
from tidelake.plan.division import parts_of_scan
from tidelake.plan.scan import ScanPlan
from tidelake.session.caches import Recent
from tidelake.sql.query import EngineQuery, Query
from tidelake.sql.run import is_query
from tidelake.web.flight.answers import Streams, schema_of
from tidelake.web.flight.callers import Caller
from tidelake.web.flight.hoard import Hoard
from tidelake.web.flight.parameters import as_given, parameter_names, parameter_schema
from tidelake.web.flight.statements import (
    OpenTransaction,
    PreparedStatement,
    Shelf,
    Statement,
    Turn,
)
from tidelake.web.lakes import Lakes
from tidelake.web.limits import Limits, Slots
from tidelake.web.logs import tell
from tidelake.web.metrics import Metrics
from tidelake.web.traces import span

_LONGEST_KEY = 100_000
_COUNT = pa.schema([pa.field("Count", pa.int64())])


class Desk:
    """Shared by all calls. Handles of one visitor are of no use to another."""

    def __init__(
        self, lakes: Lakes, limits: Limits, metrics: Metrics, *, log_sql: bool = False
    ) -> None:
        self.lakes, self.limits, self.metrics = lakes, limits, metrics
        self._log_sql = log_sql
        self._is_closing = False
        self._schemas: Recent[pa.Schema] = Recent()
        self.slots = Slots(limits.queries, limits.waiting, limits.wait_s)
        hoard = Hoard(limits.cache_bytes)
        self.streams = Streams(metrics, limits.stall_s, hoard)
        self.statements: Shelf[Statement] = Shelf("statement", limits.kept, limits.kept_s)
        self.prepared: Shelf[PreparedStatement] = Shelf(
            "prepared statement", limits.kept, limits.kept_s
        )
        self.transactions: Shelf[OpenTransaction] = Shelf(
            "transaction",
            limits.transactions,
            limits.transaction_s,
            refuses=True,
            let_go=_roll_back,
        )
        metrics.gauge("tidelake_answers_bytes", "Rows in memory", lambda: hoard.size)
        metrics.gauge("tidelake_queries_running", "Queries", lambda: self.slots.busy)
        metrics.gauge("tidelake_queries_waiting", "For a place", lambda: self.slots.waiting)
        metrics.gauge("tidelake_transactions_open", "Transactions", lambda: len(self.transactions))

    def lake(self, caller: Caller) -> Lake:
        if self._is_closing:
            raise Unavailable("the server is going to stop", hint="try again in a while")
        return self.lakes.of(caller.visitor)

    def refuse(self) -> None:
        """Begin nothing new."""
        self._is_closing = True

    @contextmanager
    def place(self, caller: Caller, transaction: bytes | None) -> Iterator[Changeable]:
        """What a statement works on: the lake, or a transaction, which nobody else uses then."""
        if not transaction:
            yield self.lake(caller)
            return
        opened = self.transactions.get(caller.visitor, transaction)
        with opened.lock:
            yield opened.transaction

    def plan(
        self, caller: Caller, text: str, transaction: bytes | None = None, given: Any = None
    ) -> tuple[bytes, Statement]:
        """A statement, and its handle. A write is done at once, and its rows tell how many rows it
        has changed: drivers send both kinds on the same way."""
        self._check(text, caller)
        lake = self.lake(caller)
        with span("plan", caller), self.slots.place():
            with self.place(caller, transaction) as place:
                found = _done(place, text, given, caller)
                asked = found.for_engine() if isinstance(found, Query) else None
            turn = Turn(self.slots)
            if asked is None:
                rows = pa.Table.from_arrays([pa.array([_count(found)], pa.int64())], schema=_COUNT)
                statement = Statement(lake, _COUNT, turn, rows=rows)
            else:
                parts = tuple(_parts(asked, self.limits))
                plain = self.lakes.plain_reader(lake) if asked.rowwise else None
                statement = Statement(lake, self._schema(lake, asked), turn, parts, plain)
        return self.statements.put(caller.visitor, statement), statement

    def describe(
        self, caller: Caller, text: str, transaction: bytes | None = None, given: Any = None
    ) -> pa.Schema:
        """The schema of a query, which is not run."""
        if not is_query(text):
            return pa.schema([])
        with self.slots.place(), self.place(caller, transaction) as place:
            query = place.sql(text, given, as_of=caller.as_of, known_at=caller.known_at)
            return self._schema(self.lake(caller), query.for_engine())

    def prepare(
        self, caller: Caller, text: str, transaction: bytes | None
    ) -> tuple[bytes, pa.Schema, pa.Schema]:
        """A handle, the schema of the rows (none for a write), and that of the parameters."""
        self._check(text, caller)
        names = parameter_names(text)
        rows = pa.schema([])
        if is_query(text):
            nothing = as_given(names, [None] * len(names))
            try:
                rows = self.describe(caller, text, transaction, nothing)
            except TidelakeError:
                if not names:
                    raise
        schema = parameter_schema(self.lake(caller), text, names)
        handle = self.prepared.put(caller.visitor, PreparedStatement(text, transaction, names))
        return handle, rows, schema

    def update(self, caller: Caller, text: str, transaction: bytes | None, rows: list[Any]) -> int:
        """How many rows a write has changed; with several rows of parameters, all or nothing."""
        self._check(text, caller)
        with span("update", caller), self.slots.place(), self.place(caller, transaction) as place:
            if len(rows) == 1 or isinstance(place, Transaction):
                return sum(_written(place, text, row, caller) for row in rows)
            with self.lake(caller).transaction() as tx:
                return sum(_written(tx, text, row, caller) for row in rows)

    def begin(self, caller: Caller) -> bytes:
        lake = self.lake(caller)
        opened = OpenTransaction(lake.transaction(author=caller.visitor.name))
        try:
            return self.transactions.put(caller.visitor, opened)
        except TidelakeError:
            _roll_back(opened)
            raise

    def end(self, caller: Caller, handle: bytes, *, commit: bool) -> None:
        opened = self.transactions.take(caller.visitor, handle)
        with opened.lock:
            if commit:
                opened.transaction.commit()
            else:
                opened.transaction.close()

    def close(self) -> None:
        """What is not committed is rolled back; streams end."""
        self.streams.close()
        for statement in self.statements.clear():
            statement.halt.set()
        self.transactions.clear()

    def _schema(self, lake: Lake, asked: EngineQuery) -> pa.Schema:
        """Drivers ask for it several times in a row."""
        plans = {
            name: plan
            for name, plan in asked.tables.items()
            if isinstance(plan, ScanPlan | AsOfPlan)
        }
        columns = [(name, plan.columns, plan.output) for name, plan in plans.items()]
        key = repr((asked.sql, columns, asked.parameters))
        if (kept := self._schemas.get(key)) is not None:
            return kept
        found = schema_of(lake, asked)
        if len(plans) == len(asked.tables) and len(key) < _LONGEST_KEY:
            self._schemas.keep(key, found)
        return found

    def _check(self, text: str, caller: Caller) -> None:
        if self._log_sql:
            tell("sql", request=caller.request, sql=text)
        if len(text) > self.limits.sql_bytes:
            raise Invalid(
                f"a statement of more than {self.limits.sql_bytes:,} letters",
                hint="bind values as parameters, or ingest rows as a stream",
            )


def _done(place: Changeable, text: str, given: Any, caller: Caller) -> object:
    """A query, or what a write has done."""
    return place.sql(text, given, as_of=caller.as_of, known_at=caller.known_at)


def _written(place: Changeable, text: str, given: Any, caller: Caller) -> int:
    done = _done(place, text, given, caller)
    if isinstance(done, Query):
        raise Unsupported("this is a query, and not a write", hint="execute it as a query")
    return _count(done)


def _count(done: object) -> int:
    """The rows that a write has changed. What is done with CALL may tell of none."""
    rows = getattr(done, "rows", 0)
    return rows if isinstance(rows, int) else 0


def _parts(asked: EngineQuery, limits: Limits) -> Iterator[EngineQuery]:
    """In as many streams as are worth it."""
    if not asked.rowwise:
        yield asked
        return
    ((name, plan),) = asked.tables.items()
    assert isinstance(plan, ScanPlan)
    for part in parts_of_scan(plan, limits.streams, limits.stream_bytes):
        yield replace(asked, tables={name: part})


def _roll_back(opened: OpenTransaction) -> None:
    with opened.lock, suppress(TidelakeError):
        opened.transaction.close()
