"""Writers at work say so, so that files which they have not committed yet are not swept away.

A lease is a small object in the data path, `_tidelake/writer-<id>`: it is there before the first
file of its writer, is written again now and then while the work goes on, and goes with its end.
What is left of a writer that was killed counts for nothing after a while. All times are those of
the store's own clock.
"""

from __future__ import annotations

import re
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from tidelake.errors import TidelakeError
from tidelake.store.files import Store
from tidelake.store.markers import FOLDER

if TYPE_CHECKING:
    from tidelake.session.lake import Lake

BEAT_S = 30.0
LIFE = timedelta(minutes=10)
_SLACK = timedelta(seconds=5)
"""Stores may know seconds only."""
_NAME = re.compile(rf".*/{FOLDER}writer-[0-9a-f-]{{36}}")


class Lease:
    """Taken before the first file is written, released when the catalog has the files or they are
    gone. Where it cannot be written, the span of `cleanup` must do."""

    def __init__(self, store: Store, data_path: str) -> None:
        self._store = store
        self._uri = f"{data_path}{FOLDER}writer-{uuid.uuid4()}"
        self._began: float | None = None

    def take(self) -> None:
        if self._began is None:
            self._began = time.monotonic()
            self.beat()
            _BEATS.add(self)

    def beat(self) -> None:
        """Say that the work goes on, and for how many seconds it has."""
        if self._began is not None:
            open_for = int(time.monotonic() - self._began) + 1
            with suppress(TidelakeError):
                self._store.put(self._uri, str(open_for).encode())

    def release(self) -> None:
        if self._began is not None:
            self._began = None
            _BEATS.remove(self)
            with suppress(TidelakeError):
                self._store.delete([self._uri])


class _Beats:
    """A thread that renews what is held for long. It ends when there is nothing to renew."""

    def __init__(self) -> None:
        self._held: set[Lease] = set()
        self._lock = threading.Lock()
        self._runs = False

    def add(self, lease: Lease) -> None:
        with self._lock:
            self._held.add(lease)
            if not self._runs:
                self._runs = True
                threading.Thread(target=self._run, name="tidelake-leases", daemon=True).start()

    def remove(self, lease: Lease) -> None:
        with self._lock:
            self._held.discard(lease)

    def _run(self) -> None:
        while True:
            time.sleep(BEAT_S)
            with self._lock:
                held = list(self._held)
                self._runs = bool(held)
            if not held:
                return
            for lease in held:
                lease.beat()


_BEATS = _Beats()


@contextmanager
def announced(lake: Lake) -> Iterator[None]:
    """Files may be written inside."""
    lease = Lease(lake._local.store, lake.data_path)
    lease.take()
    try:
        yield
    finally:
        lease.release()


@dataclass(frozen=True, slots=True)
class Announced:
    """`since`: some writer at work may have written what is not older. `stale` are leases of
    writers that are no more."""

    since: datetime | None
    stale: tuple[str, ...]


def look(store: Store, data_path: str, now: datetime) -> Announced:
    """Who is at work in a data path. Requires: files have been listed before."""
    found = [each for each in store.walk(f"{data_path}{FOLDER}") if _NAME.fullmatch(each.uri)]
    live = [each for each in found if each.modified >= now - LIFE]
    begins = [
        each.modified - timedelta(seconds=_open_for(store, each.uri)) - _SLACK for each in live
    ]
    stale = tuple(each.uri for each in found if each not in live)
    return Announced(min(begins, default=None), stale)


def _open_for(store: Store, uri: str) -> int:
    try:
        return int(store.read(uri))
    except (TidelakeError, ValueError):
        return 0
