"""Whose something of the catalog is, for all tenants at once."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime

from tidelake.catalog.database.database import Reader
from tidelake.catalog.read.snapshots import as_instant
from tidelake.model.changes_made import split_changes
from tidelake.model.names import split_dotted
from tidelake.model.namespace import tenant_of


@dataclass(frozen=True, slots=True)
class TenantCommit:
    """A snapshot that changed something of a tenant's."""

    snapshot_id: int
    time: datetime


@dataclass(frozen=True, slots=True)
class Owners:
    """The tenants of schemas, tables and views that are there or were, by their ids, as long as a
    snapshot has them."""

    tenants: frozenset[str]
    by_id: dict[int, str]

    @staticmethod
    def of(reader: Reader, tenants: Collection[str]) -> Owners:
        known = frozenset(tenants)
        found: dict[int, str] = {}
        rows = reader.rows("SELECT schema_id, schema_name FROM ducklake_schema")
        homes = {row[0]: tenant_of(row[1]) for row in rows}
        found.update({key: home for key, home in homes.items() if home in known})
        for kind in ("table", "view"):
            for object_id, schema_id in reader.rows(
                f"SELECT {kind}_id, schema_id FROM ducklake_{kind} ORDER BY begin_snapshot"
            ):
                if homes.get(schema_id) in known:
                    found[object_id] = homes[schema_id]
        return Owners(known, found)

    def commits(self, reader: Reader) -> dict[str, list[TenantCommit]]:
        """Of every tenant the snapshots that changed something of its own, oldest first."""
        moment = reader.dialect.instant.format("s.snapshot_time")
        rows = reader.rows(
            f"SELECT s.snapshot_id, {moment}, c.changes_made FROM ducklake_snapshot s"
            " JOIN ducklake_snapshot_changes c ON c.snapshot_id = s.snapshot_id"
            " ORDER BY s.snapshot_id"
        )
        found: dict[str, list[TenantCommit]] = {each: [] for each in self.tenants}
        for snapshot_id, time, changes in rows:
            for tenant in self._named(split_changes(changes or "")):
                found[tenant].append(TenantCommit(snapshot_id, as_instant(time)))
        return found

    def _named(self, changes: Iterable[str]) -> set[str]:
        """Changes name what they create, and by its id what was there."""
        found = set()
        for _, _, subject in (change.partition(":") for change in changes):
            if subject.isdecimal():
                found.add(self.by_id.get(int(subject)))
            elif parts := split_dotted(subject):
                found.add(tenant_of(parts[0]))
        return {each for each in found if each in self.tenants}
