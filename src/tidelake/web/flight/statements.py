"""What clients have begun and may come back to: statements, prepared ones, transactions."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Event, Lock, RLock
from time import monotonic
from typing import Generic, TypeVar

import pyarrow as pa

from tidelake.engine.local.engine import LocalEngine
from tidelake.errors import NotFound, Unavailable
from tidelake.lake.lake import Lake
from tidelake.lake.transaction import Transaction
from tidelake.sql.query import EngineQuery
from tidelake.web.access import Visitor
from tidelake.web.limits import Slots

Thing = TypeVar("Thing")
_BYTES = 16


class Turn:
    """The one place that all streams of a statement share: taken by the first of them, given
    back by the last. Were each to wait for its own, those that a client reads later could keep
    out the one that it waits for."""

    def __init__(self, slots: Slots) -> None:
        self._slots, self._users, self._lock = slots, 0, Lock()

    def take(self) -> None:
        with self._lock:
            if not self._users:
                self._slots.take()
            self._users += 1

    def give_back(self) -> None:
        with self._lock:
            self._users -= 1
            if not self._users:
                self._slots.give_back()


@dataclass(frozen=True, slots=True)
class Statement:
    """A query as it was planned, in parts that are streamed apart, by an engine for those that are
    `plain`; or rows that are there."""

    lake: Lake
    schema: pa.Schema
    turn: Turn
    parts: tuple[EngineQuery, ...] = ()
    plain: LocalEngine | None = None
    rows: pa.Table | None = None
    halt: Event = field(default_factory=Event)


@dataclass(slots=True)
class PreparedStatement:
    """SQL, the names of its parameters, and the rows of values that were bound to them."""

    text: str
    transaction: bytes | None
    names: tuple[str, ...]
    bound: list[list[object]] | None = None


@dataclass(frozen=True, slots=True)
class OpenTransaction:
    """A transaction does one thing at a time, whoever calls."""

    transaction: Transaction
    lock: RLock = field(default_factory=RLock)


@dataclass(slots=True)
class _Entry(Generic[Thing]):
    owner: Visitor
    thing: Thing
    until: float


class Shelf(Generic[Thing]):
    """Things by handles that nobody can guess, and that only their owner can use. A thing that
    nobody comes back to is let go; when there are too many, the one that waits longest, or the
    new one is refused."""

    def __init__(
        self,
        kind: str,
        most: int,
        seconds: float,
        *,
        refuses: bool = False,
        let_go: Callable[[Thing], None] = lambda _: None,
    ) -> None:
        self._kind, self._most, self._seconds = kind, most, seconds
        self._refuses, self._let_go = refuses, let_go
        self._entries: OrderedDict[bytes, _Entry[Thing]] = OrderedDict()
        self._lock = Lock()

    def put(self, owner: Visitor, thing: Thing) -> bytes:
        handle = secrets.token_bytes(_BYTES)
        self.sweep()
        with self._lock:
            full = len(self._entries) >= self._most
            if full and self._refuses:
                raise Unavailable(
                    f"there are {self._most} of a {self._kind} already", hint="try again later"
                )
            gone = [self._entries.popitem(last=False)[1]] if full else []
            self._entries[handle] = _Entry(owner, thing, monotonic() + self._seconds)
        self._release(gone)
        return handle

    def get(self, owner: Visitor, handle: bytes) -> Thing:
        self.sweep()
        with self._lock:
            entry = self._entries.get(handle)
            if entry is None or entry.owner != owner:
                raise self._unknown()
            entry.until = monotonic() + self._seconds
            self._entries.move_to_end(handle)
            return entry.thing

    def take(self, owner: Visitor, handle: bytes) -> Thing:
        """Get it, and forget it."""
        with self._lock:
            entry = self._entries.get(handle)
            if entry is None or entry.owner != owner:
                raise self._unknown()
            return self._entries.pop(handle).thing

    def sweep(self) -> None:
        """Let go of what nobody has come back to."""
        now = monotonic()
        with self._lock:
            old = [handle for handle, each in self._entries.items() if each.until < now]
            gone = [self._entries.pop(handle) for handle in old]
        self._release(gone)

    def clear(self) -> list[Thing]:
        """Let go of everything, and tell what that was."""
        with self._lock:
            gone = list(self._entries.values())
            self._entries.clear()
        self._release(gone)
        return [entry.thing for entry in gone]

    def _release(self, gone: list[_Entry[Thing]]) -> None:
        for entry in gone:
            self._let_go(entry.thing)

    def _unknown(self) -> NotFound:
        return NotFound(
            f"this server knows no such {self._kind}",
            hint="it was closed, was idle for too long, or the server was started anew: begin"
            " again",
        )

    def __len__(self) -> int:
        return len(self._entries)
