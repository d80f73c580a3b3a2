"""Copies of immutable objects on a local disk, for all processes of one user.

A copy bears its object's address and size, and its own checksum, in its name. It comes into its
place whole, by being renamed, and is never changed there. Whoever reads one takes a link to it
first, so that nobody can remove it meanwhile, and trusts it only if its bytes are what its name
says. What is wrong with a copy, or with the disk, makes a read slower and nothing else.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import time
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from threading import Lock

from tidelake.errors import Unavailable
from tidelake.model.fork import tell_after_fork
from tidelake.model.ownership import is_derived, is_written
from tidelake.scratch import Scratch
from tidelake.store.fetch import checksum, fetch
from tidelake.store.files import Store, is_local

_LARGEST_SHARE = 2
_LOOK_AGAIN = 20
_AT_ONCE = 4
_UNNOTICED_S = 60
_SECRETS = ("secret", "token", "password", "key", "timeout", "retr", "user_agent")


@dataclass(frozen=True, slots=True)
class _Copy:
    """The name that a copy has until its checksum."""

    uri: str
    bytes: int
    folder: str
    start: str
    ending: str


class Links:
    """A folder of one reader, with links to the copies that it reads. It goes with the reader."""

    def __init__(self, reader: object, scratch: Scratch, folder: str) -> None:
        self.folder = folder
        self.held: dict[str, str] = {}
        self._scratch = scratch
        self._end = weakref.finalize(reader, _remove, folder, os.getpid())

    def keep(self) -> None:
        """Until the program ends."""
        self._scratch.keep()
        self._end.detach()


class FileCache:
    """Copies below `folder`, of at most so many bytes; those that were not read for longest go
    first. Some more may be there while they are read."""

    def __init__(self, folder: str, most: int, options: Mapping[str, object]) -> None:
        self.folder = os.path.realpath(Path(folder).expanduser())
        self.most = most
        self._store = _identity(options)
        self._shelves = f"{self.folder}/files"
        self._whole: set[tuple[int, int, int]] = set()
        self._scratch: Scratch | None = None
        self._numbers = count()
        self._lock = Lock()
        self._size: int | None = None
        self._added = 0
        try:
            Path(self._shelves).mkdir(mode=0o700, parents=True, exist_ok=True)
            if not os.access(self._shelves, os.W_OK):
                raise PermissionError(0, "Permission denied")
        except OSError as error:
            raise Unavailable(
                f"the cache cannot be kept in {folder}: {error.strerror or error}",
                hint="name another folder with cache_dir=… or TIDELAKE_CACHE_DIR",
            ) from error
        tell_after_fork(self)

    def after_fork(self) -> None:
        """What the parent links to is its own."""
        self._scratch = None
        self._lock = Lock()

    def links(self, reader: object) -> Links:
        scratch = self._own()
        folder = f"{scratch.path}/{next(self._numbers)}"
        Path(folder).mkdir(mode=0o700)
        return Links(reader, scratch, folder)

    def near(
        self, store: Store, objects: Iterable[tuple[str, int]], links: Links
    ) -> dict[str, str]:
        """Local files that are the same as these objects of known size, as far as there are such or
        they can be made. Only what never changes may be asked for."""
        known = {uri: size for uri, size in objects if _is_immutable(uri)}
        found = {uri: links.held[uri] for uri in known if uri in links.held}
        wanted = [self._copy(*each) for each in known.items() if each[0] not in found]
        found |= self._linked(wanted, links)
        missing = [each for each in wanted if each.uri not in found]
        needed = sum(each.bytes for each in missing)
        if missing and needed <= self.most // _LARGEST_SHARE:
            self._make_room(needed)
            self._bring(store, missing)
            found |= self._linked(missing, links)
        links.held.update(found)
        return found

    def forget(self, uris: Iterable[str]) -> None:
        """Remove the copies of objects that are being deleted."""
        for uri in uris:
            if _is_immutable(uri):
                copy = self._copy(uri, 0)
                for name in _listed(copy.folder):
                    if name.startswith(copy.start):
                        with suppress(OSError):
                            Path(copy.folder, name).unlink()

    def _copy(self, uri: str, size: int) -> _Copy:
        key = hashlib.sha256(f"{self._store}\0{uri}".encode()).hexdigest()[:40]
        return _Copy(uri, size, f"{self._shelves}/{key[:2]}", f"{key}-", uri.rpartition("/")[2])

    def _linked(self, wanted: Sequence[_Copy], links: Links) -> dict[str, str]:
        """Those that are there, whole, and now held by a link."""
        shelves: dict[str, dict[str, str]] = {}
        for folder in {each.folder for each in wanted}:
            shelves[folder] = {name.partition("-")[0] + "-": name for name in _listed(folder)}
        there = [
            (each, f"{each.folder}/{name}")
            for each in wanted
            if (name := shelves[each.folder].get(each.start)) is not None
        ]
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            paths = pool.map(lambda pair: self._link(pair[0], pair[1], links), there)
            pairs = zip(there, paths, strict=True)
            return {each.uri: path for (each, _), path in pairs if path is not None}

    def _link(self, copy: _Copy, path: str, links: Links) -> str | None:
        target = f"{links.folder}/{copy.ending}"
        try:
            os.link(path, target)
            if self._is_whole(copy, path, target):
                return target
            Path(path).unlink(missing_ok=True)
            Path(target).unlink(missing_ok=True)
        except OSError:
            pass
        return None

    def _is_whole(self, copy: _Copy, path: str, link: str) -> bool:
        """Its checksum is looked at once by each process, as long as nobody touches it."""
        facts = os.stat(link)  # noqa: PTH116
        if facts.st_size != copy.bytes:
            return False
        known = (facts.st_dev, facts.st_ino, facts.st_mtime_ns)
        if known not in self._whole:
            said = path.rpartition("/")[2].removeprefix(copy.start).partition("-")[0]
            if said != f"{checksum(link):08x}":
                return False
            self._whole.add(known)
        if time.time() - facts.st_atime > _UNNOTICED_S:
            os.utime(link, ns=(time.time_ns(), facts.st_mtime_ns))
        return True

    def _bring(self, store: Store, missing: Sequence[_Copy]) -> None:
        drafts = self._own().path
        wanted = [(each.uri, each.bytes) for each in missing]
        brought = fetch(store, wanted, lambda: f"{drafts}/{next(self._numbers)}.draft")
        for copy, made in zip(missing, brought, strict=True):
            if made is not None:
                with suppress(OSError):
                    Path(copy.folder).mkdir(mode=0o700, exist_ok=True)
                    name = f"{copy.start}{made.checksum:08x}-{copy.ending}"
                    os.rename(made.path, f"{copy.folder}/{name}")  # noqa: PTH104
                    self._added += copy.bytes

    def _own(self) -> Scratch:
        """A folder of this process, on the same disk."""
        with self._lock:
            self._scratch = self._scratch or Scratch(self.folder)
            return self._scratch

    def _make_room(self, needed: int) -> None:
        """How much there is is looked at now and then: others put copies there too."""
        if (
            self._size is not None
            and self._size + self._added + needed <= self.most
            and self._added <= self.most // _LOOK_AGAIN
        ):
            return
        with _alone(f"{self.folder}/.lock") as alone:
            if alone:
                self._size, self._added = self._removed(needed), 0

    def _removed(self, needed: int) -> int:
        """Take away what was not read for longest, until there is room; how much is left."""
        found = sorted(_copies(self._shelves))
        size = sum(each[1] for each in found)
        for _, bytes_of, path in found:
            if size + needed <= self.most:
                break
            with suppress(OSError):
                Path(path).unlink(missing_ok=True)
                size -= bytes_of
        return size


def _is_immutable(uri: str) -> bool:
    """Files that writers of the lake have written bear names that nobody gives twice."""
    return not is_local(uri) and (is_written(uri) or is_derived(uri))


def _identity(options: Mapping[str, object]) -> str:
    """Which store is meant; no secrets."""
    known = {key.lower(): str(value) for key, value in options.items()}
    environment = {key: os.environ.get(key, "") for key in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT")}
    said = {key: value for key, value in known.items() if not any(s in key for s in _SECRETS)}
    return repr(sorted({**environment, **said}.items()))


def _listed(folder: str) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208
    except FileNotFoundError:
        return []


def _copies(shelves: str) -> Iterator[tuple[float, int, str]]:
    """When each was last read, its bytes, its path."""
    for shelf in _listed(shelves):
        with suppress(FileNotFoundError), os.scandir(f"{shelves}/{shelf}") as entries:
            for entry in entries:
                with suppress(FileNotFoundError):
                    facts = entry.stat()
                    yield facts.st_atime, facts.st_size, entry.path


@contextmanager
def _alone(path: str) -> Iterator[bool]:
    """Whether nobody else is clearing up at the time."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield True
    except BlockingIOError:
        yield False
    finally:
        os.close(handle)


def _remove(folder: str, pid: int) -> None:
    if os.getpid() == pid:
        shutil.rmtree(folder, ignore_errors=True)
