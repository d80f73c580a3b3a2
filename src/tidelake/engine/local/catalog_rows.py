"""Rows that the catalog keeps, as a relation of DuckDB: columns c0 (row id), c1 (snapshot), …"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tidelake.model.file import Cells
from tidelake.model.names import text_literal

if TYPE_CHECKING:
    import pyarrow as pa


def gathered_table(name: str, width: int) -> str:
    """Makes such a relation of the parts that rows were gathered in, a parameter for each column:
    a list of JSON arrays."""
    parts = ", ".join(f"unnest(?::VARCHAR[]) AS c{n}" for n in range(width))
    kinds = [*["BIGINT"] * 2, *["VARCHAR"] * (width - 2)]
    values = (f"unnest(from_json(c{n}, '[\"{kind}\"]')) AS c{n}" for n, kind in enumerate(kinds))
    return f"CREATE TEMP TABLE {name} AS SELECT {', '.join(values)} FROM (SELECT {parts})"


def small_table(name: str, columns: Sequence[Cells]) -> str:
    """Makes such a relation of the values themselves."""
    values = ", ".join(f"{_unnested(cells)} AS c{n}" for n, cells in enumerate(columns))
    return f"CREATE TEMP TABLE {name} AS SELECT {values}"


def arrow_table(columns: Sequence[Cells]) -> pa.Table:
    import pyarrow as pa

    types = {int: pa.int64(), bytes: pa.binary()}
    arrays = [pa.array(cells, types.get(_kind(cells), pa.string())) for cells in columns]
    return pa.table(arrays, [f"c{n}" for n in range(len(arrays))])


def _kind(cells: Cells) -> type:
    """The one type that a column has."""
    return next((type(cell) for cell in cells if cell is not None), str)


def _unnested(cells: Cells) -> str:
    kind = _kind(cells)
    said = json.dumps([cell.hex() if isinstance(cell, bytes) else cell for cell in cells])
    listed = "BIGINT" if kind is int else "VARCHAR"
    values = f"unnest(from_json({text_literal(said)}, '[\"{listed}\"]'))"
    return f"unhex({values})" if kind is bytes else values
