"""Whether copies of files from an object store are kept, where, and how many."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from tidelake.errors import Invalid
from tidelake.lake.address import Address

if TYPE_CHECKING:
    from tidelake.store.cache import FileCache

FOLDER_VARIABLE = "TIDELAKE_CACHE_DIR"
SIZE_VARIABLE = "TIDELAKE_CACHE_SIZE"
_MOST = 10 * 1000**3
"""Bytes, where nobody says how many."""


def file_cache(
    settings: Address, folder: str | Path | None, size: int | str | None
) -> FileCache | None:
    """What is given wins over tidelake.toml, and that over the environment."""
    places = (folder, settings.cache_dir, os.environ.get(FOLDER_VARIABLE) or None)
    place = next((each for each in places if each is not None), None)
    if place is None:
        return None
    sizes = (size, settings.cache_size, os.environ.get(SIZE_VARIABLE) or None)
    said = next((each for each in sizes if each is not None), _MOST)
    from tidelake.store.cache import FileCache

    return FileCache(str(place), _checked(said), settings.storage_options)


def _checked(size: int | str) -> int:
    if isinstance(size, bool) or not str(size).isdecimal() or not int(size):
        raise Invalid(
            f"cache_size={size!r} is not a number of bytes", hint=f"for example {_MOST}, 10 GB"
        )
    return int(size)
