"""Every error Tidelake raises, grouped by what the caller does next.

    TidelakeError          exit 1
    ├── NotFound           ask for something that exists      (also a LookupError)
    ├── Invalid            correct the request                (also a ValueError)
    │   ├── Unsupported    take the way round that it names
    │   └── Overlap        append what is missing, or say what is to become of the rest
    ├── Incomplete         wait, or fetch what is missing     (exit 2)
    ├── Conflict           re-read, then try again
    ├── Unavailable        try again later
    ├── Corrupt            stop; the lake needs mending
    └── Denied             ask for access                     (also a PermissionError)

A message says what happened and where; `hint` says what to do next. What is worth saying but
stops nothing is a TidelakeWarning.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Protocol


class TidelakeError(Exception):
    """The root: catch this to catch everything Tidelake raises on purpose."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} (hint: {self.hint})" if self.hint else self.message


class NotFound(TidelakeError, LookupError):
    """The schema, table, column, snapshot or file does not exist."""


class Invalid(TidelakeError, ValueError):
    """The request makes no sense as it stands."""


class Unsupported(Invalid):
    """The request makes sense, but this engine cannot answer it exactly."""


class Stretch(Protocol):
    """A stretch of time that an error tells of, as `tidelake.Interval` is one."""

    @property
    def start(self) -> date | int: ...

    @property
    def end(self) -> date | int: ...

    @property
    def buckets(self) -> int: ...

    @property
    def entity(self) -> tuple[object, ...] | None: ...


class Overlap(Invalid):
    """Rows were to be appended to buckets of time that are covered already, and the table rejects
    that. `entity` is the first of those that overlap and `bucket` the first bucket of it that
    does; `range` goes from the first to the last bucket of all that do, which are `count`."""

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        entity: tuple[object, ...] = (),
        bucket: Stretch | None = None,
        range: Stretch | None = None,  # noqa: A002
        count: int = 0,
    ) -> None:
        super().__init__(message, hint=hint)
        self.entity = entity
        self.bucket = bucket
        self.range = range
        self.count = count


class Incomplete(TidelakeError):
    """Less is there than was required of `table`: `ratio` of what is expected, and not `required`.
    `missing` are intervals that are expected and not there, the first hundred."""

    exit_code = 2

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        table: str = "",
        ratio: float = 0.0,
        required: float = 1.0,
        missing: Sequence[Stretch] = (),
    ) -> None:
        super().__init__(message, hint=hint)
        self.table = table
        self.ratio = ratio
        self.required = required
        self.missing = list(missing)


class Conflict(TidelakeError):
    """Somebody else changed the same thing first."""


class Unavailable(TidelakeError):
    """A database, store or server did not answer, or is locked. If it is `passing`, the same call
    may work the next moment: another writer was faster, or a connection was lost."""

    def __init__(self, message: str, *, hint: str | None = None, passing: bool = False) -> None:
        super().__init__(message, hint=hint)
        self.passing = passing


class Corrupt(TidelakeError):
    """What is stored contradicts itself, or a stored file is gone or broken."""


class Denied(TidelakeError, PermissionError):
    """Credentials are missing or refused, or the lake was opened read-only."""


class TidelakeWarning(UserWarning):
    """Something about the lake that its owner should know."""
