"""Other lakes in, above and below the data path of a lake: noticed, and left alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from tidelake.catalog import identity
from tidelake.errors import Denied, Invalid, Unavailable
from tidelake.model.ownership import is_written
from tidelake.session.session import Session
from tidelake.session.short_transactions import run_locked
from tidelake.store import markers
from tidelake.store.files import Store, StoredObject
from tidelake.store.markers import Marker

_LOOKED_AT = 10_000
"""So many files of a folder are looked at before a lake is made there."""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """`around` have the same data path, or one above it: whatever nobody knows there may be
    theirs. `inside` lie below."""

    around: tuple[Marker, ...] = ()
    inside: tuple[Marker, ...] = ()

    def have(self, path: str) -> bool:
        """Whether a file lies where another lake has its own."""
        return path.startswith(tuple(each.folder for each in self.inside))


def check_free(store: Store, data_path: str) -> None:
    """Raise Invalid if a lake is there already, above or below."""
    found = list(islice(store.walk(data_path), _LOOKED_AT))
    known = [*markers.among(found), *markers.above(store, data_path)]
    if known:
        raise Invalid(
            f"the data path {data_path} overlaps with that of another lake, {known[0].folder}",
            hint="give every lake a folder of its own; if that lake is gone, delete"
            f" {known[0].uri}; with share_data_path=True both stay there",
        )
    if of_lake := next((each.uri for each in found if is_written(each.uri)), None):
        raise Invalid(
            f"the data path {data_path} has files of another lake: {of_lake}",
            hint="give every lake a folder of its own; with share_data_path=True both stay there,"
            " as they must if this lake is to be recovered from its mirrors",
        )


def mark(session: Session) -> None:
    """Have the data path say whose it is."""
    lake_id = run_locked(session, identity.settle)
    markers.put(session.local.store, session.data_path, lake_id, session.database.url.place)
    run_locked(session, identity.mark, session.data_path)
    session.is_marked = True


def mark_late(session: Session) -> None:
    """The same for a lake that somebody else made, or an older version. Where that cannot be
    done now, it is tried again by the next who opens it."""
    if not session.is_marked:
        session.is_marked = True
        try:
            mark(session)
        except (Denied, Unavailable):
            return


def neighbours(session: Session, lake_id: str | None, listed: Sequence[StoredObject]) -> Neighbours:
    """`listed` is all that lies below the data path."""
    store, folder = session.local.store, session.data_path
    inside = [each for each in markers.among(listed) if each.lake_id != lake_id]
    above = [each for each in markers.above(store, folder) if each.lake_id != lake_id]
    return Neighbours(
        tuple([each for each in inside if each.folder == folder] + above),
        tuple(each for each in inside if each.folder != folder),
    )


def neighbours_of(session: Session, lake_id: str | None, paths: Sequence[str]) -> Neighbours:
    """Those that the folders of a few files tell of."""
    folder = session.data_path
    folders = {
        path[: at + 1]
        for path in paths
        if path.startswith(folder)
        for at, letter in enumerate(path)
        if letter == "/" and at >= len(folder)
    }
    found = [marker for each in sorted(folders) for marker in markers.at(session.local.store, each)]
    return Neighbours(inside=tuple(each for each in found if each.lake_id != lake_id))
