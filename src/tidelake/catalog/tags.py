"""Tags on snapshots."""

from __future__ import annotations

from tidelake.catalog.database import Reader
from tidelake.catalog.snapshots import as_instant
from tidelake.model.tag import Tag

TABLE = "tidelake_tag"


def every(reader: Reader) -> list[Tag]:
    """All tags, by snapshot."""
    if not reader.has_table(TABLE):
        return []
    moment = reader.dialect.instant.format("created_at")
    rows = reader.rows(
        f"SELECT tag_name, snapshot_id, {moment}, author, message FROM {TABLE}"
        " ORDER BY snapshot_id, tag_name"
    )
    return [Tag(name, at, as_instant(made), *rest) for name, at, made, *rest in rows]
