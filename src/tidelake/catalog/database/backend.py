"""What a kind of database must answer to hold catalogs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from tidelake.catalog.database.dialect import Dialect, InlineColumn
from tidelake.catalog.database.failures import Failure
from tidelake.catalog.database.url import CatalogUrl
from tidelake.model.file import ManyRows
from tidelake.model.tuning import Tuning

Query = tuple[str, Mapping[str, object]]
"""SQL and its parameters."""


class Session(Protocol):
    """One open transaction; parameters stand in the SQL as `:name`."""

    def query(self, sql: str, parameters: Mapping[str, object]) -> list[Any]: ...

    def query_columns(self, sql: str, parameters: Mapping[str, object]) -> list[list[Any]]:
        """What `query` gives, column by column; nothing if it gives no rows."""
        ...

    def gather(
        self,
        table: str,
        kept: Sequence[InlineColumn],
        condition: str,
        parameters: Mapping[str, object],
    ) -> ManyRows | None:
        """Many rows of a table for small writes, a column for each of `kept`. None: they are not
        to be had so, and `query_columns` must do."""
        ...

    def query_all(self, queries: Sequence[Query]) -> list[list[Any]]:
        """Several queries whose answers are wanted together."""
        ...

    def execute(self, sql: str, parameters: Mapping[str, object]) -> None:
        """A statement without an answer. It may fail only later, at the latest at the end."""
        ...

    def insert(self, table: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        """Requires: at least one row. As with `execute`, it may fail only later."""
        ...


class Ear(Protocol):
    """Hears of commits that are made through us, whoever makes them. DuckDB's are not heard."""

    def mark(self) -> int | None:
        """How much has been heard; all that is committed after this call will be. None: nothing
        can be heard now."""
        ...

    def wait(self, mark: int, seconds: float) -> None:
        """Until more has been heard than at a mark, or may have been, or the time is over."""
        ...


class Connections(Protocol):
    """One database, open. Threads may use it at once; after a fork the child begins anew."""

    def reading(self) -> AbstractContextManager[Session]:
        """A transaction that sees a single moment."""
        ...

    def writing(self) -> AbstractContextManager[Session]:
        """A transaction of the one writer that there is at a time, which sees all that the last
        has committed. It commits at the end, or is undone if the body raises."""
        ...

    def shrink(self, tables: Sequence[str]) -> None:
        """Write tables anew, so that nothing is left of rows that were deleted from them."""
        ...

    @property
    def ear(self) -> Ear | None:
        """What hears of commits, where the database tells of them."""
        ...

    def close(self) -> None: ...


class Connector(Protocol):
    def __call__(self, url: CatalogUrl, tuning: Tuning, /, *, read_only: bool) -> Connections:
        """Opened read-only, the database itself refuses to write."""
        ...


def _takes_any_option(_key: str, _value: str) -> None:
    return


@dataclass(frozen=True, slots=True)
class Backend:
    """All that is different about a kind of database.

    An address of it begins with one of `schemes`, or is a `ducklake:` string that goes on with one
    of `ducklake_words`; `example` shows one. An embedded one is a file, others are on a server.
    `check_option` raises unless an address may have such an option. `drivers` are the modules
    whose exceptions are told in our words: as `failure_of` says, which knows them by their codes,
    or as damage where it gives None.
    """

    kind: str
    schemes: tuple[str, ...]
    ducklake_words: tuple[str, ...]
    example: str
    is_embedded: bool
    dialect: Dialect
    connect: Connector
    failure_of: Callable[[Any], Failure | None]
    drivers: tuple[str, ...]
    check_option: Callable[[str, str], None] = _takes_any_option
