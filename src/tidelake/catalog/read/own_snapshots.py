"""Which snapshots are a tenant's: those that changed something of its own."""

from __future__ import annotations

import re
from collections.abc import Collection
from contextlib import suppress
from datetime import datetime

from tidelake.catalog.database.database import Reader
from tidelake.catalog.read import snapshots
from tidelake.errors import NotFound
from tidelake.model.changes_made import split_changes
from tidelake.model.namespace import Namespace
from tidelake.model.snapshot import Snapshot
from tidelake.model.tag import parse_moment

_AT_ONCE = 500
_LARGEST = (1 << 63) - 1
_CREATED = re.compile(r'created_[a-z_]+:"((?:[^"]|"")*)".*', re.IGNORECASE | re.DOTALL)


def objects_of(reader: Reader, namespace: Namespace) -> set[int]:
    """The ids of all schemas, tables and views that are or were in a namespace."""
    rows = reader.rows("SELECT schema_id, schema_name FROM ducklake_schema")
    schemas = {row[0] for row in rows if namespace.holds(row[1])}
    found = set(schemas)
    for kind in ("table", "view"):
        rows = reader.rows(f"SELECT DISTINCT {kind}_id, schema_id FROM ducklake_{kind}")
        found |= {row[0] for row in rows if row[1] in schemas}
    return found


def newest_own(reader: Reader, at: int, namespace: Namespace) -> Snapshot | None:
    """The tenant's newest snapshot at or before a number, which need not be one: its lake looks the
    same until the next of its own. Where one in between is gone, that may have been its own, so
    the one after it stands for itself."""
    objects, place, last = objects_of(reader, namespace), min(at, _LARGEST), None
    while True:
        rows = reader.rows(
            "SELECT s.snapshot_id, c.changes_made FROM ducklake_snapshot s"
            " LEFT JOIN ducklake_snapshot_changes c ON c.snapshot_id = s.snapshot_id"
            f" WHERE s.snapshot_id <= :at ORDER BY s.snapshot_id DESC LIMIT {_AT_ONCE}",
            at=place,
        )
        for snapshot_id, changes in rows:
            if last is not None and snapshot_id != last - 1:
                return snapshots.by_id(reader, last)
            if _is_own(changes or "", objects, namespace):
                return snapshots.by_id(reader, snapshot_id)
            last = snapshot_id
        if len(rows) < _AT_ONCE:
            return None
        place = rows[-1][0] - 1


def resolve(reader: Reader, moment: object, namespace: Namespace) -> Snapshot:
    """The tenant's snapshot of an id or a time. A number that is not one of its own stands for the
    one before; whose it is, and whether it is anybody's, is not told. Nor is a tag."""
    wanted, at = parse_moment(moment), None
    with suppress(NotFound):
        if isinstance(wanted, datetime):
            at = snapshots.by_time(reader, wanted).snapshot_id
        elif isinstance(wanted, int):
            at = wanted
    found = None if at is None else newest_own(reader, at, namespace)
    if found is None:
        raise NotFound(
            f"there is no snapshot {str(wanted)!r}",
            hint="name a time or a snapshot id of lake.log()",
        )
    return found


def _is_own(changes: str, objects: Collection[int], namespace: Namespace) -> bool:
    return any(_is_about(change, objects, namespace) for change in split_changes(changes))


def _is_about(change: str, objects: Collection[int], namespace: Namespace) -> bool:
    subject = change.partition(":")[2]
    if subject.isdecimal():
        return int(subject) in objects
    created = _CREATED.fullmatch(change)
    return created is not None and namespace.holds(created[1].replace('""', '"'))
