"""Files that have been written for partitions, into the folders of these.

DuckDB's COPY makes such folders too, but not for a key that is called as a column of the file. So
it writes them into the table's folder, under names of their own, and they are moved. On a file
system that is a new name for the same bytes. In an object store it is a copy, which that makes.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidelake.model.change import NewFile
from tidelake.plan.target import Target
from tidelake.store.copies import move_objects
from tidelake.store.files import Store

_COPYING = {"s3", "s3a"}
"""Stores that have made a copy when they say so. Azure's may do it later; of Google's there was
none to try it with."""
_LARGEST_COPY = 5_000_000_000
"""Bytes that they copy at once."""


def in_folders(store: Store, files: Sequence[NewFile], target: Target) -> list[NewFile]:
    """The files where they lie then. After an error none is left.

    Requires: nobody knows where they lie yet."""
    wanted = [_place(file, target) for file in files]
    pairs = [
        (file.path, place) for file, place in zip(files, wanted, strict=True) if file.path != place
    ]
    if not pairs:
        return list(files)
    try:
        moved = dict(zip(pairs, move_objects(store, pairs), strict=True))
    except BaseException:
        store.delete([*(file.path for file in files), *wanted])
        raise
    return [
        file._replace(path=place) if moved.get((file.path, place)) else file
        for file, place in zip(files, wanted, strict=True)
    ]


def _place(file: NewFile, target: Target) -> str:
    if target.folders is None or file.partition_values is None or _must_stay(file, target):
        return file.path
    folder = target.folders.holding(file.partition_values)
    return f"{target.path}{folder}{file.path.rpartition('/')[2]}"


def _must_stay(file: NewFile, target: Target) -> bool:
    """In the address of a local file a percent sign is an escape, and in a folder it is none."""
    scheme, separator, _ = target.path.partition("://")
    return bool(separator) and (scheme not in _COPYING or file.bytes > _LARGEST_COPY)
