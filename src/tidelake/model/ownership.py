"""Which files are a lake's own: those that a writer of the lake has written below its data path.

Only these are ever deleted. A file that was registered or imported belongs to whoever made it,
unless it was handed over.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_NAMED = rf"ducklake-{_UUID}(?:-[0-9a-f]{{8}})?(?:-delete)?"
_WRITTEN = re.compile(rf"{_NAMED}\.(?:parquet|puffin)")
_MARKED = re.compile(rf"ducklake-{_UUID}-[0-9a-f]{{8}}\.[a-z]+")
_DERIVED = re.compile(rf"{_NAMED}\.(?:rollup|delta)|deletion_vector_{_UUID}\.bin")


@dataclass(frozen=True, slots=True)
class Registration:
    """A file that lay there before it became part of a table, under the id that it has there.
    `taken_over`: it was handed over to the lake, and goes when no snapshot needs it."""

    file_id: int
    path: str
    taken_over: bool


def is_written(path: str) -> bool:
    """Whether a file is called as DuckDB and Tidelake call data and delete files that they
    write."""
    return "ducklake-" in path and _WRITTEN.fullmatch(path.rpartition("/")[2]) is not None


def is_marked(path: str) -> bool:
    """Whether a file is called as Tidelake calls those that it writes rows to. DuckDB's have no
    mark behind the UUID."""
    return _MARKED.fullmatch(path.rpartition("/")[2]) is not None


def is_derived(path: str) -> bool:
    """Whether a file is called as Tidelake calls those of rollups and mirrors."""
    return _DERIVED.fullmatch(path.rpartition("/")[2]) is not None


def lies_within(path: str, folder: str) -> bool:
    """Whether a path leads to a place below a folder, by its words alone: `..` is followed, and
    what is not certain does not lie there."""
    place, root = _plain(path), _plain(folder)
    if place is None or root is None:
        return False
    return place.startswith(root.rstrip("/") + "/")


def _plain(path: str) -> str | None:
    """One spelling for each place. A key of an object store with dots in it has none."""
    if path.startswith("file://"):
        path = unquote(urlsplit(path).path)
    if "://" not in path:
        return posixpath.normpath(path) if path.startswith("/") else None
    scheme, _, rest = path.partition("://")
    parts = unquote(rest).split("/")
    return None if ".." in parts or "." in parts else f"{scheme}://{rest}"


def is_own(path: str, data_path: str) -> bool:
    return is_written(path) and lies_within(path, data_path)
