"""How much a tenant has."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from tidelake.catalog.batches import batches
from tidelake.catalog.database.database import Reader
from tidelake.model.namespace import Namespace

_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Usage:
    """Files and bytes of all snapshots that are kept."""

    files: int
    bytes: int


def every_table(reader: Reader, namespace: Namespace) -> list[int]:
    """The ids of all tables that are or were in a namespace, as long as a snapshot has them."""
    rows = reader.rows(
        "SELECT DISTINCT t.table_id, s.schema_name FROM ducklake_table t"
        " JOIN ducklake_schema s ON s.schema_id = t.schema_id"
    )
    return sorted({row[0] for row in rows if namespace.holds(row[1])})


def usage_of(reader: Reader, tables: Collection[int]) -> Usage:
    """What all files of these tables come to."""
    files = size = 0
    for some in batches(sorted(tables), _AT_ONCE):
        listed = ", ".join(map(str, some))
        for kind in ("ducklake_data_file", "ducklake_delete_file"):
            ((count, total),) = reader.rows(
                f"SELECT count(*), coalesce(sum(file_size_bytes), 0) FROM {kind}"
                f" WHERE table_id IN ({listed})"
            )
            files, size = files + int(count), size + int(total)
    return Usage(files, size)
