"""Rows on their way to a client: a few batches at a time, for as long as it takes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import Event, Lock, Thread
from time import monotonic
from typing import Any
from weakref import WeakSet

import pyarrow as pa
import pyarrow.flight as fl

from tidelake.engine.cell.engine import CellReading
from tidelake.lake.lake import Lake
from tidelake.sql.query import EngineQuery
from tidelake.web.flight.errors import telling
from tidelake.web.flight.hoard import Hoard, key_of
from tidelake.web.flight.statements import Statement
from tidelake.web.metrics import Metrics

_ROWS_OF_A_BATCH = 61_440
_GLANCE_S = 0.5


class Answer:
    """One stream of a statement. Whoever waits for its client, for too long, is freed of it."""

    def __init__(self, statement: Statement, part: EngineQuery, gone: Callable[[], bool]) -> None:
        self._statement = statement
        self._halts: Callable[[], bool] = lambda: statement.halt.is_set() or gone()
        self._working = Lock()
        self._ended = False
        self.waits_since: float | None = None
        """Since when the client has had nothing else to do than to take what was sent."""
        statement.turn.take()
        try:
            self._batches = _batches(statement, part, self._halts)
        except BaseException:
            statement.turn.give_back()
            raise
        self.schema: pa.Schema = self._batches.schema

    def following(self) -> pa.RecordBatch | None:
        """The next batch, None at the end."""
        with self._working:
            self.waits_since = None
            if self._ended:
                raise fl.FlightTimedOutError("no rows were taken for too long: ask again")
            if self._halts():
                raise fl.FlightCancelledError("the query was cancelled")
            batch = next(self._batches, None)
            self.waits_since = monotonic()
            return batch

    def close(self) -> None:
        """Give everything back. Harmless when that has been done."""
        with self._working:
            self._end()

    def abandon(self) -> bool:
        """Close it from elsewhere, unless it works just now."""
        if self._ended or not self._working.acquire(blocking=False):
            return False
        try:
            self._end()
        finally:
            self._working.release()
        return True

    def _end(self) -> None:
        if not self._ended:
            self._ended = True
            self._batches.close()
            self._statement.turn.give_back()


def _batches(
    statement: Statement, part: EngineQuery, halts: Callable[[], bool]
) -> pa.RecordBatchReader:
    """In a cell; what looks at rows one by one and calls no function can do no harm, and is read
    here, where nothing has to be sent from one process to another."""
    if statement.plain is not None:
        reading = statement.plain.query(part.sql, part.tables, part.parameters)
        return reading.to_batches(_ROWS_OF_A_BATCH)
    return _reading(statement.lake, part).to_batches(_ROWS_OF_A_BATCH, halts)


def _reading(lake: Lake, part: EngineQuery) -> CellReading:
    reading = lake.session.engine.query(part.sql, part.tables, part.parameters)
    assert isinstance(reading, CellReading), "a service's lakes are in a sandbox"
    return reading


def schema_of(lake: Lake, part: EngineQuery) -> pa.Schema:
    """The schema that its rows will have."""
    return _reading(lake, part).schema()


class Streams:
    """All streams of a service, watched for clients that do not take their rows."""

    def __init__(self, metrics: Metrics, stall_s: float, hoard: Hoard) -> None:
        self._metrics, self._stall_s, self._hoard = metrics, stall_s, hoard
        self._open: WeakSet[Answer] = WeakSet()
        self._lock, self._over = Lock(), Event()
        self._watcher = Thread(target=self._watch, name="tidelake streams", daemon=True)
        self._watcher.start()

    def stream(self, statement: Statement, part: int, gone: Callable[[], bool]) -> Any:
        """The rows of a part, from memory if they are there."""
        key = key_of(statement.parts[part]) if statement.plain is not None else None
        rows = statement.rows if key is None else self._hoard.get(key)
        if key is not None:
            self._metrics.answer_asked(found=rows is not None)
        if rows is not None:
            self._metrics.sent.inc(rows.nbytes)
            return fl.RecordBatchStream(rows)
        answer = Answer(statement, statement.parts[part], gone)
        with self._lock:
            self._open.add(answer)
        batches = self._batches(answer)
        if key is not None and self._hoard.wants(key):
            batches = self._hoard.gathering(key, answer.schema, batches)
        return fl.GeneratorStream(answer.schema, batches)

    def _batches(self, answer: Answer) -> Iterator[pa.RecordBatch]:
        try:
            while (batch := _next(answer)) is not None:
                self._metrics.sent.inc(batch.nbytes)
                yield batch
        finally:
            answer.close()

    def _watch(self) -> None:
        while not self._over.wait(min(_GLANCE_S, self._stall_s / 4)):
            with self._lock:
                known = list(self._open)
            for answer in known:
                since = answer.waits_since
                late = since is not None and monotonic() - since > self._stall_s
                if late and answer.abandon():
                    self._metrics.stalled.inc()

    def close(self) -> None:
        self._over.set()
        with self._lock:
            known = list(self._open)
        for answer in known:
            answer.abandon()


def _next(answer: Answer) -> pa.RecordBatch | None:
    """What goes wrong is told as an error of Flight: of others its streams tell tracebacks."""
    try:
        with telling():
            return answer.following()
    except fl.FlightError:
        raise
    except (pa.ArrowException, NotImplementedError) as error:
        raise fl.FlightServerError(str(error)) from None


def cancelled_by(context: Any) -> Callable[[], bool]:
    """Whether a client has hung up. The context of a call lives as long as its stream."""
    return lambda: bool(context.is_cancelled())
