"""A Delta log, gone through before anything is written: what each version does to the table."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tidelake.delta.importing.adopt import has_no_nulls, parsed_stats
from tidelake.delta.importing.kept_files import new_column_ids
from tidelake.delta.importing.numbering import ColumnNumbering
from tidelake.delta.log.features import check_readable, check_vectors, mapping_mode
from tidelake.delta.log.names import locate
from tidelake.delta.log.read import Checkpoints, LogListing, commit_time, commits, state_at
from tidelake.delta.log.replay import State
from tidelake.delta.log.types import DeltaField, fields_of, plain_columns, uses
from tidelake.delta.values.actions import Action, Add, Metadata, Protocol, Remove
from tidelake.errors import Corrupt, Unsupported
from tidelake.model.column_rules import check_names
from tidelake.model.schema import Column
from tidelake.store.files import Store


@dataclass(frozen=True, slots=True)
class TableShape:
    """What the table is at a version. `by_id`: columns are found in files by their ids."""

    fields: tuple[DeltaField, ...]
    partitioned_by: tuple[str, ...]
    by_id: bool = False
    comment: str | None = None

    @property
    def columns(self) -> tuple[Column, ...]:
        return tuple(field.column for field in self.fields)

    @property
    def partition(self) -> dict[str, Column]:
        """The columns that it is partitioned by, by their names in files, in order."""
        named = {field.column.name: field for field in self.fields}
        found = [named[name] for name in self.partitioned_by]
        return {field.physical: field.column for field in found}


@dataclass(frozen=True, slots=True)
class LogStep:
    """What a version does: files, by where they are, that come, that have other rows deleted, and
    that go. `known` is what the numbers of its columns are known from, as JSON. `kept` are files
    that stay as they are while the table gets columns."""

    version: int
    time: int
    said: Mapping[str, Any]
    delta_id: str
    shape: TableShape
    known: str
    added: Mapping[str, Add]
    changed: Mapping[str, Add] = field(default_factory=dict)
    removed: frozenset[str] = frozenset()
    kept: Mapping[str, Add] = field(default_factory=dict)


@dataclass
class LogWalk:
    """Goes through a log from one version to another. `held` are the files that the lake has of
    the table already."""

    store: Store
    log: LogListing
    checkpoints: Checkpoints
    numbering: ColumnNumbering
    held: Collection[str] = ()
    time: int | None = None
    notes: list[str] = field(default_factory=list)
    live: dict[str, Add] = field(default_factory=dict)

    def steps(self, first: int, last: int) -> Iterator[LogStep]:
        state = state_at(self.store, self.log, first, self.checkpoints)
        first = self._described(state, last)
        self.live = self._live(state)
        kept = self.live.keys() & set(self.held)
        shape = self._shape(state, bool(kept))
        yield self._step(
            state,
            shape,
            added={path: add for path, add in self.live.items() if path not in kept},
            changed={path: self.live[path] for path in kept},
            removed=frozenset(self.held) - self.live.keys(),
        )
        for version, actions in commits(self.store, self.log, first + 1, last):
            yield self._next(state, shape, actions, version)
            shape = self._shape_now

    def _described(self, state: State, last: int) -> int:
        """Go on until the log has said what the table is; the version that does."""
        first = state.version
        for version, actions in commits(self.store, self.log, first + 1, last):
            if state.is_described:
                break
            state.apply(actions, version)
        if state.version > first:
            self.notes.append(
                f"versions {first} to {state.version - 1} do not say what the table is"
            )
        return state.version

    def _next(
        self, state: State, shape: TableShape, actions: list[Action], version: int
    ) -> LogStep:
        before, kept = state.metadata, {}
        added, changed, removed = self._moved(actions, version)
        state.apply(actions, version)
        if any(isinstance(each, Metadata | Protocol) for each in actions):
            stays = len(self.live) > len(added)
            found = self._evolved(state, before, shape, stays=stays)
            if new_column_ids(shape.columns, found.columns):
                touched = added.keys() | changed.keys()
                kept = {path: add for path, add in self.live.items() if path not in touched}
            shape = found
        self._check_files(state.protocol, {**added, **changed}.values())
        self._shape_now = shape
        step = self._step(state, shape, added=added, changed=changed, removed=removed)
        return replace(step, kept=kept)

    def _moved(
        self, actions: Iterable[Action], version: int
    ) -> tuple[dict[str, Add], dict[str, Add], frozenset[str]]:
        """What comes, changes and goes; `live` goes on to the version."""
        went: dict[str, Add] = {}
        listed = list(actions)
        for action in listed:
            if isinstance(action, Remove):
                path = locate(action.path, self.log.root)
                known = self.live.get(path)
                if known is not None and known.path != action.path:
                    raise _spelled_twice(path)
                if known is not None and known.key == action.key:
                    went[path] = self.live.pop(path)
        added: dict[str, Add] = {}
        changed: dict[str, Add] = {}
        for action in listed:
            if isinstance(action, Add):
                path = locate(action.path, self.log.root)
                known = self.live.get(path)
                if known is not None and known.key != action.key:
                    raise _twice(path, version)
                if known is None:
                    (changed if path in went else added)[path] = action
                self.live[path] = action
        return added, changed, frozenset(went.keys() - self.live.keys())

    def _live(self, state: State) -> dict[str, Add]:
        found: dict[str, Add] = {}
        for add in state.files.values():
            path = locate(add.path, self.log.root)
            if path in found:
                raise _twice(path, state.version)
            found[path] = add
        for remove in state.removed.values():
            known = found.get(locate(remove.path, self.log.root))
            if known is not None and known.path != remove.path:
                raise _spelled_twice(known.path)
        return found

    def _evolved(
        self, state: State, before: Metadata | None, shape: TableShape, stays: bool
    ) -> TableShape:
        _, metadata = state.checked(self.log.root)
        if stays and before is not None and before.id != metadata.id:
            raise Corrupt(
                f"version {state.version} is of another table, and files of the one before stay",
                hint="two tables share one place: move one of them, and restore the log",
            )
        found = self._shape(state, stays)
        physical = list(found.partition), list(shape.partition)
        if stays and physical[0] != physical[1]:
            raise Unsupported(
                f"version {state.version} partitions the table in another way, and files stay",
                hint='mode="fast" imports the table as it is now',
            )
        return found

    def _shape(self, state: State, stays: bool) -> TableShape:
        protocol, metadata = state.checked(self.log.root)
        check_readable(protocol)
        if metadata.provider != "parquet":
            raise Unsupported(
                f"the files of the table are {metadata.provider}",
                hint="Tidelake reads Delta tables of Parquet",
            )
        self._check_files(protocol, self.live.values())
        mode = mapping_mode(protocol, metadata)
        fields = fields_of(metadata.schema, mode)
        check_names([each.column for each in fields])
        _check_times(fields, protocol)
        fields = self.numbering.numbered(_nullable_inside(fields))
        if stays and self.numbering.retyped:
            raise Unsupported(
                f"version {state.version} gives column {'.'.join(self.numbering.retyped[0])} a type"
                " that does not hold the values of the one before, and files stay",
                hint='mode="fast" imports the table as it is now',
            )
        self._note(metadata)
        comment = metadata.description if isinstance(metadata.description, str) else None
        shape = TableShape(fields, metadata.partition_columns, mode == "id", comment or None)
        _check_partitioning(shape)
        self._shape_now = shape
        return shape

    def _check_files(self, protocol: Protocol | None, adds: Iterable[Add]) -> None:
        if protocol is not None and any(add.vector is not None for add in adds):
            check_vectors(protocol)

    def _note(self, metadata: Metadata) -> None:
        for note in plain_columns(metadata.schema, metadata.configuration):
            if note not in self.notes:
                self.notes.append(note)

    def _step(
        self,
        state: State,
        shape: TableShape,
        *,
        added: Mapping[str, Add],
        changed: Mapping[str, Add],
        removed: frozenset[str],
    ) -> LogStep:
        written = self.log.written(state.version)
        self.time = commit_time(state.info, written, self.time)
        _, metadata = state.checked(self.log.root)
        return LogStep(
            version=state.version,
            time=self.time,
            said=state.info.said if state.info else {},
            delta_id=metadata.id,
            shape=shape,
            known=json.dumps({"known": self.numbering.known, "next": self.numbering.next_id}),
            added=added,
            changed=changed,
            removed=removed,
        )


def numbering_of(text: str) -> ColumnNumbering:
    """The numbers that an import has given so far."""
    said = json.loads(text)
    return ColumnNumbering(said["known"], said["next"])


def loosen_columns(steps: Iterable[LogStep]) -> tuple[list[LogStep], list[str]]:
    """The steps with columns that may be null wherever a log does not rule it out, and the names
    of these columns."""
    listed, doubtful = list(steps), set()
    required = {
        each.physical: each
        for step in listed
        for each in step.shape.fields
        if not each.column.nullable
    }
    if not required:
        return listed, []
    partition = {name for step in listed for name in step.shape.partition}
    for add in (add for step in listed for add in (*step.added.values(), *step.changed.values())):
        stats = parsed_stats(add.stats)
        for name, each in required.items():
            told = add.partition_values.get(name) if name in partition else None
            if not told and (name in partition or not has_no_nulls(stats, each)):
                doubtful.add(name)
    names = sorted({required[name].column.name for name in doubtful})
    return [_loosened(step, doubtful) for step in listed], names


def _loosened(step: LogStep, doubtful: Collection[str]) -> LogStep:
    fields = tuple(
        replace(each, column=replace(each.column, nullable=True))
        if each.physical in doubtful or each.column.is_nested
        else each
        for each in step.shape.fields
    )
    return replace(step, shape=replace(step.shape, fields=fields))


def _nullable_inside(fields: Iterable[DeltaField]) -> tuple[DeltaField, ...]:
    """What is inside a column may always be null here."""
    return tuple(replace(each, children=_nullable(each.children)) for each in fields)


def _nullable(fields: Iterable[DeltaField]) -> tuple[DeltaField, ...]:
    return tuple(
        replace(each, column=replace(each.column, nullable=True), children=_nullable(each.children))
        for each in fields
    )


def _check_times(fields: Iterable[DeltaField], protocol: Protocol) -> None:
    has = uses((each.column for each in fields), "timestamp_ntz")
    if has and "timestampNtz" not in (protocol.reader_features or ()):
        raise Corrupt(
            "the table has columns of timestamp_ntz, which its protocol does not allow",
            hint="restore the log",
        )


def _check_partitioning(shape: TableShape) -> None:
    named = {column.name: column for column in shape.columns}
    for name in shape.partitioned_by:
        if name not in named or named[name].is_nested:
            raise Corrupt(
                f"the table is partitioned by {name}, which is no plain column of it",
                hint="restore the log",
            )
    if len(set(shape.partitioned_by)) < len(shape.partitioned_by):
        raise Corrupt("the table is partitioned by a column twice", hint="restore the log")


def _twice(path: str, version: int) -> Corrupt:
    return Corrupt(
        f"{path} is part of the table twice at version {version}",
        hint="its rows would be counted twice: restore the log",
    )


def _spelled_twice(path: str) -> Unsupported:
    return Unsupported(
        f"the log spells {path} in two ways, and readers differ on whether that is one file",
        hint="write the table again in Delta",
    )
