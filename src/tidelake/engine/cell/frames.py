"""What goes through the pipes of a cell: a letter, a length, and so many bytes.

A cell is told what to do by a pickle: whoever made it trusts whoever reads it less, not more. What
comes back is never unpickled: Arrow's own format, and JSON.
"""

from __future__ import annotations

import os
import select
import struct
from dataclasses import dataclass
from time import monotonic

ASK, BATCH, ERROR, END = b"A", b"B", b"E", b"Z"
_HEAD = struct.Struct(">cQ")
_MOST = 2**36


class Delay(Exception):
    """The time is over."""


class Absence(Exception):
    """The other side is not there any more."""


@dataclass(frozen=True, slots=True)
class Pipe:
    """Two ends of two pipes."""

    reading: int
    writing: int

    def send(self, kind: bytes, data: bytes = b"") -> None:
        try:
            for part in (_HEAD.pack(kind, len(data)), data):
                _write(self.writing, part)
        except OSError as error:
            raise Absence from error

    def receive(self, until: float | None = None) -> tuple[bytes, bytes]:
        """The next frame; Delay if it has not come by then, of the clock that never goes back."""
        kind, size = _HEAD.unpack(self._read(_HEAD.size, until))
        if size > _MOST:
            raise Absence
        return kind, self._read(size, until)

    def _read(self, size: int, until: float | None) -> bytes:
        found = bytearray()
        while len(found) < size:
            left = None if until is None else until - monotonic()
            if left is not None and (left <= 0 or not _is_ready(self.reading, left)):
                raise Delay
            part = os.read(self.reading, min(size - len(found), 2**20))
            if not part:
                raise Absence
            found += part
        return bytes(found)


def _is_ready(file: int, seconds: float) -> bool:
    poll = select.poll()
    poll.register(file, select.POLLIN)
    return bool(poll.poll(max(1, int(seconds * 1000))))


def _write(file: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]
