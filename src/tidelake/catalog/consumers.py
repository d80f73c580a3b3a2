"""Consumers of the lake's changes: how far each has come, and who holds it."""

from __future__ import annotations

from tidelake.catalog.database import Reader, Row
from tidelake.catalog.snapshots import as_instant
from tidelake.model.consumer import ConsumerState

TABLE = "tidelake_consumer"


def every(reader: Reader) -> list[ConsumerState]:
    if not reader.has_table(TABLE):
        return []
    return [_state(row) for row in reader.rows(f"{_select(reader)} ORDER BY consumer_name")]


def _select(reader: Reader) -> str:
    until = reader.dialect.instant.format("lease_until")
    return f"SELECT consumer_name, snapshot_id, owner, {until} FROM {TABLE}"


def _state(row: Row) -> ConsumerState:
    name, at, owner, until = row
    return ConsumerState(name, at, owner, None if until is None else as_instant(until))
