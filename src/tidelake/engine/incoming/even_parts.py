"""Arrow data in parts that DuckDB's writer makes row groups of as they are."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from tidelake.plan.target import GROUP_ROWS

if TYPE_CHECKING:
    import pyarrow as pa

_ALIGNED = 8
"""So many rows have a whole byte of bits."""


def even_parts(table: pa.Table) -> pa.RecordBatchReader:
    """The same rows, in as many parts as a file of them has row groups, unless they are in many
    pieces already.

    DuckDB's threads read a part each, and begin to write its row group when they have read it, if
    the parts before have been read: so none is longer than the one after it, but for a few rows.
    Of parts with other sizes it copies the rows to make row groups, in one thread.
    """
    rows = table.num_rows
    groups = -(-rows // GROUP_ROWS)
    if groups < 2 or any(column.num_chunks > groups // 2 for column in table.columns):
        return table.to_reader(GROUP_ROWS)
    import pyarrow as pa

    ends = [rows * n // groups // _ALIGNED * _ALIGNED for n in range(groups)] + [rows]
    parts = [table.slice(begin, end - begin).combine_chunks() for begin, end in pairwise(ends)]
    return pa.concat_tables(parts).to_reader()
