"""A tenant's commit is held to its quota, in the commit's own transaction."""

from __future__ import annotations

from dataclasses import dataclass

from tidelake.catalog.database.database import Reader, Writer
from tidelake.errors import Denied
from tidelake.model.change import Change
from tidelake.model.namespace import Namespace
from tidelake.session.hooks import CommitHook
from tidelake.session.session import Session
from tidelake.tenants import records
from tidelake.tenants.owners import Owners
from tidelake.tenants.usage import every_table, usage_of
from tidelake.tenants.values import Quota


@dataclass(frozen=True, slots=True)
class QuotaHook:
    """For a lake that was opened for a tenant; others are not held to anything."""

    session: Session

    def commit(self, change: Change) -> CommitHook:
        return _Check(self.session.namespace, change)

    def before_expiry(self) -> None:
        """Nothing."""

    def before_cleanup(self) -> None:
        """Nothing."""


@dataclass(frozen=True, slots=True)
class _Check:
    namespace: Namespace
    change: Change

    def beside(self, writer: Writer) -> None:
        if self.namespace.tenant is None:
            return
        known = records.find(writer, self.namespace.tenant)
        if known is None:
            raise Denied(
                f"there is no tenant {self.namespace.tenant} any more", hint="ask the lake's owner"
            )
        if known.quota != Quota():
            self._hold(writer, known.quota)

    def landed(self) -> None:
        """Nothing."""

    def _hold(self, reader: Reader, quota: Quota) -> None:
        """What the commit writes is in the catalog already, for this transaction."""
        rows = self.change.done.rows if self.change.done else 0
        self._check("rows in one commit", rows, quota.rows_per_commit)
        if quota.snapshots is not None:
            tenant = str(self.namespace.tenant)
            kept = Owners.of(reader, [tenant]).commits(reader)[tenant]
            self._check("snapshots", len(kept), quota.snapshots)
        writes = [table.write for table in self.change.tables]
        grows = any(each.files or each.delete_files for each in writes)
        if grows and (quota.bytes is not None or quota.files is not None):
            now = usage_of(reader, every_table(reader, self.namespace))
            self._check("bytes", now.bytes, quota.bytes)
            self._check("files", now.files, quota.files)

    def _check(self, what: str, wanted: int, most: int | None) -> None:
        if most is not None and wanted > most:
            raise Denied(
                f"tenant {self.namespace.tenant} may have {most:,} {what}, and would have"
                f" {wanted:,}",
                hint="delete and let old snapshots expire, or ask the lake's owner for more",
            )
