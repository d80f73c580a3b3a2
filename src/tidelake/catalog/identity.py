"""Which lake this is, so that its data path can say so."""

from __future__ import annotations

import uuid

from tidelake.catalog.database.database import Reader, Writer

ID = "tidelake.lake_id"
MARKED = "tidelake.marked_path"
"""The data path that bears a mark of this lake."""


def lake_id(reader: Reader) -> str | None:
    """The id that was given to the lake, else that of its first schema: a backup of the catalog
    from before has the same."""
    if (kept := _value(reader, ID)) is not None:
        return kept
    row = reader.row("SELECT schema_uuid FROM ducklake_schema WHERE schema_id = 0")
    return str(row[0]) if row and row[0] else None


def marked_path(reader: Reader) -> str | None:
    return _value(reader, MARKED)


def settle(writer: Writer) -> str:
    """The lake's id, from now on for ever."""
    if (kept := _value(writer, ID)) is not None:
        return kept
    found = lake_id(writer) or str(uuid.uuid4())
    _put(writer, ID, found)
    return found


def renew(writer: Writer, lake_id: str) -> None:
    """Another lake from now on, whose data path bears no mark yet."""
    _put(writer, ID, lake_id)
    writer.execute('DELETE FROM ducklake_metadata WHERE "key" = :key', key=MARKED)


def mark(writer: Writer, data_path: str) -> None:
    _put(writer, MARKED, data_path)


def _value(reader: Reader, key: str) -> str | None:
    row = reader.row(
        'SELECT "value" FROM ducklake_metadata WHERE "key" = :key AND "scope" IS NULL', key=key
    )
    return str(row[0]) if row else None


def _put(writer: Writer, key: str, value: str) -> None:
    writer.execute('DELETE FROM ducklake_metadata WHERE "key" = :key', key=key)
    writer.insert("ducklake_metadata", [{"key": key, "value": value}])
