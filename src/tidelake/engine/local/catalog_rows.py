"""Rows that the catalog keeps, as a relation of DuckDB: columns c0 (row id), c1 (snapshot), …"""

from __future__ import annotations

import json
from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tidelake.errors import Corrupt
from tidelake.model.file import Cells, GatheredRows, PackedColumn, PackedRows
from tidelake.model.names import text_literal

if TYPE_CHECKING:
    import pyarrow as pa


def gathered_sql(source: str, width: int) -> str:
    """Such a relation of what `gathered_parts` has made: values of so many columns."""
    ids, snapshots = "from_json(c0, '[\"BIGINT\"]')", "from_json(c1, '[\"BIGINT\"]')"
    following = "range(CAST(c0 AS BIGINT), CAST(c0 AS BIGINT) + count)"
    same = "repeat([CAST(c1 AS BIGINT)], count)"
    lists = [
        f"CASE WHEN c0 LIKE '[%' THEN {ids} ELSE {following} END",
        f"CASE WHEN c1 LIKE '[%' THEN {snapshots} ELSE {same} END",
        *(f"from_json(c{n}, '[\"VARCHAR\"]')" for n in range(2, width)),
    ]
    values = (f"unnest({each}) AS c{n}" for n, each in enumerate(lists))
    return f"SELECT {', '.join(values)} FROM {source}"


def gathered_parts(rows: GatheredRows) -> pa.Table:
    """A batch for each part, so that threads share them; of one row, in which the columns are the
    JSON that they were gathered in."""
    import pyarrow as pa

    batches = []
    for part in rows.parts:
        texts = [_one_text(text) for text in (part.row_ids, part.snapshots, *part.texts)]
        count = pa.Array.from_buffers(pa.int64(), 1, [None, pa.py_buffer(array("q", [part.count]))])
        names = ["count", *(f"c{n}" for n in range(len(texts)))]
        batches.append(pa.RecordBatch.from_arrays([count, *texts], names))
    return pa.Table.from_batches(batches)


def _one_text(text: str) -> pa.Array:
    """Without pyarrow's way from Python's values, which imports pandas if there is one."""
    import pyarrow as pa

    data = text.encode()
    ends = pa.py_buffer(array("i", [0, len(data)]))
    return pa.Array.from_buffers(pa.string(), 1, [None, ends, pa.py_buffer(data)])


def small_table(name: str, columns: Sequence[Cells]) -> str:
    """Makes such a relation of the values themselves."""
    values = ", ".join(f"{_unnested(cells)} AS c{n}" for n, cells in enumerate(columns))
    return f"CREATE TEMP TABLE {name} AS SELECT {values}"


def arrow_table(columns: Sequence[Cells]) -> pa.Table:
    import pyarrow as pa

    types = {int: pa.int64(), bytes: pa.binary()}
    arrays = [pa.array(cells, types.get(_kind(cells), pa.string())) for cells in columns]
    return pa.table(arrays, [f"c{n}" for n in range(len(arrays))])


def packed_table(rows: PackedRows) -> pa.Table:
    """In the order of the row ids. Corrupt if a text is no UTF-8."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        arrays = [_unpacked(column) for column in rows.columns]
    except pa.ArrowInvalid as error:
        raise Corrupt(
            f"a row that the catalog keeps has a text that cannot be read: {error}",
            hint="`tidelake verify` tells what is wrong; restore the catalog from a backup",
        ) from error
    table = pa.table(arrays, [f"c{n}" for n in range(len(arrays))])
    ids = arrays[0]
    in_order = pc.all(pc.less_equal(ids[:-1], ids[1:])).as_py()
    return table if in_order else table.sort_by("c0")


def _unpacked(column: PackedColumn) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    if column.is_whole:
        numbers = column.numbers()
        found = pa.Array.from_buffers(pa.int64(), len(numbers), [None, pa.py_buffer(numbers)])
        if column.told is None:
            return found
        missing = pa.array(map("1".__eq__, str(column.told)), pa.bool_())
        return pc.if_else(missing, pa.scalar(None, pa.int64()), found)
    if column.told is None:
        lines = pc.split_pattern(pa.array([column.values]), "\n").flatten()
        return pc.if_else(pc.equal(lines, ""), pa.scalar(None, pa.string()), lines)
    return _texts(column)


def _texts(column: PackedColumn) -> pa.Array:
    """Of any length. Those that are there have one that is not negative."""
    import pyarrow as pa
    import pyarrow.compute as pc

    lengths = column.lengths()
    sizes = pa.Array.from_buffers(pa.int32(), len(lengths), [None, pa.py_buffer(lengths)])
    ends = pc.cumulative_sum(pc.max_element_wise(sizes, pa.scalar(0, pa.int32())))
    starts = pa.concat_arrays([pa.array([0], pa.int32()), ends.cast(pa.int32())])
    there = pc.greater_equal(sizes, 0).buffers()[1]
    buffers = [there, starts.buffers()[1], pa.py_buffer(column.data)]
    found = pa.Array.from_buffers(pa.string(), len(lengths), buffers)
    found.validate(full=True)
    return found


def _kind(cells: Cells) -> type:
    """The one type that a column has."""
    return next((type(cell) for cell in cells if cell is not None), str)


def _unnested(cells: Cells) -> str:
    kind = _kind(cells)
    said = json.dumps([cell.hex() if isinstance(cell, bytes) else cell for cell in cells])
    listed = "BIGINT" if kind is int else "VARCHAR"
    values = f"unnest(from_json({text_literal(said)}, '[\"{listed}\"]'))"
    return f"unhex({values})" if kind is bytes else values
