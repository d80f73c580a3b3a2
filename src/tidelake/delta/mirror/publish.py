"""Putting into a Delta log what has been decided upon: commits in order, then checkpoints."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

from tidelake.delta.log.checkpoint import checkpoint_bytes
from tidelake.delta.log.names import HINT, LOG, checkpoint_name, commit_name
from tidelake.delta.mirror import records as mirrors
from tidelake.delta.mirror.compose import app_id
from tidelake.delta.mirror.metrics import PublishedVersions, Tally
from tidelake.delta.mirror.records import MirrorStep
from tidelake.delta.values.actions import Action, Txn, parse_commit
from tidelake.delta.values.mirror import Mirror, RatifiedVersion
from tidelake.errors import Corrupt, TidelakeError
from tidelake.session.session import Session
from tidelake.session.short_transactions import run_locked
from tidelake.store.files import is_local

"""Versions between two checkpoints, at least; of large tables more, so that they cost little."""
_FILES = 1000
_RETENTION = 7 * 24 * 3600 * 1000
"""How long checkpoints remember files that are no longer shown: as long as Delta's own."""


def publish_now(session: Session, step: MirrorStep) -> bool:
    """Put the versions of a step into the log that follow what this lake has published itself;
    whether that is all there was to do."""
    mirror = step.after
    published = max(
        session.memory(PublishedVersions).versions.get(mirror.delta_id, -1), step.before.published
    )
    if mirror.status != "active" or [c.version for c in step.commits] != list(
        range(published + 1, mirror.version + 1)
    ):
        return False
    if _needs_checkpoint(session, mirror):
        return False
    for commit in step.commits:
        if not _put(session, mirror, commit):
            return False
        session.memory(PublishedVersions).versions[mirror.delta_id] = commit.version
    return True


def publish(session: Session, table_id: int) -> Mirror | None:
    """Put all versions that are due into the log; the mirror as it is then."""
    with session.reading() as reader:
        mirror = mirrors.of_table(reader, table_id)
        due = [] if mirror is None else mirrors.unpublished_versions(reader, mirror)
    if mirror is None or mirror.status == "drifted":
        return mirror
    before = mirror
    for commit in due:
        if not _put(session, mirror, commit):
            return _drifted(session, mirror, commit.version)
        mirror = replace(mirror, published=commit.version)
    if _is_overtaken(session, mirror):
        return _drifted(session, mirror, mirror.version + 1)
    if _needs_checkpoint(session, mirror):
        mirror = _checkpointed(session, mirror)
    if mirror != before:
        run_locked(session, mirrors.mark, table_id, mirror.published, mirror.checkpoint)
        session.memory(Tally).settle(session)
    session.memory(PublishedVersions).versions[mirror.delta_id] = mirror.published
    return mirror


def _put(session: Session, mirror: Mirror, commit: RatifiedVersion) -> bool:
    """Whether the version in the log is this one: somebody may have put it there already."""
    uri = f"{mirror.root}{LOG}{commit_name(commit.version)}"
    store = session.local.store
    try:
        if commit.content is not None and store.create(
            uri, commit.content, modified=commit.committed_at
        ):
            session.memory(Tally).published(mirror.table_id, commit.committed_at)
            return True
    except TidelakeError:
        session.memory(Tally).failed(mirror.table_id)
        raise
    return hashlib.sha256(store.read(uri)).hexdigest() == commit.digest


def _is_overtaken(session: Session, mirror: Mirror) -> bool:
    """Whether the log has a version that nobody has decided upon. What is in the log was decided
    upon before, so that the catalog is asked again once it is seen there."""
    following = f"{mirror.root}{LOG}{commit_name(mirror.version + 1)}"
    if mirror.status != "active" or mirror.version < 0 or not session.local.store.exists(following):
        return False
    with session.reading() as reader:
        now = mirrors.of_table(reader, mirror.table_id)
    return now is not None and now.version == mirror.version


def _drifted(session: Session, mirror: Mirror, version: int) -> Mirror:
    """The mirror once it is known that a version in its log is not ours."""
    reason = f"{commit_name(version)} was written by somebody else"
    if _is_of_another_time(session, mirror, version):
        reason = (
            f"{commit_name(version)} is of a snapshot that the catalog does not know: was it"
            " restored from a backup?"
        )
    run_locked(session, mirrors.mark, mirror.table_id, mirror.published, mirror.checkpoint)
    run_locked(session, mirrors.stop, mirror.table_id, "drifted", reason)
    return replace(mirror, status="drifted", reason=reason)


def _is_of_another_time(session: Session, mirror: Mirror, version: int) -> bool:
    """Whether a commit that is not ours was once: it bears our name."""
    uri = f"{mirror.root}{LOG}{commit_name(version)}"
    try:
        actions = parse_commit(session.local.store.read_small(uri), uri)
    except Corrupt:
        return False
    ours = app_id(mirror.delta_id)
    return any(isinstance(action, Txn) and action.app_id == ours for action in actions)


def _needs_checkpoint(session: Session, mirror: Mirror) -> bool:
    """Whether one is due, or the one that readers are told of has gone."""
    most = session.tuning.checkpoint_every + mirror.file_count // _FILES
    due = mirror.version - mirror.checkpoint >= most
    if due and mirror.status == "active":
        return True
    uri = f"{mirror.root}{LOG}{checkpoint_name(mirror.checkpoint)}"
    return mirror.checkpoint >= 0 and is_local(uri) and not session.local.store.exists(uri)


def _checkpointed(session: Session, mirror: Mirror) -> Mirror:
    """The mirror with a checkpoint of its newest version; that can be made only while it shows
    just that. Readers are told of it once it is there, and DuckDB that it is no orphan."""
    with session.reading() as reader:
        now = mirrors.of_table(reader, mirror.table_id)
        if now is None or now.version != mirror.published or now.protocol is None:
            return mirror
        files = mirrors.shown_files(reader, mirror.table_id)
        removed = mirrors.removed_files(reader, mirror.table_id, now.committed_at - _RETENTION)
    if now.metadata is None:
        raise Corrupt(f"the mirror at {mirror.root} has no metadata", hint="mirror sync")
    others: list[Action] = [now.protocol, now.metadata]
    others.append(Txn(app_id(now.delta_id), now.snapshot_id, now.committed_at))
    there = files.keys if removed else set()
    removes = list({each.key: each for each in removed if each.key not in there}.values())
    data = checkpoint_bytes(files, removes, others)
    uri = f"{now.root}{LOG}{checkpoint_name(now.version)}"
    made = replace(mirror, checkpoint=now.version)
    run_locked(session, mirrors.keep_checkpoint, made, uri, session.data_path)
    session.local.store.create(uri, data)
    hint = {
        "version": now.version,
        "size": len(files.paths) + len(removes) + len(others),
        "sizeInBytes": len(data),
        "numOfAddFiles": len(files.paths),
    }
    session.local.store.write(f"{now.root}{LOG}{HINT}", json.dumps(hint).encode())
    return made
