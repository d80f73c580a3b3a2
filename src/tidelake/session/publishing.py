"""Putting into a Delta log what has been decided upon: commits in order, then checkpoints."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import replace
from typing import TYPE_CHECKING

from tidelake.catalog import mirrors
from tidelake.catalog.mirrors import Step
from tidelake.engine.delta_checkpoint import checkpoint_bytes
from tidelake.errors import Corrupt
from tidelake.mirror.names import HINT, LOG, checkpoint_name, commit_name
from tidelake.model.delta import Action, Txn
from tidelake.model.mirror import Mirror, Ratified
from tidelake.session.alone import alone
from tidelake.store.files import is_local, local_path

if TYPE_CHECKING:
    from tidelake.session.lake import Lake

EVERY = 10
"""Versions between two checkpoints."""


def publish_now(lake: Lake, step: Step) -> bool:
    """Put the versions of a step into the log that follow what this lake has published itself;
    whether that is all there was to do."""
    mirror = step.after
    published = max(lake._published.get(mirror.table_id, -1), step.before.published)
    if mirror.status != "active" or [c.version for c in step.commits] != list(
        range(published + 1, mirror.version + 1)
    ):
        return False
    if mirror.version - mirror.checkpoint >= EVERY:
        return False
    for commit in step.commits:
        if not _put(lake, mirror, commit):
            return False
        lake._published[mirror.table_id] = commit.version
    return True


def publish(lake: Lake, table_id: int) -> Mirror | None:
    """Put all versions that are due into the log; the mirror as it is then."""
    with lake._reading() as reader:
        mirror = mirrors.of_table(reader, table_id)
        due = [] if mirror is None else mirrors.unpublished(reader, mirror)
    if mirror is None or mirror.status == "drifted":
        return mirror
    for commit in due:
        if not _put(lake, mirror, commit):
            reason = f"{commit_name(commit.version)} was written by somebody else"
            alone(lake, mirrors.stop, table_id, "drifted", reason)
            mirror = replace(mirror, status="drifted", reason=reason)
            break
        mirror = replace(mirror, published=commit.version)
    if mirror.published - mirror.checkpoint >= EVERY:
        mirror = _checkpointed(lake, mirror)
    if due:
        alone(lake, mirrors.mark, table_id, mirror.published, mirror.checkpoint)
    lake._published[table_id] = mirror.published
    return mirror


def _put(lake: Lake, mirror: Mirror, commit: Ratified) -> bool:
    """Whether the version in the log is this one: somebody may have put it there already."""
    uri = f"{mirror.root}{LOG}{commit_name(commit.version)}"
    store = lake._local.store
    if commit.content is None or not store.create(uri, commit.content):
        return hashlib.sha256(store.read(uri)).hexdigest() == commit.digest
    if is_local(uri):
        os.utime(local_path(uri), ns=(commit.committed_at * 1_000_000,) * 2)
    return True


def _checkpointed(lake: Lake, mirror: Mirror) -> Mirror:
    """The mirror with a checkpoint of its newest version; that can be made only while it shows
    just that."""
    with lake._reading() as reader:
        now = mirrors.of_table(reader, mirror.table_id)
        if now is None or now.version != mirror.published or now.protocol is None:
            return mirror
        files = mirrors.files(reader, mirror.table_id)
    if now.metadata is None:
        raise Corrupt(f"the mirror at {mirror.root} has no metadata", hint="mirror sync")
    others: list[Action] = [now.protocol, now.metadata]
    others.append(Txn(f"tidelake:{now.delta_id}", now.snapshot_id, now.committed_at))
    adds = [file.add(data_change=False) for _, file in sorted(files.items())]
    data = checkpoint_bytes(adds, [], others)
    store = lake._local.store
    store.create(f"{now.root}{LOG}{checkpoint_name(now.version)}", data)
    hint = {
        "version": now.version,
        "size": len(adds) + len(others),
        "sizeInBytes": len(data),
        "numOfAddFiles": len(adds),
    }
    store.write(f"{now.root}{LOG}{HINT}", json.dumps(hint).encode())
    return replace(mirror, checkpoint=now.version)
