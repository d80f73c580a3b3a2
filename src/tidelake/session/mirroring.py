"""Keeping mirrors up: what a table has become since is decided upon in the catalog, then published
to its log, in order. Whoever comes next finishes what somebody has left.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tidelake.catalog import file_history, files, inlined, mirrors, read, snapshots
from tidelake.catalog.database import Reader, Writer
from tidelake.catalog.mirrors import Step
from tidelake.errors import NotFound, TidelakeError, TidelakeWarning
from tidelake.mirror.compose import Moment, Shape, composed
from tidelake.mirror.declaration import declaration_text
from tidelake.model.change import Change
from tidelake.model.changes import UPKEEP, named_tables
from tidelake.model.file import DataFile
from tidelake.model.mirror import Mirror, MirroredFile, Ratified
from tidelake.model.schema import Column
from tidelake.model.snapshot import Snapshot
from tidelake.session.alone import alone
from tidelake.session.mirrored_files import Obstacle, Then, needs_look, shown
from tidelake.session.planning import TableFacts, mappings_of
from tidelake.session.publishing import publish, publish_now

if TYPE_CHECKING:
    from tidelake.session.lake import Lake

TAG = "tidelake.mirror"
"""What a table bears that is mirrored."""
_DELETES = {"deleted_from_table", "inlined_delete"}
_AT_ONCE = 64
"""Snapshots that are decided upon in one transaction."""


@dataclass(frozen=True, slots=True)
class _Due:
    """A snapshot that is to be shown. `files` are those that may have changed with it, `whole`
    says that they are all there are. Without `then` the table has been dropped."""

    snapshot: Snapshot
    whole: bool
    then: Then | None = None


class Mirroring:
    """What one commit does for the mirrors of the tables that it changes. Nothing that goes wrong
    with a log makes the commit fail: it is told as a warning, and done by whoever comes next."""

    def __init__(self, lake: Lake, change: Change) -> None:
        self._lake = lake
        self._tables = [
            table.before.id
            for table in change.tables
            if table.before is not None and TAG in table.before.tags
        ]
        self._steps: list[Step] = []

    def beside(self, writer: Writer) -> None:
        self._steps = ratify_beside(self._lake, writer, self._tables)

    def publish(self) -> None:
        ratified = {step.before.table_id: step for step in self._steps}
        for table_id in self._tables:
            step = ratified.get(table_id)
            try:
                if step is None or not publish_now(self._lake, step):
                    sync(self._lake, table_id)
            except TidelakeError as error:
                warnings.warn(
                    f"a commit has landed, but could not be published to Delta yet: {error}",
                    TidelakeWarning,
                    stacklevel=2,
                )


def sync(lake: Lake, table_id: int) -> Mirror | None:
    """Bring a mirror up to the newest snapshot, as far as that can be done."""
    while (step := _next_step(lake, table_id)) is not None:
        alone(lake, mirrors.ratify, step)
    return publish(lake, table_id)


def flush(lake: Lake, table_id: int) -> None:
    """Put rows that the catalog keeps into files: a log knows no others."""
    from tidelake.session.compaction import flush_rows

    with lake._reading() as reader:
        name = dict(read.names(reader, snapshots.head_id(reader), "table")).get(table_id)
    if name is not None:
        flush_rows(lake, name)


def ratify_beside(lake: Lake, writer: Writer, table_ids: Iterable[int]) -> list[Step]:
    """Decide upon what a commit does to mirrored tables in its own transaction, where that takes
    no look at files; what is left is for `sync`."""
    found = []
    for table_id in table_ids:
        mirror = mirrors.of_table(writer, table_id)
        if mirror is None or mirror.status != "active" or mirror.version < 0:
            continue
        known = lake._published.get(table_id, -1)
        mirror = replace(mirror, published=max(mirror.published, known))
        dues = list(_dues(lake, writer, mirror))
        if not any(due.then and (due.then.kept or needs_look(mirror, due.then)) for due in dues):
            step = _step(lake, mirror, dues, _before(writer, mirror, dues))
            found += [step] if mirrors.ratify(writer, step) else []
    return found


def _next_step(lake: Lake, table_id: int) -> Step | None:
    with lake._reading() as reader:
        mirror = mirrors.of_table(reader, table_id)
        if mirror is None or mirror.status != "active":
            return None
        dues = list(_dues(lake, reader, mirror))
        before = _before(reader, mirror, dues)
    if any(due.then is not None and due.then.kept for due in dues):
        flush(lake, mirror.table_id)
        return _next_step(lake, table_id)
    return _step(lake, mirror, dues, before) if dues else None


def _dues(lake: Lake, reader: Reader, mirror: Mirror) -> Iterator[_Due]:
    """Snapshots that changed the table since what the mirror shows; of a new mirror the newest.
    Where rows have been moved between files meanwhile, for the past too, all files are looked
    at."""
    if mirror.version < 0:
        newest = snapshots.by_id(reader, snapshots.head_id(reader))
        yield _due(lake, reader, mirror, newest, None)
        return
    later = snapshots.after(reader, mirror.snapshot_id)
    touching = [each for each in later if mirror.table_id in named_tables(each.changes)]
    moved = any(_words(each, mirror.table_id) & UPKEEP.keys() for each in touching)
    since = mirror.snapshot_id
    for snapshot in touching[:_AT_ONCE]:
        yield _due(lake, reader, mirror, snapshot, None if moved else since)
        since = snapshot.snapshot_id


def _words(snapshot: Snapshot, table_id: int) -> set[str]:
    """What a snapshot says that it did to the table."""
    parts = (change.partition(":") for change in snapshot.changes)
    return {word.lower() for word, _, subject in parts if subject == str(table_id)}


def _due(lake: Lake, reader: Reader, mirror: Mirror, snapshot: Snapshot, since: int | None) -> _Due:
    at, id_ = snapshot.snapshot_id, mirror.table_id
    try:
        info = read.table(reader, at, id_, lake.data_path)
    except NotFound:
        return _Due(snapshot, whole=True)
    facts = TableFacts.gather(reader, info)
    schema_changed = "altered_table" in _words(snapshot, id_)
    whole = since is None or schema_changed
    if whole:
        ids = {file.id for file in files.data_files(reader, at, id_, info.path)}
        found = files.whole_life(reader, id_, info.path, ids)
    else:
        assert since is not None
        free = file_history.next_file(reader, since)
        found = file_history.touched(reader, id_, info.path, since, at, free)
    ids = {file.id for file in found}
    leaves = {leaf.id for column in info.schema for leaf in column.leaves()}
    then = Then(
        at,
        facts,
        tuple(found),
        files.statistics(reader, id_, leaves, ids),
        _columns_then(reader, id_, found),
        mappings_of(reader, found),
        kept=any(rows.rows for rows in inlined.inlined_rows(reader, at, id_, leaves)),
    )
    return _Due(snapshot, whole, then)


def _columns_then(
    reader: Reader, table_id: int, found: Sequence[DataFile]
) -> dict[int, tuple[Column, ...]]:
    """The columns that files were written with, by the snapshot that they began with."""
    return {
        at: read.columns(reader, at, table_id) for at in {file.begin_snapshot for file in found}
    }


def _before(reader: Reader, mirror: Mirror, dues: Sequence[_Due]) -> dict[int, MirroredFile]:
    """What the mirror has of all files that may change."""
    if any(due.whole for due in dues):
        return mirrors.files(reader, mirror.table_id)
    ids = {file.id for due in dues if due.then for file in due.then.files}
    return mirrors.files(reader, mirror.table_id, ids)


def _step(
    lake: Lake, mirror: Mirror, dues: Sequence[_Due], before: Mapping[int, MirroredFile]
) -> Step:
    """Versions for the snapshots, one after the other, up to one that cannot be shown."""
    current, following = dict(before), mirror
    commits: list[Ratified] = []
    for due in dues:
        try:
            after = {} if due.then is None else shown(lake, mirror, due.then, current)
        except Obstacle as obstacle:
            following = replace(following, status="blocked", reason=str(obstacle))
            break
        known = current if due.whole or due.then is None else _of(current, due.then.files)
        following, commit = composed(following, _moment(following, due), known, after)
        commits += [commit] if commit else []
        current = {id_: f for id_, f in current.items() if id_ not in known} | after
        if due.then is None:
            following = replace(following, status="stopped", reason="the table was dropped")
            break
    gone = frozenset(before.keys() - current.keys())
    come = tuple(file for id_, file in current.items() if before.get(id_) != file)
    return Step(mirror, following, tuple(commits), gone, come)


def _of(current: Mapping[int, MirroredFile], found: Sequence[DataFile]) -> dict[int, MirroredFile]:
    return {file.id: current[file.id] for file in found if file.id in current}


def _moment(mirror: Mirror, due: _Due) -> Moment:
    words = _words(due.snapshot, mirror.table_id)
    time = int(due.snapshot.time.timestamp() * 1000)
    upkeep = bool(words) and words <= UPKEEP.keys()
    at = due.snapshot.snapshot_id
    if due.then is None:
        return Moment(at, time, "DROP TABLE", None)
    info = due.then.facts.info
    history = due.then.facts.history
    declaration = declaration_text(info, history.physical, history.parents)
    columns = info.schema.columns
    shape = Shape(str(info.name), info.comment, columns, history.physical, declaration)
    return Moment(at, time, _operation(words, upkeep), shape, same_rows=upkeep)


def _operation(words: set[str], upkeep: bool) -> str:
    if upkeep:
        return "OPTIMIZE"
    return "DELETE" if words <= _DELETES else "WRITE"
