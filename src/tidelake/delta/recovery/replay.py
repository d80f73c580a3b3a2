"""The snapshots of a lost lake, done again one after the other, each under its id."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from tidelake.catalog import recovery
from tidelake.catalog.database.database import Writer
from tidelake.catalog.read import files
from tidelake.catalog.read import tables as read
from tidelake.delta.importing.adopt import parsed_stats
from tidelake.delta.importing.facts import FactsReader
from tidelake.delta.log.types import DeltaField
from tidelake.delta.mirror.declaration import Declaration
from tidelake.delta.recovery.lost_table import LostTable, rows_of
from tidelake.delta.recovery.past import TableStep
from tidelake.delta.values.actions import Add
from tidelake.delta.values.mirror import FIRST_ROW
from tidelake.engine import Job
from tidelake.engine.local.errors import translate_duckdb_errors
from tidelake.model.change import NewFile, Origin, WriteResult
from tidelake.model.names import TableName, fold, quote, text_literal
from tidelake.model.schema import ROW_FILE, ROW_ID_FIELD, ROW_POSITION, Column, Schema
from tidelake.model.settings import MIRROR_TAG
from tidelake.model.table import PartitionSpec, TableInfo
from tidelake.session import staging
from tidelake.session.draft import TableDraft
from tidelake.session.drafting import DraftSession
from tidelake.session.replay import write
from tidelake.session.session import Session
from tidelake.session.short_transactions import run_locked
from tidelake.write import definitions

if TYPE_CHECKING:
    from tidelake.engine.local.engine import LocalEngine

_BEFORE = "recovered_{}"
"""What tables are called before the first snapshot that tells of them."""


@dataclass
class RecoveredPast:
    """A table that is coming back: how far it has come, by what `name`, the ids of its files by
    where they are, and how many `rows` these have left. `numbered` are files whose rows bear their
    ids."""

    lost: LostTable
    steps: Sequence[TableStep]
    reason: str | None = None
    numbered: Mapping[str, int] = field(default_factory=dict)
    name: TableName = field(default_factory=lambda: TableName("main", ""))
    table_id: int = -1
    ids: dict[str, int] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)

    @property
    def first(self) -> TableStep:
        return self.steps[0]


Part = tuple[RecoveredPast, TableStep]


@dataclass
class Replay:
    """All steps of all tables, in a lake aside that nobody else has."""

    aside: Session
    tables: Sequence[RecoveredPast]
    fillers: list[int] = field(default_factory=list)

    def run(self) -> int:
        """The last snapshot that is back."""
        moments = self._moments()
        time = min(part.time for parts in moments.values() for _, part in parts)
        write(self.aside, self._declare)
        run_locked(self.aside, recovery.fold, time)
        self.aside.caches.forget()
        for table in self.tables:
            with self.aside.reading() as reader:
                found = read.find(reader, recovery.BEFORE, "table", table.name)
            assert found is not None
            table.table_id = found
        for at in sorted(moments):
            time = _time(moments[at], time)
            self._do(at, time, moments[at])
        return max(moments)

    def tidy(self) -> None:
        first = {table.table_id: table.first.snapshot_id for table in self.tables}
        run_locked(self.aside, recovery.tidy, self.fillers, first)

    def _moments(self) -> dict[int, list[Part]]:
        """What was done to tables, by snapshot."""
        found: dict[int, list[Part]] = {}
        for table in self.tables:
            for step in table.steps:
                found.setdefault(step.snapshot_id, []).append((table, step))
        return found

    def _declare(self, tx: DraftSession) -> WriteResult:
        """The tables by the first names of their columns, and with those that were gone before."""
        for number, table in enumerate(self.tables):
            said = table.first.declaration
            later = {id_ for step in table.steps[1:] for id_ in _ids(step.declaration.columns)}
            table.name = TableName("main", _BEFORE.format(number))
            draft = definitions.create(tx, table.name, Schema(said.first(later)), (), {})
            draft.after = replace(draft.after, uuid=said.uuid, path=table.lost.root)
        return WriteResult(None, operation="recover")

    def skip_to(self, snapshot_id: int) -> None:
        if run_locked(self.aside, recovery.skip_to, snapshot_id):
            self.fillers.append(snapshot_id)

    def _do(self, at: int, time: datetime, parts: Sequence[Part]) -> None:
        self.skip_to(at - 1)
        write(self.aside, lambda tx: self._stage(tx, time, parts))
        run_locked(self.aside, _settle, at, time, parts)
        with self.aside.reading() as reader:
            for table, step in parts:
                table.name = step.declaration.name
                for path in step.went:
                    table.ids.pop(path, None)
                root = table.lost.root
                table.ids |= recovery.files_since(reader, table.table_id, root, at)
                assert table.ids.keys() >= step.came.keys()

    def _stage(self, tx: DraftSession, time: datetime, parts: Sequence[Part]) -> WriteResult:
        drafts = [(tx.draft(table.name, thaw=True), table, step) for table, step in parts]
        counts = []
        for draft, table, step in drafts:
            with tx.local.job(f"cannot recover {step.declaration.name}") as job:
                counts.append(_StagedStep(tx, draft, job, table, step).run())
        tx.origin = Origin(max(step.version for _, step in parts), time)
        inserted, deleted = (sum(each) for each in zip(*counts, strict=True))
        return WriteResult(None, rows=inserted + deleted, inserted=inserted, deleted=deleted)


def _time(parts: Sequence[Part], before: datetime) -> datetime:
    """When a snapshot was. Logs that do not know it exactly may say a little later than it was, and
    in which order they were is not to change."""
    exact = [step.time for _, step in parts if step.exact]
    return exact[0] if exact else max(before, min(step.time for _, step in parts))


def _settle(writer: Writer, at: int, time: datetime, parts: Sequence[Part]) -> None:
    """Have the snapshot, with its time, also if nothing has changed but what the files tell."""
    unchanged = recovery.skip_to(writer, at)
    recovery.set_time(writer, at, time)
    for table, step in parts:
        if step.dated:
            ids = recovery.files_since(writer, table.table_id, table.lost.root, at)
            recovery.date_rows(writer, {ids[path]: last for path, last in step.dated.items()})
        if step.appeared:
            recovery.say_inserted(writer, at, table.table_id)
        elif unchanged:
            recovery.say_altered(writer, at, table.table_id)
        elif step.moved:
            recovery.say_moved(writer, at, table.table_id)


@dataclass
class _StagedStep:
    """One step of one table inside a transaction."""

    tx: DraftSession
    draft: TableDraft
    job: Job
    table: RecoveredPast
    step: TableStep

    def run(self) -> tuple[int, int]:
        """How many rows came, and how many went."""
        step, rows = self.step, self.table.rows
        self._declare()
        for path in step.went:
            staging.end(self.draft, self.table.ids[path])
        self._delete()
        self.draft.add_files(list(self._files()))
        gone = {path: len(positions) for path, positions in step.deleted.items()}
        went = sum(rows.pop(path) for path in step.went)
        went += sum(gone.get(path, 0) for path in step.changed)
        rows |= {path: rows_of(add) - gone.get(path, 0) for path, add in step.came.items()}
        rows |= {path: rows[path] - gone.get(path, 0) for path in step.changed}
        came = sum(rows[path] for path in step.came if path not in step.dated)
        return (0, 0) if step.moved else (came, went)

    def _declare(self) -> None:
        draft, said = self.draft, self.step.declaration
        self._have_schema(said.name.schema)
        after = replace(
            draft.after,
            name=said.name,
            schema=Schema(said.columns),
            tags={name: value for name, value in said.tags.items() if name != MIRROR_TAG},
            sorting=said.sorting,
            partitioning=self._partitioning(draft.after, said),
        )
        if after != draft.after:
            draft.after = after
            draft.facts = draft.facts.evolved(after)

    def _have_schema(self, name: str) -> None:
        with self.tx.reading() as reader:
            known = {fold(each.name) for each in self.tx.view.schemas(reader, self.tx.base)}
        if fold(name) not in known:
            definitions.create_schema(self.tx, name)

    def _partitioning(self, before: TableInfo, said: Declaration) -> PartitionSpec | None:
        known = before.partitioning
        if (known.keys if known else ()) == said.keys:
            return known
        return PartitionSpec(self.tx.new_id(), said.keys) if said.keys else None

    def _delete(self) -> None:
        """Delete files for what went from files that were there."""
        gone = {
            self.table.ids[path]: positions
            for path, positions in self.step.deleted.items()
            if path not in self.step.came
        }
        if not gone:
            return
        draft, base = self.draft, self.tx.base
        with self.tx.reading() as reader:
            found = files.whole_life(reader, self.table.table_id, self.table.lost.root, gone)
        self.tx.announce()
        for file in found:
            pointers = _pointers(file.id, gone[file.id])
            (made,) = self.job.delete(pointers, draft.target, [file.at(base)], draft.stamp)
            self.tx.wrote([made.path])
            draft.delete_files[file.id] = made

    def _files(self) -> Iterator[NewFile]:
        draft, numbered = self.draft, self.table.numbered
        fields = [_field(column, draft.target.physical) for column in draft.columns]
        came = sorted(self.step.came.items(), key=lambda each: (each[1].modified, each[0]))
        counts = [rows_of(add) for _, add in came]
        found = FactsReader(fields).facts([parsed_stats(add.stats) for _, add in came], counts)
        for (path, add), rows, columns in zip(came, counts, found, strict=True):
            first = add.tags.get(FIRST_ROW)
            file = NewFile(
                path,
                rows,
                add.size,
                None,
                columns=columns,
                carries_row_ids=path in numbered,
                first_row=numbered.get(path) if first is None else int(first),
            )
            yield self._with_deletes(file)

    def _with_deletes(self, file: NewFile) -> NewFile:
        positions = self.step.deleted.get(file.path, ())
        if not positions:
            return file
        self.tx.announce()
        staged, pointers = self.draft.as_staged(-1, file), _pointers(-1, positions)
        (made,) = self.job.delete(pointers, self.draft.target, [staged], self.draft.stamp)
        self.tx.wrote([made.path])
        return file._replace(deletes=made)


def _pointers(file_id: int, positions: Sequence[int]) -> str:
    listed = f"unnest({list(positions)}::BIGINT[])"
    return f"SELECT CAST({file_id} AS BIGINT) AS {ROW_FILE}, {listed} AS {ROW_POSITION}"


def _field(column: Column, physical: Mapping[int, str]) -> DeltaField:
    below = tuple(_field(child, physical) for child in column.children)
    return DeltaField(column, physical.get(column.id, column.name), None, below)


def _ids(columns: Iterable[Column]) -> Iterator[int]:
    return (below.id for column in columns for below in column.walk())


def bare_files(steps: Iterable[TableStep]) -> list[str]:
    """Files of which a log does not say which ids their rows have."""
    found: dict[str, Add] = {}
    for step in steps:
        found |= step.came
    return [path for path, add in found.items() if FIRST_ROW not in add.tags]


def numbered_files(engine: LocalEngine, paths: Sequence[str]) -> dict[str, int]:
    """Those of the files whose rows bear their ids, with the first id that is free after them."""
    if not paths:
        return {}
    work = engine.workbench()
    with translate_duckdb_errors("cannot read row ids"):
        work.reach_unknown(paths)
        listed = ", ".join(map(text_literal, paths))
        sql = f"SELECT file_name, name FROM parquet_schema([{listed}]) WHERE field_id = $1"
        found = work.connection.execute(sql, [ROW_ID_FIELD]).fetchall()
        return {path: _free(work.connection, path, name) for path, name in found}


def _free(connection: Any, path: str, column: str) -> int:
    sql = f"SELECT max({quote(column)}) + 1 FROM read_parquet({text_literal(path)})"
    ((found,),) = connection.execute(sql).fetchall()
    return int(found or 0)
