"""What features do along with every commit, and before upkeep, without being named there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from tidelake.catalog.database.database import Writer
from tidelake.model.change import Change


class CommitHook(Protocol):
    """What a feature does for one commit."""

    def beside(self, writer: Writer) -> None:
        """In the commit's own transaction, at every attempt: it holds only if the commit lands."""

    def landed(self) -> None:
        """The commit is there, and whatever goes wrong now does not make it fail."""


class Hook(Protocol):
    """A feature that has something to do for a lake when others commit to it or tidy it up."""

    def commit(self, change: Change) -> CommitHook: ...

    def before_expiry(self) -> None: ...

    def before_cleanup(self) -> None: ...


class CommitHooks:
    """All that features do for one commit."""

    def __init__(self, hooks: Iterable[Hook], change: Change) -> None:
        self._hooks = [hook.commit(change) for hook in hooks]

    def beside(self, writer: Writer) -> None:
        for hook in self._hooks:
            hook.beside(writer)

    def landed(self) -> None:
        for hook in self._hooks:
            hook.landed()
