"""The files of a table as a Delta log is to have them at a snapshot."""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import uuid4

from tidelake.delta.log.names import quote_path
from tidelake.delta.log.stats import stats_text
from tidelake.delta.log.vectors import decode_vector, encode_vector, file_name
from tidelake.delta.mirror.parquet_names import is_ours, names_by_id
from tidelake.delta.values.actions import Vector
from tidelake.delta.values.mirror import Mirror, MirroredFile
from tidelake.model.file import DataFile, MappedField
from tidelake.model.names import quote
from tidelake.model.schema import ROW_BEGAN, ROW_FILE, ROW_NUMBER, ROW_POSITION
from tidelake.model.statistics import ColumnStats
from tidelake.plan.target import Target
from tidelake.session.planning import TableMeta, plan_all
from tidelake.session.session import Session

COPY = "delta"
"""How names of copies end: nobody takes them for data files that were forgotten."""
_GONE, _ROWS = "_tidelake_gone", "_tidelake_rows"
_EVER = 1 << 62


class Obstacle(Exception):
    """Why a snapshot cannot be shown."""


@dataclass(frozen=True, slots=True)
class TableAt:
    """A table at a snapshot, and some of its files with their whole life, with statistics of those
    that the mirror does not have. `spans` are the types that its columns have had, and when.
    `kept`: the catalog keeps some of its rows itself."""

    snapshot_id: int
    facts: TableMeta
    files: tuple[DataFile, ...]
    statistics: Mapping[int, Mapping[int, ColumnStats]]
    spans: Mapping[int, Sequence[tuple[int, int | None, str]]]
    mappings: Mapping[int, tuple[MappedField, ...]]
    kept: bool = False

    @property
    def visible(self) -> list[DataFile]:
        return [file for file in self.files if file.is_visible_at(self.snapshot_id)]


def needs_look(mirror: Mirror, then: TableAt) -> bool:
    """Whether files have to be opened: to tell which of their rows the snapshot sees, what they
    call their columns, or to copy them."""
    at, visible = then.snapshot_id, then.visible
    if any(
        file.has_deletes or file.is_partial_at(at) or not file.path.startswith(mirror.root)
        for file in visible
    ):
        return True
    return bool(_doubtful(then, visible, {}) or _foreign(then, visible))


def files_to_show(
    session: Session, mirror: Mirror, then: TableAt, before: Mapping[int, MirroredFile]
) -> dict[int, MirroredFile]:
    """Those of the files that the snapshot sees rows of."""
    visible = then.visible
    if any(file.encryption_key for file in visible):
        raise Obstacle("its files are encrypted")
    gone = positions_gone(session, then, visible)
    foreign = _foreign(then, visible) | _misnamed(session, then, visible, before)
    found = {}
    for file in visible:
        positions = gone.get(file.id, ())
        if len(positions) < file.rows:
            is_itself = file.path.startswith(mirror.root) and file.id not in foreign
            body = _body(session, mirror, then, file, before.get(file.id), is_itself)
            found[file.id] = _as_shown(session, mirror, body, positions, before.get(file.id))
    return found


def _as_shown(
    session: Session,
    mirror: Mirror,
    body: MirroredFile,
    positions: Sequence[int],
    known: MirroredFile | None,
) -> MirroredFile:
    """With a vector of the positions, whose file is in place before anything names it. What the
    mirror has already is not written again."""
    if known is not None and _same(session, mirror, known, positions):
        if known.path == body.path:
            return known
        vector = known.vector
    else:
        vector = _vector(session, mirror, positions) if positions else None
    if vector is None:
        return body
    loose = body.stats.replace('"tightBounds":true', '"tightBounds":false', 1)
    return replace(body, stats=loose, vector=vector)


def _vector(session: Session, mirror: Mirror, positions: Sequence[int]) -> Vector:
    uuid = uuid4()
    vector, data = encode_vector(positions, uuid)
    if data is not None:
        session.local.store.create(f"{mirror.root}{file_name(uuid)}", data)
    return vector


def _same(session: Session, mirror: Mirror, known: MirroredFile, positions: Sequence[int]) -> bool:
    """Whether a file is shown without just these positions. Rows that a snapshot does not see may
    be others, but as many, only where rows have been moved."""
    if known.vector is None or known.vector.cardinality != len(positions):
        return known.vector is None and not positions
    return decode_vector(known.vector, mirror.root, session.local.store.read) == list(positions)


def _body(
    session: Session,
    mirror: Mirror,
    then: TableAt,
    file: DataFile,
    known: MirroredFile | None,
    is_itself: bool,
) -> MirroredFile:
    """The file itself, or a copy of it that readers of the log understand; all of its rows."""
    if is_itself:
        path = quote_path(file.path[len(mirror.root) :])
        if known is not None and known.path == path:
            return replace(known, stats=_tight(known.stats), vector=None)
        stats = _stats(then, then.statistics.get(file.id, {}), file.rows)
        return MirroredFile(file.id, path, file.bytes, 0, stats, first_row=file.row_id_start)
    shape = _shape(then)
    if known is not None and known.copied == shape:
        return replace(known, stats=_tight(known.stats), vector=None)
    return _copied(session, mirror, then, file, shape)


