"""All that an import will do, found out before it does anything."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import chain

from tidelake.catalog.database.database import Reader
from tidelake.catalog.read import files, snapshots
from tidelake.catalog.read import tables as read
from tidelake.delta.importing import records as imports
from tidelake.delta.importing.adopt import partition_values
from tidelake.delta.importing.files import ImportPlan, count_rows, deleted_positions_of
from tidelake.delta.importing.numbering import ColumnNumbering
from tidelake.delta.importing.walk import LogStep, LogWalk, loosen_columns, numbering_of
from tidelake.delta.log.checkpoint import read_checkpoint
from tidelake.delta.log.read import LogListing, reachable
from tidelake.delta.log.vectors import place_of
from tidelake.delta.values.actions import Add
from tidelake.delta.values.reports import ImportState
from tidelake.errors import Corrupt, Denied
from tidelake.model.file import DataFile
from tidelake.model.names import TableName
from tidelake.model.terms import NO_TERMS, Terms
from tidelake.session.session import Session
from tidelake.store.within import Within

_LISTED = 1000
"""From so many files on, the whole table is listed instead of looking at each."""
_SHOWN = 5
_VECTORS_KEPT = 8


@dataclass(frozen=True, slots=True)
class Import:
    """Where a table comes from and goes to, and how far its import has come before."""

    session: Session
    log: LogListing
    name: TableName
    mode: str
    last: int
    before: ImportState | None
    take_over: bool = False
    places: tuple[str, ...] = ()
    """Folders beside the table's own whose files its log may name."""
    terms: Terms = NO_TERMS
    """Who imports, and why: instead of what the log says of its versions."""


@dataclass(frozen=True, slots=True)
class ImportPreview:
    """What is to be done, on which `ground`; the table's files will be `live`."""

    steps: list[LogStep]
    ground: ImportPlan
    live: dict[str, Add]
    notes: list[str]

    @property
    def rows(self) -> int:
        gone = sum(add.vector.cardinality for add in self.live.values() if add.vector is not None)
        return sum(self.ground.counts[path] for path in self.live) - gone


def look(job: Import) -> ImportPreview:
    """Go through the log, and see whether everything is there and as it should be."""
    with job.session.reading() as reader:
        ground = ImportPlan(job.log.root, {}, held_files(job, reader), take_over=job.take_over)
        if job.before is not None:
            ground.ever = imports.paths(reader, job.before.table_id)
            made = imports.copies(reader, job.before.table_id)
            living = [file.id for each in ground.held.values() for file in each]
            ground.copied = {made[i].source: made[i].vector for i in living if i in made}
    earliest = job.last if job.mode == "fast" else reachable(job.log, job.last)
    first = earliest if job.before is None else max(earliest, job.before.version + 1)
    walk, steps = walk_log(job, ground.held, first)
    told = steps[0].version
    if (cut := _sized(job, ground, steps)) > told:
        walk, steps = walk_log(job, ground.held, cut)
    steps, doubtful = loosen_columns(steps)
    ground.counts = count_rows(job.session.local, steps)
    _check(job, ground, steps)
    notes = walk.notes + [
        f"column {name} may be null here: the log does not rule it out" for name in doubtful
    ]
    notes += _cut_short(job, first, told, steps[0].version)
    return ImportPreview(steps, ground, walk.live, notes)


def held_files(job: Import, reader: Reader) -> dict[str, list[DataFile]]:
    """The files that the lake has of the table, by where they are in Delta."""
    if job.before is None:
        return {}
    table_id, at = job.before.table_id, snapshots.head_id(reader)
    info = read.table(reader, at, table_id, job.session.data_path)
    made = imports.copies(reader, table_id)
    found: dict[str, list[DataFile]] = defaultdict(list)
    for file in files.data_files(reader, at, table_id, info.path):
        found[made[file.id].source if file.id in made else file.path].append(file)
    return dict(found)


