"""Whether many objects lie where they may."""

from __future__ import annotations

import os
from collections.abc import Iterable

from tidelake.store.files import is_within, same_place


class Within:
    """Whether objects lie below one of these folders. Where a folder leads is looked up once, and
    so is what in it is a link."""

    def __init__(self, folders: Iterable[str]) -> None:
        self._folders = tuple(folders)
        self._known: dict[str, bool] = {}
        self._links: dict[str, frozenset[str]] = {}

    def holds(self, uri: str) -> bool:
        parent, _, name = uri.rpartition("/")
        if not parent or "://" in uri or name in ("", ".", ".."):
            return self._leads_there(uri)
        if parent not in self._known:
            self._links[parent] = _links(parent)
            self._known[parent] = any(
                same_place(parent) == same_place(folder) or is_within(parent, folder)
                for folder in self._folders
            )
        return self._leads_there(uri) if name in self._links[parent] else self._known[parent]

    def _leads_there(self, uri: str) -> bool:
        return any(is_within(uri, folder) for folder in self._folders)


def _links(folder: str) -> frozenset[str]:
    try:
        with os.scandir(folder) as entries:
            return frozenset(entry.name for entry in entries if entry.is_symlink())
    except OSError:
        return frozenset()
