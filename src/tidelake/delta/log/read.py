"""Reading a Delta log: which files of it make up a version, and what they say."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from urllib.parse import unquote

from tidelake.delta.log.names import (
    LOG,
    SIDECARS,
    CheckpointName,
    commit_name,
    commit_version,
    parse_checkpoint,
)
from tidelake.delta.log.replay import State, check_commit
from tidelake.delta.values.actions import Action, CommitInfo, Sidecar, parse_commit
from tidelake.errors import Corrupt, Invalid, NotFound, TidelakeError
from tidelake.store.files import Store

_AT_ONCE = 16
_AHEAD = 64
"""Commits that are read before anybody looks at them."""
_AHEAD_BYTES = 64 * 1024**2
_SKEW_MS = 60_000
_END_MS = 253_402_300_799_000

Checkpoints = Callable[[Sequence[str]], Iterable[Action]]
"""Reads the actions of Parquet files of a checkpoint, in any order."""


@dataclass(frozen=True, slots=True)
class LogListing:
    """What a log has: commits, by version and when they were written, and checkpoints that are
    whole, by version; `checkpointed` is when these were written."""

    root: str
    commits: dict[int, datetime]
    checkpoints: dict[int, tuple[tuple[CheckpointName, ...], ...]]
    checkpointed: dict[int, datetime] = field(default_factory=dict)
    sizes: dict[int, int] = field(default_factory=dict)
    """Bytes of commits, by version."""
    folder: str = ""
    """Where the log lies, if that is not in the table's own folder."""

    @property
    def newest(self) -> int:
        return max([*self.commits, *self.checkpoints], default=-1)

    def written(self, version: int) -> datetime:
        """When a version was, as far as its files tell."""
        return self.commits.get(version) or self.checkpointed[version]

    def uri(self, name: str) -> str:
        return f"{self.folder or self.root + LOG}{name}"


def list_log(store: Store, root: str, folder: str | None = None) -> LogListing:
    """What the log of the table at a root has, whose URI ends in a slash. It lies in that folder,
    or in another. NotFound if none."""
    folder = folder or f"{root}{LOG}"
    commits: dict[int, datetime] = {}
    found: dict[int, list[CheckpointName]] = defaultdict(list)
    written: dict[int, datetime] = {}
    sizes: dict[int, int] = {}
    for each in store.walk(folder):
        name = each.uri[len(folder) :]
        if (version := commit_version(name)) is not None:
            commits[version] = each.modified
            sizes[version] = each.bytes
        elif (checkpoint := parse_checkpoint(name)) is not None and each.bytes:
            found[checkpoint.version].append(checkpoint)
            written[checkpoint.version] = each.modified
    if not commits and not found:
        raise NotFound(
            f"there is no Delta log at {folder}", hint="name the folder that _delta_log is in"
        )
    whole = {version: tuple(_whole(parts)) for version, parts in found.items()}
    checkpoints = {version: each for version, each in whole.items() if each}
    return LogListing(root, commits, checkpoints, written, sizes, folder)


def _whole(found: Sequence[CheckpointName]) -> Iterator[tuple[CheckpointName, ...]]:
    """Checkpoints of one version, of which all parts are there."""
    by_count: dict[int, dict[int, CheckpointName]] = defaultdict(dict)
    for each in found:
        if each.uuid is not None or each.parts == 1:
            yield (each,)
        else:
            by_count[each.parts][each.part] = each
    for parts, numbered in by_count.items():
        if len(numbered) == parts and max(numbered) == parts and min(numbered) == 1:
            yield tuple(numbered[part] for part in sorted(numbered))


def state_at(store: Store, log: LogListing, version: int, checkpoints: Checkpoints) -> State:
    """The table at a version, from the last checkpoint before it."""
    _check_version(log, version)
    state = _beginning(store, log, version, checkpoints)
    for each, actions in commits(store, log, state.version + 1, version):
        state.apply(actions, each)
    return state


def _beginning(store: Store, log: LogListing, version: int, checkpoints: Checkpoints) -> State:
    """The newest checkpoint that can be read, or nothing, from which commits lead to a version."""
    first_error: TidelakeError | None = None
    for start in _starts(log, version):
        state = State()
        if start < 0:
            return state
        try:
            state.load(_checkpoint(store, log, start, checkpoints), start)
            state.checked(log.root)
            return state
        except (Corrupt, Invalid) as error:
            first_error = first_error or error
    if first_error is not None:
        raise first_error
    raise _lacking(log, version)


