"""What an append does with buckets of a series that are covered already: the table says whether
it is rejected, skips rows that lie in them, or replaces those that are there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from tidelake.coverage.from_rows import of_query
from tidelake.coverage.lookup import find_coverage
from tidelake.coverage.overlap_error import BucketsByEntity, condition, refusal
from tidelake.coverage.rows_in_buckets import rows_in_buckets
from tidelake.coverage.values.bitmaps import Buckets, by_entity, pieces
from tidelake.coverage.values.from_text import buckets_of_texts
from tidelake.coverage.values.piece import Covers, Piece
from tidelake.coverage.values.series import Series
from tidelake.engine import Job
from tidelake.model.change import NewFile
from tidelake.model.names import quote
from tidelake.plan.scan import ScanPlan
from tidelake.session import staging
from tidelake.session.draft import TableDraft
from tidelake.session.drafting import DraftSession
from tidelake.session.planning import ReadRequest
from tidelake.session.staging import POINTERS

_LYING, _KEPT, _REST, _THERE = "_lying", "_kept", "_rest", "_there"


@dataclass(frozen=True, slots=True)
class AppendedRows:
    """Rows to be appended: a query, how many they are if that is known, and whether it may be
    asked again."""

    sql: str
    count: int | None
    rereadable: bool


@dataclass(frozen=True, slots=True)
class StagedRows:
    """What has been staged."""

    files: Sequence[NewFile]
    inserted: int
    deleted: int = 0


def stage_rows(tx: DraftSession, draft: TableDraft, job: Job, incoming: AppendedRows) -> StagedRows:
    """Stage rows, wherever they lie."""
    files = staging.add(tx, draft, job, incoming.sql, count=incoming.count)
    return StagedRows(files, sum(file.rows for file in files) if files else incoming.count or 0)


@dataclass(frozen=True, slots=True)
class OverlapGuard:
    """A series that rows are to be appended to, as a transaction sees it. If that fails nothing
    of it stays, so that the transaction may go on."""

    tx: DraftSession
    draft: TableDraft
    series: Series

    @staticmethod
    def of(tx: DraftSession, draft: TableDraft) -> OverlapGuard | None:
        """None if the table is no series, or rows may simply be added to it."""
        series = Series.maybe(draft.after)
        return (
            None if series is None or series.overlap == "allow" else OverlapGuard(tx, draft, series)
        )

    def may_add(self, rows: Sequence[Sequence[object]]) -> bool:
        """Whether rows, as the catalog keeps them, lie in free buckets alone, which then are
        theirs."""
        places = [self.draft.columns.index(column) for column in self.series.columns]
        found = buckets_of_texts(self.series, ([row[place] for place in places] for row in rows))
        if found is None or self._taken(found):
            return False
        self._claim(found)
        return True

    def append(self, job: Job, incoming: AppendedRows) -> StagedRows:
        """Stage rows as the table's policy has it."""
        with self.tx.unless_it_fails(self.draft):
            few = staging.may_inline(self.tx, self.draft, incoming.count)
            if self.series.overlap == "reject" and not few:
                return self._add(staging.write_files(self.tx, self.draft, job, incoming.sql))
            if not job.in_process or not incoming.rereadable:
                count = job.keep(_KEPT, incoming.sql)
                incoming = AppendedRows(f"SELECT * FROM {_KEPT}", count, True)
            found = by_entity(of_query(job, incoming.sql, self.series))
            taken = self._taken(found)
            self._refuse(taken)
            if taken and self.series.overlap == "skip":
                return self._append_rest(job, incoming, found, taken)
            deleted = self._remove(taken) if taken else 0
            self._claim(found)
            return replace(stage_rows(self.tx, self.draft, job, incoming), deleted=deleted)

    def add_files(self, files: Sequence[NewFile]) -> StagedRows:
        """Stage files that lie there already. Those of which only a part is to be skipped are
        written anew, without it."""
        with self.tx.unless_it_fails(self.draft):
            with self.tx.job(f"cannot add files to {self.draft.after.name}") as job:
                known = [file if file.covers else self._looked_at(job, file) for file in files]
            if self.series.overlap == "reject":
                return self._add(known)
            found = _covered_by_files(known)
            taken = self._taken(found)
            if self.series.overlap == "skip":
                return self._add_rest(known, found, taken)
            deleted = self._remove(taken) if taken else 0
            return replace(self._add(known, found), deleted=deleted)

    def _add(self, files: Sequence[NewFile], found: BucketsByEntity | None = None) -> StagedRows:
        """Files that know what they cover; unless it is said that this may be, nothing that is
        covered already."""
        if found is None:
            found = _covered_by_files(files)
            self._refuse(self._taken(found))
        self._claim(found)
        self.draft.add_files(files)
        return StagedRows(files, sum(file.rows for file in files))

    def _append_rest(
        self, job: Job, incoming: AppendedRows, found: BucketsByEntity, taken: BucketsByEntity
    ) -> StagedRows:
        """Rows in buckets that are free, or in none."""
        job.pick(_LYING, incoming.sql, self._lying(taken, inside=False))
        columns = ", ".join(quote(column.name) for column in self.draft.columns)
        rest = AppendedRows(f"SELECT {columns} FROM {_LYING}", None, True)
        if staging.may_inline(self.tx, self.draft, incoming.count):
            rest = AppendedRows(f"SELECT * FROM {_REST}", job.keep(_REST, rest.sql), True)
        added = stage_rows(self.tx, self.draft, job, rest)
        self._claim_rest(found, taken, added.inserted)
        return added

    def _add_rest(
        self, files: Sequence[NewFile], found: BucketsByEntity, taken: BucketsByEntity
    ) -> StagedRows:
        """Files, less their rows in buckets that are not free."""
        before = set(self.draft.files)
        self.draft.add_files(files)
        skipped = 0
        if taken:
            fresh = {id_: file for id_, file in self.draft.files.items() if id_ not in before}
            skipped = self._drop(self._plan_of(fresh), taken)
        inserted = sum(file.rows for file in files) - skipped
        self._claim_rest(found, taken, inserted)
        return StagedRows(files, inserted)

    def _claim_rest(self, found: BucketsByEntity, taken: BucketsByEntity, inserted: int) -> None:
        """Who makes buckets free that were not, in the meantime, makes skipping wrong."""
        if inserted:
            self._claim({e: ids - taken[e] if e in taken else ids for e, ids in found.items()})
            self.draft.depends_on_any_change = self.draft.depends_on_any_change or bool(taken)
        else:
            self.tx.check_current(self.draft.after.name)

    def _looked_at(self, job: Job, file: NewFile) -> NewFile:
        """A file that is there, and what it covers."""
        name = f"{_THERE} {file.path}"
        job.scan(name, self._plan_of({-1: file}))
        told = of_query(job, f"SELECT * FROM {quote(name)}", self.series)
        return file._replace(covers=Covers(self.series.number, told))

    def _plan_of(self, files: Mapping[int, NewFile]) -> ScanPlan:
        """A read of files that are not committed, by these ids."""
        plan = self.tx.plan(self.draft.after.name, None, ReadRequest(self._columns))
        return replace(
            plan,
            files=tuple(self.draft.as_staged(id_, file) for id_, file in files.items()),
            inlined=(),
            mappings={id_: file.mapping for id_, file in files.items() if file.mapping is not None},
        )

    @property
    def _columns(self) -> list[str]:
        return [*(column.name for column in self.series.columns), *POINTERS]

    def _remove(self, taken: BucketsByEntity) -> int:
        """Rows that lie in buckets leave the table; how many they are."""
        asked = ReadRequest(self._columns, condition(self.series, taken))
        return self._drop(self.tx.plan(self.draft.after.name, None, asked), taken)

    def _drop(self, plan: ScanPlan, taken: BucketsByEntity) -> int:
        """Of the rows that a plan reads."""
        with self.tx.job(f"cannot write {self.draft.after.name}") as job:
            job.scan(_THERE, plan)
            rows = f"SELECT * FROM {_THERE}"
            job.pick(_LYING, rows, self._lying(taken, inside=True))
            job.keep("doomed", f"SELECT {', '.join(POINTERS)} FROM {_LYING}")
            return staging.remove(self.tx, self.draft, job, "doomed", plan)

    def _lying(self, taken: BucketsByEntity, *, inside: bool) -> partial[str]:
        return partial(rows_in_buckets, series=self.series, pieces=_pieces(taken), inside=inside)

    def _taken(self, found: BucketsByEntity) -> dict[str, Buckets]:
        """Those of the buckets that are covered."""
        if not found:
            return {}
        name, where = self.draft.after.name, condition(self.series, found)
        there = find_coverage(self.tx, name, None, where=where, texts=found.keys()).buckets
        both = {entity: ids & there[entity] for entity, ids in found.items() if entity in there}
        return {entity: ids for entity, ids in both.items() if ids}

    def _refuse(self, taken: BucketsByEntity) -> None:
        if taken and self.series.overlap == "reject":
            raise refusal(self.draft.after.name, self.series, taken)

    def _claim(self, found: BucketsByEntity) -> None:
        """Nobody else may have put rows there when this is committed."""
        if self.draft.before is not None and found:
            self.draft.claims.append(Covers(self.series.number, tuple(_pieces(found))))


def _covered_by_files(files: Iterable[NewFile]) -> dict[str, Buckets]:
    return by_entity(piece for file in files if file.covers for piece in file.covers.pieces)


def _pieces(found: BucketsByEntity) -> list[Piece]:
    return [piece for entity, ids in found.items() if ids for piece in pieces(entity, ids)]
