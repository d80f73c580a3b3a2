"""Whole objects brought to local files, many at a time and large ones in parts."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tidelake.store.files import Store

_AT_ONCE = 16
_PART = 4 * 1024**2
_BLOCK = 1024**2


@dataclass(frozen=True, slots=True)
class LocalCopy:
    """A file that is whole: its checksum is that of what is in it."""

    path: str
    checksum: int


def fetch(
    store: Store, wanted: Sequence[tuple[str, int]], draft: Callable[[], str]
) -> Iterator[LocalCopy | None]:
    """For each object with its size a new file, in their order; None where it could not be had as
    it should be. `draft` names files."""
    with ThreadPoolExecutor(_AT_ONCE) as files, ThreadPoolExecutor(_AT_ONCE) as parts:
        try:
            yield from files.map(lambda each: _fetch(store, each, draft(), parts), wanted)
        except BaseException:
            files.shutdown(cancel_futures=True)
            raise


def _fetch(
    store: Store, wanted: tuple[str, int], path: str, parts: ThreadPoolExecutor
) -> LocalCopy | None:
    """An error of the store is left to whoever reads the object there: its words are better."""
    import obstore

    uri, size = wanted
    try:
        source, key = store.handle("read", uri)
        first = obstore.get(source, key, options={"range": (0, min(size, _PART))})
        if first.meta["size"] != size:
            return None
        begin = first.bytes()
        with Path(path).open("xb") as file:
            asked = [
                parts.submit(_part, source, key, (place, file.fileno()), size, first.meta["e_tag"])
                for place in range(_PART, size, _PART)
            ]
            try:
                file.write(begin)
            finally:
                _all_done(asked)
        return LocalCopy(path, checksum(path))
    except Exception:
        Path(path).unlink(missing_ok=True)
        return None


def _part(source: Any, key: str, to: tuple[int, int], size: int, e_tag: str | None) -> None:
    import obstore

    place, file = to
    options: Any = {"range": (place, min(size, place + _PART))}
    if e_tag is not None:
        options["if_match"] = e_tag
    data = memoryview(obstore.get(source, key, options=options).bytes())
    done = 0
    while done < len(data):
        done += os.pwrite(file, data[done:], place + done)


def _all_done(asked: Sequence[Future[None]]) -> None:
    """The file is not closed while somebody writes into it."""
    errors = [each.exception() for each in asked]
    for error in errors:
        if error is not None:
            raise error


def checksum(path: str) -> int:
    found = 0
    with Path(path).open("rb", buffering=0) as file:
        while some := file.read(_BLOCK):
            found = zlib.crc32(some, found)
    return found
