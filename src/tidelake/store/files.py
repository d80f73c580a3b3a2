"""Whole objects by URI: local paths and object stores alike, through obstore."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, unquote, urlsplit

from tidelake.errors import Corrupt, Invalid, NotFound, Unavailable
from tidelake.model.ownership import lies_within
from tidelake.model.sandbox import Confinement
from tidelake.model.tuning import Tuning
from tidelake.store.access import StoreAccess
from tidelake.store.failures import opening, reporting
from tidelake.store.glob import glob_regex
from tidelake.store.local_files import create_file, replace_file
from tidelake.store.schemes import check_scheme

_WILD = re.compile(r"[*?\[]")
_AT_ONCE = 16


def is_local(uri: str) -> bool:
    return "://" not in uri or uri.startswith("file://")


def local_path(uri: str) -> Path:
    """The path behind a local URI or plain path."""
    try:
        return Path(unquote(urlsplit(uri).path) if uri.startswith("file://") else uri)
    except ValueError:
        raise Invalid(f"{uri!r} is no address of a file", hint="write [ as %5B, ] as %5D") from None


def same_place(uri: str) -> str:
    """A form in which two ways to one local file are equal, links among them."""
    return os.path.realpath(local_path(uri)) if is_local(uri) else uri


def is_within(uri: str, folder: str) -> bool:
    """Whether an object lies below a folder: links are followed, and so is `..`."""
    if not (is_local(uri) and is_local(folder)):
        return lies_within(uri, folder)
    return lies_within(same_place(uri), same_place(folder))


class StoredObject(NamedTuple):
    """An object that a store has."""

    uri: str
    bytes: int
    modified: datetime


_TO_READ = ("read", "look at")
_LARGEST = Tuning().largest_document


class Store:
    """Reads and writes objects; credentials come from `storage_options` in obstore's own words."""

    def __init__(
        self,
        storage_options: Mapping[str, str] | None = None,
        confinement: Confinement | None = None,
        *,
        forget: Callable[[Sequence[str]], None] | None = None,
    ) -> None:
        """`forget` is told what is to be deleted."""
        self._options = dict(storage_options or {})
        self._confinement = confinement
        self._forget = forget
        self._opened: dict[str, Any] = {}

    @contextmanager
    def _asked(self, verb: str, uri: str) -> Iterator[None]:
        """Do something with an object. Who is confined asks for none elsewhere, by whatever way."""
        with reporting(verb, uri):
            self._check(verb, uri)
            yield

    def _check(self, verb: str, uri: str) -> None:
        if self._confinement is not None:
            path = str(local_path(uri).absolute()) if is_local(uri) else uri
            to_read = verb in _TO_READ
            self._confinement.check([path], uri, to_read=to_read)
            self._confinement.check([same_place(path)], uri, to_read=to_read)

    def read_small(self, uri: str) -> bytes:
        """The same of an object that is to be taken apart in memory. Corrupt if it is too large
        for that, and so is nothing that should be there."""
        size = self._size(uri)
        if size is not None and size > _LARGEST:
            raise Corrupt(
                f"{uri} has {size:,} bytes, more than the {_LARGEST:,} that are read at once",
                hint="restore it from a copy",
            )
        return self.read(uri)

    def tail(self, uri: str, most: int) -> bytes:
        """The last bytes of an object, as many as there are up to a number."""
        import obstore

        size = self.size(uri)
        start = max(0, size - most)
        with self._asked("read", uri):
            if is_local(uri):
                with local_path(uri).open("rb") as file:
                    file.seek(start)
                    return file.read(most)
            store, key = self._open(uri)
            return bytes(obstore.get_range(store, key, start=start, end=size)) if size else b""

    def read(self, uri: str) -> bytes:
        """All bytes of one object. Raises Corrupt when it is not there."""
        import obstore

        try:
            with self._asked("read", uri):
                if is_local(uri):
                    return local_path(uri).read_bytes()
                store, key = self._open(uri)
                return bytes(obstore.get(store, key).bytes())
        except FileNotFoundError as error:
            raise Corrupt(
                f"{uri} is missing",
                hint="was the data moved or cleaned up by another tool? Restore the file",
            ) from error

    def write(self, uri: str, data: bytes) -> None:
        """Put an object in place, with the folders above it; one that is there is replaced."""
        import obstore

        with self._asked("write", uri):
            if is_local(uri):
                replace_file(local_path(uri), data)
                return
            store, key = self._open(uri)
            obstore.put(store, key, data)

    def put(self, uri: str, data: bytes) -> None:
        """The same for what need not survive a crash: quick, and perhaps seen in halves."""
        if not is_local(uri):
            self.write(uri, data)
            return
        with self._asked("write", uri):
            path = local_path(uri)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)

    def create(self, uri: str, data: bytes, *, modified: int | None = None) -> bool:
        """Put an object in place if there is none, whole or not at all; whether it was. Of many
        who try at once one succeeds. A local file is dated, where that is given in milliseconds."""
        import obstore
        from obstore.exceptions import AlreadyExistsError

        with self._asked("write", uri):
            if is_local(uri):
                return create_file(local_path(uri), data, modified)
            store, key = self._open(uri)
            try:
                obstore.put(store, key, data, mode="create")
            except AlreadyExistsError:
                return False
            return True

    def delete(self, uris: Sequence[str]) -> None:
        """Remove objects, many at a time; those that are gone already are no matter."""
        for uri in uris:
            with reporting("delete", uri):
                self._check("delete", uri)
        if self._forget is not None:
            self._forget(uris)
        for uri in filter(is_local, uris):
            with self._asked("delete", uri):
                local_path(uri).unlink(missing_ok=True)
        for some in self._by_root([uri for uri in uris if not is_local(uri)]):
            self._delete_remotely(some)

    def _delete_remotely(self, uris: Sequence[str]) -> None:
        import obstore

        store, _ = self._open(uris[0])
        keys = [self._key(uri) for uri in uris]
        with self._asked("delete", uris[0]):
            try:
                obstore.delete(store, keys)
                return
            except FileNotFoundError:
                pass
            for key in keys:
                try:
                    obstore.delete(store, key)
                except FileNotFoundError:
                    continue

    def exists(self, uri: str) -> bool:
        """Whether there is an object; a folder is none."""
        return self._size(uri) is not None

    def size(self, uri: str) -> int:
        found = self._size(uri)
        if found is None:
            raise NotFound(f"there is no file {uri}", hint="check the path")
        return found

    def modified(self, uri: str) -> datetime:
        """When an object was last written, by the store's own clock."""
        import obstore

        with self._asked("look at", uri):
            if is_local(uri):
                return datetime.fromtimestamp(local_path(uri).stat().st_mtime, UTC)
            store, key = self._open(uri)
            return obstore.head(store, key)["last_modified"]

    def sizes(self, uris: Sequence[str]) -> dict[str, int]:
        """The sizes of those that are there."""
        if len(uris) == 1:
            found = self._size(uris[0])
            return {} if found is None else {uris[0]: found}
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            sizes = dict(zip(uris, pool.map(self._size, uris), strict=True))
        return {uri: size for uri, size in sizes.items() if size is not None}

    def walk(self, folder: str) -> Iterator[StoredObject]:
        """Every object below a folder, whose URI ends in a slash."""
        if is_local(folder):
            with self._asked("list", folder):
                yield from _walked(folder)
            return
        import obstore

        store, key = self._open(folder)
        root = folder[: len(folder) - len(key)]
        with self._asked("list", folder):
            for some in obstore.list(store, key.strip("/") or None):
                for each in some:
                    yield StoredObject(
                        root + str(each["path"]), each["size"], each["last_modified"]
                    )

    def listed(self, pattern: str) -> list[str]:
        """The objects behind a path, sorted: itself, or what it matches with * ? [] and **, or
        all *.parquet in the folder that it is. Local ones come as absolute paths."""
        if self.exists(pattern):
            found = [str(local_path(pattern).absolute()) if is_local(pattern) else pattern]
        elif is_local(pattern):
            with self._asked("list", pattern):
                found = _listed_locally(local_path(pattern).absolute())
        else:
            found = self._listed_remotely(pattern)
        if not found:
            raise NotFound(
                f"there are no files at {pattern}",
                hint="name a Parquet file, a folder with some, or a pattern such as data/*.parquet",
            )
        return sorted(found)

    def _size(self, uri: str) -> int | None:
        import obstore

        try:
            with self._asked("look at", uri):
                if is_local(uri):
                    path = local_path(uri)
                    return path.stat().st_size if path.is_file() else None
                store, key = self._open(uri)
                return int(obstore.head(store, key)["size"]) if key else None
        except FileNotFoundError:
            return None

    def _listed_remotely(self, pattern: str) -> list[str]:
        import obstore

        store, key = self._open(pattern)
        root = pattern[: len(pattern) - len(key)]
        wild = _WILD.search(key)
        folder = key[: wild.start()].rpartition("/")[0] if wild else key.strip("/")
        with self._asked("list", pattern):
            paths = [
                str(each["path"]) for some in obstore.list(store, folder or None) for each in some
            ]
        if wild:
            accepted = glob_regex(key)
            return [root + path for path in paths if accepted.fullmatch(path)]
        return [root + path for path in paths if _is_data(path[len(folder) :])]

    def _by_root(self, uris: Sequence[str]) -> list[list[str]]:
        """URIs that one store has."""
        found: dict[str, list[str]] = defaultdict(list)
        for uri in uris:
            found[uri[: len(uri) - len(self._key(uri))]].append(uri)
        return list(found.values())

    def _key(self, uri: str) -> str:
        return uri.partition("://")[2].partition("/")[2].lstrip("/")

    def handle(self, verb: str, uri: str) -> tuple[Any, str]:
        """The store of a remote object as obstore has it, and its key, for those who stream."""
        self._check(verb, uri)
        return self._open(uri)

    def _open(self, uri: str) -> tuple[Any, str]:
        from obstore.store import from_url

        _ORIGIN.check(uri)
        scheme, _, rest = uri.partition("://")
        if scheme not in ("http", "https"):
            check_scheme(uri)
        root = f"{scheme}://{rest.partition('/')[0]}"
        if root in self._opened:
            return self._opened[root], self._key(uri)
        access = StoreAccess.of(scheme, self._options)
        with opening(root):
            store = self._opened[root] = from_url(root, **access.arguments)
        return store, self._key(uri)


