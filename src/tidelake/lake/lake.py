"""The lake: look around, change it, pin it to a moment."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING, Any, Self

from tidelake.catalog import audit
from tidelake.catalog.read import tags
from tidelake.drawing.amounts import quantity
from tidelake.drawing.drawable import Drawable
from tidelake.drawing.sheet import Sheet
from tidelake.lake.caretaker import Caretaker
from tidelake.model.closable import Closable
from tidelake.model.event_time import moment_text
from tidelake.model.misfit import naming_misfits
from tidelake.model.tag import Tag, checked_name
from tidelake.model.terms import Purpose, Terms
from tidelake.session import leases
from tidelake.session.reads import SNAPSHOT
from tidelake.session.source import pinned_to

if TYPE_CHECKING:
    from tidelake.lake.transaction import Transaction


@naming_misfits
class Lake(Caretaker, Closable, Drawable):
    """A lake, at its newest state or (after `known_at`) pinned to a snapshot.

    Safe to share between threads for reading. Close it with `close()` or `with`.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies, in this process or another, open the lake again."""
        return type(self), (self.session,)

    def set_option(
        self,
        name: str,
        value: object,
        *,
        table: str | None = None,
        schema: str | None = None,
        author: str | None = None,
    ) -> None:
        """Set one of DuckLake's options for the lake, a schema or a table, such as
        `data_inlining_row_limit` or `target_file_size`. `tidelake.mirror` is `delta` where new
        tables are to be mirrored. This makes no snapshot."""
        from tidelake.write.options import set_option

        self.session.namespace.check_owner("set_option")
        of = None if table is None else self.session.namespace.parse(table)
        set_option(self.session, name, value, table=of, schema=schema, author=author)

    def transaction(
        self,
        *,
        author: str | None = None,
        message: str | None = None,
        isolation: str = SNAPSHOT,
        once: str | None = None,
        expected: int | str | date | None = None,
    ) -> Transaction:
        """Several writes in one snapshot, all or nothing. Use it in a `with`, which commits at the
        end; else end it with `commit()` or `rollback()`.

        Its reads see one snapshot. With `isolation="serializable"` its commit is a Conflict if
        somebody else has changed what it has read.

        Of all transactions with the same token `once` the first is committed; `is_done` tells
        whether it has been. With `expected`, a snapshot id, a time or a tag, the commit is a
        Conflict if a table that is written to has changed since.
        """
        from tidelake.lake.transaction import Transaction
        from tidelake.session.drafting import DraftSession
        from tidelake.session.guard import Guard

        self.session.check_writable()
        terms = Terms.of({"author": author, "message": message, "once": once, "expected": expected})
        guard = Guard.of(self.session, terms, Purpose())
        tx = DraftSession(self.session, terms=terms, guard=guard, isolation=isolation)
        return Transaction(tx, type(self))

    def known_at(self, moment: int | str | date) -> Self:
        """The whole lake as it was known at a snapshot id, a time (UTC if it has no zone), or a
        tag. At a time before the lake there are the tables with a `knowledge_time`."""
        return type(self)(pinned_to(self.session, moment))

    def tag(
        self,
        name: str,
        known_at: int | str | date | None = None,
        *,
        author: str | None = None,
        message: str | None = None,
    ) -> Tag:
        """Name a snapshot, the newest unless another is given. A tag stands wherever `known_at`
        does, and what is tagged does not expire."""
        self.session.namespace.check_whole("tag")
        self.session.namespace.check_role("write")
        wanted = checked_name(name)
        self.session.check_not_closed()
        with self.session.database.writing() as writer:
            at = self.session.at(writer) if known_at is None else known_at
            snapshot = self.session.resolve(writer, at)
            known = tags.find(writer, wanted)
            audit.ensure(writer)
            made = tags.put(writer, wanted, snapshot.snapshot_id, author, message)
            if known is None:
                audit.put(writer, tags.audit_record("tag", made))
            return made

    def untag(self, name: str, *, author: str | None = None) -> Tag:
        """Remove a tag, and return it. Its snapshot may expire then. `author` is for the audit."""
        self.session.namespace.check_whole("untag")
        self.session.namespace.check_role("write")
        self.session.check_not_closed()
        with self.session.database.writing() as writer:
            audit.ensure(writer)
            gone = tags.remove(writer, name)
            audit.put(
                writer, tags.audit_record("untag", replace(gone, author=author, message=None))
            )
            return gone

    def close(self) -> None:
        """Close the connections to the catalog. Pinned lakes, tables and tenants' lakes made from
        this lake close too.
        """
        if not self.session.namespace.is_whole and not self.session.is_guest:
            self.session.local.close()
            return
        leases.settle(self.data_path)
        self.session.close()

    def _sheet(self) -> Sheet:
        session = self.session
        with session.reading() as reader:
            at = None if session.is_lost else session.at(reader)
        names = self.tables()
        told = Sheet.of(
            repr(self).strip("<>"), snapshot=at, data_path=self.data_path, engine=self.engine
        )
        many = quantity(len(names), "table")
        return told.with_grid([many], [[name] for name in names])

    def __repr__(self) -> str:
        at, time = self.session.pinned, self.session.time
        moment = at if time is None else moment_text(time.by)
        pinned = "" if at is None else f" known at {moment}"
        return f"<Lake {self.url}{pinned}>"
