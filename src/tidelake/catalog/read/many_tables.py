"""The same of many tables at once, in few queries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection

from tidelake.catalog.batches import batches
from tidelake.catalog.database.database import Reader, Row
from tidelake.catalog.read.tables import COLUMN, column_trees, visible
from tidelake.model.schema import Column

_AT_ONCE = 500


def columns(reader: Reader, at: int, tables: Collection[int]) -> dict[int, tuple[Column, ...]]:
    """The columns of these tables at a snapshot, without their comments."""
    found: dict[int, list[Row]] = defaultdict(list)
    asked = COLUMN.replace(" FROM ducklake_column", ", table_id FROM ducklake_column")
    for some in batches(sorted(tables), _AT_ONCE):
        listed = ", ".join(map(str, some))
        rows = reader.rows(
            f"{asked} WHERE table_id IN ({listed}) AND {visible()}"
            " ORDER BY column_order, column_id",
            at=at,
        )
        for row in rows:
            found[row[-1]].append(row)
    return {table_id: column_trees(rows, {}, table_id) for table_id, rows in found.items()}
