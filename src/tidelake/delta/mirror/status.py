"""How mirrors stand: what of every table is in its log, and since when something is missing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime

from tidelake.catalog import own_tables
from tidelake.catalog.database.database import Reader
from tidelake.catalog.read import snapshots
from tidelake.catalog.read import tables as read
from tidelake.delta.log.names import LOG, commit_name
from tidelake.delta.mirror import records as mirrors
from tidelake.delta.mirror.tables import DELTA
from tidelake.delta.values.mirror import Mirror
from tidelake.model.changes_made import named_tables
from tidelake.model.mirror import MirrorStatus
from tidelake.session.session import Session
from tidelake.store.files import Store


def statuses(session: Session, table_id: int | None = None) -> list[MirrorStatus]:
    """Of all mirrors, or of that of one table; by name."""
    store = session.local.store
    with session.reading() as reader:
        names = read.every_name(reader)
        found = [
            _status(reader, names[mirror.table_id], published_mirror(store, mirror))
            for mirror in mirrors.every(reader, table_id)
        ]
    return sorted(found, key=lambda each: each.table)


def published_mirror(store: Store, mirror: Mirror) -> Mirror:
    """With the versions that are in the log already although nobody has noted it yet: that is
    done when the next comes. They were put there in order."""
    if mirror.status == "drifted":
        return mirror
    for version in range(mirror.version, mirror.published, -1):
        if store.exists(f"{mirror.root}{LOG}{commit_name(version)}"):
            return replace(mirror, published=version)
    return mirror


def _status(reader: Reader, name: str, mirror: Mirror) -> MirrorStatus:
    missing = list(unseen_commit_times(reader, mirror))
    lag = (own_tables.clock(reader) - missing[0]).total_seconds() if missing else 0.0
    return MirrorStatus(
        name,
        DELTA,
        mirror.status,
        mirror.reason,
        mirror.root,
        mirror.version,
        mirror.published,
        mirror.snapshot_id,
        len(missing),
        max(lag, 0.0),
    )


def unseen_commit_times(reader: Reader, mirror: Mirror) -> Iterator[datetime]:
    """When the commits of the table were made that its log does not show, oldest first."""
    for commit in mirrors.unpublished_versions(reader, mirror):
        yield datetime.fromtimestamp(commit.committed_at / 1000, UTC)
    for snapshot in snapshots.after(reader, mirror.snapshot_id):
        if mirror.table_id in named_tables(snapshot.changes):
            yield snapshot.time


def delta_versions(session: Session, moment: int | str | date | None) -> dict[str, int | None]:
    """Which Delta version of every mirrored table shows it as of a snapshot; None where that is
    not in the log (yet)."""
    store = session.local.store
    with session.reading() as reader:
        at = session.at(reader) if moment is None else session.resolve(reader, moment).snapshot_id
        names = dict(session.view.names(reader, at, "table"))
        known = mirrors.versions_at(reader, at)
        found: dict[str, int | None] = {}
        for mirror in mirrors.every(reader):
            name = names.get(mirror.table_id)
            if name is not None:
                there = published_mirror(store, mirror)
                found[str(name)] = _version(reader, there, known.get(mirror.table_id), at)
    return dict(sorted(found.items()))


def _version(reader: Reader, mirror: Mirror, version: int | None, at: int) -> int | None:
    if version is None or version > mirror.published:
        return None
    later = snapshots.after(reader, mirror.snapshot_id) if at > mirror.snapshot_id else []
    waits = any(
        each.snapshot_id <= at and mirror.table_id in named_tables(each.changes) for each in later
    )
    return None if waits else version
