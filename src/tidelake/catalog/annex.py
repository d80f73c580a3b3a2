"""What is kept beside DuckLake, and how those who keep it hear of what comes and goes.

A feature that keeps something of its own, in `tidelake_*` tables, is an Annex. The catalog names
none of them: it is handed all there are with each commit, expiry, cleanup and move, and tells
every one what happens. Drop all their tables and the lake is whole.
"""

# ruff: noqa: ARG002

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import ClassVar, Protocol

from tidelake.catalog.database.database import Reader, Writer
from tidelake.model.change import Change, NewFile, TableChange
from tidelake.model.changes_made import ADDS_ROWS

Rows = dict[tuple[str, tuple[str, ...]], list[Sequence[object]]]
"""Rows that a commit will write, by table and columns."""

Work = Callable[[Writer], None]
"""What is to be done in one short transaction under the lake's lock."""


class Execute(Protocol):
    """How a statement is done: at once, or together with all others of a commit."""

    def __call__(self, sql: str, **parameters: object) -> None: ...


@dataclass(frozen=True, slots=True)
class Since:
    """What has happened to a table after snapshot `base` and up to `head`, in DuckLake's words;
    None if nobody can tell any more."""

    base: int
    head: int
    words: Collection[str] | None

    @property
    def brought_rows(self) -> bool:
        """Whether rows have come, or may have."""
        return self.words is None or not ADDS_ROWS.isdisjoint(self.words)


@dataclass(frozen=True, kw_only=True)
class HeldFiles:
    """The files that an annex has, or has an eye on, as of one look at the catalog. What is not
    its concern is as it is here. `names` are of all that it knows, without their folders; `ended`
    are complete paths of those that it needs no longer, and since when."""

    names: Collection[str] = frozenset()
    ended: Mapping[str, datetime] = field(default_factory=dict)

    strikes_off_missing: ClassVar[bool] = False
    """Whether it is to be told also of those among the latter that are not there."""

    def why_needed(self, path: str, /) -> str | None:
        """Why a file may not go, if it may not, whosever it is."""
        return None

    def is_made(self, path: str, /) -> bool:
        """Whether a file is called as those that are made for it."""
        return False

    def is_orphan(self, path: str, /) -> bool:
        """Whether a file was made for it, and it knows for certain that nobody needs it."""
        return False

    def forget(self, deleted: Sequence[str], before: datetime, /) -> Iterable[Work]:
        """What is to be done once files are deleted: all that it needed no longer since some
        moment."""
        return ()


class Annex:
    """What one feature keeps. What is not its concern is as it is here."""

    tables: ClassVar[Sequence[str]] = ()
    """Its tables; all may be dropped."""
    spans: ClassVar[Sequence[str]] = ()
    """Those of them whose rows begin and end with snapshots, and go when none sees them."""
    paths: ClassVar[Mapping[str, str]] = {}
    """The column in which a table may have complete paths that lie in the lake's data path."""

    def prepare(self, writer: Writer, change: Change, /) -> None:
        """Make tables that the commit writes to, before anything is written: MySQL commits what
        has been written until then."""

    def check(self, reader: Reader, change: TableChange, since: Since, /) -> None:
        """Raise Conflict if what the change rests on is no longer so."""

    def file_added(self, rows: Rows, table_id: int, file_id: int, file: NewFile, /) -> None:
        """A commit adds a data file."""

    def files_gone(
        self, reader: Reader, execute: Execute, table_id: int, file_ids: Collection[int], /
    ) -> None:
        """Data files leave the catalog."""

    def tables_gone(self, writer: Writer, table_ids: Collection[int], /) -> None:
        """Tables leave the catalog, of which no snapshot is left that sees them."""

    def rows_erased(self, writer: Writer, table_id: int, data_path: str, /) -> Iterable[str]:
        """Rows of a table leave all its snapshots, in the same transaction. Forget what was made of
        them; the complete paths of files that are to be deleted at once."""
        return ()

    def protect(self, reader: Reader, snapshots: Collection[int], /) -> None:
        """Raise Conflict if one of these snapshots may not go."""

    def snapshots_going(self, writer: Writer, snapshots: Collection[int], /) -> None:
        """Snapshots are about to leave the catalog, in the same transaction."""

    def strays(self, reader: Reader, data_path: str, /) -> Iterable[Work]:
        """How to strike off what is of snapshots, tables and files that somebody else, who knows
        nothing of the annex, has removed."""
        return ()

    def files(self, reader: Reader, data_path: str, /) -> Iterable[str]:
        """Complete paths of the files that it has made, and needs."""
        return ()

    def held(self, reader: Reader, data_path: str, /) -> HeldFiles:
        """The files that it has to do with, for those who clean up."""
        return _NONE


_NONE = HeldFiles()

Annexes = Sequence[Annex]


def that_hear_of_files(annexes: Annexes) -> Annexes:
    """Those that do something when a data file comes: a commit may have very many."""
    return [each for each in annexes if type(each).file_added is not Annex.file_added]
