"""What a lake does with formats of others: it publishes tables in them, and has lost ones again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, overload

from tidelake.lake.landlord import Landlord
from tidelake.model.terms import Terms

if TYPE_CHECKING:
    from tidelake.delta.mirror.mirror import DeltaMirror
    from tidelake.delta.values.reports import RecoverResult
    from tidelake.model.mirror import MirrorStatus
    from tidelake.session.formats import TableMirror


class Publisher(Landlord):
    """Mirrors are told of by `Browsable.mirrors`."""

    @overload
    def mirror(
        self,
        name: str,
        kind: Literal["delta"] = "delta",
        *,
        history: bool = False,
        author: str | None = None,
        message: str | None = None,
    ) -> DeltaMirror: ...

    @overload
    def mirror(
        self,
        name: str,
        kind: str,
        *,
        history: bool = False,
        author: str | None = None,
        message: str | None = None,
    ) -> TableMirror: ...

    def mirror(
        self,
        name: str,
        kind: str = "delta",
        *,
        history: bool = False,
        author: str | None = None,
        message: str | None = None,
    ) -> TableMirror:
        """Publish a table as a Delta table beside its files, from now on with every commit: as it
        is now, or with `history` as it was at every snapshot. A mirror that is there already, or
        was stopped, goes on in its log."""
        self.session.namespace.check_role("maintain")
        self.session.namespace.check_own(self.session.namespace.parse(name))
        found = self.session.mirror_format(kind)
        of, terms = self.session.namespace.parse(name), Terms(author=author, message=message)
        return found.mirror(self.session, of, history=history, terms=terms)

    @overload
    def mirrored(self, name: str, kind: Literal["delta"] = "delta") -> DeltaMirror: ...

    @overload
    def mirrored(self, name: str, kind: str) -> TableMirror: ...

    def mirrored(self, name: str, kind: str = "delta") -> TableMirror:
        """The mirror of a table that has one."""
        return self.session.mirror_format(kind).mirrored(
            self.session, self.session.namespace.parse(name)
        )

    def sync_mirrors(self) -> list[MirrorStatus]:
        """Publish the commits that mirrors do not show yet, such as those of DuckDB."""
        self.session.namespace.check_owner("sync_mirrors")
        self.session.check_writable()
        for each in self.session.formats:
            each.sync_all(self.session)
        return self.mirrors()

    def recover(
        self,
        from_delta: str | Sequence[str] | None = None,
        *,
        history: bool = True,
        dry_run: bool = False,
    ) -> RecoverResult:
        """Restore the mirrored tables of a lost lake from their Delta logs, below the data path or
        at these places. This lake must be new. They come back with the snapshots that their logs
        tell of, each under its id and with its time; without `history` only as they were published
        last. They are mirrored again in the same logs. Tags, views, options and tables without a
        mirror come back from a `backup` alone.
        """
        from tidelake.delta.recovery.run import recover

        self.session.namespace.check_owner("recover")
        places = [from_delta] if isinstance(from_delta, str) else from_delta
        return recover(self.session, places, history=history, dry_run=dry_run)
