"""Whether whoever is connected may write to the catalog."""

from __future__ import annotations

from tidelake.catalog.database.database import Database

_CHANGES_NOTHING = "UPDATE ducklake_snapshot SET snapshot_id = snapshot_id WHERE 1 = 0"


def check_writable(database: Database) -> None:
    """Denied, or what else the database says, if it may not. Nothing is changed."""
    with database.writing() as writer:
        writer.execute(_CHANGES_NOTHING)
