"""The best rollup for a read: which there are, and whether they still hold."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from tidelake.catalog.database.database import Reader
from tidelake.errors import TidelakeError
from tidelake.event_time.rollups import evidence as rollup_evidence
from tidelake.event_time.rollups import records as rollups
from tidelake.event_time.rollups.evidence import Proof
from tidelake.event_time.values.rollup import Rollup, RollupFile, settings_text
from tidelake.model.event_time import EventTime
from tidelake.model.file import DataFile
from tidelake.model.schema import LINEAGE, ROW_ID, ROW_NUMBER
from tidelake.model.table import TableInfo
from tidelake.plan.as_of import AsOfPlan
from tidelake.session.caches import Memory
from tidelake.session.planning import BoundRequest
from tidelake.session.session import Session
from tidelake.store.files import Store

_MOVABLE = frozenset(LINEAGE) - {ROW_ID, ROW_NUMBER}
"""What compaction may change of a row."""


@dataclass(slots=True)
class Proofs(Memory):
    """How far rollups are known to hold, by table and snapshot. What is proven once stays true,
    so that the next read need only look at what has been committed since."""

    known: dict[tuple[int, int], Proof] = field(default_factory=dict)
    broken: dict[tuple[int, int], int] = field(default_factory=dict)

    def forget(self) -> None:
        self.known.clear()
        self.broken.clear()

    def hold(self, reader: Reader, rollup: Rollup, at: int) -> bool:
        """Whether no row that the rollup rests on had gone by a snapshot."""
        key = (rollup.table_id, rollup.snapshot_id)
        if at >= self.broken.get(key, at + 1):
            return False
        known = self.known.get(key)
        if known is None or known.through < rollup.valid_through:
            known = Proof.of(rollup)
        found = rollup_evidence.extend_proof(reader, known, at)
        if found is None:
            self.broken[key] = at
        else:
            self.known[key] = found
        return found is not None


@dataclass(frozen=True, slots=True)
class Search:
    """What a lake needs to find rollups: where their files are, and what it knows of them."""

    store: Store
    data_path: str
    proofs: Proofs

    def best(
        self, reader: Reader, at: int, table: TableInfo, event: EventTime, moment: int
    ) -> Rollup | None:
        """The rollup of the latest moment from which the state as of one can be found."""
        found = rollups.candidates(reader, table.id, moment, at)
        if not found:
            return None
        settings = settings_text(event)
        columns = {below.id for column in table.schema for below in column.walk()}
        for rollup in found:
            if rollup.settings != settings or rollup.lacks & columns:
                continue
            if self.holds(reader, rollup, at):
                (whole,) = rollups.with_files(reader, [rollup], self.data_path)
                if are_there(self.store, whole.files):
                    return whole
        return None

    def holds(self, reader: Reader, rollup: Rollup, at: int) -> bool:
        """Whether all rows that the rollup rests on are at a snapshot what they were."""
        held = self.proofs.hold(reader, rollup, at)
        return held and not rollup_evidence.may_be_renumbered(reader, rollup)


def are_there(store: Store, files: Sequence[RollupFile | DataFile]) -> bool:
    """Whether all of the files are there, and as large as they were."""
    try:
        sizes = store.sizes([file.path for file in files]) if files else {}
    except TidelakeError:
        return False
    return all(sizes.get(file.path) == file.bytes for file in files)


def may_begin(table: TableInfo, request: BoundRequest) -> bool:
    """Whether the answer does not depend on where rows lie: compaction may change that, and the
    rows of a rollup lie elsewhere."""
    names = {column.name for column in table.schema}
    conditions = [where.sql for where in (request.filter, request.hint) if where]
    words = {*(request.columns or ()), *re.findall(r"\w+", " ".join(conditions))}
    return not (_MOVABLE - names) & words


def search_in(session: Session) -> Search:
    return Search(session.store, session.data_path, session.memory(Proofs))


def best_rollup(
    session: Session,
    reader: Reader,
    at: int,
    table: TableInfo,
    request: BoundRequest,
    moment: int,
) -> Rollup | None:
    """The one that a read of a table as of a moment should begin with."""
    event = EventTime.maybe(table)
    if event is None or not may_begin(table, request):
        return None
    return search_in(session).best(reader, at, table, event, moment)


def still_stands(session: Session, plan: AsOfPlan) -> bool:
    """Whether the files of the rollup that a plan begins with are still there."""
    return plan.rollup is None or are_there(session.store, plan.parts[0].files)
