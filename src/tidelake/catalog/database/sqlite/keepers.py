"""Processes that keep an SQLite database open for us, where this one must not."""

from __future__ import annotations

import builtins
import os
import pkgutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO
from weakref import finalize

from tidelake.catalog.database.sqlite.keeper import receive, send
from tidelake.errors import Unavailable
from tidelake.model.fork import keep_forever, tell_after_fork

IDLE = 4
"""How many processes without a database stay, for the next that is opened."""
PATIENCE_S = 5.0
"""How long one may take to end by itself: what it is at is let finish."""

Step = tuple[str, tuple[Any, ...]]


class Keeper:
    """One process, which does one thing at a time."""

    def __init__(self) -> None:
        self._process = _started()
        self._pid = os.getpid()
        self._end = finalize(self, _end, self._process, self._pid)
        self._owes_answer = False
        tell_after_fork(self)

    def run(self, steps: Iterable[Step]) -> list[Any]:
        """Do these in order, and give what each gives. After an error of SQLite it can go on, and
        the steps that came before have been done; after any other it is gone."""
        with self._talking():
            self._ask(list(steps))
            if self._owes_answer:
                self._hear_what_was_told()
            word, told = receive(_there(self._process.stdout))
        if word == "failed":
            raise _error(*told)
        found: list[Any] = told
        return found

    def tell(self, step: Step) -> None:
        """Do this, and let nobody wait for it: a process takes long to wake another. What comes
        next comes after it."""
        with self._talking():
            self._ask([step])
        self._owes_answer = True

    def _hear_what_was_told(self) -> None:
        word, told = receive(_there(self._process.stdout))
        self._owes_answer = False
        if word == "failed":
            raise EOFError(f"it could not do what it was told: {told}")

    @contextmanager
    def _talking(self) -> Iterator[None]:
        try:
            yield
        except (EOFError, OSError) as error:
            self.end()
            raise Unavailable(
                "the process that keeps the catalog open for this one has ended",
                hint="try again",
                passing=True,
            ) from error
        except sqlite3.Error:
            raise
        except BaseException:
            self.end()
            raise

    def _ask(self, steps: list[Step]) -> None:
        try:
            send(_there(self._process.stdin), steps)
        except ValueError:  # of its kinds of values, only the very types can be sent
            send(_there(self._process.stdin), _plain(steps))

    def end(self) -> None:
        """What was not committed is undone."""
        self._end()

    @property
    def is_ours(self) -> bool:
        """Whether it can be talked to."""
        return self._end.alive and self._pid == os.getpid()

    def after_fork(self) -> None:
        """The parent's process must see it when the parent is gone, so no copy of the pipes may
        stay open here."""
        keep_forever(self)
        nothing = os.open(os.devnull, os.O_RDWR)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None and not pipe.closed:
                os.dup2(nothing, pipe.fileno(), inheritable=False)
        os.close(nothing)


class IdleKeepers:
    """Processes that have no database open at the moment."""

    def __init__(self) -> None:
        self._idle: list[Keeper] = []
        self._lock = Lock()
        tell_after_fork(self)

    def take(self) -> Keeper:
        with self._lock:
            while self._idle:
                keeper = self._idle.pop()
                if keeper.is_ours:
                    return keeper
        return Keeper()

    def give_back(self, keeper: Keeper) -> None:
        """Requires: it has closed what it had open."""
        with self._lock:
            if len(self._idle) < IDLE:
                self._idle.append(keeper)
                return
        keeper.end()

    def after_fork(self) -> None:
        self._idle = []
        self._lock = Lock()


IDLE_KEEPERS = IdleKeepers()


def _started() -> subprocess.Popen[bytes]:
    """In a session of its own: an interrupt from the terminal is for us, not for it."""
    source = pkgutil.get_data(__name__, "keeper.py")
    assert source is not None
    try:
        return subprocess.Popen(
            [_python(), "-I", "-S", "-c", source.decode()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        raise Unavailable(
            "DuckDB has brought its own SQLite into this process, so the catalog must be opened"
            f" in another, and that did not start: {error}",
            hint="do not load DuckDB's sqlite extension here, or keep the catalog in PostgreSQL",
        ) from error


def _python() -> str:
    """The interpreter, also inside of a program that embeds it."""
    if sys.executable and "python" in Path(sys.executable).name.lower():
        return sys.executable
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    return str(Path(sys.base_exec_prefix) / "bin" / name)


def _end(process: subprocess.Popen[bytes], pid: int) -> None:
    """Let it see that nobody is there, and wait until it is gone."""
    if pid != os.getpid():
        return
    try:
        for pipe in (process.stdin, process.stdout):
            _close(pipe)
        process.wait(PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
    except BaseException:
        process.kill()
        raise
    finally:
        process.wait()


def _close(pipe: Any) -> None:
    try:
        pipe.close()
    except OSError:  # what was still to be written has nobody to read it
        return


def _there(pipe: Any) -> BinaryIO:
    found: BinaryIO = pipe
    return found


def _plain(value: Any) -> Any:
    """Values of SQLite's kinds as Python's own types."""
    if isinstance(value, list | tuple):
        return type(value)(map(_plain, value))
    if isinstance(value, dict):
        return {str(name): _plain(each) for name, each in value.items()}
    for kind in (bool, int, float, str):
        if isinstance(value, kind):
            return kind(value)
    if value is None or isinstance(value, bytes | bytearray | memoryview):
        return value
    raise sqlite3.ProgrammingError(f"a {type(value).__name__} cannot be stored in SQLite")


def _error(name: str, text: str, code: int | None) -> Exception:
    """What was raised there, as it would have been raised here."""
    kind: Any = getattr(sqlite3, name, None) or getattr(builtins, name, RuntimeError)
    try:
        error: Exception = kind(text)
    except TypeError:
        error = ValueError(text)
    if code is not None and isinstance(error, sqlite3.Error):
        error.sqlite_errorcode = code
    return error
