"""What has been seen in the footers of files, which never change: each is known by its path and
size, and looked at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from tidelake.model.file import DataFile, DeleteFile

_MOST = 100_000

Seen = DataFile | DeleteFile
Names = tuple[str, ...]


class KnownFiles:
    """Of one engine; several threads may ask."""

    def __init__(self) -> None:
        self._numbered: set[tuple[str, int]] = set()
        self._columns: dict[tuple[str, int], Names] = {}

    def unnumbered(self, files: Iterable[DataFile]) -> list[DataFile]:
        """Those of which it is not known that they have field ids."""
        return [file for file in files if _key(file) not in self._numbered]

    def have_ids(self, files: Sequence[DataFile]) -> None:
        if len(self._numbered) > _MOST:
            self._numbered.clear()
        self._numbered.update(map(_key, files))

    def columns(
        self, files: Sequence[DeleteFile], look: Callable[[Sequence[DeleteFile]], list[Names]]
    ) -> list[Names]:
        """The names of each file's columns; `look` finds out those of some."""
        known = ((_key(file), self._columns.get(_key(file))) for file in files)
        names = {key: columns for key, columns in known if columns is not None}
        unknown = [file for file in files if _key(file) not in names]
        if unknown:
            names.update(zip(map(_key, unknown), look(unknown), strict=True))
            if len(self._columns) > _MOST:
                self._columns.clear()
            self._columns.update(names)
        return [names[_key(file)] for file in files]


def _key(file: Seen) -> tuple[str, int]:
    return file.path, file.bytes
