"""What the owner of a lake alone can do: with its tenants' data, to erase, and to look back."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING

from tidelake.drawing.drawn_list import DrawnList
from tidelake.lake.changeable import Changeable
from tidelake.model.names import TableName

if TYPE_CHECKING:
    from tidelake.audit.trail import AuditTrail
    from tidelake.erasure.values import Erasure, ErasureResult
    from tidelake.history.batch import Start
    from tidelake.history.consumer import Consumer
    from tidelake.history.consumer_group import GroupMember
    from tidelake.model.predicate import Predicate
    from tidelake.tenants.across import AcrossTenants
    from tidelake.tenants.share import Share


class Owner(Changeable):
    """All of it is Denied to tenants."""

    def consumer(
        self,
        name: str,
        since: int | str | date | None = None,
        lease_seconds: float = 60,
        *,
        tables: Sequence[str] | None = None,
        start: Start = "beginning",
    ) -> Consumer:
        """Open a named consumer of the lake's changes, or of the changes of some `tables`. Use it
        in a `with`. A new consumer starts after `since`, else at the beginning; `start="rows"`
        starts with all current rows, `start="now"` with the next change. A known consumer goes on
        where it was. Only one program holds it at a time: until it is closed, or its lease ends.
        """
        from tidelake.history.consumer import Consumer

        self.session.namespace.check_whole("consumer")
        self.session.check_writable()
        return Consumer(self.session, name, since, lease_seconds, tables=tables, start=start)

    def consumer_group(
        self,
        name: str,
        since: int | str | date | None = None,
        lease_seconds: float = 60,
        *,
        tables: Sequence[str] | None = None,
        start: Start = "beginning",
    ) -> GroupMember:
        """Take part in a consumer that several share, in this process or others; use it in a
        `with`. Each table, or each of some `tables`, is held by one member at a time. A new group
        starts as a consumer does."""
        from tidelake.history.consumer_group import GroupMember

        self.session.namespace.check_whole("consumer_group")
        self.session.check_writable()
        return GroupMember(self.session, name, since, lease_seconds, tables=tables, start=start)

    def set_retention(self, name: str, span: str | None, *, author: str | None = None) -> None:
        """Set how long the past of a tenant is kept at least, such as "30d"; None ends the promise.
        `expire` obeys it for the whole lake.
        """
        from tidelake.tenants.manage import set_retention

        self.session.namespace.check_owner("set_retention")
        self.session.check_writable()
        set_retention(self.session, name, span, author)

    def share(
        self,
        table: str,
        with_tenants: str | Sequence[str] = "*",
        *,
        name: str | None = None,
        author: str | None = None,
    ) -> Share:
        """Let tenants, all or those named, read a table of the lake, with its past. They find it as
        `shared.NAME`, once their lake is opened again.
        """
        from tidelake.tenants.share import share

        self.session.namespace.check_owner("share")
        self.session.check_writable()
        return share(self.session, TableName.parse(table), with_tenants, name, author)

    def unshare(
        self,
        table: str,
        with_tenants: str | Sequence[str] | None = None,
        *,
        author: str | None = None,
    ) -> None:
        """Stop sharing a table: with all tenants, or with those named."""
        from tidelake.tenants.share import unshare

        self.session.namespace.check_owner("unshare")
        self.session.check_writable()
        unshare(self.session, TableName.parse(table), with_tenants, author)

    def shares(self) -> list[Share]:
        """The tables that tenants may read, and which tenants."""
        from tidelake.tenants.share import every

        self.session.namespace.check_whole("shares")
        return DrawnList(every(self.session), one="share")

    def across_tenants(
        self,
        name: str,
        *,
        column: str = "tenant",
        tenants: Sequence[str] | None = None,
        as_of: str | date | None = None,
        known_at: int | str | date | None = None,
    ) -> AcrossTenants:
        """Read the tables of one name of all tenants, or of those named, as one table. The first
        column names the tenant. Columns go by name, with a type that holds all values. A condition
        on the tenant skips the other tenants.
        """
        from tidelake.model.event_time import as_moment
        from tidelake.tenants.across import AcrossRequest, AcrossTenants

        self.session.namespace.check_whole("across_tenants")
        request = AcrossRequest(
            TableName.parse(name),
            self.session.last if known_at is None else self._snapshot(known_at),
            None if as_of is None else as_moment(as_of),
            column,
            None if tenants is None else _several(tenants),
        )
        return AcrossTenants(self.session, request)

    def _snapshot(self, moment: int | str | date) -> int:
        with self.session.reading() as reader:
            return self.session.resolve(reader, moment).snapshot_id

    def erase(
        self,
        name: str,
        where: str | Predicate | None = None,
        *,
        reason: str | None = None,
        author: str | None = None,
        data_sets: Sequence[str] = (),
        dry_run: bool = False,
    ) -> ErasureResult:
        """Erase the rows of a table that meet a condition from every snapshot, and from all that
        was made of them: files, deletes, statistics, rollups, fingerprints, mirrors, and files that
        no snapshot has. All other rows of all snapshots stay as they are, with their ids. It cannot
        be undone. `reason` is kept, with who did it and how many rows there were; what was in them
        is not. It is refused where frozen data sets were made of the table, unless `data_sets`
        names them: you have looked that they hold none of the rows. From a set itself it erases as
        from any table, and its fingerprint is made anew. With `dry_run` it is only counted."""
        from tidelake.erasure.run import erase
        from tidelake.erasure.swap import Grounds

        self.session.namespace.check_whole("erase")
        grounds = Grounds.of(reason, author, needed=not dry_run)
        if not dry_run:
            self.session.check_writable()
        self.session.check_not_closed()
        return erase(
            self.session,
            self.session.namespace.parse(name),
            where,
            grounds,
            dry_run=dry_run,
            looked_at=_several(data_sets),
        )

    def erasures(self) -> list[Erasure]:
        """The notes of all erasures, oldest first."""
        from tidelake.erasure.run import erasures_of

        self.session.namespace.check_whole("erasures")
        return DrawnList(erasures_of(self.session), one="erasure")

    def finish_erasures(self) -> list[Erasure]:
        """Finish erasures that broke off. The next erasure, and `cleanup`, do so too."""
        from tidelake.erasure.run import finish_erasures

        self.session.namespace.check_whole("finish_erasures")
        self.session.check_writable()
        return finish_erasures(self.session)

    def audit(
        self,
        *,
        since: str | date | None = None,
        until: str | date | None = None,
        action: str | None = None,
        limit: int | None = None,
    ) -> AuditTrail:
        """Who did what and when, newest last: commits, and actions without a commit, such as tags,
        expiry, cleanup, tenants and mirrors. It is a list, and a table (`to_arrow()` and so on).
        """
        from tidelake.audit.trail import audit_trail

        self.session.namespace.check_whole("audit")
        return audit_trail(self.session, since=since, until=until, action=action, limit=limit)


def _several(names: Sequence[str]) -> tuple[str, ...]:
    """One name is not its letters."""
    return (names,) if isinstance(names, str) else tuple(names)
