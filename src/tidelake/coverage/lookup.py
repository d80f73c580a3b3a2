"""What a table covers: from what the catalog keeps of its files, and where it keeps nothing yet, as
of files that DuckDB wrote, from the files themselves. What is found out so is kept for the next.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from tidelake.catalog.batches import batches
from tidelake.catalog.database.database import Reader
from tidelake.catalog.read import snapshots
from tidelake.catalog.read.files import whole_life
from tidelake.coverage import records as coverage
from tidelake.coverage.from_rows import of_files, of_query
from tidelake.coverage.layouts import Scope
from tidelake.coverage.records import KeptFiles
from tidelake.coverage.task import Cover
from tidelake.coverage.values.bitmaps import Buckets
from tidelake.coverage.values.bitmaps import pieces as pieces_of
from tidelake.coverage.values.clock import SIGN
from tidelake.coverage.values.from_text import buckets_of_texts
from tidelake.coverage.values.kept_sets import KeptSets
from tidelake.coverage.values.piece import FileCoverage, Piece
from tidelake.coverage.values.series import Series
from tidelake.errors import Denied, Unavailable
from tidelake.model.file import DataFile, InlinedRows
from tidelake.model.names import TableName
from tidelake.model.predicate import Predicate
from tidelake.model.table import TableInfo
from tidelake.plan.scan import ScanPlan
from tidelake.session.caches import Memory, Recent
from tidelake.session.draft import TableDraft
from tidelake.session.planning import ReadRequest, TableMeta, mappings_of, plan_all, plan_scan
from tidelake.session.session import Session
from tidelake.session.short_transactions import run_locked

_TASK_FILES = 64
_TASK_ROWS = 4_000_000
"""How much one task looks at."""
_ROWS = "_tidelake_rows"
_FEW_ROWS = 2000
"""So many are put into buckets in Python before DuckDB would have begun."""
_ANSWERS = 64
"""Of so many entities it is remembered what they cover, if that takes many pieces."""


@dataclass(frozen=True, slots=True)
class SeriesCoverage:
    """What entities of a series cover at a snapshot: buckets, by the text that each is kept as."""

    table: TableInfo
    series: Series
    at: int
    buckets: KeptSets[str]


@dataclass(frozen=True, slots=True)
class CachedCoverage:
    """What the catalog keeps of which files, and what it does not keep, as one snapshot sees it:
    of rows that are in the catalog themselves, and of what a transaction has changed. It holds as
    long as the `state` of what is kept by the series stays the same."""

    kept: KeptFiles
    pieces: tuple[Piece, ...]
    state: tuple[int, int]
    answers: dict[str, Buckets] = field(default_factory=dict)
    """What some entities cover altogether."""

    def told(self, texts: Collection[str] | None) -> dict[str, Buckets] | None:
        """What one entity covers, if that has been asked before."""
        if texts is None or len(texts) != 1:
            return None
        found = {text: self.answers[text].copy() for text in texts if text in self.answers}
        return found or None

    def remember(self, texts: Collection[str] | None, together: Mapping[str, Buckets]) -> None:
        if texts is not None and len(texts) == 1 and len(self.answers) < _ANSWERS:
            self.answers.update((text, ids.copy()) for text, ids in together.items())


class CoverageCache(Memory):
    """What has been found out, by what was asked and at which snapshot."""

    def __init__(self) -> None:
        self.recent: Recent[CachedCoverage] = Recent()

    def forget(self) -> None:
        self.recent.clear()


@dataclass(frozen=True, slots=True)
class _Scope:
    """A series as somebody sees it. `key`: under which name that may be remembered."""

    table: TableInfo
    series: Series
    at: int
    asked: ReadRequest
    facts: TableMeta
    draft: TableDraft | None
    key: str

    @property
    def scope(self) -> Scope:
        return Scope(self.table.id, self.series.number)


@dataclass(frozen=True, slots=True)
class _Work:
    """What has to be looked at: files as they were all their life, and rows as they are now."""

    kept: KeptFiles
    state: tuple[int, int]
    staged: tuple[Piece, ...]
    now: ScanPlan
    files: tuple[Cover, ...]


def find_coverage(
    session: Session,
    name: TableName,
    snapshot_id: int | None,
    entities: Collection[object] | None = None,
    where: Predicate | None = None,
    seen_as: TableInfo | None = None,
    texts: Collection[str] | None = None,
) -> SeriesCoverage:
    """What entities, as callers spell them or by their `texts`, cover, or all. With `where`, rows
    that do not meet it may be left out; with `seen_as`, it is told by columns and settings that
    the table has elsewhere."""
    with session.reading() as reader:
        sight = _sight(session, reader, name, snapshot_id, where, seen_as)
        beside = _remembered(session, reader, sight)
        if entities is not None:
            texts = _texts(sight.series, entities)
        if beside is not None and (told := beside.told(texts)) is not None:
            return SeriesCoverage(sight.table, sight.series, sight.at, KeptSets.made(told))
        work = _work(reader, sight) if beside is None else None
        known = beside.kept if beside else work.kept if work else KeptFiles()
        kept = coverage.bitmaps(
            reader, sight.scope, sight.at, known, texts, few_files=where is not None
        )
    pieces: list[Piece] = []
    if work is not None:
        beside, found = _done(session, sight, work)
        pieces += [p for each in found for p in each.pieces if p.holds_at(sight.at)]
    assert beside is not None
    pieces += beside.pieces
    wanted = None if texts is None else set(texts)
    others = (
        (0, p.entity, p.first - SIGN, p.last - SIGN, p.count, p.buckets, p.lacking)
        for p in pieces
        if wanted is None or p.entity in wanted
    )
    together = kept.sets(others)
    if len(kept.pieces) > session.tuning.many_pieces:
        beside.remember(texts, together)
    return SeriesCoverage(sight.table, sight.series, sight.at, together)


def complete(session: Session, name: TableName) -> int:
    """Find out what is not kept yet of the table as it is now; of how many files that was."""
    with session.reading() as reader:
        at = session.at(reader)
        if Series.maybe(session.table_info(reader, at, name)) is None:
            return 0
        sight = _sight(session, reader, name, None)
        work = _work(reader, sight)
        strays = coverage.strays(reader, sight.table.id).get(sight.table.id, [])
    _, found = _done(session, sight, work)
    for some in batches(strays, session.tuning.batch):
        run_locked(session, coverage.forget_files, sight.table.id, some)
    return len(found)


def _remembered(session: Session, reader: Reader, sight: _Scope) -> CachedCoverage | None:
    found = None if sight.draft else session.memory(CoverageCache).recent.get(sight.key)
    if found is None or coverage.state(reader, sight.scope) != found.state:
        return None
    return found


def _texts(series: Series, entities: Collection[object]) -> list[str]:
    return [series.text(series.given(each)) for each in entities]


def _sight(
    session: Session,
    reader: Reader,
    name: TableName,
    snapshot_id: int | None,
    where: Predicate | None = None,
    seen_as: TableInfo | None = None,
) -> _Scope:
    head, at = session.between(reader, snapshot_id)
    draft = session.drafted(reader, name, snapshot_id)
    if draft is not None:
        facts = replace(draft.facts, info=draft.after)
    else:
        facts = session.meta(reader, head, at, name)
    if seen_as is not None:
        info = replace(facts.info, schema=seen_as.schema, tags=seen_as.tags)
        facts = replace(facts, info=info)
    series = Series.of(facts.info, at)
    asked = ReadRequest([column.name for column in series.columns], where)
    key = repr((head, at, name, series.number, asked))
    return _Scope(facts.info, series, at, asked, facts, draft, key)


def _plan(reader: Reader, sight: _Scope) -> ScanPlan:
    plan = plan_scan(reader, sight.at, sight.facts, sight.asked.of(sight.table.schema))
    return plan if sight.draft is None else sight.draft.overlay(plan)


def _work(reader: Reader, sight: _Scope) -> _Work:
    plan = _plan(reader, sight)
    staged: list[Piece] = []
    now: list[DataFile] = []
    committed: list[int] = []
    for file in plan.files:
        own = sight.draft.files.get(file.id) if sight.draft else None
        if own is not None and own.covers is not None and own.covers.series == sight.series.number:
            staged += own.covers.pieces
        elif own is not None or (sight.draft and _is_touched(sight.draft, file)):
            now.append(file)
        else:
            committed.append(file.id)
    kept, unknown = coverage.look_up(reader, sight.scope, committed)
    return _Work(
        kept,
        coverage.state(reader, sight.scope),
        tuple(staged),
        replace(plan, files=tuple(now)),
        tuple(tasks(reader, sight.at, sight.facts, sight.series, unknown)),
    )


def _is_touched(draft: TableDraft, file: DataFile) -> bool:
    return file.id in draft.delete_files or file.id in draft.positions


def tasks(
    reader: Reader, at: int, facts: TableMeta, series: Series, through: Mapping[int, int]
) -> Iterator[Cover]:
    """The work of finding out what files cover, of which it is said for each up to which snapshot
    rows have been deleted from it."""
    if not through:
        return
    files = whole_life(reader, facts.info.id, facts.info.path, through)
    oldest = snapshots.oldest_id(reader)
    plan = plan_all(at, facts, series.columns, tuple(column.name for column in series.columns))
    plan = replace(plan, mappings=mappings_of(reader, files))
    for some in _groups(files):
        yield Cover(plan, tuple(some), series, {f.id: through[f.id] for f in some}, oldest)


def _groups(files: Iterable[DataFile]) -> Iterator[list[DataFile]]:
    group: list[DataFile] = []
    for file in files:
        rows = file.rows + sum(each.rows for each in group)
        if group and (len(group) >= _TASK_FILES or rows > _TASK_ROWS):
            yield group
            group = []
        group.append(file)
    if group:
        yield group


def _done(
    session: Session, sight: _Scope, work: _Work
) -> tuple[CachedCoverage, list[FileCoverage]]:
    """Look at all that has to be looked at, and keep what others may need too."""
    doing = f"cannot tell what {sight.table.name} covers"
    found: list[FileCoverage] = []
    if work.files:
        with session.engine.job(doing) as job:
            found = list(of_files(job, work.files))
    pieces = (*work.staged, *_of_rows(session, sight, work.now, doing))
    if found and _remember(session, sight.scope, found):
        return CachedCoverage(work.kept, pieces, work.state), found
    pieces += tuple(p for each in found for p in each.pieces if p.holds_at(sight.at))
    beside = CachedCoverage(work.kept, pieces, work.state)
    if sight.draft is None:
        session.memory(CoverageCache).recent.keep(sight.key, beside)
    return beside, []


def _of_rows(session: Session, sight: _Scope, plan: ScanPlan, doing: str) -> tuple[Piece, ...]:
    if not plan.files and (few := _of_few(sight.series, plan.inlined)) is not None:
        return few
    engine = session.engine if plan.files else session.local
    with engine.job(doing) as job:
        job.scan(_ROWS, plan)
        return of_query(job, f"SELECT * FROM {_ROWS}", sight.series)


def _of_few(series: Series, kept: Iterable[InlinedRows]) -> tuple[Piece, ...] | None:
    """What a few rows of the catalog cover, without asking DuckDB; None if that must be."""
    rows: list[list[object]] = []
    for part in kept:
        places = {(c.id, c.type): place for place, c in enumerate(part.columns, 2)}
        wanted = [places.get((column.id, column.type)) for column in series.columns]
        if len(rows) + len(part.rows) > _FEW_ROWS or None in wanted:
            return None
        rows += [[row[place] for place in wanted if place] for row in part.rows]
    found = buckets_of_texts(series, rows)
    if found is None:
        return None
    return tuple(piece for entity, ids in found.items() for piece in pieces_of(entity, ids))


def _remember(session: Session, scope: Scope, found: Sequence[FileCoverage]) -> bool:
    """Whether it could be kept: those who may only read have to find it out each time."""
    if session.database.read_only or not session.remembers:
        return False
    with suppress(Denied, Unavailable):
        for some in batches(found, _TASK_FILES):
            run_locked(session, coverage.put, scope, some)
        return True
    return False
