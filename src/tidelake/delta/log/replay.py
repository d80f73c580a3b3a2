"""The state of a Delta table: what is left when all actions of a log have been gone through."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tidelake.delta.values.actions import (
    Action,
    Add,
    CommitInfo,
    Domain,
    Key,
    Metadata,
    Protocol,
    Remove,
    Txn,
)
from tidelake.errors import Corrupt


def check_commit(actions: Sequence[Action], where: str) -> None:
    """Corrupt if a commit says two things that do not go together."""
    for kind in (Metadata, Protocol):
        if sum(isinstance(each, kind) for each in actions) > 1:
            raise Corrupt(f"{where} declares the table twice", hint="restore it from a copy")
    removed = {each.key for each in actions if isinstance(each, Remove)}
    both = next((each for each in actions if isinstance(each, Add) and each.key in removed), None)
    if both is not None:
        raise Corrupt(
            f"{where} adds and removes {both.path} at once", hint="restore it from a copy"
        )


@dataclass
class State:
    """A Delta table at a version. `removed` are files that have gone, as far as that is told."""

    version: int = -1
    protocol: Protocol | None = None
    metadata: Metadata | None = None
    files: dict[Key, Add] = field(default_factory=dict)
    removed: dict[Key, Remove] = field(default_factory=dict)
    txns: dict[str, Txn] = field(default_factory=dict)
    domains: dict[str, Domain] = field(default_factory=dict)
    info: CommitInfo | None = None

    def apply(self, actions: Iterable[Action], version: int) -> None:
        """Go on to a version. In a commit what is removed goes before what is added."""
        listed = list(actions)
        self.version, self.info = version, None
        for action in listed:
            if isinstance(action, Remove):
                self.files.pop(action.key, None)
                self.removed[action.key] = action
        for action in listed:
            self._take(action)

    def load(self, actions: Iterable[Action], version: int) -> None:
        """Begin with a checkpoint."""
        self.version = version
        for action in actions:
            if isinstance(action, Remove):
                self.removed[action.key] = action
            else:
                self._take(action)

    def _take(self, action: Action) -> None:
        if isinstance(action, Add):
            key = action.key
            self.files[key] = action
            self.removed.pop(key, None)
        elif isinstance(action, Protocol):
            self.protocol = action
        elif isinstance(action, Metadata):
            self.metadata = action
        elif isinstance(action, Txn):
            self.txns[action.app_id] = action
        elif isinstance(action, Domain):
            self.domains[action.name] = action
        elif isinstance(action, CommitInfo):
            self.info = action

    @property
    def is_described(self) -> bool:
        """Whether the log has said what the table is."""
        return self.protocol is not None and bool(self.metadata and self.metadata.schema)

    def checked(self, where: str) -> tuple[Protocol, Metadata]:
        """What the table is. Corrupt if the log does not say."""
        if self.protocol is None or self.metadata is None or not self.metadata.schema:
            lacking = "protocol" if self.protocol is None else "columns"
            lacking = "metadata" if self.protocol and self.metadata is None else lacking
            raise Corrupt(
                f"the log at {where} has no {lacking} up to version {self.version}",
                hint="restore the log from a copy",
            )
        return self.protocol, self.metadata
