"""Delta's actions as values: what a commit or a checkpoint of a Delta log says.

They are written in one way only, so that the same actions are always the same bytes. What is read
may have been written by anybody: fields that nobody knows are passed over.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tidelake.errors import Corrupt
from tidelake.model.tuning import Tuning

_LONGEST = Tuning().longest_record
_NONE: Mapping[str, Any] = {}

Key = tuple[str, str | None]
"""By which a file is told from others in a log: its path, and the id of its deletion vector."""


@dataclass(frozen=True, slots=True)
class Vector:
    """Where the positions deleted from a file are. `storage` is "u" (a file named by `place`),
    "i" (in `place` itself) or "p" (a complete URI)."""

    storage: str
    place: str
    bytes: int
    cardinality: int
    offset: int | None = None

    @property
    def unique_id(self) -> str:
        at = "" if self.offset is None else f"@{self.offset}"
        return f"{self.storage}{self.place}{at}"

    def fields(self) -> dict[str, Any]:
        found: dict[str, Any] = {"storageType": self.storage, "pathOrInlineDv": self.place}
        if self.offset is not None:
            found["offset"] = self.offset
        return found | {"sizeInBytes": self.bytes, "cardinality": self.cardinality}

    @staticmethod
    def of(given: Mapping[str, Any]) -> Vector:
        offset = given.get("offset")
        return Vector(
            str(given["storageType"]),
            str(given["pathOrInlineDv"]),
            int(given["sizeInBytes"]),
            int(given["cardinality"]),
            None if offset is None else int(offset),
        )


class Add(NamedTuple):
    """A file that is there from now on. `path` is spelled as in the log; `modified` is in
    milliseconds, and `stats` JSON. A tuple, for a checkpoint has very many."""

    path: str
    size: int
    modified: int = 0
    data_change: bool = True
    partition_values: Mapping[str, str | None] = _NONE
    stats: str | None = None
    vector: Vector | None = None
    base_row_id: int | None = None
    row_commit_version: int | None = None
    tags: Mapping[str, str] = _NONE

    @property
    def key(self) -> Key:
        return self.path, self.vector.unique_id if self.vector else None

    def fields(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "path": self.path,
            "partitionValues": dict(self.partition_values),
            "size": self.size,
            "modificationTime": self.modified,
            "dataChange": self.data_change,
        }
        if self.stats is not None:
            found["stats"] = self.stats
        if self.tags:
            found["tags"] = dict(sorted(self.tags.items()))
        if self.vector is not None:
            found["deletionVector"] = self.vector.fields()
        return {"add": found}

    @staticmethod
    def of(given: Mapping[str, Any]) -> Add:
        vector = given.get("deletionVector")
        return Add(
            path=str(given["path"]),
            size=int(given.get("size") or 0),
            modified=int(given.get("modificationTime") or 0),
            data_change=bool(given.get("dataChange", True)),
            partition_values=_texts(given.get("partitionValues")),
            stats=_stats(given.get("stats")),
            vector=Vector.of(vector) if vector else None,
            base_row_id=given.get("baseRowId"),
            row_commit_version=given.get("defaultRowCommitVersion"),
            tags=dict(given.get("tags") or {}),
        )


@dataclass(frozen=True, slots=True)
class Remove:
    """A file that is there no longer, since a moment in milliseconds."""

    path: str
    deleted_at: int = 0
    data_change: bool = True
    size: int | None = None
    vector: Vector | None = None

    @property
    def key(self) -> Key:
        return self.path, self.vector.unique_id if self.vector else None

    def fields(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "path": self.path,
            "deletionTimestamp": self.deleted_at,
            "dataChange": self.data_change,
            "extendedFileMetadata": True,
            "partitionValues": {},
        }
        if self.size is not None:
            found["size"] = self.size
        if self.vector is not None:
            found["deletionVector"] = self.vector.fields()
        return {"remove": found}

    @staticmethod
    def of(given: Mapping[str, Any]) -> Remove:
        vector, size = given.get("deletionVector"), given.get("size")
        return Remove(
            path=str(given["path"]),
            deleted_at=int(given.get("deletionTimestamp") or 0),
            data_change=bool(given.get("dataChange", True)),
            size=None if size is None else int(size),
            vector=Vector.of(vector) if vector else None,
        )


@dataclass(frozen=True, slots=True)
class Protocol:
    """What a reader and a writer must understand. Features are listed from reader 3 and writer 7
    on."""

    reader: int = 1
    writer: int = 2
    reader_features: frozenset[str] | None = None
    writer_features: frozenset[str] | None = None

    def fields(self) -> dict[str, Any]:
        found: dict[str, Any] = {"minReaderVersion": self.reader, "minWriterVersion": self.writer}
        if self.reader_features is not None:
            found["readerFeatures"] = sorted(self.reader_features)
        if self.writer_features is not None:
            found["writerFeatures"] = sorted(self.writer_features)
        return {"protocol": found}

    @staticmethod
    def of(given: Mapping[str, Any]) -> Protocol:
        readers, writers = given.get("readerFeatures"), given.get("writerFeatures")
        return Protocol(
            int(given["minReaderVersion"]),
            int(given["minWriterVersion"]),
            None if readers is None else frozenset(_listed(readers)),
            None if writers is None else frozenset(_listed(writers)),
        )


@dataclass(frozen=True, slots=True)
class Metadata:
    """What the table is. `schema` is Delta's JSON; empty where a log does not say."""

    id: str
    schema: str
    partition_columns: tuple[str, ...] = ()
    configuration: Mapping[str, str] = field(default_factory=dict)
    name: str | None = None
    description: str | None = None
    created: int | None = None
    provider: str = "parquet"

    def fields(self) -> dict[str, Any]:
        found: dict[str, Any] = {"id": self.id}
        if self.name is not None:
            found["name"] = self.name
        if self.description is not None:
            found["description"] = self.description
        found |= {
            "format": {"provider": self.provider, "options": {}},
            "schemaString": self.schema,
            "partitionColumns": list(self.partition_columns),
            "configuration": dict(sorted(self.configuration.items())),
        }
        if self.created is not None:
            found["createdTime"] = self.created
        return {"metaData": found}

    @staticmethod
    def of(given: Mapping[str, Any]) -> Metadata:
        return Metadata(
            id=str(given.get("id") or ""),
            schema=str(given.get("schemaString") or ""),
            partition_columns=_listed(given.get("partitionColumns") or []),
            configuration={
                str(name): str(value) for name, value in (given.get("configuration") or {}).items()
            },
            name=given.get("name"),
            description=given.get("description"),
            created=given.get("createdTime"),
            provider=str((given.get("format") or {}).get("provider", "parquet")),
        )


