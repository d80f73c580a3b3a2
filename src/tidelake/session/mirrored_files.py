"""The files of a table as a Delta log is to have them at a snapshot."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
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
from tidelake.model.schema import ROW_BEGAN, ROW_FILE, ROW_POSITION, Column
from tidelake.model.statistics import ColumnStats
from tidelake.session.planning import TableFacts, plan_all

if TYPE_CHECKING:
    from tidelake.session.lake import Lake

_GONE, _ROWS = "_tidelake_gone", "_tidelake_rows"
_EVER = 1 << 62


class Obstacle(Exception):
    """Why a snapshot cannot be shown."""


@dataclass(frozen=True, slots=True)
class Then:
    """A table at a snapshot, and some of its files with their whole life: their statistics, and
    the columns that they were written with, by the snapshot they began with. `kept`: the catalog
    keeps some of its rows itself."""

    snapshot_id: int
    facts: TableFacts
    files: tuple[DataFile, ...]
    statistics: Mapping[int, Mapping[int, ColumnStats]]
    written: Mapping[int, tuple[Column, ...]]
    mappings: Mapping[int, tuple[MappedField, ...]]
    kept: bool = False


def needs_look(then: Then) -> bool:
    """Whether files have to be opened to tell which of their rows the snapshot sees."""
    at = then.snapshot_id
    return any(f.is_visible_at(at) and (f.has_deletes or f.is_partial_at(at)) for f in then.files)


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
    facts = then.facts
    stats = stats_text(
        facts.info.schema,
        facts.history.physical,
        then.statistics.get(file.id, {}),
        file.rows,
        tight=not positions,
    )
    path = _path(mirror, then, file)
    modified = 0
    if known is not None and (known.path, known.vector) == (path, vector):
        return known
    return MirroredFile(file.id, path, file.bytes, modified, stats, vector)


def _path(mirror: Mirror, then: Then, file: DataFile) -> str:
    if file.encryption_key:
        raise Obstacle("its files are encrypted")
    if not file.path.startswith(mirror.root):
        raise Obstacle(f"{file.path} lies outside of the table's folder")
    if file.mapping_id is not None:
        raise Obstacle(f"{file.path} has no field ids")
    _check_columns(then.facts.info.schema, then.written[file.begin_snapshot], file)
    return spelled(file.path[len(mirror.root) :])


def _check_columns(columns: Iterable[Column], written: Iterable[Column], file: DataFile) -> None:
    """A file that is older than a default or a wider type does not have it."""
    then = {below.id: below for column in written for below in column.walk()}
    for column in columns:
        for below in column.walk():
            old = then.get(below.id)
            if old is None and below.initial_default is not None:
                raise Obstacle(f"{file.path} is older than the default of {below.name}")
            if old is not None and old.type != below.type:
                raise Obstacle(f"{file.path} is older than the type of {below.name}")


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
    uuid = uuid5(UUID(mirror.delta_id), f"{file.id}:{at}:{len(positions)}")
    vector, body = encoded(positions, uuid)
    if body is not None:
        lake._local.store.create(f"{mirror.root}{file_name(uuid)}", body)
    return vector
