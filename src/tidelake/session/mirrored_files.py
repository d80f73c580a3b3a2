"""The files of a table as a Delta log is to have them at a snapshot."""

from __future__ import annotations

import hashlib
import json
from array import array
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from uuid import UUID, uuid5

from tidelake.mirror.names import spelled
from tidelake.mirror.stats import stats_text
from tidelake.mirror.types import obstacles
from tidelake.mirror.vectors import encoded, file_name
from tidelake.model.delta import Vector
from tidelake.model.file import DataFile, MappedField
from tidelake.model.mirror import Mirror, MirroredFile
from tidelake.model.names import quote
from tidelake.model.schema import ROW_BEGAN, ROW_FILE, ROW_NUMBER, ROW_POSITION, Column
from tidelake.model.statistics import ColumnStats
from tidelake.plan.write import Target
from tidelake.session.planning import TableFacts, plan_all

if TYPE_CHECKING:
    from tidelake.session.lake import Lake

COPY = "delta"
"""How names of copies end: nobody takes them for data files that were forgotten."""
_GONE, _ROWS = "_tidelake_gone", "_tidelake_rows"
_EVER = 1 << 62


class Obstacle(Exception):
    """Why a snapshot cannot be shown."""


@dataclass(frozen=True, slots=True)
class Then:
    """A table at a snapshot, and some of its files with their whole life: their statistics, and
    the columns that they were written with, by the snapshot they began with. `misnamed`
    are files with other names than these columns should have there. `kept`: the catalog keeps
    some of its rows itself."""

    snapshot_id: int
    facts: TableFacts
    files: tuple[DataFile, ...]
    statistics: Mapping[int, Mapping[int, ColumnStats]]
    written: Mapping[int, tuple[Column, ...]]
    mappings: Mapping[int, tuple[MappedField, ...]]
    misnamed: frozenset[int] = frozenset()
    kept: bool = False


def needs_look(mirror: Mirror, then: Then) -> bool:
    """Whether files have to be opened: to tell which of their rows the snapshot sees, or to copy
    them."""
    at = then.snapshot_id
    return any(
        file.has_deletes
        or file.is_partial_at(at)
        or not file.path.startswith(mirror.root)
        or _is_foreign(then, file)
        for file in then.files
        if file.is_visible_at(at)
    )


def shown(
    lake: Lake, mirror: Mirror, then: Then, before: Mapping[int, MirroredFile]
) -> dict[int, MirroredFile]:
    """Those of the files that the snapshot sees rows of."""
    reasons = obstacles(then.facts.info.schema)
    if reasons:
        raise Obstacle("; ".join(reasons))
    visible = [file for file in then.files if file.is_visible_at(then.snapshot_id)]
    gone = _gone(lake, then, visible)
    found = {}
    for file in visible:
        positions = gone.get(file.id, ())
        if len(positions) < file.rows:
            found[file.id] = _as_shown(lake, mirror, then, file, positions, before.get(file.id))
    return found


def _as_shown(
    lake: Lake,
    mirror: Mirror,
    then: Then,
    file: DataFile,
    positions: Sequence[int],
    known: MirroredFile | None,
) -> MirroredFile:
    vector = _vector(lake, mirror, file, positions, then.snapshot_id) if positions else None
    body = _body(lake, mirror, then, file, known)
    if known is not None and (known.path, known.vector) == (body.path, vector):
        return known
    stats = _stats(then, then.statistics.get(file.id, {}), file.rows, tight=not positions)
    if body.copied:
        stats = body.stats if not positions else _loose(body.stats)
    return replace(body, stats=stats, vector=vector)


def _body(
    lake: Lake, mirror: Mirror, then: Then, file: DataFile, known: MirroredFile | None
) -> MirroredFile:
    """The file itself, or a copy of it that readers of the log understand."""
    if file.encryption_key:
        raise Obstacle("its files are encrypted")
    if file.path.startswith(mirror.root) and not _is_foreign(then, file):
        path = spelled(file.path[len(mirror.root) :])
        return MirroredFile(file.id, path, file.bytes, 0, "", first_row=file.row_id_start)
    shape = _shape(then)
    if known is not None and known.copied == shape:
        return replace(known, vector=None)
    return _copied(lake, mirror, then, file, shape)


