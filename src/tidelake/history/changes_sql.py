"""The change feed as a plan and SQL: which rows came, which went, and which of them are one row.

Rows come with the files and catalog rows that begin in the window, by the snapshot that each row
carries. They go where a delete file, the catalog or the end of their file says so. A row that goes
and comes in the same snapshot was updated. What compaction moves neither comes nor goes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from tidelake.model.file import DataFile, DeleteFile, InlinedRows
from tidelake.model.names import TableName, fold, quote
from tidelake.model.schema import ROW_BEGAN, ROW_ENDED, ROW_FILE, ROW_NUMBER, ROW_POSITION, Column
from tidelake.plan.differs import values_differ
from tidelake.plan.scan import ScanPlan

CAME_FROM, WENT_FROM, BASE = "_tidelake_came_from", "_tidelake_went_from", "_tidelake_base"
CAME, WENT, GONE = "_tidelake_came", "_tidelake_went", "_tidelake_gone"
WENT_BY, SOONER = "_tidelake_went_by", "_tidelake_sooner"
SAME, TIMES = "_tidelake_same", "_tidelake_times"
AT = "_tidelake_at"
_TIME = "_tidelake_time"
_ONCE = "_tidelake_once"
_KIND = "_tidelake_kind"
_A, _B, _C, _D = "_tidelake_a", "_tidelake_b", "_tidelake_c", "_tidelake_d"

CAME_LINEAGE = (ROW_NUMBER, ROW_BEGAN)
PLACE_LINEAGE = (ROW_FILE, ROW_POSITION)
WENT_LINEAGE = (ROW_NUMBER, ROW_BEGAN, ROW_FILE, ROW_POSITION, ROW_ENDED)


@dataclass(frozen=True, slots=True)
class Window:
    """After one snapshot and up to another. `next_file` is the first file id that was free at
    the former. `rewritten`: snapshots that only moved rows into other files; `unknown`: snapshots
    that may only have moved rows, too, which the rows themselves must tell: they have been expired,
    or the one before them has, and with it the files that they moved rows from."""

    after: int
    until: int
    next_file: int = 0
    rewritten: frozenset[int] = frozenset()
    unknown: frozenset[int] = frozenset()

    def holds(self, snapshot_id: int | None) -> bool:
        return snapshot_id is not None and self.after < snapshot_id <= self.until

    def may_hold(self, delete: DeleteFile) -> bool:
        """Whether some of the deletes may be of the window. A file that had its id before the
        window holds none, whatever else it says."""
        is_new = delete.begin_snapshot > self.after or delete.id >= self.next_file
        return is_new and delete.begin_snapshot <= self.until


@dataclass(frozen=True, slots=True)
class ChangePlan:
    """A complete description of one read of a table's changes.

    `came` and `went` read the rows that may have come and gone, `base` those that count as
    having come because nothing older is left; `lives` are files whose deletes must be looked at.
    `times` are the snapshots and their times. Where one job has the relations of several, they have
    a `suffix`.
    """

    window: Window
    columns: tuple[Column, ...]
    came: ScanPlan
    went: ScanPlan
    lives: tuple[DataFile, ...]
    base: ScanPlan | None
    times: ScanPlan
    suffix: str = ""

    def named(self, relation: str) -> str:
        """What a relation of the plan is called in its job."""
        return f"{relation}{self.suffix}"

    @property
    def brings_unborn(self) -> bool:
        """Whether some rows may have come and gone in one snapshot, which nobody ever saw: what a
        transaction of DuckDB writes and deletes again is in its files all the same."""
        return any(map(_may_have_unborn, self.lives))

    @property
    def gains(self) -> bool:
        return bool(self.came.files or self.came.inlined)

    @property
    def loses(self) -> bool:
        return bool(self.went.files or self.went.inlined)

    @property
    def files(self) -> list[DataFile]:
        """The data files that are read."""
        plans = [self.came, self.went, *([self.base] if self.base else [])]
        found = {file.id: file for plan in plans for file in plan.files}
        return [found[file_id] for file_id in sorted(found)]


def _may_have_unborn(file: DataFile) -> bool:
    newest = max(file.begin_snapshot, file.partial_max or 0)
    deleted = (*(delete.begin_snapshot for delete in file.deletes), *file.deleted_at)
    return any(at <= newest for at in deleted)


def files_that_gained(files: Iterable[DataFile], window: Window) -> list[DataFile]:
    """Files in which rows of the window may have begun."""
    return [
        file
        for file in files
        if (window.holds(file.begin_snapshot) and file.begin_snapshot not in window.rewritten)
        or (file.partial_max or 0) > window.after
    ]


def files_that_lost(files: Iterable[DataFile], window: Window) -> list[DataFile]:
    """Files from which rows may have gone in the window."""
    return [
        file
        for file in files
        if (window.holds(file.end_snapshot) and file.end_snapshot not in window.rewritten)
        or any(map(window.may_hold, file.deletes))
        or any(map(window.holds, file.deleted_at))
    ]


def times_plan(table: TableName, times: Iterable[tuple[int, datetime]]) -> ScanPlan:
    columns = (Column(1, AT, "int64"), Column(2, _TIME, "timestamptz"))
    rows = tuple((at, 0, str(at), time.isoformat()) for at, time in times)
    return ScanPlan(
        table, 0, columns, (AT, _TIME), inlined=(InlinedRows(columns, rows),) if rows else ()
    )


def came_sql(plan: ChangePlan) -> str:
    """Rows that came, each with its snapshot, but for those that were gone by then."""
    unborn, born = "", ""
    if plan.brings_unborn:
        unborn = (
            f" LEFT JOIN {plan.named(GONE)} AS {_B} ON {_A}.{ROW_FILE} = {_B}.{ROW_FILE}"
            f" AND {_A}.{ROW_POSITION} = {_B}.{ROW_POSITION}"
            f" AND {_B}.deleted_at <= {_A}.{ROW_BEGAN}"
        )
        born = f" AND {_B}.{ROW_FILE} IS NULL"
    return (
        f"SELECT {_names(plan.columns, _A)}{_A}.{ROW_NUMBER}, {_A}.{ROW_BEGAN} AS {AT}"
        f" FROM {plan.named(CAME_FROM)} AS {_A}{unborn}"
        f" WHERE {_inside(plan.window, f'{_A}.{ROW_BEGAN}')}{born}"
    )


def _inside(window: Window, at: str) -> str:
    moved = f" AND NOT {at} IN ({_listed(window.rewritten)})" if window.rewritten else ""
    return f"{at} > {window.after} AND {at} <= {window.until}{moved}"


def went_sql(plan: ChangePlan) -> str:
    """Rows that went, each with the snapshot at which it did. Rows of the catalog carry it."""
    end, deleted = f"{_A}.{ROW_ENDED}", f"{_B}.deleted_at"
    born = f" AND ({ROW_FILE} IS NULL OR {AT} > {ROW_BEGAN})" if plan.brings_unborn else ""
    place = f"{ROW_NUMBER}, {ROW_BEGAN}, {ROW_FILE}, {ROW_POSITION}"
    return (
        f"SELECT {_names(plan.columns)}{place}, {AT} FROM ("
        f"SELECT {_names(plan.columns, _A)}"
        f"{_A}.{ROW_NUMBER}, {_A}.{ROW_BEGAN}, {_A}.{ROW_FILE}, {_A}.{ROW_POSITION},"
        f" CASE WHEN {_A}.{ROW_FILE} IS NULL THEN {_A}.{ROW_BEGAN}"
        f" WHEN {deleted} IS NULL THEN {end}"
        f" WHEN {end} IS NULL OR {deleted} < {end} THEN {deleted} ELSE {end} END AS {AT}"
        f" FROM {plan.named(WENT_FROM)} AS {_A} LEFT JOIN {plan.named(GONE)} AS {_B}"
        f" ON {_A}.{ROW_FILE} = {_B}.{ROW_FILE} AND {_A}.{ROW_POSITION} = {_B}.{ROW_POSITION}"
        f") AS {_C} WHERE {_inside(plan.window, AT)}{born}"
    )


def sooner_sql(plan: ChangePlan) -> str:
    """When rows really went that seem to have gone with their file, at a snapshot of which
    nothing is known: what deleted them before has been expired too, but the row came back."""
    return (
        f"SELECT {_A}.{ROW_FILE}, {_A}.{ROW_POSITION}, min({_B}.{AT}) AS {AT}"
        f" FROM {plan.named(WENT_BY)} AS {_A} JOIN {plan.named(CAME)} AS {_B}"
        f" ON {_A}.{ROW_NUMBER} = {_B}.{ROW_NUMBER}"
        f" WHERE {_A}.{AT} IN ({_listed(plan.window.unknown)})"
        f" AND {_B}.{AT} > {_A}.{ROW_BEGAN} AND {_B}.{AT} < {_A}.{AT}"
        f" GROUP BY {_A}.{ROW_FILE}, {_A}.{ROW_POSITION}"
    )


def went_sooner_sql(plan: ChangePlan) -> str:
    return (
        f"SELECT {_names(plan.columns, _A)}{_A}.{ROW_NUMBER},"
        f" coalesce({_B}.{AT}, {_A}.{AT}) AS {AT} FROM {plan.named(WENT_BY)} AS {_A}"
        f" LEFT JOIN {plan.named(SOONER)} AS {_B}"
        f" ON {_A}.{ROW_FILE} = {_B}.{ROW_FILE} AND {_A}.{ROW_POSITION} = {_B}.{ROW_POSITION}"
    )


def same_sql(plan: ChangePlan) -> str:
    """Rows that went and came unchanged when nobody knows why: they were only moved."""
    names = [(column, f"{_A}_{n}", f"{_B}_{n}") for n, column in enumerate(plan.columns)]
    both = "".join(
        f"{_A}.{quote(column.name)} AS {one}, {_B}.{quote(column.name)} AS {other}, "
        for column, one, other in names
    )
    unlike = " OR ".join(values_differ(*each) for each in names)
    return (
        f"SELECT {ROW_NUMBER}, {AT} FROM (SELECT {both}{_A}.{ROW_NUMBER}, {_A}.{AT}"
        f" FROM {plan.named(CAME)} AS {_A} JOIN {plan.named(WENT)} AS {_B} ON {_on(_A, _B)}"
        f" WHERE {_A}.{AT} IN ({_listed(plan.window.unknown)})) AS {_C}"
        f" WHERE NOT ({unlike or 'FALSE'})"
    )


def feed_sql(plan: ChangePlan, names: Sequence[str]) -> str:
    """The feed. `names` are those of its own columns: snapshot, time, row id, kind of change."""
    pairs = plan.gains and plan.loses
    same = bool(plan.window.unknown) and pairs
    once = f"WITH {_ONCE} AS (SELECT * FROM {WENT}) " if pairs else ""
    went = _ONCE if pairs else WENT
    parts = [
        _part(plan, CAME, went if pairs else None, ("insert", "update_postimage"), same),
        _part(plan, went, CAME if pairs else None, ("delete", "update_preimage"), same),
    ]
    if plan.base is not None:
        parts.append(
            f"SELECT {_names(plan.columns)}{ROW_NUMBER}, {ROW_BEGAN} AS {AT}, 'insert' AS {_KIND}"
            f" FROM {BASE}"
        )
    at, time, row_id, kind = map(quote, names)
    united = " UNION ALL ".join(parts)
    listed = "".join(f", {_A}.{quote(column.name)}" for column in plan.columns)
    return (
        f"{once}SELECT {_A}.{AT} AS {at}, {_B}.{_TIME} AS {time}, {_A}.{ROW_NUMBER} AS {row_id},"
        f" {_A}.{_KIND} AS {kind}{listed} FROM ({united}) AS {_A}"
        f" LEFT JOIN {TIMES} AS {_B} ON {_A}.{AT} = {_B}.{AT}"
    )


def _part(
    plan: ChangePlan, these: str, others: str | None, kinds: tuple[str, str], same: bool
) -> str:
    alone, paired = kinds
    rows = f"SELECT {_names(plan.columns, _A)}{_A}.{ROW_NUMBER}, {_A}.{AT}"
    if others is None:
        return f"{rows}, '{alone}' AS {_KIND} FROM {these} AS {_A}"
    unmoved = f" LEFT JOIN {SAME} AS {_D} ON {_on(_A, _D)}" if same else ""
    where = f" WHERE {_D}.{ROW_NUMBER} IS NULL" if same else ""
    return (
        f"{rows}, CASE WHEN {_B}.{ROW_NUMBER} IS NULL THEN '{alone}' ELSE '{paired}' END AS {_KIND}"
        f" FROM {these} AS {_A} LEFT JOIN (SELECT {ROW_NUMBER}, {AT} FROM {others}) AS {_B}"
        f" ON {_on(_A, _B)}{unmoved}{where}"
    )


def _on(one: str, other: str) -> str:
    return f"{one}.{ROW_NUMBER} = {other}.{ROW_NUMBER} AND {one}.{AT} = {other}.{AT}"


def _names(columns: Sequence[Column], alias: str = "") -> str:
    """Column names, each with a comma behind it."""
    prefix = f"{alias}." if alias else ""
    return "".join(f"{prefix}{quote(column.name)}, " for column in columns)


def _listed(ids: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(ids)))


def feed_names(columns: Iterable[Column]) -> tuple[str, ...]:
    """Names of the feed's own columns, which none of the table's has."""
    return free_names(("snapshot_id", "snapshot_time", "rowid", "change_type"), columns)


def free_names(wanted: Iterable[str], columns: Iterable[Column]) -> tuple[str, ...]:
    """These names, with underscores in front where a column has one of them."""
    taken = {fold(column.name) for column in columns}
    found = []
    for name in wanted:
        while fold(name) in taken:
            name = f"_{name}"
        found.append(name)
    return tuple(found)
