"""Statements that can be interrupted, and rows that the caller's own code makes for them.

Python hears Ctrl-C in the main thread alone, and DuckDB, when it works there, hears it late or
goes on working after it. So a statement of the main thread runs on a thread beside it, which is
kept for the next one: to start a thread takes longer than many a statement. A generator that the
statement reads from belongs to whoever handed it over: it runs in the caller's thread, as in a for
loop, so that its errors come out as they are. Whatever ends the one ends the other before anything
goes on: nobody is left waiting on a thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from queue import SimpleQueue
from threading import Event, Thread, current_thread, main_thread
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from tidelake.duck import settle
from tidelake.engine.local.errors import refusal_in

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

_AHEAD = 2
"""Batches that are made before DuckDB asks for them."""
_PATIENCE_S = 0.05
_END, _BROKEN_OFF = object(), object()

Answer = TypeVar("Answer")


class Supply:
    """The statements of one connection, and the streams that they read from."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        self._wanted: SimpleQueue[_Stream | None] = SimpleQueue()
        self._streams: list[_Stream] = []

    def register(self, name: str, reader: pa.RecordBatchReader) -> None:
        """Let statements that `run` runs read from it, once, under this name.

        DuckDB is given a bare stream: of a reader it would have Arrow's threads read ahead.
        """
        import pyarrow as pa

        stream = _Stream(reader, self._wanted)
        self._streams.append(stream)
        asking = pa.RecordBatchReader.from_batches(reader.schema, stream.batches())
        settle(self._connection).register(name, asking.__arrow_c_stream__())

    def run(
        self,
        statement: Callable[[], Answer],
        undo: Callable[[Answer], object] | None = None,
    ) -> Answer:
        """Run what needs the connection, and make the rows that it asks for meanwhile. If that
        fails when the statement is done already, it is undone."""
        alone = all(stream.is_over for stream in self._streams)
        if alone and current_thread() is not main_thread():
            return statement()
        running = _Running(statement, self._wanted)
        try:
            _beside(running.go)
            self._serve(running)
        except BaseException:
            self._stop(running)
            if undo is not None:
                running.undo(undo)
            raise
        return running.answer()

    def close(self) -> None:
        """Nobody waits for rows any more."""
        for stream in self._streams:
            stream.end(_BROKEN_OFF)

    def _serve(self, running: _Running[Any]) -> None:
        while not running.is_over:
            stream = self._wanted.get()
            if stream is not None and not running.is_over:
                stream.give()

    def _stop(self, running: _Running[Any]) -> None:
        """The statement may just be beginning, when an interrupt is not heard yet."""
        while True:
            try:
                self.close()
                running.is_unwanted = True
                while running.has_begun and not running.ended.is_set():
                    self._connection.interrupt()
                    running.ended.wait(_PATIENCE_S)
                return
            except KeyboardInterrupt:
                continue


class _Stream:
    """Batches that are made in one thread and read in others, a few at a time."""

    def __init__(self, reader: pa.RecordBatchReader, wanted: SimpleQueue[_Stream | None]) -> None:
        self._reader = reader
        self._wanted = wanted
        self._made: SimpleQueue[pa.RecordBatch] = SimpleQueue()
        self.is_over = False

    def give(self) -> None:
        """Make the next batch."""
        if self.is_over:
            return
        try:
            batch = self._reader.read_next_batch()
        except StopIteration:
            self.end(_END)
        except ValueError as error:
            raise (refusal_in(str(error)) or error) from error.__cause__
        else:
            self._made.put(batch)

    def end(self, how: object) -> None:
        self.is_over = True
        self._made.put(how)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """What DuckDB reads. A stream that was broken off fails, or a part would pass for all."""
        for _ in range(_AHEAD):
            self._wanted.put(self)
        while (batch := self._made.get()) is not _END:
            if batch is _BROKEN_OFF:
                raise ValueError("the rows were broken off")
            self._wanted.put(self)
            yield batch


class _Helper(Thread):
    """A thread that does one thing after another for the main thread, and ends with it."""

    def __init__(self) -> None:
        super().__init__(name="tidelake helper", daemon=True)
        self.todo: SimpleQueue[Callable[[], None]] = SimpleQueue()

    def run(self) -> None:
        while True:
            self.todo.get()()


_HELPERS: list[_Helper] = []
"""Those that have nothing to do, or nearly."""


def _beside(work: Callable[[], None]) -> None:
    """Begin with it on another thread. In a process that was forked the helpers are gone."""
    if current_thread() is not main_thread():
        Thread(target=work).start()
        return
    while _HELPERS:
        helper = _HELPERS.pop()
        if helper.is_alive():
            break
    else:
        helper = _Helper()
        helper.start()
    helper.todo.put(work)


class _Running(Generic[Answer]):
    """A statement on a thread beside; when it is over it wants nothing more.

    It lets go of the statement and of its answer as soon as they are done with: the thread may hold
    this for a moment longer, and they hold DuckDB and its folder.
    """

    def __init__(
        self, statement: Callable[[], Answer], wanted: SimpleQueue[_Stream | None]
    ) -> None:
        self._todo = [statement]
        self._wanted = wanted
        self._answer: list[Answer] = []
        self._error: BaseException | None = None
        self.ended = Event()
        self.has_begun = self.is_unwanted = False

    @property
    def is_over(self) -> bool:
        return self.ended.is_set()

    def go(self) -> None:
        """Who sees that it has not begun may say that it is unwanted, and go on at once."""
        self.has_begun = True
        thread = current_thread()
        name, thread.name = thread.name, "tidelake statement"
        try:
            if not self.is_unwanted:
                self._answer.append(self._todo[0]())
        except BaseException as error:
            self._error = error
        finally:
            self._todo.clear()
            thread.name = name
            if isinstance(thread, _Helper):
                _HELPERS.append(thread)  # before anybody hears of the end, and wants the next
            self.ended.set()
            self._wanted.put(None)

    def answer(self) -> Answer:
        error, self._error = self._error, None
        try:
            if error is not None:
                raise error
            return self._answer.pop()
        finally:
            del error

    def undo(self, how: Callable[[Answer], object]) -> None:
        for answer in self._answer:
            how(answer)
