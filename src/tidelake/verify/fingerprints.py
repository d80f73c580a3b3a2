"""Fingerprints that earlier runs have kept."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import UTC, datetime

from tidelake.catalog import own_tables
from tidelake.catalog.database.database import Reader, Writer
from tidelake.catalog.own_tables import OwnTable
from tidelake.catalog.read.snapshots import as_instant
from tidelake.verify.values import Fingerprint

TABLE = "tidelake_fingerprint"
own_tables.know(
    {
        TABLE: OwnTable(
            "table_id int!, snapshot_id int!, row_count int, content_hash text, made_at time",
            needed="table_id snapshot_id row_count content_hash made_at",
            wall="nobody",
        )
    }
)
_COLUMNS = ("table_id", "snapshot_id", "row_count", "content_hash", "made_at")


def every(reader: Reader) -> list[Fingerprint]:
    if not reader.has_table(TABLE):
        return []
    rows = reader.rows(
        f"SELECT table_id, snapshot_id, row_count, content_hash FROM {TABLE}"
        " ORDER BY table_id, snapshot_id"
    )
    return [Fingerprint(*row) for row in rows]


def newest_runs(reader: Reader, limit: int) -> list[tuple[datetime, int]]:
    """When fingerprints were kept, newest first, and of how many past states."""
    if not reader.has_table(TABLE):
        return []
    made = reader.dialect.instant.format("made_at")
    rows = reader.rows(
        f"SELECT {made}, count(*) FROM {TABLE} GROUP BY made_at"
        f" ORDER BY made_at DESC LIMIT {int(limit)}"
    )
    return [(as_instant(row[0]), int(row[1])) for row in rows]


def add(writer: Writer, fingerprints: Iterable[Fingerprint]) -> None:
    """Keep those that are new. Those of expired snapshots stay: they hold until the next."""
    own_tables.ensure(writer, TABLE)
    known = {(each.table_id, each.snapshot_id) for each in every(writer)}
    now = writer.dialect.moment(datetime.now(UTC))
    values = [
        (each.table_id, each.snapshot_id, each.rows, each.content_hash, now)
        for each in fingerprints
        if (each.table_id, each.snapshot_id) not in known
    ]
    writer.insert_values(TABLE, _COLUMNS, values)


def of_table(reader: Reader, table_id: int) -> list[Fingerprint]:
    """Those of one table, in the order of snapshots."""
    return [each for each in every(reader) if each.table_id == table_id]


def rebase(writer: Writer, table_id: int, fingerprints: Iterable[Fingerprint]) -> None:
    """Keep these of a table, in place of all that were kept. Requires: some are."""
    forget(writer, "table_id", [table_id])
    add(writer, fingerprints)


def forget(writer: Writer, column: str, ids: Collection[int]) -> None:
    """Strike off those of tables, or of snapshots, that go."""
    if ids and writer.has_table(TABLE):
        listed = ", ".join(map(str, ids))
        writer.execute(f"DELETE FROM {TABLE} WHERE {column} IN ({listed})")


def snapshots_gone(reader: Reader) -> list[int]:
    """Snapshots of which there are fingerprints, though they have gone."""
    if not reader.has_table(TABLE):
        return []
    held = {row[0] for row in reader.rows(f"SELECT DISTINCT snapshot_id FROM {TABLE}")}
    if held:
        held -= {row[0] for row in reader.rows("SELECT snapshot_id FROM ducklake_snapshot")}
    return sorted(held)