@dataclass(frozen=True, slots=True)
class Txn:
    """How far an application had come."""

    app_id: str
    version: int
    updated: int | None = None

    def fields(self) -> dict[str, Any]:
        found: dict[str, Any] = {"appId": self.app_id, "version": self.version}
        return {"txn": found | ({} if self.updated is None else {"lastUpdated": self.updated})}

    @staticmethod
    def of(given: Mapping[str, Any]) -> Txn:
        return Txn(str(given["appId"]), int(given["version"]), given.get("lastUpdated"))


@dataclass(frozen=True, slots=True)
class Domain:
    """State that a feature keeps under a name of its own."""

    name: str
    configuration: str
    removed: bool = False

    def fields(self) -> dict[str, Any]:
        found = {"domain": self.name, "configuration": self.configuration, "removed": self.removed}
        return {"domainMetadata": found}

    @staticmethod
    def of(given: Mapping[str, Any]) -> Domain:
        return Domain(
            str(given["domain"]), str(given.get("configuration") or ""), bool(given.get("removed"))
        )


@dataclass(frozen=True, slots=True)
class CommitInfo:
    """What a commit says of itself, in words that are its own."""

    said: Mapping[str, Any]

    def fields(self) -> dict[str, Any]:
        return {"commitInfo": dict(self.said)}

    @staticmethod
    def of(given: Mapping[str, Any]) -> CommitInfo:
        return CommitInfo(dict(given))


