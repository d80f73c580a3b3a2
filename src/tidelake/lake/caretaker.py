"""What keeps a lake small, fast and whole."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from tidelake.lake.publisher import Publisher
from tidelake.model.terms import Terms

if TYPE_CHECKING:
    from tidelake.model.relocation import MoveResult
    from tidelake.upkeep.values import CleanupResult, CompactResult, ExpireResult
    from tidelake.upkeep.values_health import Health, HealthLimits
    from tidelake.verify.values import VerifyReport


class Caretaker(Publisher):
    """A `dry_run` tells what would be done."""

    def compact(
        self, *, dry_run: bool = False, author: str | None = None, message: str | None = None
    ) -> CompactResult:
        """Compact every table, as `Table.compact` does."""
        from tidelake.upkeep.compact import compact_all

        self.session.namespace.check_role("maintain")
        if not dry_run:
            self.session.check_writable()
        with self.session.reading() as reader:
            found = self.session.view.names(reader, self.session.at(reader), "table")
        names = [name for _, name in found]
        terms = Terms(author=author, message=message)
        return compact_all(self.session, names, dry_run=dry_run, terms=terms)

    def expire(
        self,
        older_than: str | date | timedelta | None = None,
        keep_last: int | None = None,
        *,
        dry_run: bool = False,
        force: bool = False,
        author: str | None = None,
    ) -> ExpireResult:
        """Forget snapshots, and all that no other snapshot sees: those committed before a moment
        (`older_than`, also as a span such as "7 days") that are not among the last `keep_last`.

        The newest stays, and so do tagged ones. Raises Conflict, unless with `force`, if a
        consumer still needs one of them or a tenant was promised it. Without arguments it follows
        the retention of tenants and the lake's option `expire_older_than`. The files are scheduled
        for `cleanup`.
        """
        from tidelake.tenants.retention import expiry_moment
        from tidelake.upkeep.expire import expire

        self.session.namespace.check_owner("expire")
        if not dry_run:
            self.session.check_writable()
        if older_than is None and keep_last is None:
            older_than = expiry_moment(self.session)
        return expire(
            self.session,
            older_than=older_than,
            keep_last=keep_last,
            dry_run=dry_run,
            force=force,
            author=author,
        )

    def move(
        self, data_path: str | Path, *, force: bool = False, author: str | None = None
    ) -> MoveResult:
        """Record a new place of the lake's files. Move or copy them there first: only the catalog
        changes. All files must be there, unless with `force`. Nobody else should have the lake
        open. `author` is for the audit.
        """
        from tidelake.lake.move import move

        self.session.namespace.check_owner("move")
        return move(self.session, data_path, force=force, author=author)

    def cleanup(
        self,
        older_than: str | date | timedelta | None = None,
        *,
        orphans: bool = True,
        dry_run: bool = False,
        author: str | None = None,
    ) -> CleanupResult:
        """Remove files that no snapshot needs since a moment (`older_than`, also as a span; without
        it the lake's option `delete_older_than`, 2 days), and `orphans` as old: files under the
        data path that DuckDB or Tidelake wrote and no snapshot ever had. Only the lake's own files
        are deleted: those that were registered or imported stay, unless they were handed over
        with `take_over`, and so does what lies outside the data path or is another lake's.

        The span protects those who are still reading or writing them: it must be longer than
        the longest read, and the longest transaction.
        """
        from tidelake.upkeep.cleanup import cleanup

        self.session.namespace.check_owner("cleanup")
        if not dry_run:
            self.session.check_writable()
        return cleanup(
            self.session, older_than=older_than, orphans=orphans, dry_run=dry_run, author=author
        )

    def health(self, limits: HealthLimits | None = None) -> Health:
        """Find what needs attention, and what to do about it: small files, deleted rows, snapshots
        that can expire, files that wait for cleanup, useless rollups, late consumers and mirrors,
        coverage below its threshold.
        """
        from tidelake.upkeep.health import health

        return health(self.session, limits)

    def verify(
        self,
        *,
        deep: bool = False,
        fingerprint: bool = False,
        tables: Sequence[str] | None = None,
    ) -> VerifyReport:
        """Check that the lake is whole: the catalog against itself, and every file's place, size
        and footer against the catalog. `deep` reads all rows too. With `fingerprint` a hash of
        every past state is kept, and compared with those kept before. It repairs nothing: each
        problem says how to.
        """
        from tidelake.verify.verify import verify

        self.session.namespace.check_whole("verify")
        if fingerprint:
            self.session.namespace.check_role("maintain")
        names = [tables] if isinstance(tables, str) else tables
        return verify(self.session, deep=deep, fingerprint=fingerprint, tables=names)

    def reindex(self) -> None:
        """Make planning fast: update indexes, and summaries of many files at once. Answers do not
        change. Worth a call for a lake that DuckDB made, or after it has added thousands of files.
        """
        from tidelake.upkeep.reindex import reindex

        self.session.namespace.check_owner("reindex")
        reindex(self.session)
