"""The part of a table that keeps it small and fast."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING, overload

from tidelake.drawing.drawn_list import DrawnList
from tidelake.model.terms import Terms
from tidelake.session.source import Source

if TYPE_CHECKING:
    from tidelake.event_time.values.rollup import Rollup
    from tidelake.upkeep.values import CompactResult


class TableUpkeep:
    """Answers stay what they are."""

    source: Source

    def recompute_coverage(self) -> int:
        """Compute the coverage of all files of the table again, if `verify` has found it wrong.
        Returns the number of files.
        """
        from tidelake.coverage.recompute import recompute

        self.source.check_unpinned()
        return recompute(self.source.session, self.source.name)

    def compact(
        self, *, dry_run: bool = False, author: str | None = None, message: str | None = None
    ) -> CompactResult:
        """Put small files together, rewrite those that are mostly deleted, and take rows out of
        the catalog into files. What any snapshot sees stays exactly as it is. Then make the
        rollups that are due, if the table has a policy for them.

        With `dry_run` nothing is done, and the result says what would be.
        """
        from tidelake.upkeep.compact import compact

        self.source.session.namespace.check_role("maintain")
        self.source.check_unpinned()
        terms = Terms(author=author, message=message)
        return compact(self.source.session, self.source.name, dry_run=dry_run, terms=terms)

    @overload
    def rollup(self, as_of: str | date) -> Rollup: ...

    @overload
    def rollup(
        self,
        *,
        every: str | timedelta,
        keep: int | None = None,
        author: str | None = None,
        message: str | None = None,
    ) -> list[Rollup]: ...

    def rollup(
        self,
        as_of: str | date | None = None,
        *,
        every: str | timedelta | None = None,
        keep: int | None = None,
        author: str | None = None,
        message: str | None = None,
    ) -> Rollup | list[Rollup]:
        """Keep the state as of a moment in a file, so that reads as of then or later need not look
        at older events. It changes no answer, also when events come late.

        With `every` (a span such as "1mo", "1 week" or "6h") the table gets a policy: the last
        `keep` boundaries of the calendar up to the newest event have a rollup each, made now and
        by every `compact`; gives those that were made. The policy is kept in a commit, to which
        `author` and `message` belong; a rollup makes none.
        """
        from tidelake.event_time.rollups.keep_up import roll_up

        self.source.check_unpinned()
        terms = Terms(author=author, message=message)
        return roll_up(self.source.session, self.source.name, as_of, (every, keep), terms)

    def rollups(self) -> list[Rollup]:
        """The rollups of the table, the earliest first, and whether reads at this moment may begin
        with them."""
        from tidelake.event_time.rollups.make import list_rollups

        with self.source.session.reading() as reader:
            at = self.source.at(reader)
            info = self.source.info(reader, at)
            found = list_rollups(self.source.session.committed, reader, at, info)
            return DrawnList(found, one="rollup")

    def drop_rollups(
        self, *, policy: bool = False, author: str | None = None, message: str | None = None
    ) -> int:
        """Drop all rollups of the table, with `policy` the policy too. Returns how many there were.
        Answers do not change; reads become slower.
        """
        from tidelake.event_time.rollups.keep_up import drop_all

        self.source.check_unpinned()
        terms = Terms(author=author, message=message)
        return drop_all(self.source.session, self.source.name, policy=policy, terms=terms)
