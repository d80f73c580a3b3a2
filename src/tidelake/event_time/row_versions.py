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
_TIME = "_tidelake_time"


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
    came = f"SELECT {own}{ROW_NUMBER}, {AT} FROM {CAME}"
    if plan.base is not None:
        came += f" UNION ALL SELECT {own}{ROW_NUMBER}, {plan.window.after} AS {AT} FROM {BASE}"
    listed = "".join(f"c.{quote(column.name)}, " for column in plan.columns)
    chosen = f"{listed}c.{ROW_NUMBER}, c.{AT} AS {BEGAN}, {holes.told_at(f'c.{AT}')} AS {SINCE}, "
    if not plan.loses:
        return f"WITH c AS ({came}) SELECT {chosen}CAST(NULL AS BIGINT) AS {UNTIL} FROM c"
    ends = (
        f"SELECT c.{ROW_NUMBER}, c.{AT}, min(w.{AT}) AS ended FROM c JOIN {WENT} AS w"
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


def dated_sql(plan: ChangePlan, versions: str = VERSIONS) -> str:
    """All versions, by the times of those snapshots."""
    listed = "".join(f"v.{quote(column.name)}, " for column in plan.columns)
    return (
        f"SELECT {listed}v.{ROW_NUMBER}, v.{BEGAN}, a.{_TIME} AS {SINCE}, b.{_TIME} AS {UNTIL}"
        f" FROM {versions} AS v LEFT JOIN {KNOWN_TIMES} AS a ON v.{SINCE} = a.{AT}"
        f" LEFT JOIN {KNOWN_TIMES} AS b ON v.{UNTIL} = b.{AT}"
    )
