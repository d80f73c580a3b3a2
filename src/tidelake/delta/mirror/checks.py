"""Checks of mirrors: what the catalog says of them, by itself. Logs are for `mirror diff`."""

from __future__ import annotations

from collections.abc import Iterator

from tidelake.catalog.database.database import Reader
from tidelake.catalog.inventory import Inventory
from tidelake.delta.mirror import records as mirrors
from tidelake.delta.values.mirror import Mirror
from tidelake.drawing.amounts import quantity
from tidelake.verify.values import Problem

_CHECK = "mirrors"
_ANEW = "move its _delta_log away, delete its rows of tidelake_mirror*, and mirror the table anew"


def mirror_rows(inventory: Inventory, reader: Reader) -> Iterator[Problem]:
    """Every version that is to be published is there, and files are as many as they should be."""
    for mirror in mirrors.every(reader):
        if inventory.only is None or mirror.table_id in inventory.only:
            for said in _odd(reader, mirror, inventory.head):
                yield Problem(_CHECK, said, _ANEW, table=inventory.name(mirror.table_id))


def _odd(reader: Reader, mirror: Mirror, head: int) -> Iterator[str]:
    known = mirrors.known_versions(reader, mirror.table_id)
    waiting = {
        each.version for each in mirrors.unpublished_versions(reader, mirror) if each.content
    }
    missing = sorted(set(range(mirror.published + 1, mirror.version + 1)) - waiting)
    if missing:
        yield f"version {missing[0]} of its Delta log is to be published, and is not there"
    elif known and max(known) != mirror.version:
        yield f"its Delta log has come to version {mirror.version}, and {max(known)} is known"
    if mirror.snapshot_id > head:
        yield f"its Delta log shows snapshot {mirror.snapshot_id}, and the newest is {head}"
    files = len(mirrors.files(reader, mirror.table_id))
    if files != mirror.file_count:
        yield f"its Delta log shows {quantity(mirror.file_count, 'file')}, and {files} are known"
