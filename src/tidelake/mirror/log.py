"""Reading a Delta log: which files of it make up a version, and what they say."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from tidelake.errors import Corrupt, NotFound
from tidelake.mirror.names import (
    LOG,
    SIDECARS,
    CheckpointName,
    commit_name,
    commit_version,
    parse_checkpoint,
)
from tidelake.mirror.replay import State
from tidelake.model.delta import Action, CommitInfo, Sidecar, parse_commit
from tidelake.store.files import Store

Checkpoints = Callable[[Sequence[str]], Iterable[Action]]
"""Reads the actions of Parquet files of a checkpoint, in any order."""


@dataclass(frozen=True, slots=True)
class Listing:
    """What a log has: commits, by version and when they were written, and checkpoints that are
    whole, by version."""

    root: str
    commits: dict[int, datetime]
    checkpoints: dict[int, tuple[tuple[CheckpointName, ...], ...]]

    @property
    def newest(self) -> int:
        return max([*self.commits, *self.checkpoints], default=-1)

    def uri(self, name: str) -> str:
        return f"{self.root}{LOG}{name}"


def listing(store: Store, root: str) -> Listing:
    """What the log of the table at a root has, whose URI ends in a slash. NotFound if none."""
    folder = f"{root}{LOG}"
    commits: dict[int, datetime] = {}
    found: dict[int, list[CheckpointName]] = defaultdict(list)
    for each in store.walk(folder):
        name = each.uri[len(folder) :]
        if (version := commit_version(name)) is not None:
            commits[version] = each.modified
        elif (checkpoint := parse_checkpoint(name)) is not None and each.bytes:
            found[checkpoint.version].append(checkpoint)
    if not commits and not found:
        raise NotFound(
            f"there is no Delta table at {root}", hint="name the folder that _delta_log is in"
        )
    whole = {version: tuple(_whole(parts)) for version, parts in found.items()}
    return Listing(root, commits, {version: each for version, each in whole.items() if each})


def _whole(found: Sequence[CheckpointName]) -> Iterator[tuple[CheckpointName, ...]]:
    """Checkpoints of one version, of which all parts are there."""
    by_count: dict[int, dict[int, CheckpointName]] = defaultdict(dict)
    for each in found:
        if each.uuid is not None or each.parts == 1:
            yield (each,)
        else:
            by_count[each.parts][each.part] = each
    for parts, numbered in by_count.items():
        if set(numbered) == set(range(1, parts + 1)):
            yield tuple(numbered[part] for part in sorted(numbered))


def state_at(store: Store, log: Listing, version: int, checkpoints: Checkpoints) -> State:
    """The table at a version, from the last checkpoint before it."""
    _check_version(log, version)
    start = max((each for each in log.checkpoints if each <= version), default=None)
    state = State()
    if start is not None:
        state.load(_checkpoint(store, log, start, checkpoints), start)
    first = 0 if start is None else start + 1
    for each, actions in commits(store, log, first, version):
        state.apply(actions, each)
    return state


def commits(
    store: Store, log: Listing, first: int, last: int
) -> Iterator[tuple[int, list[Action]]]:
    """Commits from one version to another. Corrupt if one between them is missing."""
    missing = next((each for each in range(first, last + 1) if each not in log.commits), None)
    if missing is not None:
        raise Corrupt(
            f"the log at {log.root} lacks version {missing}, and no checkpoint makes up for it",
            hint=f"restore {commit_name(missing)} from a copy",
        )
    for version in range(first, last + 1):
        uri = log.uri(commit_name(version))
        yield version, parse_commit(store.read(uri), uri)


def reachable(log: Listing) -> int:
    """The first version that the log still tells of."""
    first = log.newest
    while first - 1 in log.commits:
        first -= 1
    starts = [0] if first == 0 else []
    starts += [version for version in log.checkpoints if version >= first - 1]
    if not starts:
        raise Corrupt(
            f"the log at {log.root} begins with version {first}, and has no checkpoint before it",
            hint="restore the log from a copy",
        )
    return min(starts)


def commit_time(info: CommitInfo | None, modified: datetime, before: int | None) -> int:
    """When a commit was made, in milliseconds: what it says itself, where times in commits are in
    force, else when its file was written; never before the commit that it follows."""
    said = info.said.get("inCommitTimestamp") if info else None
    found = int(said) if said is not None else int(modified.timestamp() * 1000)
    return found if before is None else max(found, before + 1)


def _check_version(log: Listing, version: int) -> None:
    if version > log.newest or version < 0:
        raise NotFound(
            f"the log at {log.root} has no version {version}", hint=f"its newest is {log.newest}"
        )


def _checkpoint(store: Store, log: Listing, version: int, read: Checkpoints) -> Iterator[Action]:
    """The actions of a checkpoint, of whatever kind."""
    chosen = min(log.checkpoints[version], key=lambda parts: parts[0].name)
    uris = [log.uri(each.name) for each in chosen]
    if uris[0].endswith(".json"):
        actions: Iterable[Action] = parse_commit(store.read(uris[0]), uris[0])
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


def _sidecar(log: Listing, found: Sidecar) -> str:
    return found.path if "/" in found.path else log.uri(f"{SIDECARS}{found.path}")


def hinted(data: bytes) -> int | None:
    """The version that `_last_checkpoint` names; None if it is not readable."""
    try:
        return int(json.loads(data)["version"])
    except (ValueError, KeyError, TypeError):
        return None
