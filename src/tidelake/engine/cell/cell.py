"""A cell from the outside: a process that answers one question at a time."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING

from tidelake import errors
from tidelake.engine.cell.frames import (
    ASK,
    BATCH,
    ERROR,
    Absence,
    Delay,
    Halt,
    Pipe,
    widen,
)
from tidelake.engine.cell.question import Question
from tidelake.engine.local.engine import LocalEngine
from tidelake.errors import Denied, TidelakeError, Unavailable
from tidelake.model.sandbox import Sandbox

if TYPE_CHECKING:
    import pyarrow as pa

_NARROW = "ask for less of it, or have the lake opened with wider limits: Sandbox(…)"
_SECONDS_TO_START = 120
_OF_STORES = ("AWS_", "GOOGLE_", "AZURE_")


class Cell:
    """A process with an engine like this one. Close it, or let it go."""

    def __init__(self, engine: LocalEngine, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._cancelled = False
        theirs_in, ours_out = os.pipe()
        ours_in, theirs_out = os.pipe()
        command = [sys.executable, "-m", "tidelake.engine.cell.child"]
        try:
            self._process = subprocess.Popen(
                [*command, str(theirs_in), str(theirs_out)],
                pass_fds=(theirs_in, theirs_out),
                env=_environment(engine),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        finally:
            os.close(theirs_in)
            os.close(theirs_out)
        widen(ours_in)
        self._pipe = Pipe(ours_in, ours_out)
        self.close = weakref.finalize(self, _end, self._process, (ours_in, ours_out))
        try:
            self._pipe.send(ASK, pickle.dumps(engine))
            self._pipe.receive(monotonic() + _SECONDS_TO_START)
        except (Delay, Absence):
            self.close()
            raise Unavailable(
                "the process that queries of a sandbox run in does not start",
                hint="is the machine out of memory? Try again",
            ) from None

    def answer(
        self, question: Question, halts: Callable[[], bool] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """The batches of an answer, the first of them empty. When it has failed the cell may be
        gone: `is_alive`. Time is what the cell takes, not whoever takes the batches; now and then
        `halts` is asked whether somebody still wants them."""
        import pyarrow as pa

        left = self._sandbox.seconds
        try:
            self._pipe.send(ASK, pickle.dumps(question))
            while True:
                began = monotonic()
                kind, said = self._pipe.receive(began + left, halts)
                left -= monotonic() - began
                if kind == ERROR:
                    raise _error(said)
                if kind != BATCH:
                    return
                yield from pa.ipc.open_stream(pa.py_buffer(said))
        except Halt:
            self.close()
            raise Unavailable("the query was cancelled", hint="ask again") from None
        except Delay:
            self.close()
            raise Denied(
                f"the query took more than {self._sandbox.seconds:g} seconds, which is all that"
                " its sandbox has",
                hint=_NARROW,
            ) from None
        except Absence:
            self.close()
            if self._cancelled:
                raise Unavailable("the query was cancelled", hint="run it again") from None
            raise Denied(
                f"the query needed more than {self._sandbox.memory / 1024**2:,.0f} MB of memory,"
                " which is all that its sandbox has",
                hint=_NARROW,
            ) from None

    def cancel(self) -> None:
        """End it, whatever it is doing: whoever waits for its answer is told so."""
        self._cancelled = True
        self._process.kill()

    @property
    def is_alive(self) -> bool:
        return bool(self.close.alive) and not self._cancelled


def _environment(engine: LocalEngine) -> dict[str, str]:
    """Of the program's own nothing that a query has no use for: no passwords, and no keys but
    those of the stores that its files are in."""
    assert engine.confinement is not None
    kept = ["HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "PATH", "TMPDIR", "TZ"]
    if any("://" in place for place in engine.confinement.places):
        kept += [name for name in os.environ if name.startswith(_OF_STORES)]
    places = os.pathsep.join(place for place in sys.path if place)
    return {name: os.environ[name] for name in kept if name in os.environ} | {
        "PYTHONPATH": places,
        "ARROW_DEFAULT_MEMORY_POOL": "system",  # others set aside much that they never use
    }


def _error(said: bytes | bytearray) -> TidelakeError:
    told = json.loads(said)
    kind = getattr(errors, str(told["kind"]), TidelakeError)
    if not (isinstance(kind, type) and issubclass(kind, TidelakeError)):
        kind = TidelakeError
    return kind(str(told["message"]), hint=told["hint"])


def _end(process: subprocess.Popen[bytes], files: tuple[int, ...]) -> None:
    process.kill()
    process.wait()
    for file in files:
        os.close(file)


class Cells:
    """Cells of one engine: one that has answered is kept for the next question."""

    def __init__(self, engine: LocalEngine, sandbox: Sandbox) -> None:
        self._engine, self._sandbox = engine, sandbox
        self._free: list[Cell] = []
        self._lock = Lock()
        self._process = os.getpid()

    @contextmanager
    def one(self) -> Iterator[Cell]:
        with self._lock:
            if self._process != os.getpid():  # a child must not use its parent's
                self._free, self._process = [], os.getpid()
            cell = self._free.pop() if self._free else None
        cell = cell or Cell(self._engine, self._sandbox)
        finished = False
        try:
            yield cell
            finished = True
        except TidelakeError:
            finished = True
            raise
        finally:
            if finished and cell.is_alive:
                with self._lock:
                    self._free.append(cell)
            else:
                cell.close()

    def close(self) -> None:
        with self._lock:
            for cell in self._free:
                cell.close()
            self._free = []
