"""What was declared of a table over time: every snapshot at which it became something else."""

from __future__ import annotations

from dataclasses import dataclass

from tidelake.catalog.database.database import Reader
from tidelake.catalog.read import tables as read
from tidelake.errors import NotFound
from tidelake.history.declared_diff import declared_differences
from tidelake.history.values_diff import Difference
from tidelake.model.table import TableInfo
from tidelake.session.source import Source

_VERSIONED = (
    "ducklake_table",
    "ducklake_column",
    "ducklake_partition_info",
    "ducklake_sort_info",
)


@dataclass(frozen=True, slots=True)
class SchemaStep:
    """What a snapshot declared otherwise, also if it has been expired since."""

    snapshot_id: int
    differences: tuple[Difference, ...]


def schema_steps(source: Source) -> list[SchemaStep]:
    """All of them up to the table's moment of knowing, oldest first."""
    with source.session.reading() as reader:
        at = source.at(reader)
        table_id = source.info(reader, at).id
        found = []
        before: TableInfo | None = None
        for edge in _edges(reader, table_id, at):
            now = _declared(reader, edge, table_id, source.session.data_path)
            if differences := declared_differences(before, now):
                found.append(SchemaStep(edge, differences))
            before = now
    return found


def _edges(reader: Reader, table_id: int, at: int) -> list[int]:
    """Snapshots at which something that is declared began or ended."""
    edges: set[int] = set()
    owned = [(name, "table_id") for name in _VERSIONED] + [("ducklake_tag", "object_id")]
    for name, owner in owned:
        rows = reader.rows(
            f"SELECT begin_snapshot, end_snapshot FROM {name} WHERE {owner} = :id", id=table_id
        )
        edges |= {int(edge) for row in rows for edge in row if edge is not None}
    return sorted(edge for edge in edges if edge <= at)


def _declared(reader: Reader, at: int, table_id: int, data_path: str) -> TableInfo | None:
    try:
        return read.table(reader, at, table_id, data_path)
    except NotFound:
        return None
