"""Tables of a lost lake, as their logs have them last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tidelake.delta.importing.adopt import parsed_stats, row_count
from tidelake.delta.log.features import check_readable
from tidelake.delta.log.names import LOG, locate
from tidelake.delta.log.read import LogListing, commits, list_log
from tidelake.delta.log.replay import State
from tidelake.delta.log.vectors import place_of
from tidelake.delta.mirror.compose import DROPPED, ENGINE
from tidelake.delta.mirror.declaration import PROPERTY, Declaration, parse_declaration
from tidelake.delta.mirror.realign import folder_of, last_snapshot, state_of
from tidelake.delta.values.actions import Add, CommitInfo
from tidelake.delta.values.reports import SkippedLog
from tidelake.errors import Conflict, Corrupt, Denied, NotFound, TidelakeError
from tidelake.model.names import fold
from tidelake.session.session import Session
from tidelake.store.files import is_within


@dataclass(frozen=True, slots=True)
class LostTable:
    """A table as its log has it last, of which `snapshot_id` was the last snapshot."""

    log: LogListing
    state: State
    declaration: Declaration
    snapshot_id: int

    @property
    def name(self) -> str:
        return str(self.declaration.name)

    @property
    def root(self) -> str:
        return self.log.root

    @property
    def rows(self) -> int:
        adds = self.state.files.values()
        gone = sum(add.vector.cardinality for add in adds if add.vector is not None)
        return sum(rows_of(add) for add in adds) - gone


@dataclass(frozen=True, slots=True)
class LostLake:
    """Tables that can be had again, logs of no such table, and the last snapshot that any log
    tells of. `sizes` are of the files that there are below the `places`."""

    tables: tuple[LostTable, ...]
    skipped: tuple[SkippedLog, ...]
    last: int
    places: tuple[str, ...]
    sizes: Mapping[str, int]

    def missing(self, session: Session, paths: Sequence[str]) -> set[str]:
        """Those that are not there."""
        unknown = sorted(set(paths) - self.sizes.keys())
        return set(unknown) - session.local.store.sizes(unknown).keys() if unknown else set()

    def outside(self, session: Session, path: str, root: str) -> bool:
        """A log is not trusted to name files just anywhere."""
        allowed = (root, session.data_path, *self.places)
        return not any(is_within(path, place) for place in allowed)


def lost_lake(session: Session, places: Sequence[str]) -> LostLake:
    """Of two tables with one name, the one that was written to later."""
    sizes = {
        each.uri: each.bytes
        for place in places
        for each in session.local.store.walk(folder_of(place))
    }
    looked = LostLake((), (), 0, tuple(places), sizes)
    by_name: dict[str, LostTable] = {}
    skipped = []
    last = 0
    for root in _roots(sizes, places):
        try:
            log = list_log(session.local.store, root)
            state = told_state(session, log, log.newest)
            last = max(last, last_snapshot(state))
            lost = _lost(session, log, state, looked)
        except TidelakeError as error:
            skipped.append(SkippedLog(root, str(error)))
            continue
        other = by_name.get(fold(lost.name))
        older = min(filter(None, [lost, other]), key=lambda each: each.snapshot_id)
        if other is not None:
            skipped.append(SkippedLog(older.root, f"another log of {lost.name} is newer"))
            lost = other if older is lost else lost
        by_name[fold(lost.name)] = lost
    return LostLake(tuple(by_name.values()), tuple(skipped), last, tuple(places), sizes)


def told_state(session: Session, log: LogListing, version: int) -> State:
    """The table at a version, with what its commit says of itself: a checkpoint does not."""
    state = state_of(session, log, version)
    if state.info is None and version in log.commits:
        ((_, actions),) = commits(session.local.store, log, version, version)
        state.info = next((each for each in actions if isinstance(each, CommitInfo)), None)
    return state


def _roots(found: Mapping[str, int], places: Sequence[str]) -> list[str]:
    """Folders with a Delta log."""
    parts = (uri.partition(f"/{LOG}") for uri in found)
    roots = {f"{root}/" for root, inside, _ in parts if inside}
    if not roots:
        raise NotFound(
            f"there are no Delta logs at {', '.join(places)}",
            hint="only tables that were mirrored can be recovered",
        )
    return sorted(roots)


def _lost(session: Session, log: LogListing, state: State, looked: LostLake) -> LostTable:
    root = log.root
    protocol, metadata = state.checked(root)
    check_readable(protocol)
    said = {} if state.info is None else state.info.said
    if PROPERTY not in metadata.configuration:
        raise NotFound("it is not the log of a mirror", hint="tidelake.import_delta brings it in")
    if said and said.get("engineInfo") != ENGINE:
        raise Conflict(
            f"its version {log.newest} was written by somebody else",
            hint="tidelake.import_delta brings it in, or remove their versions",
        )
    if said.get("operation") == DROPPED:
        raise NotFound("the table was dropped", hint="nothing is to be done")
    _check_files(session, state, root, looked)
    declaration = parse_declaration(metadata.configuration[PROPERTY], root)
    return LostTable(log, state, declaration, last_snapshot(state))


def _check_files(session: Session, state: State, root: str, looked: LostLake) -> None:
    paths = [path for add in state.files.values() for path in places_of(add, root)]
    for path in paths:
        if looked.outside(session, path, root):
            raise Denied(
                f"it names {path!r}, which is outside of the data path",
                hint="if it is meant to, name its folder too: recover(from_delta=[…])",
            )
    missing = sorted(looked.missing(session, paths))
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise Corrupt(f"{missing[0]}{more} is missing", hint="restore it from a copy")
    for add in state.files.values():
        rows_of(add)


def places_of(add: Add, root: str) -> list[str]:
    """Where a file is, and where the vector of its deleted rows is, if that is in a file."""
    vector = None if add.vector is None else place_of(add.vector, root)
    return [locate(add.path, root), *([] if vector is None else [vector])]


def rows_of(add: Add) -> int:
    """All rows of a file, those that are deleted among them."""
    found = row_count(parsed_stats(add.stats))
    if found is None:
        raise Corrupt(f"the log does not say how many rows {add.path} has", hint="restore the log")
    return found
