"""Whether DuckDB has brought an SQLite library of its own into this process.

On POSIX systems the locks on a file belong to the process. SQLite counts them itself, but two
SQLite libraries do not know of each other: what one unlocks or closes, the other has lost. The
library comes with DuckDB's sqlite extension, at any time, and never goes again.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

_MARK = b"sqlite_scanner"
_BY_LINK_MAP = 2
_IF_LOADED = 4 if sys.platform.startswith("linux") else 0x10


class Watch:
    """Looks at the libraries of this process; only at the new ones, so that it may be asked all
    the time."""

    def __init__(self, newer: Callable[[], list[bytes]]) -> None:
        self._newer = newer
        self._found = False

    def found(self) -> bool:
        if not self._found:
            self._found = any(_MARK in name for name in self._newer())
        return self._found


def has_duckdb_sqlite() -> bool:
    """Whether that library is here. Where locks belong to whoever opened the file it is no
    matter."""
    return os.name == "posix" and _watch().found()


@cache
def _watch() -> Watch:
    import ctypes

    library = ctypes.PyDLL(None)  # keeps the GIL: the calls are short, and nobody comes between
    if sys.platform == "darwin":
        return Watch(_Images(library))
    if hasattr(library, "dlinfo"):
        return Watch(_LinkMap(library))
    return Watch(_if_duckdb)


def _if_duckdb() -> list[bytes]:
    """Where nobody tells, DuckDB is taken to have it."""
    return [_MARK] if "duckdb" in sys.modules else []


class _Images:
    """The libraries of a process on macOS, by number."""

    def __init__(self, library: Any) -> None:
        import ctypes

        self._library = library
        library._dyld_get_image_name.restype = ctypes.c_char_p
        self._seen = 0

    def __call__(self) -> list[bytes]:
        count = self._library._dyld_image_count()
        names = [self._library._dyld_get_image_name(n) or b"" for n in range(self._seen, count)]
        self._seen = count
        return names


class _LinkMap:
    """The libraries of a process as its dynamic linker lists them: new ones come last. The last
    that was seen is held fast, so that it stays in the list."""

    def __init__(self, library: Any) -> None:
        import ctypes

        class Entry(ctypes.Structure):
            pass

        Entry._fields_ = [
            ("address", ctypes.c_void_p),
            ("name", ctypes.c_char_p),
            ("section", ctypes.c_void_p),
            ("next", ctypes.POINTER(Entry)),
            ("previous", ctypes.c_void_p),
        ]
        library.dlopen.restype = ctypes.c_void_p
        library.dlinfo.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p]
        self._library = library
        self._first = ctypes.POINTER(Entry)()
        library.dlinfo(library._handle, _BY_LINK_MAP, ctypes.byref(self._first))
        self._last = self._first

    def __call__(self) -> list[bytes]:
        if not self._last.contents.next:
            return []
        names = []
        entry = self._last
        while entry.contents.next:
            entry = entry.contents.next
            names.append(entry.contents.name or b"")
        held = self._library.dlopen(entry.contents.name, _IF_LOADED | os.RTLD_LAZY)
        self._last = entry if held else self._first
        return names
