"""What the catalog keeps of a mirror whose log is to be made anew: nothing that was in the log.

A log shows paths and bounds of files for as long as it lasts, so that rows can only be erased from
it by removing it. Until that is done, and the mirror published anew, it rests: nobody adds to it.
"""

from __future__ import annotations

from dataclasses import replace
from uuid import uuid4

from tidelake.catalog.database.database import Reader, Writer
from tidelake.catalog.expire.remove import SCHEDULE
from tidelake.delta.mirror import records as mirrors
from tidelake.delta.mirror.held_files import made_files
from tidelake.delta.mirror.tables import COMMITS, DELTA, FILES, bring_up
from tidelake.delta.values.mirror import Mirror, beginning_with
from tidelake.errors import Conflict

RESTS = "rows of its table were erased: the log is being made anew"
ENDS = "rows of its table were erased: the log is being removed"
_WAITING = (RESTS, ENDS)


def let_go(writer: Writer, table_id: int) -> list[str]:
    """Forget what the log of a table shows and has shown. One that was stopped is not begun again.
    Complete paths of all that was made for it."""
    found = _with_log_of(writer, table_id)
    if not found:
        return []
    made = [
        path
        for each in mirrors.holdings(writer)
        if each.mirror in found
        for path in made_files(each)
    ]
    for each in found:
        check_known(each)
        first = _first_snapshot(writer, each)
        reason = ENDS if each.status == "stopped" and each.reason != RESTS else RESTS
        _forget(writer, each.table_id)
        mirrors.put(
            writer,
            Mirror(
                each.table_id,
                each.delta_id,
                each.root,
                status="stopped",
                reason=reason,
                snapshot_id=first,
            ),
        )
    return made


def check_known(mirror: Mirror) -> None:
    """Raise Conflict if the log holds what somebody else has put there."""
    if mirror.status == "drifted":
        raise Conflict(
            f"the Delta log at {mirror.root} has drifted: {mirror.reason}",
            hint="accept_foreign() or reject_foreign() on the mirror first, then erase",
        )


def _with_log_of(reader: Reader, table_id: int) -> list[Mirror]:
    """Mirrors whose log is where the table has its own: it may be that of one dropped before."""
    known = mirrors.every(reader)
    roots = {each.root for each in known if each.table_id == table_id}
    return [each for each in known if each.root in roots]


def _first_snapshot(reader: Reader, mirror: Mirror) -> int:
    """What the mirror is to begin with: the first snapshot that it has ever shown."""
    shown = mirrors.known_versions(reader, mirror.table_id)
    if not shown:
        return mirror.snapshot_id
    return beginning_with(min(int(str(facts[0])) for facts in shown.values()))


def _forget(writer: Writer, table_id: int) -> None:
    """Its checkpoints are no longer listed either: others will have their names."""
    bring_up(writer)
    for name in (COMMITS, FILES):
        writer.execute(
            f"DELETE FROM {name} WHERE table_id = :id AND format = '{DELTA}'", id=table_id
        )
    first, last = mirrors.checkpoint_ids(table_id)
    writer.execute(
        f"DELETE FROM {SCHEDULE} WHERE data_file_id >= :first AND data_file_id < :last",
        first=first,
        last=last,
    )


def logs_to_remove(reader: Reader, table_id: int) -> list[Mirror]:
    """Mirrors whose log, at the same place as that of a table, is to be removed."""
    return [each for each in _with_log_of(reader, table_id) if each.reason in _WAITING]


def begin_again(writer: Writer, table_id: int) -> None:
    """The log has been removed: have a new one, or no more."""
    for each in logs_to_remove(writer, table_id):
        if each.reason == ENDS:
            mirrors.remove(writer, each.table_id)
        else:
            fresh = replace(each, delta_id=str(uuid4()), status="active", reason=None)
            mirrors.put(writer, fresh)
