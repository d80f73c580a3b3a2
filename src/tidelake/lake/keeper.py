"""What a lake does so that data stays: data sets that nobody changes, and backups."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Unpack, overload

from tidelake.drawing.drawn_list import DrawnList
from tidelake.lake.owner import Owner
from tidelake.model.change import WriteResult
from tidelake.model.terms import CommitTerms, Terms

if TYPE_CHECKING:
    from tidelake.backup.values import BackupResult
    from tidelake.datasets.data_set import DataSet
    from tidelake.session.lazy_rows import LazyRows


class Keeper(Owner):
    """Tenants have data sets of their own."""

    def freeze(
        self,
        name: str,
        rows: str | LazyRows,
        *,
        as_of: str | date | None = None,
        known_at: int | str | date | None = None,
        **terms: Unpack[CommitTerms],
    ) -> DataSet:
        """Keep the rows of a query, a table, a scan or a point-in-time join for ever, under a
        name: they are written once, as the table `frozen."name"`, with the query, both moments and
        a fingerprint. Nothing but `drop_frozen` ends it: writes to it are refused, it does not
        expire, and `verify` names a set that somebody has changed all the same.

        `as_of` and `known_at` hold where the rows do not name their own; without any, the set is
        what the lake knows now."""
        from tidelake.datasets.data_set import DataSet
        from tidelake.datasets.freeze import freeze
        from tidelake.lake.recipes import recipe_of

        self.session.check_writable()
        recipe = recipe_of(self.session, rows, as_of, known_at)
        freeze(self.session, name, recipe, Terms.of(terms))
        return DataSet.named(self.session, name)

    @overload
    def frozen(self) -> list[DataSet]: ...

    @overload
    def frozen(self, name: str) -> DataSet: ...

    def frozen(self, name: str | None = None) -> DataSet | list[DataSet]:
        """A frozen data set, with the same `to_*` methods as a scan, and what is known of it; or
        all of them, in the order in which they were made."""
        from tidelake.datasets.data_set import DataSet
        from tidelake.datasets.freeze import facts_of_all

        if name is not None:
            return DataSet.named(self.session, name)
        found = (DataSet(self.session, each) for each in facts_of_all(self.session))
        return DrawnList(found, one="data set")

    def drop_frozen(self, name: str, **terms: Unpack[CommitTerms]) -> WriteResult:
        """End a frozen data set. Its rows are there until the snapshots that see them expire:
        `lake.undrop('frozen."name"')` brings it back until then."""
        from tidelake.datasets.freeze import drop_frozen

        return drop_frozen(self.session, name, Terms.of(terms))

    def backup(self, path: str | Path, *, files: bool = False) -> BackupResult:
        """Write all of the catalog, as it is at one moment, into a new folder, on disk or in an
        object store: every snapshot, tag, view and setting, and what Tidelake keeps beside them.
        With `files` the lake's files are copied too. Without, they are named with their sizes, and
        stay where they are. `tidelake.restore` makes a lake of it again."""
        from tidelake.backup.make import backup

        self.session.namespace.check_owner("backup")
        return backup(self.session, path, files=files)
