"""What stands between a write and its commit: has it been done before, and is that which it is
written to as its caller expects it?"""

from __future__ import annotations

from dataclasses import dataclass

from tidelake.catalog.database.database import Reader, Writer
from tidelake.catalog.read import snapshots
from tidelake.model.change import WriteResult
from tidelake.model.table import TableInfo
from tidelake.model.terms import Purpose, Terms
from tidelake.session import expectation, once_records
from tidelake.session.drafts import Drafts
from tidelake.session.once_records import TokenFound
from tidelake.session.session import Session

_TRANSACTION = Purpose()


@dataclass(frozen=True, slots=True)
class Guard:
    """The terms of one commit. `expected` is the snapshot since which nothing may have changed."""

    once: str | None = None
    expected: int | None = None
    purpose: Purpose = _TRANSACTION

    @staticmethod
    def of(session: Session, terms: Terms, purpose: Purpose) -> Guard:
        expected = None
        if terms.expected is not None:
            with session.reading() as reader:
                expected = session.resolve(reader, terms.expected).snapshot_id
        return Guard(session.namespace.token(terms.once), expected, purpose)

    @property
    def stands(self) -> bool:
        """Whether there is anything to look at."""
        return self.once is not None or self.expected is not None

    @property
    def looks_early(self) -> bool:
        """Whether what is expected is looked at before the commit too. With a token it is not:
        the change since may be that which was made under it."""
        return self.expected is not None and self.once is None

    def done_before(self, session: Session) -> WriteResult | None:
        """What came of it, if it has been done."""
        if self.once is None:
            return None
        with session.reading() as reader:
            found = once_records.find(reader, self.once)
        if found is None:
            return None
        found.check(self.purpose)
        return found.result

    def begin(self, writer: Writer, drafts: Drafts | None) -> None:
        """Inside the lock, before anything else. Raises TokenFound."""
        if self.once is None:
            return
        if (found := once_records.find(writer, self.once)) is not None:
            found.check(self._purpose(drafts))
            raise TokenFound(found.result)
        once_records.ensure(writer)

    def keep(self, writer: Writer, drafts: Drafts, result: WriteResult) -> None:
        """In the commit's transaction."""
        if self.once is not None:
            once_records.put(writer, self.once, self._purpose(drafts), result)

    def _purpose(self, drafts: Drafts | None) -> Purpose:
        if not self.purpose.is_transaction or drafts is None:
            return self.purpose
        return Purpose(self.purpose.operation, tuple(sorted(drafts.touched_names())))

    def check(self, reader: Reader, drafts: Drafts, head: int) -> None:
        """Raise ChangedSince if something that is written to is not as it is expected."""
        if self.expected is not None:
            expectation.check(reader, self.expected, drafts, head)

    def check_table(self, reader: Reader, table: TableInfo) -> None:
        """The same early, so that nobody works in vain."""
        if self.expected is not None:
            expectation.check_tables(reader, self.expected, [table], snapshots.head_id(reader))


PLAIN = Guard()
"""Of a commit without terms."""
