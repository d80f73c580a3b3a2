"""The terms on which a write is committed: one time only, if nothing has changed since, and under
whose name."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import date
from typing import TypedDict

from tidelake.errors import Invalid
from tidelake.model.names import fold
from tidelake.model.reflexes import ARGUMENTS
from tidelake.model.tag import checked_name

TRANSACTION = "transaction"


class CommitTerms(TypedDict, total=False):
    """What every write takes by name.

    `once`: a token. Of all writes with the same one the first is done; the others give its result
    with `duplicate=True`. `expected`: a snapshot id, a time or a tag; Conflict if what is written
    to has changed since. `author` and `message` are for the log.
    """

    once: str | None
    expected: int | str | date | None
    author: str | None
    message: str | None


@dataclass(frozen=True, slots=True)
class Terms:
    """The same as a value that has been checked."""

    once: str | None = None
    expected: int | str | date | None = None
    author: str | None = None
    message: str | None = None

    @staticmethod
    def of(given: CommitTerms) -> Terms:
        known = [each.name for each in fields(Terms)]
        unknown = [name for name in given if name not in known]
        if unknown:
            told = ARGUMENTS.get(unknown[0], f"all of them take {', '.join(known)}")
            raise TypeError(f"a write takes no {unknown[0]!r} (hint: {told})")
        terms = Terms(**given)
        if terms.once is not None:
            checked_name(terms.once, "token")
        return terms

    def refuse_in_transaction(self) -> None:
        """For a single write in a transaction, which has one commit and so one set of terms."""
        for each in fields(self):
            if getattr(self, each.name) is not None:
                raise Invalid(
                    f"{each.name}= is of a whole commit, and this write is part of a transaction",
                    hint=f"give it to the transaction: lake.transaction({each.name}=…)",
                )


NO_TERMS = Terms()


@dataclass(frozen=True, slots=True)
class Purpose:
    """What a token is used for: which operation, on what. Of a transaction nobody knows the
    latter before its end."""

    operation: str = TRANSACTION
    names: tuple[str, ...] = ()

    @property
    def is_transaction(self) -> bool:
        return self.operation == TRANSACTION

    def fits(self, other: Purpose) -> bool:
        """Whether this can be the same thing done again. A transaction does it too if it writes to
        nothing else; a write by itself, if a transaction did it."""
        same = {fold(name) for name in self.names} <= {fold(name) for name in other.names}
        return same and (
            self.operation == other.operation or self.is_transaction or other.is_transaction
        )

    def __str__(self) -> str:
        return f"{self.operation} of {', '.join(self.names) or 'nothing'}"