@dataclass(frozen=True, slots=True)
class Sidecar:
    """A file with more of a checkpoint's actions."""

    path: str

    def fields(self) -> dict[str, Any]:
        return {"sidecar": {"path": self.path}}

    @staticmethod
    def of(given: Mapping[str, Any]) -> Sidecar:
        return Sidecar(str(given["path"]))


Action = Add | Remove | Protocol | Metadata | Txn | Domain | CommitInfo | Sidecar

KINDS: dict[str, type[Action]] = {
    "commitInfo": CommitInfo,
    "protocol": Protocol,
    "metaData": Metadata,
    "txn": Txn,
    "domainMetadata": Domain,
    "remove": Remove,
    "add": Add,
    "sidecar": Sidecar,
}


def _listed(given: Any) -> tuple[str, ...]:
    if not isinstance(given, list | tuple) or not all(isinstance(each, str) for each in given):
        raise TypeError(f"{given!r} is no list of names")
    return tuple(given)


def _texts(given: Any) -> dict[str, str | None]:
    found = dict(given or {})
    if not all(value is None or isinstance(value, str) for value in found.values()):
        raise TypeError(f"{given!r} are no partition values")
    return found


def _stats(given: Any) -> str | None:
    """Statistics help, they are never needed: what is no text is none."""
    return given if isinstance(given, str) else None


def commit_bytes(actions: list[Action]) -> bytes:
    """A commit as it lies in the log."""
    lines = (json.dumps(action.fields(), separators=(",", ":")) for action in actions)
    return "".join(f"{line}\n" for line in lines).encode()


def parse_commit(data: bytes, where: str) -> list[Action]:
    """The actions of a commit, whoever wrote it: one value after the other, on lines of their own
    or not. Actions of kinds that nobody knows are passed over, as readers should."""
    try:
        return [action for value in _values(data.decode()) for action in _actions(value)]
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise _not_a_commit(where, plainly(error)) from None
    except RecursionError:
        raise _not_a_commit(where, "it is nested without end") from None


def plainly(error: Exception) -> str:
    """What is wrong with something that could not be taken apart."""
    if isinstance(error, KeyError):
        return f"{error.args[0]} is missing"
    if isinstance(error, json.JSONDecodeError):
        return f"it is no JSON from character {error.pos:,} on"
    if isinstance(error, UnicodeError):
        return "it is no text"
    if isinstance(error, AttributeError):
        return "a value stands where fields must be"
    said = str(error).splitlines()
    return said[0] if said else "a value is none that may be there"


def _not_a_commit(where: str, why: str) -> Corrupt:
    return Corrupt(
        f"{where} is not a commit of a Delta log: {why}",
        hint="restore it from a copy, or from a checkpoint before it",
    )


def _values(text: str) -> Iterator[Any]:
    """One after the other: what nobody knows of is not kept."""
    decoder = json.JSONDecoder()
    place = 0
    text = text.removeprefix("\ufeff").rstrip()
    while place < len(text):
        while text[place].isspace():
            place += 1
        if text.find("\n", place, place + _LONGEST) < 0 and len(text) - place > _LONGEST:
            raise ValueError(f"an action has more than {_LONGEST:,} characters")
        value, place = decoder.raw_decode(text, place)
        yield value


def _actions(value: Any) -> list[Action]:
    if not isinstance(value, dict):
        raise ValueError(f"a {type(value).__name__} is no action")
    return [
        KINDS[kind].of(given)
        for kind, given in value.items()
        if kind in KINDS and given is not None
    ]