def _starts(log: LogListing, version: int) -> Iterator[int]:
    """Versions from which commits lead up to one, the nearest first; -1 is before the first."""
    for start in range(version, -2, -1):
        if start in log.checkpoints or start == -1:
            yield start
        if start not in log.commits:
            return


def _lacking(log: LogListing, version: int) -> Corrupt:
    missing = next(each for each in range(version, -1, -1) if each not in log.commits)
    return Corrupt(
        f"the log at {log.root} lacks version {missing}, and no checkpoint makes up for it",
        hint=f"restore {commit_name(missing)} from a copy, or import a version that can be reached",
    )


def commits(
    store: Store, log: LogListing, first: int, last: int
) -> Iterator[tuple[int, list[Action]]]:
    """Commits from one version to another. Corrupt if one between them is missing."""
    if any(each not in log.commits for each in range(first, last + 1)):
        raise _lacking(log, last)
    uris = [log.uri(commit_name(version)) for version in range(first, last + 1)]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        start = 0
        while start < len(uris):
            some = uris[start : start + _ahead(log, first + start)]
            for place, data in enumerate(pool.map(store.read_small, some)):
                actions = parse_commit(data, some[place])
                check_commit(actions, some[place])
                yield first + start + place, actions
            start += len(some)


def _ahead(log: LogListing, version: int) -> int:
    """How many commits from a version on are read before anybody looks at them: fewer if they are
    large."""
    total = 0
    for place in range(_AHEAD):
        total += log.sizes.get(version + place, 0)
        if total > _AHEAD_BYTES:
            return max(place, 1)
    return _AHEAD


def reachable(log: LogListing, version: int) -> int:
    """The first version that the log still tells of, on the way to another."""
    found = list(_starts(log, version))
    if not found:
        raise _lacking(log, version)
    return max(found[-1], 0)


def commit_time(info: CommitInfo | None, modified: datetime, before: int | None) -> int:
    """When a commit was made, in milliseconds: what it says itself, unless that is after its file
    was written, and else when that was; always after the commit that it follows."""
    written = int(modified.timestamp() * 1000)
    said = info.said if info else {}
    limits = {"inCommitTimestamp": _END_MS, "timestamp": written + _SKEW_MS}
    told = ((said.get(name), limit) for name, limit in limits.items())
    known = [each for each, limit in told if isinstance(each, int) and 0 < each <= limit]
    found = known[0] if known else written
    return found if before is None else max(found, before + 1)


def _check_version(log: LogListing, version: int) -> None:
    if version > log.newest or version < 0:
        raise NotFound(
            f"the log at {log.root} has no version {version}", hint=f"its newest is {log.newest}"
        )


def _checkpoint(store: Store, log: LogListing, version: int, read: Checkpoints) -> Iterator[Action]:
    """The actions of a checkpoint, of whatever kind."""
    chosen = min(log.checkpoints[version], key=lambda parts: parts[0].name)
    uris = [log.uri(each.name) for each in chosen]
    if uris[0].endswith(".json"):
        actions: Iterable[Action] = parse_commit(store.read_small(uris[0]), uris[0])
    else:
        actions = read(uris)
    sidecars = []
    for action in actions:
        if isinstance(action, Sidecar):
            sidecars.append(_sidecar(log, action))
        else:
            yield action
    if sidecars:
        yield from read(sidecars)


def _sidecar(log: LogListing, found: Sidecar) -> str:
    """It is a file in a folder of the log: a path that leads elsewhere is none."""
    folder = log.uri(SIDECARS)
    named = unquote(found.path).rpartition(f"/{LOG}{SIDECARS}")[2]
    if not named or "/" in named or "\\" in named or "\0" in named or ".." in named:
        raise Corrupt(
            f"a checkpoint at {log.root} names {found.path!r}, which is none of its files",
            hint="restore the checkpoint, or the commits before it",
        )
    return f"{folder}{named}"


def hinted_version(data: bytes) -> int | None:
    """The version that `_last_checkpoint` names; None if it is not readable."""
    try:
        return int(json.loads(data)["version"])
    except (ValueError, KeyError, TypeError):
        return None