def _tight(stats: str) -> str:
    return stats.replace('"tightBounds":false', '"tightBounds":true', 1)


def _foreign(then: TableAt, visible: Iterable[DataFile]) -> set[int]:
    """Files that have other types than their columns have for readers of the log, are older than
    the default of one, or have no field ids. What was written between two changes of the columns
    is alike in that; what came with a change may have been written before it, and what DuckDB has
    rewritten has the columns of the file that it was."""
    points = sorted({span[0] for spans in then.spans.values() for span in spans})
    changing = set(points)
    alike: dict[tuple[int, bool, bool], bool] = {}
    found = set()
    for file in visible:
        at = file.begin_snapshot
        rewritten = file.row_id_start is None and not is_ours(file.path)
        part = bisect_right(points, at), at in changing, rewritten
        if part not in alike:
            written = [at, *([at - 1] if at in changing else [])]
            written += [point for point in points if rewritten and point < at]
            alike[part] = any(_is_other(then, moment) for moment in written)
        if alike[part] or file.mapping_id is not None:
            found.add(file.id)
    return found


def _is_other(then: TableAt, began: int) -> bool:
    for column in then.facts.info.schema:
        for below in column.walk():
            before = _type_at(then.spans[below.id], began)
            if before is None and below.initial_default is not None:
                return True
            if before is not None and before != below.type:
                return True
    return False


def _type_at(spans: Sequence[tuple[int, int | None, str]], at: int) -> str | None:
    return next((k for begin, end, k in spans if begin <= at and (end is None or at < end)), None)


def _doubtful(
    then: TableAt, visible: Iterable[DataFile], before: Mapping[int, MirroredFile]
) -> list[DataFile]:
    """Files that may call columns by other names than the log says: DuckDB gives them the names
    that they have when it writes. What is shown as it is has been looked at before."""
    if not then.facts.history.renamed:
        return []
    known = {id_ for id_, file in before.items() if file.copied is None}
    return [file for file in visible if file.id not in known and not is_ours(file.path)]


def _misnamed(
    session: Session, then: TableAt, visible: Iterable[DataFile], before: Mapping[int, MirroredFile]
) -> set[int]:
    doubtful = [file for file in _doubtful(then, visible, before) if file.mapping_id is None]
    if not doubtful:
        return set()
    physical = then.facts.history.physical
    named = {
        below.id: physical[below.id] for column in then.facts.info.schema for below in column.walk()
    }
    given = names_by_id(session.local, [file.path for file in doubtful])
    return {
        file.id
        for file in doubtful
        if any(named.get(id_, name) != name for id_, name in given[file.path].items())
    }


def _shape(then: TableAt) -> str:
    """What a copy depends on: ids, names in files, types and defaults of columns."""
    physical = then.facts.history.physical
    listed = [
        [below.id, physical.get(below.id), below.type, below.initial_default]
        for column in then.facts.info.schema
        for below in column.walk()
    ]
    return hashlib.sha256(json.dumps(listed).encode()).hexdigest()[:16]


def _copied(
    session: Session, mirror: Mirror, then: TableAt, file: DataFile, shape: str
) -> MirroredFile:
    """The same rows in the same order, so that positions stay what they are. DuckDB's updates give
    a file a first row, and to its rows the ids that they had before."""
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
    with session.local.job(f"cannot mirror {facts.info.name}") as job:
        job.scan(_ROWS, replace(plan, files=(file.as_written(),), mappings=then.mappings))
        listed = ", ".join(map(quote, names))
        numbered = file.row_id_start is None or not is_ours(file.path)
        chosen = f"{listed}, {ROW_NUMBER}" if numbered else listed
        sql = f"SELECT {chosen} FROM {_ROWS} ORDER BY {ROW_POSITION}"
        (made,) = job.write(sql, target, carries_row_ids=numbered)
    known = {
        each.column_id: ColumnStats(each.min, each.max, each.nulls, each.values, each.contains_nan)
        for each in made.columns
    }
    path = quote_path(made.path[len(mirror.root) :])
    stats = _stats(then, known, made.rows)
    first = None if numbered else file.row_id_start
    return MirroredFile(file.id, path, made.bytes, 0, stats, copied=shape, first_row=first)


def _stats(then: TableAt, known: Mapping[int, ColumnStats], rows: int) -> str:
    facts = then.facts
    return stats_text(facts.info.schema, facts.history.physical, known, rows, tight=True)


def positions_gone(
    session: Session, then: TableAt, visible: Sequence[DataFile]
) -> dict[int, list[int]]:
    """Positions that the snapshot does not see, by file: deleted by then, or not there yet."""
    at = then.snapshot_id
    found: dict[int, set[int]] = defaultdict(set)
    deleted = [file for file in visible if file.has_deletes]
    partial = [file for file in visible if file.is_partial_at(at)]
    if not deleted and not partial:
        return {}
    with session.local.job(f"cannot mirror {then.facts.info.name}") as job:
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
