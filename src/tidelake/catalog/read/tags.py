"""Tags on snapshots. A tag whose snapshot somebody else has expired stays, and says so."""

from __future__ import annotations

from datetime import datetime

from tidelake.catalog import own_tables
from tidelake.catalog.audit import AuditRecord
from tidelake.catalog.database.database import Reader, Row, Writer
from tidelake.catalog.own_tables import OwnTable
from tidelake.catalog.read import snapshots
from tidelake.errors import Conflict, NotFound
from tidelake.model.snapshot import Snapshot
from tidelake.model.tag import Tag, parse_moment

TABLE = "tidelake_tag"
own_tables.know(
    {
        TABLE: OwnTable(
            "tag_name name!, snapshot_id int, created_at time, author text, message text",
            needed="tag_name snapshot_id created_at",
        )
    }
)
_LISTED = 8


def every(reader: Reader) -> list[Tag]:
    """All tags, by snapshot."""
    return _where(reader) if reader.has_table(TABLE) else []


def lost_tags(reader: Reader) -> list[Tag]:
    """Tags whose snapshot is gone."""
    if not reader.has_table(TABLE):
        return []
    return _where(
        reader, "NOT EXISTS (SELECT 1 FROM ducklake_snapshot s WHERE s.snapshot_id = t.snapshot_id)"
    )


def find(reader: Reader, name: str) -> Tag | None:
    if not reader.has_table(TABLE):
        return None
    return next(iter(_where(reader, "tag_name = :name", name=name)), None)


def resolve(reader: Reader, moment: object) -> Snapshot:
    """The snapshot that a `known_at` names: by its id, a time, or a tag."""
    wanted = parse_moment(moment)
    if isinstance(wanted, int):
        return snapshots.by_id(reader, wanted)
    if isinstance(wanted, datetime):
        return snapshots.by_time(reader, wanted)
    tag = find(reader, wanted)
    if tag is None:
        raise _unknown(reader, wanted)
    try:
        return snapshots.by_id(reader, tag.snapshot_id)
    except NotFound as error:
        raise NotFound(
            f"the tag {tag.name!r} is there, but somebody else has expired its snapshot"
            f" {tag.snapshot_id}",
            hint=f"{error.hint}; lake.untag({tag.name!r}) forgets the tag",
        ) from error


def put(
    writer: Writer, name: str, snapshot_id: int, author: str | None, message: str | None
) -> Tag:
    """Requires: the snapshot is there."""
    known = find(writer, name)
    if known is not None and known.snapshot_id != snapshot_id:
        raise Conflict(
            f"the tag {name!r} is on snapshot {known.snapshot_id} already, not on {snapshot_id}",
            hint=f"take another name, or lake.untag({name!r}) first",
        )
    if known is not None:
        return known
    own_tables.ensure(writer, TABLE)
    now = own_tables.clock(writer)
    tag = Tag(name, snapshot_id, now, author, message)
    values = (name, snapshot_id, writer.dialect.moment(now), author, message)
    columns = ("tag_name", "snapshot_id", "created_at", "author", "message")
    writer.insert_values(TABLE, columns, [values])
    return tag


def remove(writer: Writer, name: str) -> Tag:
    known = find(writer, name)
    if known is None:
        raise NotFound(f"there is no tag {name!r}", hint=_there_are(writer))
    writer.execute(f"DELETE FROM {TABLE} WHERE tag_name = :name", name=name)
    return known


def audit_record(action: str, tag: Tag) -> AuditRecord:
    """What the audit tells of a tag."""
    said = repr(tag.name) if tag.message is None else f"{tag.name!r}: {tag.message}"
    return AuditRecord(action, snapshot_id=tag.snapshot_id, detail=said, actor=tag.author)


def _where(reader: Reader, condition: str = "1 = 1", **parameters: object) -> list[Tag]:
    moment = reader.dialect.instant.format("created_at")
    rows = reader.rows(
        f"SELECT tag_name, snapshot_id, {moment}, author, message FROM {TABLE} t"
        f" WHERE {condition} ORDER BY snapshot_id, tag_name",
        **parameters,
    )
    return [_tag(row) for row in rows]


def _tag(row: Row) -> Tag:
    name, at, made, author, message = row
    return Tag(name, at, snapshots.as_instant(made), author, message)


def _unknown(reader: Reader, name: str) -> NotFound:
    return NotFound(
        f"known_at={name!r} is neither a snapshot id nor a time, and no tag has that name",
        hint="write a number, a time such as 2024-03-20T12:00:00+00:00 or 'now - 1d', or a tag;"
        f" {_there_are(reader)}",
    )


def _there_are(reader: Reader) -> str:
    names = [repr(tag.name) for tag in every(reader)]
    listed = ", ".join(names[-_LISTED:]) + (", …" if len(names) > _LISTED else "")
    return f"tags there are: {listed or 'none'}"
