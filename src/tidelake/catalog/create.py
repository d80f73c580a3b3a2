"""Make a new, empty lake that DuckDB attaches without complaint."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime

from tidelake.catalog.database.database import Database, Reader, Writer
from tidelake.catalog.layout import (
    COVERING_INDEXES,
    INDEXES,
    OWN_TABLES,
    TABLES,
    VERSION,
    create_table,
)
from tidelake.errors import Unavailable
from tidelake.model.names import quote

CREATED_BY = "Tidelake"


def is_lake(reader: Reader) -> bool:
    """Whether a finished lake is there. The version row is written last of all."""
    if not reader.has_table("ducklake_metadata"):
        return False
    rows = reader.rows("SELECT 1 FROM ducklake_metadata WHERE \"key\" = 'version'")
    return bool(rows)


def create_lake(database: Database, data_path: str) -> None:
    """Write the 28 tables, snapshot 0 and the schema `main`. `data_path` ends in a slash.

    Several may try at once: one makes the lake, the others find it made. MySQL commits after
    every CREATE, so there a creation that was cut off is taken up again where it stopped.
    """
    _create_home(database)
    with database.writing() as writer:
        if is_lake(writer):
            return
        _create_tables(writer, [*TABLES, *OWN_TABLES])
        _create_indexes(writer)
        _first_rows(writer, data_path)


def _create_home(database: Database) -> None:
    """The schema of the database that the address names, as DuckDB does."""
    schema, exists = database.url.schema, database.dialect.schema_exists
    if schema is None or exists is None:
        return
    try:
        with database.writing() as writer:
            if writer.row(exists, name=schema) is None:
                writer.execute(f"CREATE SCHEMA {quote(schema)}")
    except Unavailable as error:
        if not error.passing:
            raise


def equip(database: Database) -> None:
    """Give a lake that somebody else made our own tables and indexes."""
    with database.writing() as writer:
        _create_tables(writer, [*OWN_TABLES])
        _create_indexes(writer)


def _create_tables(writer: Writer, names: list[str]) -> None:
    for name in names:
        if not writer.has_table(name):
            writer.execute(create_table(name, writer.dialect.types))


def _create_indexes(writer: Writer) -> None:
    indexes = COVERING_INDEXES if writer.dialect.indexes_long_text else INDEXES
    for name, (table, columns) in indexes.items():
        if not writer.has_index(name):
            writer.execute(f'CREATE INDEX "{name}" ON "{table}" ({columns})')


def _first_rows(writer: Writer, data_path: str) -> None:
    writer.insert(
        "ducklake_snapshot",
        [
            {
                "snapshot_id": 0,
                "snapshot_time": writer.dialect.moment(datetime.now(UTC)),
                "schema_version": 0,
                "next_catalog_id": 1,
                "next_file_id": 0,
            }
        ],
    )
    changes = {"snapshot_id": 0, "changes_made": 'created_schema:"main"'}
    writer.insert("ducklake_snapshot_changes", [changes])
    writer.insert(
        "ducklake_schema",
        [
            {
                "schema_id": 0,
                "schema_uuid": str(uuid.uuid4()),
                "begin_snapshot": 0,
                "schema_name": "main",
                "path": "main/",
                "path_is_relative": True,
            }
        ],
    )
    options = {
        "version": VERSION,
        "created_by": CREATED_BY,
        "data_path": data_path,
        "encrypted": "false",
    }
    writer.insert("ducklake_metadata", [{"key": k, "value": v} for k, v in options.items()])
