"""What files hold that are to become a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tidelake.engine.file_columns import file_columns
from tidelake.model.schema import Column

if TYPE_CHECKING:
    from tidelake.session.lake import Lake


def columns_in(lake: Lake, paths: Sequence[str]) -> tuple[Column, ...]:
    """The columns of Parquet, CSV or JSON files, for `create_table`."""
    work = lake._local.workbench()
    work.reach(paths)
    return file_columns(work.connection, paths)