class _Origin:
    """The process in which obstore has started its threads. In a fork of it nobody would answer."""

    def __init__(self) -> None:
        self._pid: int | None = None

    def check(self, uri: str) -> None:
        self._pid = self._pid or os.getpid()
        if self._pid != os.getpid():
            raise Unavailable(
                f"{uri} cannot be reached: this process was forked from one that had reached an"
                " object store before",
                hint="start processes with spawn, or fork before the lake is used",
            )


_ORIGIN = _Origin()


def _walked(folder: str) -> Iterator[StoredObject]:
    top, is_url = local_path(folder), folder.startswith("file://")
    for place, _, names in os.walk(top):
        inside = Path(place).relative_to(top).as_posix()
        prefix = "" if inside == "." else f"{inside}/"
        above = folder + (quote(prefix) if is_url else prefix)
        for name in names:
            try:
                facts = os.stat(f"{place}/{name}")  # noqa: PTH116
            except FileNotFoundError:
                continue
            uri = above + (quote(name) if is_url else name)
            yield StoredObject(uri, facts.st_size, datetime.fromtimestamp(facts.st_mtime, UTC))


def _listed_locally(path: Path) -> list[str]:
    if path.is_dir():
        below = path.rglob("*.parquet")
        return [str(file) for file in below if _is_data(file.relative_to(path).as_posix())]
    wild = next((n for n, part in enumerate(path.parts) if _WILD.search(part)), None)
    if wild is None:
        return []
    base, pattern = Path(*path.parts[:wild]), "/".join(path.parts[wild:])
    try:
        return [str(found) for found in base.glob(pattern) if found.is_file()]
    except ValueError as error:
        raise Invalid(f"{path} is no pattern: {error}", hint="write ** between slashes") from error


def _is_data(path: str) -> bool:
    """Whether a path inside a folder is data, not the notes that Spark and Delta keep there."""
    parts = [part for part in path.split("/") if part]
    hidden = any(part[0] == "." or (part[0] == "_" and "=" not in part) for part in parts)
    return path.endswith(".parquet") and not hidden
