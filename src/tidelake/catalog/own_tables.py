"""Tables for what DuckLake has no place for, made when the first row comes to them.

A table that is not there is empty. Dropping them all leaves the lake whole.
"""

from __future__ import annotations

from datetime import UTC, datetime

from tidelake.catalog import cells
from tidelake.catalog.database.database import Reader, Writer
from tidelake.catalog.layout import create_table
from tidelake.catalog.read.snapshots import as_instant

LAYOUT: dict[str, str] = {
    "tidelake_tag": "tag_name name!, snapshot_id int, created_at time, author text, message text",
    "tidelake_consumer": (
        "consumer_name name!, snapshot_id int, owner text, lease_until time, updated_at time"
    ),
    "tidelake_fingerprint": (
        "table_id int!, snapshot_id int!, row_count int, content_hash text, made_at time"
    ),
    "tidelake_rollup": (
        "rollup_id int!, table_id int, as_of int, snapshot_id int, valid_through int,"
        " next_row_id int, next_file_id int, settings text, lacks text, record_count int,"
        " file_size_bytes int, made_at time"
    ),
    "tidelake_rollup_file": (
        "rollup_id int!, file_index int!, table_id int, path text, path_is_relative bool,"
        " record_count int, file_size_bytes int, footer_size int, ended_at time"
    ),
    "tidelake_mirror": (
        "table_id int!, delta_id text, root text, status text, reason text, snapshot_id int,"
        " version int, published int, checkpoint int, committed_at int, file_count int,"
        " protocol text, metadata text"
    ),
    "tidelake_mirror_count": "table_id int!, publishes int, publish_ms int, failures int",
    "tidelake_mirror_commit": (
        "table_id int!, version int!, snapshot_id int, committed_at int, digest text, content blob"
    ),
    "tidelake_mirror_file": (
        "table_id int!, data_file_id int!, removed_at int!, path text, size int, modified int,"
        " stats text, first_row int, copied text, vector text"
    ),
    "tidelake_import": (
        "table_id int!, root text, delta_id text, version int, snapshot_id int, next_file_id int,"
        " committed_at int, columns text"
    ),
    "tidelake_import_file": "table_id int!, data_file_id int!, source text, vector text",
    "tidelake_registered_file": (
        "data_file_id int!, table_id int, path text, path_is_relative bool, taken_over bool"
    ),
    "tidelake_coverage": (
        "table_id int!, series int!, entity_hash int!, data_file_id int!, part int!,"
        " begin_snapshot int, end_snapshot int, first_bucket int, last_bucket int,"
        " bucket_count int, entity text, buckets blob"
    ),
    "tidelake_coverage_file": (
        "table_id int!, series int!, data_file_id int!, deleted_through int"
    ),
}
cells.know(LAYOUT)
INDEXES: dict[str, tuple[str, str]] = {
    "tidelake_coverage": ("tidelake_coverage_of_file", "table_id, data_file_id"),
}
"""What else a table is looked up by."""


def ensure(writer: Writer, name: str) -> None:
    """Make the table if it is not there. Call it before anything is written: MySQL commits
    what has been written until then."""
    if not writer.has_table(name):
        writer.execute(create_table(name, writer.dialect.types, LAYOUT))
        if name in INDEXES:
            index, columns = INDEXES[name]
            writer.execute(f"CREATE INDEX {index} ON {name} ({columns})")


def clock(reader: Reader) -> datetime:
    """The server's, so that all go by one; the computer's where the catalog is a file."""
    spelled = reader.dialect.clock
    row = reader.row(f"SELECT {spelled}") if spelled else None
    return as_instant(row[0]) if row else datetime.now(UTC)
