"""What one commit does: values that the catalog turns into rows, all or nothing.

Things that do not exist yet have negative ids of the transaction's own; the commit gives them
their real ones. Snapshot ids, file ids and row ids are never known before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from tidelake.coverage.values.piece import Covers
from tidelake.drawing.write import DrawableWrite
from tidelake.model.file import DataFile, DeleteFile, MappedField
from tidelake.model.reflexes import OF_RESULTS, Guessable
from tidelake.model.schema import Column
from tidelake.model.table import SchemaInfo, TableInfo, ViewInfo

PROVISIONAL_ROW_ID = 1 << 62
"""Row ids from here on belong to rows that have not been committed yet."""


class ColumnFacts(NamedTuple):
    """Statistics of one leaf column in one file. `min` and `max` are in DuckLake's text form and
    exact; None means unknown. `values` counts those that are not null."""

    column_id: int
    bytes: int | None = None
    values: int | None = None
    nulls: int | None = None
    min: str | None = None
    max: str | None = None
    contains_nan: bool | None = None
    extra: str | None = None


@dataclass(frozen=True, slots=True)
class VariantFacts:
    """Statistics of one shredded field inside a variant column."""

    path: str
    shredded_type: str
    facts: ColumnFacts


class NewFile(NamedTuple):
    """A data file that has been written, or found, and is not in the catalog yet. A tuple, for an
    import makes very many.

    `path` is complete. `carries_row_ids`: the rows had ids before, and the file embeds them;
    otherwise the commit numbers them, in the `order` of all new rows of the transaction.
    `mapping` is for files without field ids. `covers` is known if its
    table is a series. `deletes`, whose data file has no id yet, are rows that it never had here.
    `first_row` is the id that its first row had in a lake which is being recovered; of rows that
    bear their ids, the first that is free after them. `was_there`: the lake has not written it;
    `taken_over`: all the same it is to go when no snapshot needs it any more.
    """

    path: str
    rows: int
    bytes: int
    footer_size: int | None
    columns: tuple[ColumnFacts, ...] = ()
    variants: tuple[VariantFacts, ...] = ()
    partition_values: tuple[str | None, ...] | None = None
    carries_row_ids: bool = False
    mapping: tuple[MappedField, ...] | None = None
    order: int = 0
    covers: Covers | None = None
    deletes: NewDeleteFile | None = None
    first_row: int | None = None
    was_there: bool = False
    taken_over: bool = False

    def at(self, order: int) -> NewFile:
        """In that order."""
        return self if order == self.order else self._replace(order=order)


@dataclass(frozen=True, slots=True)
class NewDeleteFile:
    """Positions deleted from a committed data file: all of them, those deleted before included.

    The first for its data file says nothing of snapshots. One that `replaces` others embeds the
    snapshot of every deletion, ours as `stamp`; it must be written anew if the commit gets
    another snapshot id than that. `since` is then the first snapshot in it.
    """

    data_file_id: int
    path: str
    rows: int
    bytes: int
    footer_size: int | None
    replaces: tuple[DeleteFile, ...] = ()
    since: int | None = None
    stamp: int | None = None


@dataclass(frozen=True, slots=True)
class NewRow:
    """A row for the catalog itself; values are None, bytes or DuckDB's text of each column.
    Without a row id the commit numbers it, in its `order`."""

    values: tuple[object, ...]
    row_id: int | None = None
    order: int = 0


@dataclass(frozen=True, slots=True)
class SeenFile:
    """A committed data file as the transaction saw it when it deleted rows from it."""

    delete_files: frozenset[int]
    deleted_positions: int


@dataclass(frozen=True, slots=True)
class Write:
    """Rows that come to a table and rows that leave it.

    `columns` are those that the new files and rows were written for. `ended_files` lose all
    their rows, `ended_rows` are catalog rows by row id, `positions` are deletes kept in the
    catalog, by file. `seen` says what every touched file was like. `read`: the write depends on
    which rows the table has, so that rows which come in between make it wrong; `alone`: so
    does any other change of rows. `claims` are buckets into which no row of anybody else may have
    come. `inline_table` is where the catalog kept such rows at the base.
    """

    columns: tuple[Column, ...] = ()
    partition_id: int | None = None
    files: tuple[NewFile, ...] = ()
    rows: tuple[NewRow, ...] = ()
    delete_files: tuple[NewDeleteFile, ...] = ()
    positions: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    ended_files: frozenset[int] = frozenset()
    ended_rows: frozenset[int] = frozenset()
    seen: Mapping[int, SeenFile] = field(default_factory=dict)
    read: bool = False
    alone: bool = False
    claims: tuple[Covers, ...] = ()
    inline_table: str | None = None

    @property
    def looks(self) -> bool:
        """Whether the write depends on what rows the table has."""
        return bool(self.read or self.alone or self.claims or self.seen or self.ended_rows)

    @property
    def adds(self) -> bool:
        return bool(self.files or self.rows)

    @property
    def removes(self) -> bool:
        return bool(self.delete_files or self.positions or self.ended_files or self.ended_rows)


@dataclass(frozen=True, slots=True)
class CarriedFile:
    """A data file that takes over rows with their history: each has its id, and the snapshot that
    wrote it, from `begin` to `last`. `deletes`, whose data file has no id yet, tells since when
    rows are gone."""

    file: NewFile
    begin: int
    last: int
    partition_id: int | None = None
    deletes: NewDeleteFile | None = None


@dataclass(frozen=True, slots=True)
class RebuiltFiles:
    """What has been written for a piece of upkeep: files, for each of them perhaps a delete file,
    or such alone."""

    files: tuple[NewFile, ...] = ()
    deletes: tuple[NewDeleteFile | None, ...] = ()

    @property
    def paths(self) -> list[str]:
        return [file.path for file in (*self.files, *self.deletes) if file is not None]


@dataclass(frozen=True, slots=True)
class KeptTable:
    """A table of the catalog's with rows of a table, as a flush saw it: how many rows had begun
    at the base, and how many of these had ended."""

    name: str
    rows: int
    ended: int


@dataclass(frozen=True, slots=True)
class Upkeep:
    """The same rows in other files: every snapshot sees what it saw before.

    `carried` take the place of the `merged` files and of the `flushed` rows, for the past too.
    `rewritten` files end, and `fresh` ones go on with the rows that they still had.
    `delete_files` are deletes that the catalog kept, of the `touched` files.
    """

    merged: tuple[DataFile, ...] = ()
    flushed: tuple[KeptTable, ...] = ()
    carried: tuple[CarriedFile, ...] = ()
    rewritten: tuple[DataFile, ...] = ()
    fresh: tuple[NewFile, ...] = ()
    touched: tuple[DataFile, ...] = ()
    delete_files: tuple[NewDeleteFile, ...] = ()

    @property
    def sources(self) -> tuple[DataFile, ...]:
        return (*self.merged, *self.rewritten, *self.touched)

    def __add__(self, other: Upkeep) -> Upkeep:
        return Upkeep(
            self.merged + other.merged,
            self.flushed + other.flushed,
            self.carried + other.carried,
            self.rewritten + other.rewritten,
            self.fresh + other.fresh,
            self.touched + other.touched,
            self.delete_files + other.delete_files,
        )


@dataclass(frozen=True, slots=True)
class PurgedFile:
    """A data file without some of its rows, for every snapshot that sees it. `before` is known
    with its whole life; `file` is None if no row is left. `deletes` are all its delete files, each
    with what stands in its place; None if it would be empty. `positions` are the deletes that the
    catalog keeps: where the rows lie now, and since which snapshot they are gone."""

    before: DataFile
    file: NewFile | None = None
    deletes: tuple[tuple[int, NewDeleteFile | None], ...] = ()
    positions: tuple[tuple[int, int], ...] = ()

    @property
    def paths(self) -> list[str]:
        """Files that have been written for it."""
        made = (self.file, *(delete for _, delete in self.deletes))
        return [each.path for each in made if each is not None]

    @property
    def old_paths(self) -> list[str]:
        """Files that it takes the place of."""
        return [self.before.path, *(delete.path for delete in self.before.deletes)]


@dataclass(frozen=True, slots=True)
class Purge:
    """Rows that leave every snapshot: those that the `files` no longer have, and `rows` of the
    catalog's own tables, by their names, as (row id, begin snapshot)."""

    files: tuple[PurgedFile, ...] = ()
    rows: Mapping[str, tuple[tuple[int, int], ...]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.files or any(self.rows.values()))


