"""Mirrors in the catalog: which there are, what each shows, and what is to be published."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from tidelake.catalog import own_tables
from tidelake.catalog.database.database import Reader, Row, Writer
from tidelake.catalog.expire.remove import KEPT, SCHEDULE
from tidelake.catalog.read import paths
from tidelake.catalog.read.files import among, chunks
from tidelake.delta.mirror.tables import COMMITS, DELTA, FILES, TABLE, bring_up, ensure, source
from tidelake.delta.values.actions import Metadata, Protocol, Remove, Vector
from tidelake.delta.values.mirror import Mirror, MirroredFile, RatifiedVersion, ShownFiles

_OURS = f"format = '{DELTA}'"
_COLUMNS = (
    "table_id",
    "delta_id",
    "root",
    "status",
    "reason",
    "snapshot_id",
    "version",
    "published",
    "checkpoint",
    "committed_at",
    "file_count",
    "protocol",
    "metadata",
)
_COMMIT_COLUMNS = ("table_id", "version", "snapshot_id", "committed_at", "digest", "content")
_FILE_COLUMNS = (
    "table_id",
    "removed_at",
    "data_file_id",
    "path",
    "size",
    "modified",
    "stats",
    "first_row",
    "copied",
    "vector",
)


_SHOWN = 0
"""When a file that is still shown was removed."""
_CHECKPOINTS = 1 << 62


@dataclass(frozen=True, slots=True)
class MirrorStep:
    """Versions that follow what a mirror shows, and what it shows then: which files it no longer
    has as they were, since when, and which it has now."""

    before: Mirror
    after: Mirror
    commits: tuple[RatifiedVersion, ...] = ()
    went: tuple[tuple[MirroredFile, int], ...] = ()
    come: tuple[MirroredFile, ...] = ()


@dataclass(frozen=True, slots=True)
class MirrorHolding:
    """A file that a mirror shows, or has shown until a moment in milliseconds."""

    mirror: Mirror
    file: MirroredFile
    removed_at: int | None


def every(reader: Reader, table_id: int | None = None) -> list[Mirror]:
    if not reader.has_table(TABLE):
        return []
    which = "" if table_id is None else f" AND table_id = {table_id}"
    rows = reader.rows(
        f"SELECT {', '.join(_COLUMNS)} FROM {source(reader, TABLE)} WHERE {_OURS}{which}"
        " ORDER BY table_id"
    )
    return [_mirror(row) for row in rows]


def of_table(reader: Reader, table_id: int) -> Mirror | None:
    return next(iter(every(reader, table_id)), None)


def put(writer: Writer, mirror: Mirror) -> None:
    """Keep a mirror, in place of what was known of it."""
    ensure(writer)
    writer.execute(f"DELETE FROM {TABLE} WHERE table_id = :id AND {_OURS}", id=mirror.table_id)
    _insert(writer, TABLE, _COLUMNS, [_row(mirror)])


def put_new(writer: Writer, mirror: Mirror) -> None:
    """Keep a mirror unless there is one of the table."""
    if of_table(writer, mirror.table_id) is None:
        put(writer, mirror)


def remove(writer: Writer, table_id: int) -> None:
    bring_up(writer)
    for name in (TABLE, COMMITS, FILES):
        if writer.has_table(name):
            writer.execute(f"DELETE FROM {name} WHERE table_id = :id AND {_OURS}", id=table_id)


def files(
    reader: Reader, table_id: int, ids: Collection[int] | None = None
) -> dict[int, MirroredFile]:
    """Files that the mirror has, all or some, by id."""
    if not reader.has_table(FILES):
        return {}
    listed = (
        f"SELECT {', '.join(_FILE_COLUMNS[2:])} FROM {source(reader, FILES)}"
        f" WHERE table_id = :id AND {_OURS} AND removed_at = {_SHOWN}"
    )
    rows = []
    for some in [None] if ids is None else chunks(ids):
        rows += reader.rows(listed + ("" if some is None else among(some)), id=table_id)
    found = [_file(row) for row in rows]
    return {file.file_id: file for file in found}


def shown_files(reader: Reader, table_id: int) -> ShownFiles:
    """All files that the mirror has, in the order of their ids."""
    rows = reader.rows(
        f"SELECT path, size, modified, stats, first_row, vector FROM {source(reader, FILES)}"
        f" WHERE table_id = :id AND {_OURS} AND removed_at = {_SHOWN} ORDER BY data_file_id",
        id=table_id,
    )
    if not rows:
        return ShownFiles()
    path, size, modified, stats, first_row, vector = zip(*rows, strict=True)
    known = [None if text is None else Vector.of(json.loads(text)) for text in vector]
    return ShownFiles(path, size, modified, stats, first_row, known)


def ratify(writer: Writer, step: MirrorStep) -> bool:
    """Decide upon versions; False if somebody else has gone on from there meanwhile."""
    bring_up(writer)
    known = of_table(writer, step.before.table_id)
    if known is None or (known.version, known.snapshot_id) != (
        step.before.version,
        step.before.snapshot_id,
    ):
        return False
    decide(writer, step)
    return True


def decide(writer: Writer, step: MirrorStep) -> None:
    """Decide upon versions. Requires: nobody else can have gone on, and tables of today."""
    table_id = step.before.table_id
    _update(writer, step.after)
    commits = [
        (table_id, each.version, each.snapshot_id, each.committed_at, each.digest, each.content)
        for each in step.commits
    ]
    _insert(writer, COMMITS, _COMMIT_COLUMNS, commits)
    for some in chunks({file.file_id for file, _ in step.went}):
        writer.execute(
            f"DELETE FROM {FILES} WHERE table_id = :id AND {_OURS} AND removed_at = {_SHOWN}"
            f"{among(some)}",
            id=table_id,
        )
    rows = [_file_row(table_id, replace(file, stats=""), at) for file, at in step.went]
    rows += [_file_row(table_id, file, _SHOWN) for file in step.come]
    _insert(writer, FILES, _FILE_COLUMNS, rows)


def _insert(
    writer: Writer, name: str, columns: Sequence[str], rows: Sequence[Sequence[object]]
) -> None:
    writer.insert_values(name, (*columns, "format"), [(*row, DELTA) for row in rows])


def _update(writer: Writer, mirror: Mirror) -> None:
    values = dict(zip(_COLUMNS, _row(mirror), strict=True))
    set_to = ", ".join(f"{name} = :{name}" for name in _COLUMNS[1:])
    writer.execute(f"UPDATE {TABLE} SET {set_to} WHERE table_id = :table_id AND {_OURS}", **values)


def _empty(writer: Writer, table_id: int, published: int) -> None:
    """The bytes of commits need not be kept once they are in the log."""
    writer.execute(
        f"UPDATE {COMMITS} SET content = NULL WHERE table_id = :id AND {_OURS}"
        " AND version <= :published AND content IS NOT NULL",
        id=table_id,
        published=published,
    )


def unpublished_versions(reader: Reader, mirror: Mirror) -> list[RatifiedVersion]:
    """Versions that are not known to be in the log, in order."""
    rows = reader.rows(
        "SELECT version, snapshot_id, committed_at, digest, content"
        f" FROM {source(reader, COMMITS)} WHERE table_id = :id AND {_OURS}"
        " AND version > :published ORDER BY version",
        id=mirror.table_id,
        published=mirror.published,
    )
    return [
        RatifiedVersion(
            version, snapshot_id, at, digest, None if content is None else bytes(content)
        )
        for version, snapshot_id, at, digest, content in rows
    ]


def rebase(writer: Writer, step: MirrorStep, files: Sequence[MirroredFile], since: int) -> bool:
    """Go on from what a log has, whatever was decided upon from version `since` on; False if
    somebody else has gone on meanwhile. `files` are all that the mirror shows then."""
    table_id = step.before.table_id
    known = of_table(writer, table_id)
    if known is not None and known != step.before:
        return False
    put(writer, step.after)
    writer.execute(
        f"DELETE FROM {COMMITS} WHERE table_id = :id AND {_OURS} AND version >= :since",
        id=table_id,
        since=min([since, *(each.version for each in step.commits)]),
    )
    commits = [
        (table_id, each.version, each.snapshot_id, each.committed_at, each.digest, each.content)
        for each in step.commits
    ]
    _insert(writer, COMMITS, _COMMIT_COLUMNS, commits)
    writer.execute(
        f"DELETE FROM {FILES} WHERE table_id = :id AND {_OURS} AND removed_at = {_SHOWN}",
        id=table_id,
    )
    rows = [_file_row(table_id, replace(file, stats=""), at) for file, at in step.went]
    rows += [_file_row(table_id, file, _SHOWN) for file in files]
    _insert(writer, FILES, _FILE_COLUMNS, rows)
    return True


def mark(writer: Writer, table_id: int, published: int, checkpoint: int) -> None:
    """Versions up to one are in the log, and there is a checkpoint of one."""
    bring_up(writer)
    for name, value in {"published": published, "checkpoint": checkpoint}.items():
        writer.execute(
            f"UPDATE {TABLE} SET {name} = :value WHERE table_id = :id AND {_OURS}"
            f" AND {name} < :value",
            id=table_id,
            value=value,
        )
    _empty(writer, table_id, published)


def advance(writer: Writer, table_id: int, snapshot_id: int) -> None:
    """What the mirror shows is the table as of a later snapshot, too."""
    bring_up(writer)
    writer.execute(
        f"UPDATE {TABLE} SET snapshot_id = :at WHERE table_id = :id AND {_OURS}"
        " AND status = 'active'",
        id=table_id,
        at=snapshot_id,
    )


def stop(writer: Writer, table_id: int, status: str, reason: str) -> None:
    bring_up(writer)
    writer.execute(
        f"UPDATE {TABLE} SET status = :status, reason = :reason WHERE table_id = :id AND {_OURS}",
        id=table_id,
        status=status,
        reason=reason,
    )


def versions_at(reader: Reader, snapshot_id: int) -> dict[int, int]:
    """The Delta version, by table, that shows each mirrored table as of a snapshot."""
    if not reader.has_table(COMMITS):
        return {}
    rows = reader.rows(
        f"SELECT table_id, max(version) FROM {source(reader, COMMITS)}"
        f" WHERE {_OURS} AND snapshot_id <= :at GROUP BY table_id",
        at=snapshot_id,
    )
    return {row[0]: row[1] for row in rows}


def _row(mirror: Mirror) -> tuple[object, ...]:
    return (
        mirror.table_id,
        mirror.delta_id,
        mirror.root,
        mirror.status,
        mirror.reason,
        mirror.snapshot_id,
        mirror.version,
        mirror.published,
        mirror.checkpoint,
        mirror.committed_at,
        mirror.file_count,
        None if mirror.protocol is None else json.dumps(mirror.protocol.fields()["protocol"]),
        None if mirror.metadata is None else json.dumps(mirror.metadata.fields()["metaData"]),
    )


def _mirror(row: Row) -> Mirror:
    *facts, protocol, metadata = row
    return replace(
        Mirror(*facts),
        protocol=None if protocol is None else Protocol.of(json.loads(protocol)),
        metadata=None if metadata is None else Metadata.of(json.loads(metadata)),
    )


def _file(row: Row) -> MirroredFile:
    file_id, path, size, modified, stats, first_row, copied, vector = row
    known = None if vector is None else Vector.of(json.loads(vector))
    return MirroredFile(file_id, path, size, modified, stats, known, copied, first_row)


def _file_row(table_id: int, file: MirroredFile, removed_at: int) -> tuple[object, ...]:
    vector = None if file.vector is None else json.dumps(file.vector.fields())
    facts = (file.path, file.size, file.modified, file.stats, file.first_row, file.copied)
    return (table_id, removed_at, file.file_id, *facts, vector)


def removed_files(reader: Reader, table_id: int, since: int) -> list[Remove]:
    """Files that the mirror has shown, and no longer does since some moment in milliseconds."""
    rows = reader.rows(
        f"SELECT {', '.join(_FILE_COLUMNS[1:])} FROM {source(reader, FILES)}"
        f" WHERE table_id = :id AND {_OURS} AND removed_at > :since"
        " ORDER BY removed_at, data_file_id",
        id=table_id,
        since=max(since, _SHOWN),
    )
    found = [(row[0], _file(row[1:])) for row in rows]
    return [Remove(file.path, at, False, file.size, file.vector) for at, file in found]


def holdings(reader: Reader) -> list[MirrorHolding]:
    """All files of all mirrors, also those that they no longer show."""
    known = {mirror.table_id: mirror for mirror in every(reader)}
    if not known:
        return []
    rows = reader.rows(
        f"SELECT {', '.join(_FILE_COLUMNS)} FROM {source(reader, FILES)} WHERE {_OURS}"
    )
    return [
        MirrorHolding(known[row[0]], _file(row[2:]), None if row[1] == _SHOWN else row[1])
        for row in rows
        if row[0] in known
    ]


def forget(writer: Writer, until: int) -> None:
    """Forget files that have not been shown since a moment in milliseconds, or longer."""
    bring_up(writer)
    writer.execute(
        f"DELETE FROM {FILES} WHERE {_OURS} AND removed_at > {_SHOWN} AND removed_at <= :until",
        until=until,
    )


def checkpoint_ids(table_id: int) -> tuple[int, int]:
    """The ids from which to which checkpoints of a mirror are listed for deletion."""
    return _CHECKPOINTS + (table_id << 28), _CHECKPOINTS + ((table_id + 1) << 28)


def keep_checkpoint(writer: Writer, mirror: Mirror, path: str, data_path: str) -> None:
    """DuckDB's search for orphans takes every Parquet file for one that the catalog does not know:
    a checkpoint is known to it as to be deleted, but not in our time. Those before may go."""
    first, _ = checkpoint_ids(mirror.table_id)
    id_, moment = first + mirror.checkpoint, writer.dialect.moment
    writer.execute(
        f"UPDATE {SCHEDULE} SET schedule_start = :now WHERE data_file_id >= :first"
        " AND data_file_id < :id AND schedule_start > :now",
        now=moment(own_tables.clock(writer)),
        first=first,
        id=id_,
    )
    writer.execute(f"DELETE FROM {SCHEDULE} WHERE data_file_id = :id", id=id_)
    columns = ("data_file_id", "path", "path_is_relative", "schedule_start")
    row = (id_, *paths.from_data_path(path, data_path), moment(KEPT))
    writer.insert_values(SCHEDULE, columns, [row])


def known_versions(reader: Reader, table_id: int) -> Mapping[int, Sequence[object]]:
    """Of every version: the snapshot, the time and the digest of its commit."""
    if not reader.has_table(COMMITS):
        return {}
    rows = reader.rows(
        "SELECT version, snapshot_id, committed_at, digest"
        f" FROM {source(reader, COMMITS)} WHERE table_id = :id AND {_OURS}",
        id=table_id,
    )
    return {row[0]: tuple(row[1:]) for row in rows}
