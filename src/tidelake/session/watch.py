"""Whoever wants to know what sessions do, to count it: a service's metrics."""

from __future__ import annotations

from tidelake.model.change import WriteResult


class Watch:
    """Hears of every commit of a lake and its tenants, and does nothing with it; subclass it."""

    def landed(self, done: WriteResult) -> None:
        """A commit is there. Called in the thread that made it, which waits."""

    def conflict(self) -> None:
        """An attempt to commit was refused because of what somebody else had done."""


NOBODY = Watch()
