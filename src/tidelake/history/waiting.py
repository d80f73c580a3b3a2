"""Waiting until there is something new in the lake."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic, sleep
from typing import TypeVar

from tidelake.catalog.database.database import Database
from tidelake.errors import Invalid, Unavailable

_FIRST_PAUSE_S, _LONGEST_PAUSE_S, _PATIENCE = 0.01, 1.0, 1.5
"""How long to wait before looking again: a little at first, and longer each time."""

Found = TypeVar("Found")


def wait_for(
    look: Callable[[], Found | None], database: Database, timeout: float | None, longest_s: float
) -> Found | None:
    """What a look finds, sooner or later; None if that is nothing, for as long as `timeout`. It
    looks at once when the database tells of a commit, else after pauses, of at most `longest_s`.
    A server that is started anew meanwhile is waited for."""
    if timeout is not None and not (isinstance(timeout, int | float) and timeout >= 0):
        raise Invalid(f"timeout={timeout!r} is no time to wait", hint="give seconds")
    if not timeout:
        return look()
    deadline, pause = monotonic() + timeout, min(_FIRST_PAUSE_S, longest_s)
    while True:
        ear = database.connections.ear
        mark = None if ear is None else ear.mark()
        found, left = _patient(look, deadline), deadline - monotonic()
        if found is not None or left <= 0:
            return found
        if ear is not None and mark is not None:
            ear.wait(mark, min(database.tuning.unheard_s, longest_s, left))
        else:
            sleep(min(pause, left))
            pause = min(pause * _PATIENCE, _LONGEST_PAUSE_S, longest_s)


def _patient(look: Callable[[], Found | None], deadline: float) -> Found | None:
    """What it finds; nothing where the server is away, while there is time left."""
    try:
        return look()
    except Unavailable as error:
        if not error.passing or monotonic() >= deadline:
            raise
        return None
