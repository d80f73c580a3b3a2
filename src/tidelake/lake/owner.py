"""What the owner of a lake can do with its tenants' data, beside making and dropping them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING

from tidelake.lake.browsable import Browsable
from tidelake.model.names import TableName

if TYPE_CHECKING:
    from tidelake.tenants.across import AcrossTenants
    from tidelake.tenants.share import Share


class Owner(Browsable):
    """All of it is Denied to tenants."""

    def set_retention(self, name: str, span: str | None) -> None:
        """How long the past of a tenant is kept at least, such as "30d"; None: as the lake's. It
        holds for `expire`, which takes the snapshots of all."""
        from tidelake.tenants.manage import set_retention

        self.session.namespace.check_whole("set_retention")
        self.session.check_writable()
        set_retention(self.session, name, span)

    def share(
        self, table: str, with_tenants: str | Sequence[str] = "*", *, name: str | None = None
    ) -> Share:
        """Let tenants read a table of the lake's own, with its past: all of them, or those named.
        They find it as `shared.NAME`, once their lake is opened again."""
        from tidelake.tenants.share import share

        self.session.namespace.check_whole("share")
        self.session.check_writable()
        return share(self.session, TableName.parse(table), with_tenants, name)

    def unshare(self, table: str, with_tenants: str | Sequence[str] | None = None) -> None:
        """Let tenants read it no longer: none of them, unless some are named."""
        from tidelake.tenants.share import unshare

        self.session.namespace.check_whole("unshare")
        self.session.check_writable()
        unshare(self.session, TableName.parse(table), with_tenants)

    def shares(self) -> list[Share]:
        """The tables that tenants may read, and which tenants."""
        from tidelake.tenants.share import every

        self.session.namespace.check_whole("shares")
        return every(self.session)

    def across_tenants(
        self,
        name: str,
        *,
        column: str = "tenant",
        tenants: Sequence[str] | None = None,
        as_of: str | date | None = None,
        known_at: int | str | datetime | None = None,
    ) -> AcrossTenants:
        """The table that tenants call so, of all of them or those named, as one: its first column
        says whose a row is. Columns go by name, with the type that holds all their values. A
        condition on the tenant leaves out the others before anything of theirs is looked at."""
        from tidelake.model.event_time import as_moment
        from tidelake.tenants.across import AcrossRequest, AcrossTenants

        self.session.namespace.check_whole("across_tenants")
        request = AcrossRequest(
            TableName.parse(name),
            self.session.pinned if known_at is None else self._snapshot(known_at),
            None if as_of is None else as_moment(as_of),
            column,
            None if tenants is None else tuple(tenants),
        )
        return AcrossTenants(self.session, request)

    def _snapshot(self, moment: int | str | datetime) -> int:
        with self.session.reading() as reader:
            return self.session.resolve(reader, moment).snapshot_id