def _is_foreign(then: Then, file: DataFile) -> bool:
    """Whether the file has other names or types than its columns have for readers of the log, or
    is older than the default of one."""
    if file.mapping_id is not None or file.id in then.misnamed:
        return True
    written = then.written[file.begin_snapshot]
    old = {below.id: below for column in written for below in column.walk()}
    for column in then.facts.info.schema:
        for below in column.walk():
            before = old.get(below.id)
            if before is None and below.initial_default is not None:
                return True
            if before is not None and before.type != below.type:
                return True
    return False


def _shape(then: Then) -> str:
    """What a copy depends on: ids, names in files, types and defaults of columns."""
    physical = then.facts.history.physical
    listed = [
        [below.id, physical.get(below.id), below.type, below.initial_default]
        for column in then.facts.info.schema
        for below in column.walk()
    ]
    return hashlib.sha256(json.dumps(listed).encode()).hexdigest()[:16]


def _copied(lake: Lake, mirror: Mirror, then: Then, file: DataFile, shape: str) -> MirroredFile:
    """The same rows in the same order, so that positions stay what they are."""
    facts = then.facts
    columns = facts.info.schema.columns
    names = tuple(column.name for column in columns)
    plan = plan_all(_EVER, facts, columns, (*names, ROW_POSITION, ROW_NUMBER))
    target = Target(
        facts.info.name,
        mirror.root,
        columns,
        facts.history.physical,
        file_bytes=_EVER,
        suffix=COPY,
    )
    with lake._engine.job(f"cannot mirror {facts.info.name}") as job:
        job.scan(_ROWS, replace(plan, files=(file.as_written(),), mappings=then.mappings))
        listed = ", ".join(map(quote, names))
        numbered = file.row_id_start is None
        chosen = f"{listed}, {ROW_NUMBER}" if numbered else listed
        sql = f"SELECT {chosen} FROM {_ROWS} ORDER BY {ROW_POSITION}"
        (made,) = job.write(sql, target, carries_row_ids=numbered)
    known = {
        each.column_id: ColumnStats(each.min, each.max, each.nulls, each.values, each.contains_nan)
        for each in made.columns
    }
    stats = _stats(then, known, made.rows, tight=True)
    path = spelled(made.path[len(mirror.root) :])
    first = file.row_id_start
    return MirroredFile(file.id, path, made.bytes, 0, stats, copied=shape, first_row=first)


def _stats(then: Then, known: Mapping[int, ColumnStats], rows: int, *, tight: bool) -> str:
    facts = then.facts
    return stats_text(facts.info.schema, facts.history.physical, known, rows, tight=tight)


def _loose(stats: str) -> str:
    return stats.replace('"tightBounds":true', '"tightBounds":false', 1)


def _gone(lake: Lake, then: Then, visible: Sequence[DataFile]) -> dict[int, list[int]]:
    """Positions that the snapshot does not see, by file: deleted by then, or not there yet."""
    at = then.snapshot_id
    found: dict[int, set[int]] = defaultdict(set)
    deleted = [file for file in visible if file.has_deletes]
    partial = [file for file in visible if file.is_partial_at(at)]
    if not deleted and not partial:
        return {}
    with lake._engine.job(f"cannot mirror {then.facts.info.name}") as job:
        if deleted:
            job.deletions(_GONE, deleted)
            sql = f"SELECT {ROW_FILE}, {ROW_POSITION} FROM {_GONE} WHERE deleted_at <= {at}"
            for file_id, position in job.rows(sql):
                found[file_id].add(position)
        if partial:
            plan = plan_all(_EVER, then.facts, (), (ROW_FILE, ROW_POSITION, ROW_BEGAN))
            bare = tuple(file.as_written() for file in partial)
            job.scan(_ROWS, replace(plan, files=bare, mappings=then.mappings))
            sql = f"SELECT {ROW_FILE}, {ROW_POSITION} FROM {_ROWS} WHERE {ROW_BEGAN} > {at}"
            for file_id, position in job.rows(sql):
                found[file_id].add(position)
    return {file_id: sorted(positions) for file_id, positions in found.items()}


def _vector(
    lake: Lake, mirror: Mirror, file: DataFile, positions: Sequence[int], at: int
) -> Vector:
    """A vector of these positions, whose file is in place before anything names it."""
    inside = hashlib.sha256(array("q", positions).tobytes()).hexdigest()
    uuid = uuid5(UUID(mirror.delta_id), f"{file.id}:{at}:{inside}")
    vector, body = encoded(positions, uuid)
    if body is not None:
        lake._local.store.create(f"{mirror.root}{file_name(uuid)}", body)
    return vector
