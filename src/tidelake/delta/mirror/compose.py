"""From what a table was and is to the commit that says so."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tidelake.delta.log.features import FENCE
from tidelake.delta.log.types import schema_text, uses
from tidelake.delta.mirror.declaration import PROPERTY
from tidelake.delta.values.actions import (
    Action,
    CommitInfo,
    Metadata,
    Protocol,
    Remove,
    Txn,
    commit_bytes,
)
from tidelake.delta.values.mirror import Mirror, MirroredFile, RatifiedVersion
from tidelake.model.schema import Column

CLOCK, VECTORS, LOCAL_TIME, MAPPING = (
    "inCommitTimestamp",
    "deletionVectors",
    "timestampNtz",
    "columnMapping",
)
ENGINE = "Tidelake"
SNAPSHOT_ID, SNAPSHOT_TIME = "tidelakeSnapshotId", "tidelakeSnapshotTime"
AFTER_OTHERS = "tidelakeAfterOthers"
"""What a version says that follows snapshots of its table which no version shows."""
DROPPED = "DROP TABLE"
_AT_FIRST = {"delta.enableInCommitTimestamps": "true"}


@dataclass(frozen=True, slots=True)
class PublishedShape:
    """A table as it is declared, and what its columns are called in files. `declaration` is all
    of it in our own words."""

    name: str
    comment: str | None
    columns: tuple[Column, ...]
    physical: Mapping[int, str]
    declaration: str


@dataclass(frozen=True, slots=True)
class Moment:
    """A snapshot of a table, and what it did; `time` is in microseconds. `same_rows`: only files
    changed, no rows. `after_others`: since what was shown before, the table may have been what no
    version shows. Without a `shape` the table is no more."""

    snapshot_id: int
    time: int
    operation: str
    shape: PublishedShape | None
    same_rows: bool = False
    after_others: bool = False

    @property
    def milliseconds(self) -> int:
        return self.time // 1000


@dataclass(frozen=True, slots=True)
class Composition:
    """What a mirror is at a moment, and the commit that says so, if there is anything to say:
    which files went with it, and which came."""

    mirror: Mirror
    commit: RatifiedVersion | None = None
    went: tuple[MirroredFile, ...] = ()
    came: tuple[MirroredFile, ...] = ()


def compose(
    mirror: Mirror,
    moment: Moment,
    before: Mapping[int, MirroredFile],
    after: Mapping[int, MirroredFile],
    *,
    quiet: bool = False,
) -> Composition:
    """The next version, which shows the table as of a moment. `before` and `after` are of all
    files that may have changed. Where nothing has, there is one only to say that the table may
    have been otherwise in between, and not if it is to be `quiet`. A log cannot begin with the end
    of its table."""
    if moment.shape is None and mirror.metadata is None:
        return Composition(replace(mirror, snapshot_id=moment.snapshot_id))
    at = max(moment.milliseconds, mirror.committed_at + 1)
    went = tuple(file for id_, file in sorted(before.items()) if after.get(id_) != file)
    came = tuple(
        replace(file, modified=at) for id_, file in sorted(after.items()) if before.get(id_) != file
    )
    protocol, metadata = mirror.protocol, mirror.metadata
    if moment.shape is not None:
        metadata = _metadata(mirror, moment.shape, moment.milliseconds)
        protocol = _protocol(mirror, moment.shape, metadata, came)
        metadata = _configured(metadata, protocol)
    same = not went and not came and (protocol, metadata) == (mirror.protocol, mirror.metadata)
    if same and moment.shape is not None and (quiet or not moment.after_others):
        return Composition(replace(mirror, snapshot_id=moment.snapshot_id))
    following = replace(
        mirror,
        snapshot_id=moment.snapshot_id,
        version=mirror.version + 1,
        committed_at=at,
        file_count=mirror.file_count + len(came) - len(went),
        protocol=protocol,
        metadata=metadata,
    )
    content = commit_bytes(_actions(mirror, following, moment, went, came))
    digest = hashlib.sha256(content).hexdigest()
    commit = RatifiedVersion(following.version, moment.snapshot_id, at, digest, content)
    return Composition(following, commit, went, came)


def _actions(
    mirror: Mirror,
    following: Mirror,
    moment: Moment,
    went: Sequence[MirroredFile],
    came: Sequence[MirroredFile],
) -> list[Action]:
    at = following.committed_at
    actions: list[Action] = [_info(moment, at)]
    if following.protocol and following.protocol != mirror.protocol:
        actions.append(following.protocol)
    if following.metadata and following.metadata != mirror.metadata:
        actions.append(following.metadata)
    actions.append(Txn(app_id(mirror.delta_id), moment.snapshot_id, at))
    change = not moment.same_rows
    actions += [Remove(f.path, at, change, f.size, f.vector) for f in went]
    return actions + [file.add(data_change=change) for file in came]


def app_id(delta_id: str) -> str:
    """By which name a log says how far the lake had come."""
    return f"tidelake:{delta_id}"


def _info(moment: Moment, at: int) -> CommitInfo:
    said = {
        "timestamp": at,
        "inCommitTimestamp": at,
        "operation": moment.operation,
        "operationParameters": {},
        "engineInfo": ENGINE,
        SNAPSHOT_ID: moment.snapshot_id,
        SNAPSHOT_TIME: moment.time,
    }
    return CommitInfo(said | ({AFTER_OTHERS: True} if moment.after_others else {}))


def _metadata(mirror: Mirror, shape: PublishedShape, time: int) -> Metadata:
    known = mirror.metadata
    configuration = dict(known.configuration if known else _AT_FIRST)
    configuration[PROPERTY] = shape.declaration
    mapped = "delta.columnMapping.mode" in configuration or _is_renamed(shape)
    if mapped:
        last = max([0, *(below.id for c in shape.columns for below in c.walk())])
        last = max(last, int(configuration.get("delta.columnMapping.maxColumnId", 0)))
        configuration["delta.columnMapping.mode"] = "name"
        configuration["delta.columnMapping.maxColumnId"] = str(last)
    return Metadata(
        id=mirror.delta_id,
        schema=schema_text(shape.columns, shape.physical, mapped=mapped),
        configuration=configuration,
        name=shape.name,
        description=shape.comment,
        created=known.created if known else time,
    )


def _is_renamed(shape: PublishedShape) -> bool:
    below = (each for column in shape.columns for each in column.walk())
    return any(shape.physical.get(each.id, each.name) != each.name for each in below)


def _protocol(
    mirror: Mirror, shape: PublishedShape, metadata: Metadata, came: Sequence[MirroredFile]
) -> Protocol:
    """What has been needed once stays needed."""
    known = mirror.protocol
    features = set(known.reader_features or ()) if known else set()
    if any(file.vector is not None for file in came):
        features.add(VECTORS)
    if uses(shape.columns, "timestamp_ntz"):
        features.add(LOCAL_TIME)
    if "delta.columnMapping.mode" in metadata.configuration:
        features.add(MAPPING)
    writers = frozenset({*features, CLOCK, FENCE})
    if not features:
        return Protocol(1, 7, None, writers)
    return Protocol(3, 7, frozenset(features), writers)


def _configured(metadata: Metadata, protocol: Protocol) -> Metadata:
    if VECTORS not in (protocol.reader_features or ()):
        return metadata
    configuration = {**metadata.configuration, "delta.enableDeletionVectors": "true"}
    return replace(metadata, configuration=configuration)
