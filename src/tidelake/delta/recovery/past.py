"""What a table of a lost lake was at each of its snapshots, as far as its log tells.

What cannot be told exactly is left out: the past of a table begins with the first version from
which everything is there and follows from what was before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from tidelake.delta.log.names import locate
from tidelake.delta.log.read import LogListing, commit_time, commits, reachable
from tidelake.delta.log.replay import State
from tidelake.delta.mirror.compose import (
    AFTER_OTHERS,
    DROPPED,
    ENGINE,
    SNAPSHOT_ID,
    SNAPSHOT_TIME,
)
from tidelake.delta.mirror.declaration import PROPERTY, Declaration, parse_declaration
from tidelake.delta.recovery.lost_table import LostLake, LostTable, places_of, rows_of, told_state
from tidelake.delta.values.actions import Action, Add, Remove
from tidelake.errors import Corrupt, TidelakeError
from tidelake.session.session import Session

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_ID, _LAST_TIME = 1 << 60, 253_402_300_799_000_000


@dataclass(frozen=True, slots=True)
class TableStep:
    """What a snapshot did to a table. `exact`: its time is not just to the millisecond. Files are
    by where they are: those that `came`, those that have `changed` in which rows are deleted, and
    those that `went`. `moved`: rows were only put into other files. `deleted` are the positions
    that went from files which came or changed. `dated`: files that came, whose rows name the
    snapshot since which they are there, with the last of these; `appeared`: with this one some
    are."""

    version: int
    snapshot_id: int
    time: datetime
    exact: bool
    declaration: Declaration
    came: Mapping[str, Add]
    changed: Mapping[str, Add] = field(default_factory=dict)
    went: frozenset[str] = frozenset()
    moved: bool = False
    deleted: Mapping[str, Sequence[int]] = field(default_factory=dict)
    dated: Mapping[str, int] = field(default_factory=dict)
    appeared: bool = False


@dataclass(frozen=True, slots=True)
class Span:
    """Steps that follow one another, and why they do not begin earlier."""

    steps: tuple[TableStep, ...]
    reason: str | None = None

    def after(self, index: int, reason: str) -> Span:
        """Without the steps before one, which then has all that there was."""
        live: dict[str, Add] = {}
        for step in self.steps[: index + 1]:
            for path in step.went:
                live.pop(path, None)
            live |= {**step.came, **step.changed}
        first = replace(self.steps[index], came=live, changed={}, went=frozenset(), moved=False)
        return Span((first, *self.steps[index + 1 :]), reason)


def span_of(session: Session, lake: LostLake, lost: LostTable) -> Span:
    """All that a log tells exactly; at least what it has last."""
    try:
        found = _told(session, lost)
    except TidelakeError as error:
        return Span((last_step(lost),), f"older versions cannot be read: {error.message}")
    if not found.steps or found.steps[-1].version != lost.log.newest:
        return Span((last_step(lost),), found.reason)
    return _there(session, lake, lost, found)


def last_step(lost: LostTable) -> TableStep:
    """A table as it was last."""
    state, log = lost.state, lost.log
    return TableStep(
        state.version,
        lost.snapshot_id,
        *_time(state, log),
        lost.declaration,
        {locate(add.path, log.root): add for add in state.files.values()},
    )


def _told(session: Session, lost: LostTable) -> Span:
    store, log = session.local.store, lost.log
    first = reachable(log, log.newest)
    state = told_state(session, log, first)
    begun = _Walk(log, None if first == 0 else f"the log begins with version {first}")
    begun.follow(state, state.files.values())
    for version, actions in commits(store, log, first + 1, log.newest):
        state.apply(actions, version)
        begun.follow(state, actions)
    return Span(tuple(begun.steps), begun.reason)


class _Walk:
    """Along a log, version by version. Where one does not follow from the other, it begins anew."""

    def __init__(self, log: LogListing, reason: str | None) -> None:
        self.steps: list[TableStep] = []
        self.reason = reason
        self._log = log
        self._live: dict[str, Add] = {}
        self._ever: set[str] = set()
        self._parsed: tuple[str, Declaration] | None = None

    def follow(self, state: State, actions: Iterable[Action]) -> None:
        listed = [each for each in actions if isinstance(each, Add | Remove)]
        added = {self._place(each): each for each in listed if isinstance(each, Add)}
        removed = {self._place(each) for each in listed if isinstance(each, Remove)}
        came = {path: add for path, add in added.items() if path not in self._live}
        went = frozenset(removed - added.keys()) & self._live.keys()
        changed = {path: add for path, add in added.items() if path in self._live}
        for path in went:
            del self._live[path]
        self._live |= added
        said = {} if state.info is None else state.info.said
        why = _not_ours(state, said)
        if why is not None:
            self._begin_after(why)
            return
        moved = bool(listed) and not any(each.data_change for each in listed)
        declaration, at = self._declared(state), int(said[SNAPSHOT_ID])
        when = _time(state, self._log)
        step = TableStep(state.version, at, *when, declaration, came, changed, went, moved)
        if self.steps and (why := self._break(self.steps[-1], step, said)) is not None:
            self._begin_after(why)
        if not self.steps:
            step = replace(step, came=dict(self._live), changed={}, went=frozenset(), moved=False)
            self._ever = set()
        self._ever |= step.came.keys()
        self.steps.append(step)

    def _begin_after(self, why: str) -> None:
        self.steps.clear()
        self.reason = why

    def _break(self, before: TableStep, step: TableStep, said: Mapping[str, object]) -> str | None:
        """Why a step does not follow from the one before."""
        if step.declaration.uuid != before.declaration.uuid:
            return f"with version {step.version} another table has taken its place"
        if step.snapshot_id <= before.snapshot_id:
            return f"version {step.version} goes back to snapshot {step.snapshot_id}"
        if said.get(AFTER_OTHERS):
            return f"before version {step.version} the table was what no version shows"
        if self._ever & step.came.keys():
            return f"with version {step.version} files come back that had gone"
        return None

    def _place(self, each: Add | Remove) -> str:
        return locate(each.path, self._log.root)

    def _declared(self, state: State) -> Declaration:
        assert state.metadata is not None
        text = state.metadata.configuration[PROPERTY]
        if self._parsed is None or self._parsed[0] != text:
            self._parsed = text, parse_declaration(text, self._log.root)
        return self._parsed[1]


def _not_ours(state: State, said: Mapping[str, object]) -> str | None:
    """Why a version shows no snapshot of the table."""
    at = said.get(SNAPSHOT_ID)
    if not said and state.info is None:
        return f"of version {state.version} only a checkpoint is left"
    if said.get("engineInfo") != ENGINE or not isinstance(at, int) or not 0 < at < _LAST_ID:
        return f"version {state.version} was written by somebody else"
    if said.get("operation") == DROPPED:
        return f"with version {state.version} the table was dropped"
    if state.metadata is None or PROPERTY not in state.metadata.configuration:
        return f"version {state.version} does not tell how the table was declared"
    return None


def _time(state: State, log: LogListing) -> tuple[datetime, bool]:
    """When the snapshot was, and whether that is exact: an older Tidelake wrote milliseconds."""
    said = {} if state.info is None else state.info.said
    exact = said.get(SNAPSHOT_TIME)
    if isinstance(exact, int) and 0 < exact <= _LAST_TIME:
        return _EPOCH + timedelta(microseconds=exact), True
    told = commit_time(state.info, log.written(state.version), None)
    return _EPOCH + timedelta(milliseconds=told), False


def _there(session: Session, lake: LostLake, lost: LostTable, found: Span) -> Span:
    """Without versions of which files are missing, or lie where none may be."""
    bad = _bad_files(session, lake, lost, found.steps)
    live: dict[str, str] = {}
    last, why = 0, ""
    for index, step in enumerate(found.steps):
        live = {path: said for path, said in live.items() if path not in step.went}
        for path, add in {**step.came, **step.changed}.items():
            live.pop(path, None)
            for place in _places(add, lost.root):
                if place in bad:
                    live[path] = bad[place]
        if live:
            last, why = index + 1, f"{min(live.values())}, which version {step.version} has"
    return found.after(last, why) if last else found


def _bad_files(
    session: Session, lake: LostLake, lost: LostTable, steps: Sequence[TableStep]
) -> dict[str, str]:
    """What cannot be had, and why."""
    adds = [add for step in steps for each in (step.came, step.changed) for add in each.values()]
    places = {place for add in adds for place in _places(add, lost.root)}
    missing = lake.missing(session, sorted(places))
    bad = {place: f"{place} is missing" for place in missing}
    for place in places:
        if lake.outside(session, place, lost.root):
            bad[place] = f"{place} lies outside of the data path"
    for add in adds:
        try:
            rows_of(add)
        except Corrupt as error:
            bad[locate(add.path, lost.root)] = error.message
    return bad


def _places(add: Add, root: str) -> list[str]:
    try:
        return places_of(add, root)
    except TidelakeError:
        return [locate(add.path, root)]
