"""Values that are made to look computed, so that a condition is not for DuckDB's Parquet reader,
which would lose rows by it."""

from __future__ import annotations

from collections.abc import Sequence

from tidelake.model.file import DataFile
from tidelake.model.ownership import is_marked
from tidelake.model.schema import Column
from tidelake.model.types import FLOATS, INTEGERS, TIMESTAMPS
from tidelake.plan.scan import ScanPlan


def misled_files(plan: ScanPlan, files: Sequence[DataFile]) -> list[bool]:
    """Whether each of the files may have bloom filters of floats: files of ours have none. There
    0.0 and -0.0 differ, and so do a NaN and a NaN with a sign: one is not found as the other."""
    if all(column.type not in FLOATS for column in plan.columns):
        return [False] * len(files)
    return [file.mapping_id is not None or not is_marked(file.path) for file in files]


def seekable_sql(column: Column, value: str, *, misled: bool) -> str:
    """The value as conditions may look for it; `misled` if the file is. DuckDB looks for the text
    of a blob in bloom filters, which hold its bytes, and misses it; joined to others, a NULL of its
    would have no type."""
    if column.type == "blob":
        return f"CAST({value} || ''::BLOB AS BLOB)"
    return _computed(value) if misled and column.type in FLOATS else value


def exact_sql(plan: ScanPlan, column: Column, value: str) -> str:
    """Where a file has a narrower type, DuckDB rounds to it what a column is compared with: 0.4
    would find a whole 0. Of columns that were not there from the beginning the former types may
    have been forgotten."""
    former = {kind for below in column.walk() for kind in plan.former_types.get(below.id, ())}
    if former:
        is_doubtful = not former | {column.type} <= INTEGERS
    else:
        rounds = column.type in FLOATS | TIMESTAMPS or column.type.startswith("decimal")
        is_doubtful = rounds and column not in plan.original
    return _computed(value) if is_doubtful else value


def _computed(value: str) -> str:
    return f"CASE WHEN f.file_row_number >= 0 THEN {value} END"
