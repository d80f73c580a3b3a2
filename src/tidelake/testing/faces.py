"""From a table back to its lake."""

from __future__ import annotations

from tidelake.lake.lake import Lake
from tidelake.lake.table import Table


def lake_of(table: Table) -> Lake:
    """The lake that a table is of, as it is committed."""
    return Lake(table.source.session.committed)
