"""From a table back to its lake."""

from __future__ import annotations

from tidelake.lake.lake import Lake
from tidelake.lake.table import Table


def lake_of(table: Table) -> Lake:
    """The lake that a table is of; with the writes of its transaction, if it is of one."""
    return Lake(table.source.session)
