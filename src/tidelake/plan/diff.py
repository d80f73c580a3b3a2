"""Net differences of rows between two snapshots, as a plan and SQL: by row id, then by value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tidelake.model.diff import FileDifference
from tidelake.model.file import DataFile, InlinedRows
from tidelake.model.names import quote
from tidelake.model.schema import ROW_FILE, ROW_NUMBER, ROW_POSITION, Column
from tidelake.plan.difference import values_differ
from tidelake.plan.scan import ScanPlan

BEFORE, AFTER, UPDATED = "_tidelake_before", "_tidelake_after", "_tidelake_updated"
DIFF_LINEAGE = (ROW_NUMBER, ROW_FILE, ROW_POSITION)
_A, _B, _C, _D = "_tidelake_a", "_tidelake_b", "_tidelake_c", "_tidelake_d"


@dataclass(frozen=True, slots=True)
class DiffPlan:
    """Reads of what may differ, at one snapshot and at the other, in the same columns."""

    columns: tuple[Column, ...]
    before: ScanPlan
    after: ScanPlan

    @property
    def has_rows(self) -> bool:
        return any(plan.files or plan.inlined for plan in (self.before, self.after))

    @property
    def files(self) -> list[DataFile]:
        """The data files that are read."""
        found = {file.id: file for plan in (self.before, self.after) for file in plan.files}
        return [found[file_id] for file_id in sorted(found)]


def without_common(one: ScanPlan, other: ScanPlan) -> ScanPlan:
    """Without the catalog's rows that another read has as well."""
    common = {(part.columns, row) for part in other.inlined for row in part.rows}
    parts = (
        InlinedRows(
            part.columns, tuple(row for row in part.rows if (part.columns, row) not in common)
        )
        for part in one.inlined
    )
    return replace(one, inlined=tuple(part for part in parts if part.rows))


def file_difference(touched: Sequence[DataFile], before: int, after: int) -> FileDifference:
    added = [f for f in touched if f.is_visible_at(after) and not f.is_visible_at(before)]
    removed = [f for f in touched if f.is_visible_at(before) and not f.is_visible_at(after)]
    return FileDifference(
        len(added),
        sum(file.bytes for file in added),
        len(removed),
        sum(file.bytes for file in removed),
    )


def updated_sql(columns: Sequence[Column]) -> str:
    """Ids of rows that both have, elsewhere and with other values."""
    names = [(column, f"{_A}_{n}", f"{_B}_{n}") for n, column in enumerate(columns)]
    both = "".join(
        f"{_A}.{quote(column.name)} AS {one}, {_B}.{quote(column.name)} AS {other}, "
        for column, one, other in names
    )
    unlike = " OR ".join(values_differ(*each) for each in names)
    return (
        f"SELECT {ROW_NUMBER} FROM (SELECT {both}{_A}.{ROW_NUMBER} FROM {BEFORE} AS {_A}"
        f" JOIN {AFTER} AS {_B} ON {_A}.{ROW_NUMBER} = {_B}.{ROW_NUMBER}"
        f" WHERE {_A}.{ROW_FILE} IS NULL OR {_B}.{ROW_FILE} IS NULL"
        f" OR {_A}.{ROW_FILE} <> {_B}.{ROW_FILE} OR {_A}.{ROW_POSITION} <> {_B}.{ROW_POSITION}"
        f") AS {_C} WHERE {unlike}"
    )


def rows_sql(columns: Sequence[Column], names: tuple[str, str]) -> str:
    """The rows that differ. `names` are those of the row id and of the kind of difference."""
    row_id, kind = map(quote, names)
    parts = (
        (BEFORE, AFTER, "delete", "update_preimage"),
        (AFTER, BEFORE, "insert", "update_postimage"),
    )
    return " UNION ALL ".join(
        f"SELECT {_A}.{ROW_NUMBER} AS {row_id},"
        f" CASE WHEN {_B}.{ROW_NUMBER} IS NULL THEN '{alone}' ELSE '{paired}' END AS {kind}"
        + "".join(f", {_A}.{quote(column.name)}" for column in columns)
        + f" FROM {these} AS {_A} LEFT JOIN (SELECT {ROW_NUMBER} FROM {others}) AS {_B}"
        f" ON {_A}.{ROW_NUMBER} = {_B}.{ROW_NUMBER}"
        f" LEFT JOIN {UPDATED} AS {_D} ON {_A}.{ROW_NUMBER} = {_D}.{ROW_NUMBER}"
        f" WHERE {_B}.{ROW_NUMBER} IS NULL OR {_D}.{ROW_NUMBER} IS NOT NULL"
        for these, others, alone, paired in parts
    )