@dataclass(frozen=True, slots=True)
class SchemaChange:
    """`before` None: a new schema; `after` None: it is dropped."""

    before: SchemaInfo | None
    after: SchemaInfo | None


@dataclass(frozen=True, slots=True)
class TableChange:
    """One table before and after, and the rows that come and go.

    `before` None: a new table; `after` None: it is dropped. `inline` says whether the catalog
    may keep small writes itself. `upkeep` comes alone, and so does `purge`.
    """

    before: TableInfo | None
    after: TableInfo | None
    write: Write = Write()
    inline: bool = True
    upkeep: Upkeep | None = None
    purge: Purge | None = None

    @property
    def table(self) -> TableInfo:
        found = self.after or self.before
        assert found is not None
        return found

    @property
    def needs_columns(self) -> bool:
        """Whether it rests on the columns that the table has now: files that carry history have
        those of their time."""
        if self.purge is not None:
            return False
        return self.upkeep is None or bool(self.upkeep.fresh)

    @property
    def changes_anything(self) -> bool:
        wrote = self.write.adds or self.write.removes
        kept_up = self.upkeep is not None or self.purge is not None
        return self.before != self.after or wrote or kept_up


@dataclass(frozen=True, slots=True)
class ViewChange:
    before: ViewInfo | None
    after: ViewInfo | None


