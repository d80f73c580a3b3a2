"""Does what is kept of files say what their rows do?"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence

from tidelake.catalog.batches import batches
from tidelake.catalog.inventory import Inventory
from tidelake.coverage import records as coverage
from tidelake.coverage import series_in_use as series
from tidelake.coverage.recompute import AT_ONCE, cover_tasks, read_coverage
from tidelake.coverage.series_in_use import Usage
from tidelake.coverage.values.bitmaps import Buckets, by_entity
from tidelake.coverage.values.piece import Piece
from tidelake.errors import Corrupt
from tidelake.model.file import DataFile
from tidelake.session.session import Session
from tidelake.verify.checks.coverage import ANEW, CHECK
from tidelake.verify.values import Problem


def check_coverage(
    session: Session, known: Inventory, doubtful: Collection[str]
) -> Iterator[Problem]:
    """Of every file whose coverage is kept and holds, at every snapshot that sees it. What is
    known to be damaged is not read again."""
    for table_id in known.wanted_tables:
        with session.reading() as reader:
            kept = bool(coverage.scopes(reader, table_id))
            used = series.in_use(reader, table_id, session.data_path) if kept else {}
            files = {each: coverage.files(reader, usage.scope) for each, usage in used.items()}
        for number, usage in used.items():
            for some in batches(files[number], AT_ONCE):
                yield from _compared(session, known, usage, some, doubtful)


def _compared(
    session: Session, known: Inventory, usage: Usage, ids: Sequence[int], doubtful: Collection[str]
) -> Iterator[Problem]:
    with session.reading() as reader:
        stale = coverage.unknown(reader, usage.scope, ids)
        trusted = [file_id for file_id in ids if file_id not in stale]
        work = cover_tasks(reader, usage, trusted)
        kept = coverage.pieces_of_files(reader, usage.scope, trusted)
    files = {file.id: file for task in work for file in task.files}
    if any(file.path in doubtful for file in files.values()):
        return
    for found in read_coverage(session, usage, work):
        file = files[found.file_id]
        yield from _differences(known, usage, file, kept[file.id], found.pieces)


def _differences(
    known: Inventory,
    usage: Usage,
    file: DataFile,
    kept: Sequence[Piece],
    found: Sequence[Piece],
) -> Iterator[Problem]:
    """One for each entity that differs, at the first snapshot at which it does."""
    told: set[str] = set()
    for at in _moments(known, file, [*kept, *found]):
        try:
            said = by_entity(piece for piece in kept if piece.holds_at(at))
        except Corrupt:
            return
        true = by_entity(piece for piece in found if piece.holds_at(at))
        for entity in sorted(said.keys() | true.keys()):
            wrong = said.get(entity, Buckets()) ^ true.get(entity, Buckets())
            if wrong and entity not in told:
                told.add(entity)
                is_said = wrong.min() in said.get(entity, Buckets())
                yield _problem(usage, file, at, entity, wrong, is_said=is_said)


def _moments(known: Inventory, file: DataFile, pieces: Sequence[Piece]) -> list[int]:
    """Snapshots that see the file, one of each time in which nothing of it changed."""
    ids = known.snapshot_ids
    first = bisect_left(ids, file.begin_snapshot)
    end = len(ids) if file.end_snapshot is None else bisect_left(ids, file.end_snapshot)
    edges = {edge for piece in pieces for edge in (piece.begin, piece.end) if edge is not None}
    places = {max(first, bisect_left(ids, edge)) for edge in edges} | {first}
    return [ids[place] for place in sorted(places) if place < end]


def _problem(
    usage: Usage, file: DataFile, at: int, entity: str, wrong: Buckets, *, is_said: bool
) -> Problem:
    moment = usage.series.moment(usage.series.clock.number_of(wrong.min()))
    how = "is kept as covered, and has no row" if is_said else "has rows, and is not kept"
    return Problem(
        CHECK,
        f"the bucket of {moment} of {entity} {how}; {len(wrong):,} buckets differ",
        ANEW,
        table=str(usage.table.name),
        file=file.path,
        snapshot_id=at,
    )
