"""Tables for what DuckLake has no place for, made when the first row comes to them.

A table that is not there is empty. Dropping them all leaves the lake whole.
"""

from __future__ import annotations

from tidelake.catalog.database import Writer
from tidelake.catalog.layout import create_table

LAYOUT: dict[str, str] = {
    "tidelake_tag": "tag_name name!, snapshot_id int, created_at time, author text, message text",
    "tidelake_consumer": (
        "consumer_name name!, snapshot_id int, owner text, lease_until time, updated_at time"
    ),
    "tidelake_fingerprint": (
        "table_id int!, snapshot_id int!, row_count int, content_hash text, made_at time"
    ),
}


def ensure(writer: Writer, name: str) -> None:
    """Make the table if it is not there. Call it before anything is written: MySQL commits
    what has been written until then."""
    if not writer.has_table(name):
        writer.execute(create_table(name, writer.dialect.types, LAYOUT))
