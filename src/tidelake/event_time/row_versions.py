"""Every version that the rows of a table ever had, and since and until when it was known, as SQL.

It stands on the relations of a change feed (`plan.changes`). A version ends with the first change
after it that its row went through, whatever files the row has been moved between meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tidelake.history.changes_sql import AT, BASE, CAME, WENT, ChangePlan
from tidelake.model.file import InlinedRows
from tidelake.model.names import quote
from tidelake.model.schema import ROW_NUMBER, Column
from tidelake.model.snapshot import Snapshot
from tidelake.plan.scan import ScanPlan

ENDED = "_tidelake_ended"
BEGAN, SINCE, UNTIL = "_tidelake_version", "_tidelake_since", "_tidelake_until"
VERSIONS, KNOWN_TIMES = "_tidelake_versions", "_tidelake_known_times"
EARLY_VERSIONS = "_tidelake_early_versions"
_TIME, _KNOWN, _RECORD = "_tidelake_time", "_tidelake_known", "_tidelake_record"


@dataclass(frozen=True, slots=True)
class Holes:
    """Snapshots that have been expired: those between two others, and all before the `first` that
    is left, if the table was there then."""

    between: tuple[tuple[Snapshot, Snapshot], ...]
    first: Snapshot | None

    @staticmethod
    def among(known: Sequence[Snapshot], *, whole: bool) -> Holes:
        between = tuple(
            (one, other)
            for one, other in pairwise(known)
            if other.snapshot_id > one.snapshot_id + 1
        )
        return Holes(between, None if whole else known[0])

    def told_at(self, at: str) -> str:
        """The first snapshot that is left from one on, as SQL."""
        if not self.between:
            return at
        cases = " ".join(
            f"WHEN {at} > {one.snapshot_id} AND {at} < {other.snapshot_id} THEN {other.snapshot_id}"
            for one, other in self.between
        )
        return f"CASE {cases} ELSE {at} END"

    def swallow(self, moment: str, kind: str) -> str | None:
        """Whether what was known at a moment cannot be told any more, as SQL."""
        tests = [
            f"({moment} > {_literal(one, kind)} AND {moment} < {_literal(other, kind)})"
            for one, other in self.between
        ]
        if self.first is not None:
            tests.append(f"{moment} < {_literal(self.first, kind)}")
        return " OR ".join(tests) or None


def _literal(snapshot: Snapshot, kind: str) -> str:
    if kind == "BIGINT":
        return str(snapshot.snapshot_id)
    return f"CAST('{_text(snapshot, kind)}' AS {kind})"


def _text(snapshot: Snapshot, kind: str) -> str:
    time = snapshot.time if kind == "TIMESTAMPTZ" else snapshot.time.replace(tzinfo=None)
    return time.isoformat(sep=" ")


def times_plan(plan: ChangePlan, known: Iterable[Snapshot], kind: str) -> ScanPlan:
    """A relation of snapshots and their times. Requires times that never go back."""
    columns = (Column(1, AT, "int64"), Column(2, _TIME, kind.lower()))
    rows = tuple((s.snapshot_id, 0, str(s.snapshot_id), _text(s, kind)) for s in known)
    return ScanPlan(plan.came.table, 0, columns, (AT, _TIME), inlined=(InlinedRows(columns, rows),))


def versions_sql(plan: ChangePlan, holes: Holes) -> str:
    """All versions, by the snapshots that brought and ended them."""
    own = "".join(f"{quote(column.name)}, " for column in plan.columns)
    came = f"SELECT {own}{ROW_NUMBER}, {AT} FROM {plan.named(CAME)}"
    if plan.base is not None:
        base = plan.named(BASE)
        came += f" UNION ALL SELECT {own}{ROW_NUMBER}, {plan.window.after} AS {AT} FROM {base}"
    listed = "".join(f"c.{quote(column.name)}, " for column in plan.columns)
    chosen = f"{listed}c.{ROW_NUMBER}, c.{AT} AS {BEGAN}, {holes.told_at(f'c.{AT}')} AS {SINCE}, "
    if not plan.loses:
        return f"WITH c AS ({came}) SELECT {chosen}CAST(NULL AS BIGINT) AS {UNTIL} FROM c"
    ends = (
        f"SELECT c.{ROW_NUMBER}, c.{AT}, min(w.{AT}) AS ended FROM c"
        f" JOIN {plan.named(WENT)} AS w"
        f" ON c.{ROW_NUMBER} = w.{ROW_NUMBER} AND w.{AT} > c.{AT} GROUP BY c.{ROW_NUMBER}, c.{AT}"
    )
    return (
        f"WITH c AS ({came}), e AS ({ends})"
        f" SELECT {chosen}{holes.told_at('e.ended')} AS {UNTIL} FROM c LEFT JOIN e"
        f" ON c.{ROW_NUMBER} = e.{ROW_NUMBER} AND c.{AT} = e.{AT}"
    )


def lived_sql(plan: ChangePlan, lives: str, holes: Holes) -> str:
    """The same from a relation of versions that knows the snapshots at which each came and went."""
    own = "".join(f"{quote(column.name)}, " for column in plan.columns)
    return (
        f"SELECT {own}{ROW_NUMBER}, {AT} AS {BEGAN}, {holes.told_at(AT)} AS {SINCE},"
        f" {holes.told_at(ENDED)} AS {UNTIL} FROM {lives}"
    )


@dataclass(frozen=True, slots=True)
class Early:
    """Rows that were known before the lake's own record began, `since` a moment in SQL: the
    `column` says when. Those that came with the `first` snapshot are known ever since then."""

    column: Column
    kind: str
    since: str
    first: int | None

    def known_sql(self, plan: ChangePlan) -> str:
        """All versions, with when they were known if that was before the record, and when it
        began."""
        known = f"CAST({quote(self.column.name)} AS {self.kind})"
        return (
            f"SELECT *, CASE WHEN {UNTIL} IS NULL AND {known} < {self.since} THEN {known} END"
            f" AS {_KNOWN}, {self.since} AS {_RECORD} FROM {plan.named(VERSIONS)}"
        )


def dated_sql(
    plan: ChangePlan,
    columns: Sequence[Column],
    early: Early | None = None,
    relation: str = VERSIONS,
) -> str:
    """All versions of a relation with these columns, by the times of those snapshots; and before
    them, what was known earlier."""
    listed = "".join(f"v.{quote(column.name)}, " for column in columns)
    versions, since, before = plan.named(relation), f"a.{_TIME}", ""
    if early is not None:
        versions, first = plan.named(EARLY_VERSIONS), -1 if early.first is None else early.first
        came_first = f"v.{_KNOWN} IS NOT NULL AND v.{BEGAN} = {first}"
        since = f"CASE WHEN {came_first} THEN v.{_KNOWN} ELSE {since} END"
        before = (
            f" UNION ALL SELECT {listed}v.{ROW_NUMBER}, CAST(-1 AS BIGINT) AS {BEGAN},"
            f" v.{_KNOWN} AS {SINCE}, v.{_RECORD} AS {UNTIL} FROM {versions} AS v"
            f" WHERE v.{_KNOWN} IS NOT NULL AND v.{BEGAN} <> {first}"
        )
    return (
        f"SELECT {listed}v.{ROW_NUMBER}, v.{BEGAN}, {since} AS {SINCE}, b.{_TIME} AS {UNTIL}"
        f" FROM {versions} AS v"
        f" LEFT JOIN {plan.named(KNOWN_TIMES)} AS a ON v.{SINCE} = a.{AT}"
        f" LEFT JOIN {plan.named(KNOWN_TIMES)} AS b ON v.{UNTIL} = b.{AT}{before}"
    )