def walk_log(job: Import, held: Iterable[str], first: int) -> tuple[LogWalk, list[LogStep]]:
    """Go through the log from a version on; the lake has `held` files of it."""
    before, session = job.before, job.session
    walk = LogWalk(
        store=session.local.store,
        log=job.log,
        checkpoints=partial(read_checkpoint, session.local),
        numbering=numbering_of(before.columns) if before else ColumnNumbering(),
        held=frozenset(held),
        time=before.committed_at if before else None,
    )
    return walk, list(walk.steps(first, job.last))


def _sized(job: Import, ground: ImportPlan, steps: Sequence[LogStep]) -> int:
    """Learn how large all files are; the first version from which they are all there. Corrupt if
    the last one lacks some."""
    adds = {path: add for step in steps for path, add in _touched(step)}
    places = {place for _, add in _all(steps) if (place := _place(add, ground)) is not None}
    needed = adds.keys() | places
    _check_places(job, needed)
    ground.sizes = sizes_of(job.session, job.log.root, needed)
    if needed <= ground.sizes.keys():
        return steps[0].version
    missing: dict[str, str] = {}
    first = steps[0].version
    for step in steps:
        for path in step.removed:
            missing.pop(path, None)
        for path, add in _touched(step):
            both = [path, _place(add, ground)]
            lacking = [each for each in both if each and each not in ground.sizes]
            missing.pop(path, None)
            if lacking:
                missing[path] = lacking[0]
        first = step.version + 1 if missing else first
    if missing:
        raise _gone(sorted(missing.values()))
    return first


def _check_places(job: Import, paths: Iterable[str]) -> None:
    """A log is not trusted to name files just anywhere: they would become readable here."""
    named = Within((job.log.root, *job.places))
    for path in paths:
        if "\0" in path or not named.holds(path):
            raise Denied(
                f"the log at {job.log.root} names {path!r}, which is outside of its folder",
                hint="if it is meant to, name the folder: import_delta(…, places=[…])",
            )


def _touched(step: LogStep) -> Iterator[tuple[str, Add]]:
    return chain(step.added.items(), step.changed.items())


def _all(steps: Iterable[LogStep]) -> Iterator[tuple[str, Add]]:
    return chain.from_iterable(map(_touched, steps))


def _place(add: Add, ground: ImportPlan) -> str | None:
    return None if add.vector is None else place_of(add.vector, ground.root)


def sizes_of(session: Session, root: str, wanted: Iterable[str]) -> dict[str, int]:
    """How large those of the files are that are there."""
    store, paths = session.local.store, set(wanted)
    if len(paths) < _LISTED:
        return store.sizes(sorted(paths)) if paths else {}
    found = {each.uri: each.bytes for each in store.walk(root) if each.uri in paths}
    rest = sorted(path for path in paths - found.keys() if not path.startswith(root))
    return found | (store.sizes(rest) if rest else {})


def _gone(missing: Sequence[str]) -> Corrupt:
    more = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
    return Corrupt(
        f"files are missing that the log says are part of the table:"
        f" {', '.join(missing[:_SHOWN])}{more}",
        hint="were they removed by VACUUM? Import a version whose files are there",
    )


def _check(job: Import, ground: ImportPlan, steps: Sequence[LogStep]) -> None:
    """Partition values and deletion vectors must be what they should be."""
    fetch = lru_cache(_VECTORS_KEPT)(job.session.local.store.read_small)
    for step in steps:
        partition = step.shape.partition
        for _, add in _touched(step):
            if partition:
                partition_values(add.partition_values, partition)
            deleted_positions_of(add, ground, fetch)


def _cut_short(job: Import, first: int, told: int, begins: int) -> list[str]:
    if job.mode == "fast":
        return []
    after = -1 if job.before is None else job.before.version
    notes = []
    if first > after + 1:
        notes.append(f"versions {after + 1} to {first - 1} are not told by the log any more")
    if begins > told:
        notes.append(f"versions {told} to {begins - 1} need files that are gone")
    return notes