@dataclass(frozen=True, slots=True)
class Revival:
    """A table that comes back, as it was before the snapshot that dropped it; under a name and
    with tags that may be others."""

    table: TableInfo
    dropped: int


@dataclass(frozen=True, slots=True)
class Origin:
    """A version of a Delta table that a commit brings in, and when that was committed there."""

    version: int
    time: datetime
    operation: str | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """Everything one commit does. `base` is the snapshot it was made from, with its
    `schema_version`; `token`, its commit token, tells it from every other commit, so that it is
    recognised when it has landed but nobody was told. `done` is what the log will say of it.
    `origin`: it was made elsewhere before, and keeps the time that it has there if that is not
    before the lake's newest snapshot. `seal`: the digest of an erasure's note, which it tells."""

    base: int
    schema_version: int
    token: str
    schemas: tuple[SchemaChange, ...] = ()
    tables: tuple[TableChange, ...] = ()
    views: tuple[ViewChange, ...] = ()
    revivals: tuple[Revival, ...] = ()
    author: str | None = None
    message: str | None = None
    done: WriteResult | None = None
    origin: Origin | None = None
    seal: str | None = None

    @property
    def is_empty(self) -> bool:
        changed = any(table.changes_anything for table in self.tables)
        return not (changed or self.schemas or self.views or self.revivals)

    @property
    def covers(self) -> bool:
        """Whether it tells of files what they cover."""
        return any(file.covers is not None for table in self.tables for file in table.write.files)


@dataclass(frozen=True, slots=True)
class WriteResult(Guessable, DrawableWrite):
    """What a write did. `snapshot_id` is None inside a transaction that has not committed;
    `operation` is None where the changes themselves say what it was.

    `attempts` counts how often the commit was tried; `duplicate` says that it had been done before:
    under the same token, or by an attempt of its own whose reply was lost.
    """

    snapshot_id: int | None
    rows: int = 0
    files: int = 0
    bytes: int = 0
    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    attempts: int = 0
    duplicate: bool = False
    commit_ms: float = 0.0
    operation: str | None = None
    _reflexes = ("result", OF_RESULTS)
