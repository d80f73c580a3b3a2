"""Indexes and summaries of files, which make planning fast."""

from __future__ import annotations

from tidelake.catalog import create
from tidelake.catalog.read import snapshots, zones
from tidelake.catalog.read import tables as read
from tidelake.session.session import Session


def reindex(session: Session) -> None:
    """Have those that DuckDB's catalogs have not, and bring them up to date."""
    create.equip(session.database)
    with session.reading() as reader:
        at = snapshots.head_id(reader)
        columns = {
            table_id: read.columns(reader, at, table_id)
            for table_id, _ in read.names(reader, at, "table")
        }
    for table_id, known in columns.items():
        more = True
        while more:  # in short transactions, so that writers need not wait long
            with session.database.writing() as writer:
                more = zones.summarise(writer, table_id, known)
