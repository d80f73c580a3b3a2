"""What files hold that are to become a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelake.engine.incoming.columns_of_data import source_columns
from tidelake.model.schema import Column
from tidelake.model.source_files import SourceFiles

if TYPE_CHECKING:
    from tidelake.lake.lake import Lake


def columns_in(lake: Lake, source: SourceFiles) -> tuple[tuple[Column, ...], SourceFiles]:
    """The columns of Parquet, CSV or JSON files, for `create_table`, and the files as they are
    then to be read."""
    work = lake._local.workbench()
    work.reach(source.paths)
    return source_columns(work.connection, source)
