"""The lake that options name, opened on the driver."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tidelake.errors import Invalid
from tidelake.lake.address import resolve
from tidelake.lake.connect import Wishes, open_lake
from tidelake.lake.lake import Lake
from tidelake.spark import vault
from tidelake.spark.options import SourceOptions


@contextmanager
def lake_of(options: SourceOptions, *, read_only: bool = False) -> Iterator[Lake]:
    """The lake of a `catalog` option, of an attachment, or of the driver's TIDELAKE_CATALOG or
    tidelake.toml. It must exist."""
    lake = _opened(options, read_only)
    try:
        yield lake
    finally:
        lake.close()


def _opened(options: SourceOptions, read_only: bool) -> Lake:
    word, catalog = options.text("lake"), options.text("catalog")
    if word is not None:
        if catalog is not None:
            raise Invalid("options lake and catalog both name a lake", hint="leave one of them out")
        return vault.recall(word)
    address = resolve(catalog, options.text("data_path"), options.storage)
    return open_lake(address, Wishes(read_only=read_only, create=False))
