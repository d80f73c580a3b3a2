"""Net differences of rows between two snapshots, as a plan and SQL.

Of all that happened to a row in between only two things count: if it went first, it was there
before, as it then was; if it came last, it is there afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tidelake.history.changes_sql import AT, CAME, WENT, ChangePlan
from tidelake.history.values_diff import FileDifference
from tidelake.model.file import DataFile
from tidelake.model.names import quote
from tidelake.model.schema import ROW_NUMBER, Column
from tidelake.plan.differs import HAD, HAS, NEW, OLD
from tidelake.plan.scan import ScanPlan

ONE, DIFFERING, EVENTS = "_tidelake_one", "_tidelake_differing", "_tidelake_events"
ROW, KIND = "_tidelake_id", "_tidelake_kind"
_A, _B, _S, _ENDS = "_tidelake_a", "_tidelake_b", "_tidelake_s", "_tidelake_ends"
_W, _C = "_tidelake_w", "_tidelake_c"


@dataclass(frozen=True, slots=True)
class DiffPlan:
    """`changes` lead from the older snapshot to the newer; `backwards` is how they are seen.
    Where only one snapshot has the table there are none, but the rows of that `one`."""

    columns: tuple[Column, ...]
    changes: ChangePlan | None
    backwards: bool
    one: ScanPlan | None = None
    is_new: bool = False

    @property
    def has_rows(self) -> bool:
        if self.changes is None:
            return self.one is not None and bool(self.one.files or self.one.inlined)
        return self.changes.gains or self.changes.loses

    @property
    def files(self) -> list[DataFile]:
        """The data files that are read."""
        if self.changes is None:
            return list(self.one.files) if self.one else []
        return self.changes.files

    @property
    def most(self) -> int:
        """No more rows than these can have come or gone."""
        if self.changes is None:
            return sum(file.rows for file in self.files)
        came, went = self.changes.came, self.changes.went
        kept = sum(len(part.rows) for plan in (came, went) for part in plan.inlined)
        return (
            kept + sum(file.rows for file in came.files) + sum(map(_most_gone, self.changes.lives))
        )

    @property
    def source(self) -> tuple[str, str] | None:
        """A relation all of whose rows differ in one way, and that way."""
        if self.changes is None:
            return ONE, "insert" if self.is_new else "delete"
        if self.changes.gains and self.changes.loses:
            return None
        gained = self.changes.gains
        return (CAME if gained else WENT), "insert" if gained != self.backwards else "delete"


def _most_gone(file: DataFile) -> int:
    if file.end_snapshot is not None:
        return file.rows
    return len(file.deleted_positions) + sum(delete.rows for delete in file.deletes)


def file_difference(touched: Sequence[DataFile], before: int, after: int) -> FileDifference:
    added = [f for f in touched if f.is_visible_at(after) and not f.is_visible_at(before)]
    removed = [f for f in touched if f.is_visible_at(before) and not f.is_visible_at(after)]
    return FileDifference(
        len(added),
        sum(file.bytes for file in added),
        len(removed),
        sum(file.bytes for file in removed),
    )


def pairs_sql(plan: DiffPlan) -> str:
    """Every row that something happened to, as it was before beside what it is afterwards."""
    old, new = (_A, _B) if plan.backwards else (_B, _A)
    images = "".join(
        f", {old}.{quote(column.name)} AS {OLD}_{n}, {new}.{quote(column.name)} AS {NEW}_{n}"
        for n, column in enumerate(plan.columns)
    )
    return (
        f"WITH {_W} AS (SELECT * FROM {WENT}), {_C} AS (SELECT * FROM {CAME}),"
        f" {_ENDS} AS (SELECT {ROW_NUMBER}, min({AT}) AS first_at, max({AT}) AS last_at"
        f" FROM (SELECT {ROW_NUMBER}, {AT} FROM {_W} UNION ALL SELECT {ROW_NUMBER}, {AT} FROM {_C})"
        f" AS {_S} GROUP BY {ROW_NUMBER}),"
        f" {_B} AS ({_at_end(_W, 'first_at')}), {_A} AS ({_at_end(_C, 'last_at')})"
        f" SELECT coalesce({_B}.{ROW_NUMBER}, {_A}.{ROW_NUMBER}) AS {ROW},"
        f" {old}.{ROW_NUMBER} IS NOT NULL AS {HAD},"
        f" {new}.{ROW_NUMBER} IS NOT NULL AS {HAS}{images}"
        f" FROM {_B} FULL JOIN {_A} ON {_B}.{ROW_NUMBER} = {_A}.{ROW_NUMBER}"
    )


def events_sql(plan: DiffPlan) -> str:
    """All that came and went, for engines to which joins are dear."""
    listed = "".join(f", {quote(column.name)} AS c{n}" for n, column in enumerate(plan.columns))
    return " UNION ALL ".join(
        f"SELECT {ROW_NUMBER}, {AT}, {went} AS went{listed} FROM {source}"
        for source, went in ((WENT, "TRUE"), (CAME, "FALSE"))
    )


def pairs_at_once_sql(plan: DiffPlan) -> str:
    """The same pairs, in one pass over `EVENTS`."""
    image = ", ".join(f"'c{n}': c{n}" for n, _ in enumerate(plan.columns))
    before = f"(arg_min({{{image}}}, {AT}) FILTER (WHERE went))"
    after = f"(arg_max({{{image}}}, {AT}) FILTER (WHERE NOT went))"
    went_first, came_first, went_last, came_last = (
        f"{end}({AT}) FILTER (WHERE {which})"
        for end in ("min", "max")
        for which in ("went", "NOT went")
    )
    was = f"{went_first} IS NOT NULL AND ({came_first} IS NULL OR {went_first} <= {came_first})"
    stays = f"{came_last} IS NOT NULL AND ({went_last} IS NULL OR {came_last} >= {went_last})"
    old, new = (was, before), (stays, after)
    if plan.backwards:
        old, new = new, old
    images = "".join(
        f", CASE WHEN {there} THEN {side}.c{n} END AS {label}_{n}"
        for n, _ in enumerate(plan.columns)
        for label, (there, side) in ((OLD, old), (NEW, new))
    )
    return (
        f"SELECT {ROW_NUMBER} AS {ROW}, ({old[0]}) AS {HAD}, ({new[0]}) AS {HAS}{images}"
        f" FROM {EVENTS} GROUP BY {ROW_NUMBER} HAVING ({was}) OR ({stays})"
    )


def _at_end(these: str, end: str) -> str:
    return (
        f"SELECT {these}.* FROM {these} JOIN {_ENDS} ON {these}.{ROW_NUMBER} = {_ENDS}.{ROW_NUMBER}"
        f" AND {these}.{AT} = {_ENDS}.{end}"
    )


def rows_sql(plan: DiffPlan, names: tuple[str, str]) -> str:
    """The rows that differ. `names` are those of the row id and of the kind of difference."""
    row_id, kind = map(quote, names)
    if plan.source is not None:
        source, word = plan.source
        listed = "".join(f", {quote(column.name)}" for column in plan.columns)
        return f"SELECT {ROW_NUMBER} AS {row_id}, '{word}' AS {kind}{listed} FROM {source}"
    parts = []
    for image, here, there, words in (
        (OLD, HAD, HAS, ("delete", "update_preimage")),
        (NEW, HAS, HAD, ("insert", "update_postimage")),
    ):
        listed = "".join(f", {image}_{n} AS {quote(c.name)}" for n, c in enumerate(plan.columns))
        parts.append(
            f"SELECT {ROW} AS {row_id},"
            f" CASE WHEN {there} THEN '{words[1]}' ELSE '{words[0]}' END AS {kind}{listed}"
            f" FROM {_S} WHERE {here}"
        )
    return f"WITH {_S} AS (SELECT * FROM {DIFFERING}) {' UNION ALL '.join(parts)}"


def counts_sql(plan: DiffPlan) -> str:
    """How many rows differ in each way."""
    if plan.source is not None:
        source, word = plan.source
        return f"SELECT '{word}' AS {KIND}, count(*) AS n FROM {source}"
    kind = f"CASE WHEN NOT {HAD} THEN 'insert' WHEN NOT {HAS} THEN 'delete' ELSE 'update' END"
    inner = f"SELECT {kind} AS {KIND} FROM {DIFFERING}"
    return f"SELECT {KIND}, count(*) AS n FROM ({inner}) AS {_S} GROUP BY {KIND}"
