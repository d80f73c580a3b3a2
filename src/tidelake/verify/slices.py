"""Slices of a table: some files each, read by one task, wherever the engine runs it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tidelake.catalog.read.column_history import ColumnHistory
from tidelake.engine.local.errors import translate_duckdb_errors
from tidelake.errors import TidelakeError
from tidelake.model.file import DataFile, InlinedRows, MappedField
from tidelake.model.names import TableName
from tidelake.model.schema import ROW_FILE, Column
from tidelake.model.table import PartitionSpec
from tidelake.plan.scan import ScanPlan
from tidelake.verify import fingerprint_sql, row_ids
from tidelake.verify import rows as row_checks
from tidelake.verify.findings import doubtful_files
from tidelake.verify.fingerprint_sql import FOREVER, Epoch
from tidelake.verify.footers import problem
from tidelake.verify.values import CheckedFile, Content, Problem

if TYPE_CHECKING:
    from tidelake.engine.local.workbench import Workbench

_SLICE_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class LifeOfTable:
    """All that was ever in a table, as one transaction saw it; `current` are the rows that the
    catalog has of it now. Nothing is said of other `snapshots` than these."""

    id: int
    name: str
    files: tuple[DataFile, ...]
    expected: tuple[CheckedFile, ...]
    inlined: tuple[InlinedRows, ...]
    current: tuple[InlinedRows, ...]
    ends: tuple[tuple[int, int, int], ...]
    mappings: dict[int, tuple[MappedField, ...]]
    history: ColumnHistory
    specs: dict[int, PartitionSpec]
    snapshots: tuple[int, ...]

    def plan(self, columns: Sequence[Column], files: Iterable[DataFile]) -> ScanPlan:
        """Every row of these files, in these columns."""
        return ScanPlan(
            table=TableName.parse(self.name),
            snapshot_id=FOREVER,
            columns=tuple(columns),
            output=(*(column.name for column in columns), ROW_FILE),
            files=tuple(files),
            mappings=self.mappings,
            reshaped=self.history.reshaped,
            renamed=self.history.renamed,
            former_names=self.history.names,
        )


@dataclass(frozen=True, slots=True)
class Question:
    """What is to be found out about each slice. Files that are `doubtful` are not read again."""

    epochs: tuple[Epoch, ...]
    deep: bool
    hashed: bool
    doubtful: frozenset[str]


@dataclass(frozen=True, slots=True)
class Slice:
    table: LifeOfTable
    question: Question


@dataclass(frozen=True, slots=True)
class EpochReport:
    """What came and went at each snapshot of an epoch, and whose ids; `shared` are those that are
    there twice in one life, and others."""

    changes: dict[int, Content]
    ids: row_ids.Ids
    shared: tuple[row_ids.Shared, ...]


@dataclass(frozen=True, slots=True)
class SliceReport:
    """`epochs` are those of the question; none if a file turned out to be damaged."""

    problems: tuple[Problem, ...]
    epochs: tuple[EpochReport, ...]


def slices_of(table: LifeOfTable, question: Question) -> list[Slice]:
    """Neighbouring files together, each with what is expected of it and of its delete files."""
    groups: list[list[DataFile]] = []
    size = _SLICE_BYTES
    for file in table.files:
        if size >= _SLICE_BYTES:
            groups.append([])
            size = 0
        groups[-1].append(file)
        size += file.bytes
    owners = {
        path: n
        for n, group in enumerate(groups)
        for file in group
        for path in (file.path, *(delete.path for delete in file.deletes))
    }
    bare = replace(table, inlined=(), current=(), ends=())
    expected: dict[int, list[CheckedFile]] = defaultdict(list)
    for each in table.expected:
        expected[owners.get(each.path, 0)].append(each)
    return [
        Slice(replace(bare, files=tuple(group), expected=tuple(expected[n])), question)
        for n, group in enumerate(groups or [[]])
        if group or expected[n]
    ]


def rows_of_catalog(table: LifeOfTable, question: Question) -> Slice:
    """The slice of what lies in no file."""
    return Slice(replace(table, files=(), expected=()), question)


def read_slice(work: Workbench, task: Slice) -> SliceReport:
    """All that has to be read of some files."""
    table, asked = task.table, task.question
    problems = tuple(_check_files(work, table, asked.doubtful)) if asked.deep else ()
    damaged = asked.doubtful | doubtful_files(problems)
    if any(file.path in damaged for file in table.expected):
        return SliceReport(problems, ())
    with translate_duckdb_errors(f"cannot read {table.name}"):
        return SliceReport(
            problems, tuple(_lived(work, table, asked, each) for each in asked.epochs)
        )


def _lived(work: Workbench, table: LifeOfTable, asked: Question, epoch: Epoch) -> EpochReport:
    _bring_to_life(work, table, epoch, hashed=asked.hashed)
    changes = fingerprint_sql.differences(work, "lives", epoch)
    if not asked.deep:
        return EpochReport(changes, {}, ())
    ids, repeats = row_ids.ids_of(work, "lives")
    shared = fingerprint_sql.shared_ids(work, "lives") if repeats else ()
    return EpochReport(changes, ids, tuple(shared))


def _bring_to_life(work: Workbench, table: LifeOfTable, epoch: Epoch, *, hashed: bool) -> None:
    files = [
        file
        for file in table.files
        if file.begin_snapshot < epoch.until
        and (file.end_snapshot is None or file.end_snapshot > epoch.since)
    ]
    # Rows that came later may not fit the types of then.
    inlined_then = tuple(
        replace(some, rows=tuple(row for row in some.rows if int(str(row[1])) < epoch.until))
        for some in table.inlined
    )
    plan = replace(table.plan(epoch.columns, files), inlined=inlined_then)
    fingerprint_sql.live(work, "lives", plan, epoch, table.ends, hashed=hashed)


def _check_files(
    work: Workbench, table: LifeOfTable, doubtful: frozenset[str]
) -> Iterator[Problem]:
    """Every row of every file, in the columns that it was written with."""
    files = {file.id: file for file in table.files if file.path not in doubtful}
    groups: dict[tuple[Column, ...], list[CheckedFile]] = defaultdict(list)
    deletes = []
    for file in table.expected:
        if file.deletes_from is not None:
            deletes += [] if file.path in doubtful else [file]
        elif file.id in files:
            groups[file.columns].append(file)
    for columns, group in groups.items():
        yield from _check_group(work, table, columns, group, files)
    with translate_duckdb_errors(f"cannot read the delete files of {table.name}"):
        yield from list(row_checks.check_deletes(work, deletes))


def _check_group(
    work: Workbench,
    table: LifeOfTable,
    columns: Sequence[Column],
    group: Sequence[CheckedFile],
    files: dict[int, DataFile],
) -> Iterator[Problem]:
    """All at once; one by one if that fails, to find those that are to blame."""
    bare = [files[f.id]._replace(deletes=(), deleted_positions=(), deleted_at=()) for f in group]
    partitions = {
        file.id: (table.specs[file.partition_id], file.partition_values)
        for file in bare
        if file.partition_id in table.specs
        and len(table.specs[file.partition_id].keys) == len(file.partition_values)
    }
    renamed = [replace(column, name=f"v{column.id}") for column in columns]
    try:
        with translate_duckdb_errors(f"cannot read {table.name}"):
            scan = work.scan(table.plan(renamed, bare))
            work.connection.execute(f"CREATE OR REPLACE TEMP VIEW whole AS {scan}")
            yield from list(row_checks.check_rows(work, "whole", group, renamed, partitions))
    except TidelakeError as error:
        if len(group) == 1:
            yield problem("unreadable-files", group[0], error.message, error.hint or "restore it")
            return
        for file in group:
            yield from _check_group(work, table, columns, [file], files)
