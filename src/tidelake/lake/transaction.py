"""A transaction: several writes in one snapshot."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from datetime import date
from types import TracebackType
from typing import NoReturn, Self

from tidelake.errors import Invalid, TidelakeWarning
from tidelake.lake.changeable import Changeable
from tidelake.model.change import WriteResult
from tidelake.model.misfit import naming_misfits
from tidelake.model.reflexes import OF_LAKES
from tidelake.session.drafting import DraftSession
from tidelake.session.landing import land
from tidelake.session.session import Session
from tidelake.session.source import pinned_to

_PASSED_BY = (
    "nothing was done through the transaction, but its lake was written to meanwhile, in commits"
    " of their own: write through what `with` gives, as in `with lake.transaction() as tx:"
    " tx.table(name).append(rows)`"
)


@naming_misfits
class Transaction(Changeable):
    """Several writes, one snapshot, all or nothing. Reads through it see its own writes.

    Made by `lake.transaction()`, used in a `with`: it commits at the end, and if the body
    raises nothing has happened. Without a `with` it is ended by `commit()` or `rollback()`.
    `result` then tells what was committed.
    """

    session: DraftSession
    _reflexes = ("tx", OF_LAKES)

    def __init__(self, session: DraftSession, of_lake: Callable[[Session], Changeable]) -> None:
        super().__init__(session)
        self._of_lake = of_lake

    @property
    def result(self) -> WriteResult | None:
        """What was committed; None before that."""
        return self.session.result

    @property
    def is_done(self) -> bool:
        """Whether the token that the transaction was given with `once` has been used up: then its
        body may be skipped. If it is not, the commit finds that out, and undoes it."""
        self.session.check_open()
        return self.session.guard.done_before(self.session.committed) is not None

    def commit(self) -> WriteResult:
        """Make everything visible at once, as one snapshot. The transaction is over then."""
        return land(self.session)

    def rollback(self) -> None:
        """Forget everything, and remove the files that were written for it. The transaction is
        over then."""
        self.session.check_open()
        self.session.forget()

    def close(self) -> None:
        """Rolls back if nothing was committed; the lake stays open."""
        self.session.close()

    def known_at(self, moment: int | str | date) -> Changeable:
        """The lake as it was committed: without this transaction's own writes."""
        return self._of_lake(pinned_to(self.session, moment))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.session.is_over:
            return
        if kind is None:
            passed_by = self._was_passed_by()
            self.commit()
            if passed_by:
                warnings.warn(_PASSED_BY, TidelakeWarning, stacklevel=2)
        else:
            self.close()

    def _was_passed_by(self) -> bool:
        """Whether nothing was done through it, and something was written through its lake."""
        newest = self.session.committed.caches.newest
        used = self.session.has_written or self.session.was_read
        idle = not used and self.session.guard.once is None
        return idle and newest is not None and newest[0] > self.session.base

    def __repr__(self) -> str:
        return f"<Transaction on {self.url} from snapshot {self.session.base}>"

    # What only the lake itself can do.

    def transaction(self, *_: object, **__: object) -> NoReturn:
        raise Invalid("a transaction cannot hold another", hint="use the one that is open")

    def set_option(self, *_: object, **__: object) -> NoReturn:
        raise Invalid("options are not part of a transaction", hint="set them on the lake")

    def tag(self, *_: object, **__: object) -> NoReturn:
        raise Invalid("tags are not part of a transaction", hint="tag the lake after the commit")

    def untag(self, *_: object, **__: object) -> NoReturn:
        raise Invalid("tags are not part of a transaction", hint="untag on the lake")

    def consumer(self, *_: object, **__: object) -> NoReturn:
        raise Invalid("consumers are not part of a transaction", hint="ask the lake for them")

    def consumer_group(self, *_: object, **__: object) -> NoReturn:
        raise Invalid("consumers are not part of a transaction", hint="ask the lake for them")

    def mirror(self, *_: object, **__: object) -> NoReturn:
        raise Invalid(
            "a mirror is not begun in a transaction", hint="call lake.mirror(…) after the commit"
        )

    def mirrored(self, *_: object, **__: object) -> NoReturn:
        raise Invalid("mirrors are not part of a transaction", hint="ask the lake for them")

    def sync_mirrors(self, *_: object, **__: object) -> NoReturn:
        raise Invalid("mirrors show what is committed", hint="call lake.sync_mirrors()")

    def recover(self, *_: object, **__: object) -> NoReturn:
        raise Invalid("recover() cannot be in a transaction", hint="call it on the lake")

    def compact(self, *_: object, **__: object) -> NoReturn:
        raise Invalid("compaction is not part of a transaction", hint="compact outside of it")

    def expire(self, *_: object, **__: object) -> NoReturn:
        raise Invalid("expire() cannot be in a transaction", hint="call it on the lake")

    def cleanup(self, *_: object, **__: object) -> NoReturn:
        raise Invalid("cleanup() cannot be in a transaction", hint="call it on the lake")

    def move(self, *_: object, **__: object) -> NoReturn:
        raise Invalid("move() cannot be in a transaction", hint="call it on the lake itself")

    def verify(self, *_: object, **__: object) -> NoReturn:
        raise Invalid("verify() looks at what is committed", hint="call it on the lake")

    def erase(self, *_: object, **__: object) -> NoReturn:
        raise Invalid("erase() cannot be in a transaction", hint="call it on the lake itself")

    def erasures(self, *_: object, **__: object) -> NoReturn:
        raise Invalid("erasures are not part of a transaction", hint="ask the lake for them")

    def finish_erasures(self, *_: object, **__: object) -> NoReturn:
        raise Invalid("erasures are not part of a transaction", hint="finish them on the lake")

    def audit(self, *_: object, **__: object) -> NoReturn:
        raise Invalid("the audit tells of what is committed", hint="ask the lake for it")

    def health(self, *_: object, **__: object) -> NoReturn:
        raise Invalid("the health of a lake is of what is committed", hint="ask the lake for it")

    def create_tenant(self, *_: object, **__: object) -> NoReturn:
        raise Invalid("tenants are not part of a transaction", hint="ask the lake for them")

    def tenant(self, *_: object, **__: object) -> NoReturn:
        raise Invalid("tenants are not part of a transaction", hint="ask the lake for them")

    def tenant_login(self, *_: object, **__: object) -> NoReturn:
        raise Invalid("logins are not part of a transaction", hint="ask the lake for them")

    def tenants(self, *_: object, **__: object) -> NoReturn:
        raise Invalid("tenants are not part of a transaction", hint="ask the lake for them")

    def set_quota(self, *_: object, **__: object) -> NoReturn:
        raise Invalid("quotas are not part of a transaction", hint="set them on the lake")

    def drop_tenant(self, *_: object, **__: object) -> NoReturn:
        raise Invalid("tenants are not part of a transaction", hint="drop them on the lake")

    def set_retention(self, *_: object, **__: object) -> NoReturn:
        raise Invalid("retention is not part of a transaction", hint="set it on the lake")

    def share(self, *_: object, **__: object) -> NoReturn:
        raise Invalid("sharing is not part of a transaction", hint="share on the lake")

    def unshare(self, *_: object, **__: object) -> NoReturn:
        raise Invalid("sharing is not part of a transaction", hint="ask the lake")

    def shares(self, *_: object, **__: object) -> NoReturn:
        raise Invalid("sharing is not part of a transaction", hint="ask the lake")

    def across_tenants(self, *_: object, **__: object) -> NoReturn:
        raise Invalid("across_tenants() reads what is committed", hint="call it on the lake")

    def reindex(self, *_: object, **__: object) -> NoReturn:
        raise Invalid("reindex() cannot be in a transaction", hint="call it on the lake")

    def freeze(self, *_: object, **__: object) -> NoReturn:
        raise Invalid("a data set is a commit of its own", hint="freeze it on the lake")

    def frozen(self, *_: object, **__: object) -> NoReturn:
        raise Invalid("data sets are of what is committed", hint="ask the lake for them")

    def drop_frozen(self, *_: object, **__: object) -> NoReturn:
        raise Invalid("data sets are not part of a transaction", hint="drop them on the lake")

    def backup(self, *_: object, **__: object) -> NoReturn:
        raise Invalid("a backup is of what is committed", hint="make it of the lake")
