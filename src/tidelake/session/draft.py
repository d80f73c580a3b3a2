"""A table as a transaction has changed it so far: what it will commit, and what its reads see."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from dataclasses import MISSING, dataclass, field, fields, replace

from tidelake.catalog.read.column_history import ColumnHistory
from tidelake.catalog.read.options import Options
from tidelake.coverage.values.bitmaps import unite
from tidelake.coverage.values.piece import Covers, Piece
from tidelake.model.change import (
    PROVISIONAL_ROW_ID,
    NewDeleteFile,
    NewFile,
    NewRow,
    SeenFile,
    TableChange,
    Write,
)
from tidelake.model.event_time import EventTime
from tidelake.model.file import DataFile, DeleteFile, InlinedRows
from tidelake.model.schema import Column
from tidelake.model.table import TableInfo
from tidelake.plan.partitioning.folders import Folders
from tidelake.plan.scan import ScanPlan
from tidelake.plan.target import FileObserver, Target
from tidelake.session.planning import TableMeta

_PLACE_BITS = 40

Observers = Callable[[TableInfo], tuple[FileObserver, ...]]
"""Who is to look at files of a table as they are written."""


def nobody(_: TableInfo) -> tuple[FileObserver, ...]:
    return ()


@dataclass
class TableDraft:
    """`before` is None for a table that the transaction creates. Files that it has written have
    negative ids, rows that it has added have provisional row ids. These grow in the order of its
    writes, each of which has a place in that order: rows that it changes again stay in theirs."""

    before: TableInfo | None
    after: TableInfo
    facts: TableMeta
    options: Options
    base: int
    inline_table: str | None = None
    observers: Observers = nobody
    files: dict[int, NewFile] = field(default_factory=dict)
    rows: dict[int, NewRow] = field(default_factory=dict)
    row_columns: tuple[Column, ...] = ()
    delete_files: dict[int, NewDeleteFile] = field(default_factory=dict)
    positions: dict[int, tuple[int, ...]] = field(default_factory=dict)
    ended_files: set[int] = field(default_factory=set)
    ended_rows: set[int] = field(default_factory=set)
    seen: dict[int, SeenFile] = field(default_factory=dict)
    depends_on_inserts: bool = False
    depends_on_any_change: bool = False
    claims: list[Covers] = field(default_factory=list)
    _next_file: int = -1
    _places: list[int] = field(default_factory=list)
    _row_place: int | None = None

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.after.schema.columns

    @property
    def has_added(self) -> bool:
        """Whether it ever held rows of its own, even if they have all been removed again."""
        return bool(self._places)

    @property
    def stamp(self) -> int:
        """The snapshot that the commit will make, unless somebody else comes first."""
        return self.base + 1

    @property
    def target(self) -> Target:
        return Target(
            table=self.after.name,
            path=self.after.path,
            columns=self.columns,
            physical=self.facts.history.named(self.columns),
            partitioning=self.after.partitioning,
            sorting=self.after.sorting,
            file_bytes=self.options.file_bytes,
            compression=self.options.compression,
            row_group_rows=self.options.row_group_rows,
            observers=self.observers(self.after),
            in_order=EventTime.maybe(self.after) is not None and not self.after.sorting,
            folders=Folders.of(
                self.after.partitioning, self.columns, wanted=self.options.hive_folders
            ),
        )

    def add_files(self, files: Iterable[NewFile], place: int | None = None) -> None:
        """Files of one more write, or of an earlier one that is done again."""
        self._row_place = None
        where = self._new_place() if place is None else place
        for file in files:
            self.files[self._next_file] = file.at(self._take(where, file.rows))
            self._next_file -= 1

    def add_rows(self, rows: Iterable[tuple[object, ...]], *, numbered: bool) -> None:
        """Rows for the catalog; with their row ids in front if they had them before."""
        self.row_columns = self.columns
        if self._row_place is None or self._is_arranged:
            self._row_place = self._new_place()
        for row in rows:
            values = row[1:] if numbered else row
            known = row[0] if numbered and isinstance(row[0], int) else None
            if known is not None and known < PROVISIONAL_ROW_ID:
                self.rows[known] = NewRow(values, known)
            else:
                order = self._take(self._row_place, 1) if known is None else known
                self.rows[order] = NewRow(values, order=order)

    @property
    def _is_arranged(self) -> bool:
        """Whether rows of two writes must not share a file, where they would not stay in order
        although that decides which of two facts is the later one."""
        arranged = self.after.sorting or self.after.partitioning
        return bool(arranged) and EventTime.maybe(self.after) is not None

    def _new_place(self) -> int:
        self._places.append(0)
        return len(self._places) - 1

    def _take(self, place: int, count: int) -> int:
        """The first of that many provisional row ids."""
        self._places[place] += count
        return first_of_place(place) + self._places[place] - count

    def see(self, file: DataFile) -> None:
        """Remember what a committed file was like when rows were first deleted from it."""
        if file.id not in self.seen:
            kept = frozenset(delete.id for delete in file.deletes)
            self.seen[file.id] = SeenFile(kept, len(file.deleted_positions))

    def overlay(self, plan: ScanPlan) -> ScanPlan:
        """The plan of a read at the base, with what the transaction has done since."""
        committed = [self._as_left(file) for file in plan.files if file.id not in self.ended_files]
        staged = [self.as_staged(file_id, file) for file_id, file in self.files.items()]
        mappings = {
            file_id: file.mapping
            for file_id, file in self.files.items()
            if file.mapping is not None
        }
        return replace(
            plan,
            files=(*committed, *staged),
            inlined=(*self._kept_rows(plan), *self._new_rows(plan)),
            mappings={**plan.mappings, **mappings},
            total_files=plan.total_files + len(staged),
        )

    def _as_left(self, file: DataFile) -> DataFile:
        staged = self.positions.get(file.id, ())
        gone = (*file.deleted_positions, *staged)
        stamps = [self.stamp] * len(staged)
        file = file._replace(deleted_positions=gone, deleted_at=(*file.deleted_at, *stamps))
        delete = self.delete_files.get(file.id)
        if delete is None:
            return file
        written = DeleteFile(
            -1, delete.path, "parquet", delete.rows, delete.bytes, self.base, is_staged=True
        )
        return file._replace(deletes=(written,))

    def as_staged(self, file_id: int, file: NewFile) -> DataFile:
        return DataFile(
            id=file_id,
            path=file.path,
            rows=file.rows,
            bytes=file.bytes,
            begin_snapshot=self.stamp,
            row_id_start=file.order,
            mapping_id=None if file.mapping is None else file_id,
            footer_size=file.footer_size,
        )

    def _kept_rows(self, plan: ScanPlan) -> Iterator[InlinedRows]:
        for inlined in plan.inlined:
            rows = tuple(row for row in inlined.rows if row[0] not in self.ended_rows)
            yield replace(inlined, rows=rows)

    def _new_rows(self, plan: ScanPlan) -> Iterator[InlinedRows]:
        wanted = {column.id for column in plan.columns}
        places = [n for n, column in enumerate(self.row_columns) if column.id in wanted]
        if self.rows:
            yield InlinedRows(
                tuple(self.row_columns[n] for n in places),
                tuple(
                    (row_id, self.stamp, *(row.values[n] for n in places))
                    for row_id, row in self.rows.items()
                ),
            )

    def _claims(self) -> Iterator[Covers]:
        by_series: dict[int, list[Piece]] = {}
        for claim in self.claims:
            by_series.setdefault(claim.series, []).extend(claim.pieces)
        for series, pieces in by_series.items():
            yield Covers(series, unite(pieces) if len(self.claims) > 1 else tuple(pieces))

    def saved(self) -> TableDraft:
        """A copy, to which it can go back."""
        return replace(self, **{n: copy(getattr(self, n)) for n in _GROWING})

    def restore(self, saved: TableDraft) -> None:
        for each in fields(self):
            setattr(self, each.name, getattr(saved, each.name))

    def change(self) -> TableChange:
        partitioning = self.after.partitioning
        return TableChange(
            self.before,
            self.after,
            Write(
                columns=self.row_columns if self.rows else self.columns,
                partition_id=partitioning.id if partitioning else None,
                files=tuple(sorted(self.files.values(), key=lambda file: file.order)),
                rows=tuple(self.rows.values()),
                delete_files=tuple(self.delete_files.values()),
                positions=dict(self.positions),
                ended_files=frozenset(self.ended_files),
                ended_rows=frozenset(self.ended_rows),
                seen=dict(self.seen),
                read=self.depends_on_inserts,
                alone=self.depends_on_any_change,
                claims=tuple(self._claims()),
                inline_table=self.inline_table if self.before == self.after else None,
            ),
            inline=self.options.inline_rows > 0,
        )


_GROWING = [each.name for each in fields(TableDraft) if each.default_factory is not MISSING]


def first_of_place(place: int) -> int:
    """The first provisional row id of a write."""
    return PROVISIONAL_ROW_ID + (place << _PLACE_BITS)


def place_of(row_id: int) -> int:
    """Which write gave a provisional row id."""
    return (row_id - PROVISIONAL_ROW_ID) >> _PLACE_BITS


def facts_of_new(table: TableInfo) -> TableMeta:
    """What is known of a table that does not exist yet."""
    types: Mapping[int, frozenset[str]] = {
        below.id: frozenset({below.type}) for column in table.schema for below in column.walk()
    }
    history = ColumnHistory(frozenset(), types, frozenset(), {}, {}, max(types, default=0))
    return TableMeta(table, history, {})
