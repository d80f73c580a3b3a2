"""How much a service lets itself be asked: queries at once, bytes, seconds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Condition
from time import monotonic

from tidelake.errors import Unavailable


@dataclass(frozen=True, slots=True)
class Limits:
    """`queries` run at once, each in up to `streams` streams; up to `waiting` others wait for
    `wait_s` seconds. A client that takes no rows for `stall_s` loses its query."""

    queries: int = 8
    waiting: int = 200
    wait_s: float = 60.0
    streams: int = 4
    stream_bytes: int = 32 * 1024**2
    """Less than so many bytes of files are not worth a stream of their own."""
    stall_s: float = 120.0
    cache_bytes: int = 256 * 1024**2
    """Of rows that are read again and again."""
    sql_bytes: int = 1024**2
    parameter_bytes: int = 16 * 1024**2
    kept: int = 2000
    """Statements, and prepared ones, that clients may still come back to."""
    kept_s: float = 900.0
    transactions: int = 100
    transaction_s: float = 1800.0
    """How long a transaction may be idle before it is rolled back."""
    request_bytes: int = 8 * 1024**2
    """Of one request over HTTP, its body."""
    request_s: float = 120.0
    header_s: float = 15.0
    """How long a client may take to say what it wants."""
    requests: int = 64
    """Over HTTP, at once."""


class Slots:
    """Places for those who work at the same time. Whoever finds none waits; not too many do, and
    not for ever."""

    def __init__(self, most: int, waiting: int, wait_s: float) -> None:
        self._most, self._line, self._wait_s = most, waiting, wait_s
        self.busy = self.waiting = 0
        self._change = Condition()

    def take(self) -> None:
        """Unavailable if there is no place."""
        until = monotonic() + self._wait_s
        with self._change:
            if self.busy >= self._most and self.waiting >= self._line:
                raise self._full()
            self.waiting += 1
            try:
                while self.busy >= self._most:
                    if not self._change.wait(until - monotonic()) and self.busy >= self._most:
                        raise self._full()
                self.busy += 1
            finally:
                self.waiting -= 1

    def _full(self) -> Unavailable:
        return Unavailable(
            f"{self._most} queries are running, and others wait", hint="try again in a while"
        )

    def give_back(self) -> None:
        with self._change:
            self.busy -= 1
            self._change.notify()

    @contextmanager
    def place(self) -> Iterator[None]:
        self.take()
        try:
            yield
        finally:
            self.give_back()
