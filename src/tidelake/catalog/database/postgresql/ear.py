"""Hearing of commits as they are made: PostgreSQL tells whoever listens."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from threading import Condition
from time import monotonic
from typing import Any

from tidelake.catalog.database.postgresql.session import CHANNEL, channel
from tidelake.model.fork import keep_forever, tell_after_fork

_REST_S = 5
"""Who may not listen, because there are too many connections already, does not ask all the time."""


class CommitEar:
    """One connection beside the pool for all who wait, in no transaction. Whoever comes first
    listens for all; when it leaves, another takes its place. A connection that cannot be made, or
    breaks, is no error: nothing is heard then, and whoever waits looks by itself."""

    def __init__(self, connect: Callable[[], Any]) -> None:
        self._connect = connect
        self._connection: Any = None
        self._turn = Condition()
        self._taken = False
        self._heard = 0
        self._again_at = 0.0
        tell_after_fork(self)

    def mark(self) -> int | None:
        with self._turn:
            if self._connection is None and not self._taken and monotonic() >= self._again_at:
                self._open()
            return None if self._connection is None else self._heard

    def wait(self, mark: int, seconds: float) -> None:
        deadline = monotonic() + seconds
        with self._turn:
            while self._heard == mark and (left := deadline - monotonic()) > 0:
                if self._taken:
                    self._turn.wait(left)
                else:
                    self._listen(left)

    def _open(self) -> None:
        import psycopg

        connection = None
        try:
            connection = self._connect()
            connection.autocommit = True
            ((name,),) = connection.execute(CHANNEL).fetchall()
            connection.execute(f"LISTEN {channel(name)}")
        except (psycopg.Error, OSError):
            _close(connection)
            self._again_at = monotonic() + _REST_S
            return
        self._connection = connection

    def _listen(self, seconds: float) -> None:
        """Until something is heard; others may come meanwhile. Requires: the turn."""
        import psycopg

        connection, heard = self._connection, False
        self._taken = True
        self._turn.release()
        try:
            heard = connection is None or _hears(connection, seconds)
        except (psycopg.Error, OSError):
            heard = True  # nobody knows what was missed
            _close(connection)
        finally:
            self._turn.acquire()
            self._taken = False
            self._heard += heard
            if self._connection is not connection:
                _close(connection)  # the lake was closed meanwhile
            elif connection is not None and connection.closed:
                self._connection = None
            self._turn.notify_all()

    def close(self) -> None:
        with self._turn:
            connection, self._connection = self._connection, None
            if not self._taken:
                _close(connection)

    def after_fork(self) -> None:
        """The connection is the parent's."""
        keep_forever(self._connection)
        self._connection, self._turn, self._taken = None, Condition(), False


def _hears(connection: Any, seconds: float) -> bool:
    return bool(list(connection.notifies(timeout=seconds, stop_after=1)))


def _close(connection: Any) -> None:
    if connection is not None:
        with suppress(Exception):
            connection.close()
