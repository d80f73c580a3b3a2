"""What goes through the pipes of a cell: a letter, a length, and so many bytes.

A cell is told what to do by a pickle: whoever made it trusts whoever reads it less, not more. What
comes back is never unpickled: Arrow's own format, and JSON.
"""

from __future__ import annotations

import fcntl
import os
import select
import struct
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic

ASK, BATCH, ERROR, END = b"A", b"B", b"E", b"Z"
_HEAD = struct.Struct(">cQ")
_MOST = 2**36
_WIDE = 2**20
_GLANCE_S = 0.2
"""How often one looks up from waiting."""

Data = bytes | bytearray | memoryview


class Delay(Exception):
    """The time is over."""


class Halt(Exception):
    """Whoever asked wants no answer any more."""


class Absence(Exception):
    """The other side is not there any more."""


@dataclass(frozen=True, slots=True)
class Pipe:
    """Two ends of two pipes."""

    reading: int
    writing: int

    def send(self, kind: bytes, data: Data = b"") -> None:
        try:
            for part in (_HEAD.pack(kind, len(data)), data):
                _write(self.writing, part)
        except OSError as error:
            raise Absence from error

    def receive(
        self, until: float | None = None, halts: Callable[[], bool] | None = None
    ) -> tuple[bytes, bytearray]:
        """The next frame; Delay if it has not come by then, of the clock that never goes back, and
        Halt if `halts` says so meanwhile."""
        kind, size = _HEAD.unpack(self._read(_HEAD.size, until, halts))
        if size > _MOST:
            raise Absence
        return kind, self._read(size, until, halts)

    def _read(self, size: int, until: float | None, halts: Callable[[], bool] | None) -> bytearray:
        found = bytearray(size)
        free = memoryview(found)
        while free:
            if until is not None:
                self._wait(until, halts)
            count = os.readv(self.reading, [free])
            if not count:
                raise Absence
            free = free[count:]
        return found

    def _wait(self, until: float, halts: Callable[[], bool] | None) -> None:
        while (left := until - monotonic()) > 0:
            if _is_ready(self.reading, left if halts is None else min(left, _GLANCE_S)):
                return
            if halts is not None and halts():
                raise Halt
        raise Delay


def _is_ready(file: int, seconds: float) -> bool:
    poll = select.poll()
    poll.register(file, select.POLLIN)
    return bool(poll.poll(max(1, int(seconds * 1000))))


def widen(file: int) -> None:
    """Let a pipe hold more, where the system can: those at its ends wait less for each other."""
    with suppress(OSError, AttributeError):
        fcntl.fcntl(file, fcntl.F_SETPIPE_SZ, _WIDE)


def _write(file: int, data: Data) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]
