"""Going on in a log that is not, or may not be, as the catalog remembers it: one more version on
top of what is there brings it to what the lake has. Nothing in a log is ever replaced."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace

from tidelake.catalog.read import files, snapshots
from tidelake.delta.log.checkpoint import read_checkpoint
from tidelake.delta.log.features import check_readable
from tidelake.delta.log.names import commit_name, quote_path
from tidelake.delta.log.read import LogListing, commit_time, list_log, state_at
from tidelake.delta.log.replay import State
from tidelake.delta.mirror import records as mirrors
from tidelake.delta.mirror.compose import ENGINE, app_id
from tidelake.delta.mirror.metrics import PublishedVersions
from tidelake.delta.mirror.publish import publish
from tidelake.delta.mirror.records import MirrorStep
from tidelake.delta.mirror.sync import whole_step
from tidelake.delta.values.actions import Add, Metadata
from tidelake.delta.values.mirror import FIRST_ROW, Mirror, MirroredFile, RatifiedVersion
from tidelake.errors import Conflict
from tidelake.session.session import Session
from tidelake.session.short_transactions import run_locked
from tidelake.store.files import is_local, local_path


@dataclass(frozen=True, slots=True)
class LogStanding:
    """A log as it lies there. `first_foreign` is its first version that is not ours; None if all
    are."""

    log: LogListing
    first_foreign: int | None

    @property
    def newest(self) -> int:
        return self.log.newest


def log_standing(session: Session, mirror: Mirror) -> LogStanding:
    """Where a mirror's log has come to, and from where on it is somebody else's."""
    log = list_log(session.local.store, mirror.root)
    with session.reading() as reader:
        ours = mirrors.known_versions(reader, mirror.table_id)
    for version in range(mirror.published + 1, log.newest + 1):
        known = ours.get(version)
        if known is None or digest_of(session, log, version) != known[2]:
            return LogStanding(log, version)
    return LogStanding(log, None)


def folder_of(place: str) -> str:
    """The URI of a folder, which ends in a slash."""
    if is_local(place):
        return f"{local_path(place or '.').absolute()}".rstrip("/") + "/"
    return place.rstrip("/") + "/"


def digest_of(session: Session, log: LogListing, version: int) -> str | None:
    if version not in log.commits:
        return None
    return hashlib.sha256(session.local.store.read(log.uri(commit_name(version)))).hexdigest()


def state_of(session: Session, log: LogListing, version: int) -> State:
    engine = session.local
    return state_at(engine.store, log, version, lambda paths: read_checkpoint(engine, paths))


def last_snapshot(state: State) -> int:
    """The last snapshot that a log tells of; 0 if none."""
    ours = app_id("")
    told = (txn.version for name, txn in state.txns.items() if name.startswith(ours))
    return max(told, default=0)


def realign(session: Session, mirror: Mirror, log: LogListing, since: int) -> Mirror:
    """The mirror once its log shows the newest snapshot, on top of all that is in it. What was
    decided upon from version `since` on, and never got there, is forgotten."""
    state = state_of(session, log, log.newest)
    protocol, metadata = state.checked(log.root)
    check_readable(protocol)
    before = _as_mirrored(state, _known(session, mirror))
    base = replace(
        mirror,
        status="active",
        reason=None,
        version=log.newest,
        published=log.newest,
        checkpoint=max([-1, *log.checkpoints]),
        committed_at=commit_time(state.info, log.written(log.newest), None),
        file_count=len(before),
        protocol=protocol,
        metadata=_to_follow(mirror.metadata or metadata, state),
    )
    step = whole_step(session, base, before, last_snapshot(state))
    gone = {file.file_id for file, _ in step.went}
    shown = {id_: file for id_, file in before.items() if id_ not in gone}
    shown |= {file.file_id: file for file in step.come}
    step = replace(step, before=mirror, commits=step.commits or _same(session, log, step))
    if not run_locked(session, mirrors.rebase, step, list(shown.values()), since):
        raise Conflict(
            f"the mirror at {mirror.root} was changed meanwhile", hint="look at it, then try again"
        )
    session.memory(PublishedVersions).versions.pop(mirror.delta_id, None)
    return publish(session, mirror.table_id) or step.after


def _known(session: Session, mirror: Mirror) -> dict[str, tuple[int, str | None]]:
    """Which files paths of the log stand for, and of which shape those are that are copies."""
    with session.reading() as reader:
        at, root = snapshots.head_id(reader), mirror.root
        there = files.data_files(reader, at, mirror.table_id, root)
        shown = mirrors.files(reader, mirror.table_id).values()
    found: dict[str, tuple[int, str | None]] = {
        quote_path(file.path[len(root) :]): (file.id, None)
        for file in there
        if file.path.startswith(root)
    }
    return found | {file.path: (file.file_id, file.copied) for file in shown}


def _as_mirrored(
    state: State, known: Mapping[str, tuple[int, str | None]]
) -> dict[int, MirroredFile]:
    """The files of a log by our ids; those that nobody here knows get ids that are none."""
    found = {}
    for number, add in enumerate(state.files.values(), 1):
        file_id, copied = known.get(add.path, (-number, None))
        found[file_id] = mirrored_file(add, file_id, copied)
    return found


def mirrored_file(add: Add, file_id: int, copied: str | None = None) -> MirroredFile:
    first = add.tags.get(FIRST_ROW)
    return MirroredFile(
        file_id,
        add.path,
        add.size,
        add.modified,
        add.stats or "",
        add.vector,
        copied,
        None if first is None else int(first),
    )


def _to_follow(ours: Metadata, state: State) -> Metadata:
    """What the next version's metadata is compared with. Where the log has other than ours, or its
    newest version is not ours, they are said again."""
    said = {} if state.info is None else state.info.said
    same = ours == state.metadata and said.get("engineInfo", ENGINE) == ENGINE
    return ours if same else replace(ours, schema="")


def _same(session: Session, log: LogListing, step: MirrorStep) -> tuple[RatifiedVersion, ...]:
    """The newest version of the log, where it shows already what it is to show."""
    digest = digest_of(session, log, log.newest)
    at = step.after.committed_at
    found = RatifiedVersion(log.newest, step.after.snapshot_id, at, digest or "")
    return (found,) if step.after.status == "active" else ()
