"""What a table holds, for comparing with what it holds later."""

from typing import Any

import tidelake


def state(table: tidelake.Table) -> list[tuple[Any, ...]]:
    """All rows with their ids; floats as text, which tells 0.0 from -0.0."""
    names = [*table.schema.names, "rowid"]
    rows = table.scan(columns=names).to_arrow().to_pylist()
    return sorted(tuple(str(row[name]) for name in names) for row in rows)
