"""Writing down that the files of a lake are somewhere else now."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from tidelake.catalog import audit, identity, relocation
from tidelake.catalog.audit import AuditRecord
from tidelake.catalog.read import tables as read
from tidelake.errors import Invalid, NotFound, TidelakeError
from tidelake.lake.data_path import absolute, check_usable, checked_data_path
from tidelake.model.relocation import MoveResult
from tidelake.session.neighbours import mark
from tidelake.session.session import Session
from tidelake.session.short_transactions import run_locked
from tidelake.store import markers
from tidelake.store.markers import Marker


def move(
    session: Session, data_path: str | Path, *, force: bool, author: str | None = None
) -> MoveResult:
    """The files have been moved, or copied, by whoever calls this: only the catalog changes."""
    session.check_writable()
    new = absolute(checked_data_path(data_path))
    check_usable(new)
    with session.reading() as reader:
        stored = read.lake_info(reader).data_path
        lake_id = identity.lake_id(reader)
        old = absolute(stored)
        expected = set(relocation.files_at(reader, old, new, session.annexes))
    listed = list(session.store.walk(new))
    around = [*markers.among(listed), *markers.above(session.store, new)]
    _check_alone(new, [each for each in around if each.lake_id != lake_id])
    missing = expected - {each.uri for each in listed}
    if missing and not force:
        raise NotFound(
            f"{len(missing):,} of {len(expected):,} files are not at {new}: {min(missing)}",
            hint="move or copy them there first; with force=True the place is written down anyway",
        )
    run_locked(session, relocation.relocate, stored, old, new, session.annexes)
    told = AuditRecord("move", detail=new, actor=author)
    run_locked(session, audit.put_alone, told)
    session.moved(new)
    mark(session)
    if lake_id is not None and old != new:
        with suppress(TidelakeError):
            session.store.delete([markers.place(old, lake_id)])
    return MoveResult(new, old, len(expected), len(missing))


def _check_alone(new: str, others: Sequence[Marker]) -> None:
    if others:
        raise Invalid(
            f"{new} overlaps with the data path of another lake, {others[0].folder}",
            hint=f"choose another place; if that lake is gone, delete {others[0].uri}",
        )
