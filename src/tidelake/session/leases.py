"""Writers at work say so, so that files which they have not committed yet are not swept away.

A lease is a small object, `_tidelake/writer-<id>`, in the data path, or in a tenant's folder there;
one for all writers of a process. It is written before the first file and again now and then while
the work goes on, and it goes when there has been nothing to do for a while. So a process that
writes all the time pays for it once. What is left of one that was killed counts for nothing after
some minutes, and on its own machine at once. All times are those of the store's own clock.
"""

from __future__ import annotations

import atexit
import os
import re
import threading
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path

from tidelake.errors import TidelakeError
from tidelake.session.session import Session
from tidelake.store.files import Store
from tidelake.store.markers import FOLDER

BEAT_S = 30.0
LIFE = timedelta(minutes=10)
_SLACK = timedelta(seconds=5)
"""Stores may know seconds only."""
_NOWHERE = "-"
_NAME = re.compile(rf".*/{FOLDER}writer-[0-9a-f-]{{36}}")


class Lease:
    """What the writers of this process have in one data path."""

    def __init__(self, store: Store, data_path: str) -> None:
        self._store = store
        self._uri = f"{data_path}{FOLDER}writer-{uuid.uuid4()}"
        self._at_work: dict[Work, float] = {}
        self._lock = threading.Lock()
        self._is_there = False

    def begin(self, work: Work) -> None:
        self._at_work[work] = time.monotonic()

    def announce(self) -> None:
        with self._lock:
            if self._at_work and not self._is_there:
                self._write()

    def end(self, work: Work) -> None:
        self._at_work.pop(work, None)

    def beat(self) -> None:
        """Say that the work goes on; if there is none, say nothing any more."""
        with self._lock:
            if self._at_work:
                self._write()
            elif self._is_there:
                self._is_there = False
                with suppress(TidelakeError):
                    self._store.delete([self._uri])

    def _write(self) -> None:
        """For how many seconds the oldest work has been going on. Where it cannot be written, the
        span of `cleanup` must do."""
        now = time.monotonic()
        open_for = int(now - min(self._at_work.copy().values(), default=now)) + 1
        with suppress(TidelakeError):
            self._store.put(self._uri, f"{open_for} {_machine()} {os.getpid()}".encode())
            self._is_there = True

    @property
    def is_held(self) -> bool:
        return self._is_there or bool(self._at_work)


class Leases:
    """All leases of this process, by data path, and a thread that renews them again and again. It
    ends when there is nothing to renew."""

    def __init__(self, beat_s: float = BEAT_S) -> None:
        self._beat_s = beat_s
        self._lock = threading.Lock()
        self._by_path: dict[str, Lease] = {}
        self._runs = False

    def begin(self, work: Work, store: Store, data_path: str) -> Lease:
        with self._lock:
            lease = self._by_path.setdefault(data_path, Lease(store, data_path))
            lease.begin(work)
            if not self._runs:
                self._runs = True
                threading.Thread(target=self._run, name="tidelake-leases", daemon=True).start()
        lease.announce()
        return lease

    def settle(self, data_path: str | None = None) -> None:
        """Give back at once what nobody needs, in one data path or in all."""
        with self._lock:
            found = [lease for path, lease in self._by_path.items() if data_path in (None, path)]
        for lease in found:
            lease.beat()

    def _run(self) -> None:
        while True:
            time.sleep(self._beat_s)
            self.settle()
            with self._lock:
                self._by_path = {
                    path: lease for path, lease in self._by_path.items() if lease.is_held
                }
                self._runs = bool(self._by_path)
                if not self._runs:
                    return


_LEASES = Leases()


def _renew_in_child() -> None:
    """A forked process has none of its parent's work, nor its thread."""
    global _LEASES
    _LEASES = Leases()


os.register_at_fork(after_in_child=_renew_in_child)
atexit.register(lambda: _LEASES.settle())


class Work:
    """Begun before the first file is written, ended when the catalog has the files or they are
    gone."""

    def __init__(self, store: Store, data_path: str) -> None:
        self._place = store, data_path
        self._lease: Lease | None = None

    def begin(self) -> None:
        if self._lease is None:
            self._lease = _LEASES.begin(self, *self._place)

    def end(self) -> None:
        if self._lease is not None:
            self._lease.end(self)
            self._lease = None


@dataclass(frozen=True, slots=True)
class SharedLease:
    """A lease for work that several processes do, none of which lives as long as the work. Whoever
    is at it renews it, and the last one ends it; a copy may be sent to the others."""

    uri: str
    began: float

    @staticmethod
    def of(data_path: str) -> SharedLease:
        """One that nobody has renewed yet."""
        return SharedLease(f"{data_path}{FOLDER}writer-{uuid.uuid4()}", time.time())

    def renew(self, store: Store) -> None:
        """Good for as long as `LIFE` from now on, wherever whoever wrote it is."""
        open_for = max(int(time.time() - self.began), 0) + 1
        with suppress(TidelakeError):
            store.put(self.uri, f"{open_for} {_NOWHERE} 0".encode())

    @contextmanager
    def renewing(self, store: Store) -> Iterator[None]:
        """It is renewed again and again while something is done, and once more after it."""
        over = threading.Event()

        def beat() -> None:
            while not over.wait(BEAT_S):
                self.renew(store)

        self.renew(store)
        threading.Thread(target=beat, name="tidelake-lease", daemon=True).start()
        try:
            yield
        finally:
            over.set()
            self.renew(store)

    def end(self, store: Store) -> None:
        with suppress(TidelakeError):
            store.delete([self.uri])


def settle(data_path: str) -> None:
    """Take away this process's lease, if nobody in it is at work there."""
    _LEASES.settle(data_path)


@contextmanager
def announce_work(session: Session) -> Iterator[None]:
    """Files may be written inside."""
    work = Work(session.local.store, session.home)
    work.begin()
    try:
        yield
    finally:
        work.end()


@dataclass(frozen=True, slots=True)
class Announcements:
    """`since`: some writer at work may have written what is not older. `stale` are leases of
    writers that are no more."""

    since: datetime | None
    stale: tuple[str, ...]


def look(store: Store, homes: Iterable[str], now: datetime) -> Announcements:
    """Who is at work in a data path: it, and the folders of tenants in it, are the homes. Requires:
    files have been listed before."""
    listed = (each for home in homes for each in store.walk(f"{home}{FOLDER}"))
    found = [each for each in listed if _NAME.fullmatch(each.uri)]
    begins, stale = [], []
    for each in found:
        seconds, is_dead = _said(store, each.uri)
        if is_dead or each.modified < now - LIFE:
            stale.append(each.uri)
        else:
            begins.append(each.modified - timedelta(seconds=seconds) - _SLACK)
    return Announcements(min(begins, default=None), tuple(stale))


def _said(store: Store, uri: str) -> tuple[int, bool]:
    """For how long a process has been at work, and whether it was one of this machine that is no
    more."""
    try:
        seconds, machine, process = store.read(uri).decode().split(" ")
        return int(seconds), machine == _machine() != _NOWHERE and not _runs(int(process))
    except (TidelakeError, ValueError):
        return 0, False


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


@cache
def _machine() -> str:
    """Where process ids mean the same: this start of this machine, inside this container."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}/{Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return _NOWHERE
