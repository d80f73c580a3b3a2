"""One write on Spark: rows stay on the executors; what comes back is what is known of files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tidelake.engine.incoming.bring import IncomingData, bring
from tidelake.engine.incoming.columns_of_data import own_columns
from tidelake.engine.incoming.conform import DataShape
from tidelake.engine.incoming.inline_text import Rows, as_text
from tidelake.engine.local.errors import translate_duckdb_errors
from tidelake.engine.local.expression_shapes import computed_shapes
from tidelake.engine.local.job import LocalJob
from tidelake.engine.parquet.deletions import COLUMNS
from tidelake.engine.protocols import Among, Answer, Job, PlanRelation, Task
from tidelake.engine.row_source import RowSource
from tidelake.engine.spark.arrow_reader import (
    from_here,
    nullable,
    read_deletions,
    user_rows,
)
from tidelake.engine.spark.beside import pieces_of, read_pieces
from tidelake.engine.spark.clusters import cluster_rows
from tidelake.engine.spark.errors import translate_spark_errors
from tidelake.engine.spark.executors import check_executors
from tidelake.engine.spark.frames import as_arrow, empty_table, in_microseconds
from tidelake.engine.spark.handover import big_batches, hand_over
from tidelake.engine.spark.job_names import naming
from tidelake.engine.spark.meeting import Union
from tidelake.engine.spark.piecework import Piecework
from tidelake.engine.spark.plan_frames import PlanFrames
from tidelake.engine.spark.reading import SparkReading
from tidelake.engine.spark.relation import Relation, name_by_place
from tidelake.engine.spark.relations import Relations
from tidelake.engine.spark.settings import allow_times
from tidelake.engine.spark.state_tasks import slices_of_scan
from tidelake.engine.spark.tasks import FACTS, ROWS, Deletion, PlansQuery, unpickle_all
from tidelake.engine.spark_frame import is_spark_frame
from tidelake.model.change import NewDeleteFile, NewFile
from tidelake.model.closable import Closable
from tidelake.model.file import DataFile
from tidelake.model.names import TableName, quote
from tidelake.model.schema import ROW_FILE, ROW_NUMBER, ROW_POSITION, Column
from tidelake.plan.as_of import AsOfPlan
from tidelake.plan.scan import ScanPlan
from tidelake.plan.target import Target

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from tidelake.engine.local.workbench import Workbench

_Ask = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
_BYTES_OF_A_TASK = 64 * 1024 * 1024
_POSITIONS_OF_A_TASK, _FILES_OF_A_TASK = 1_000_000, 32
"""Of rows to be deleted: to have a task write so many takes less than to spread them."""


class SparkJob(Closable):
    """Relations have names; SQL is DuckDB's. Close it, or use it in a `with`."""

    in_process = False

    def __init__(self, frames: PlanFrames, doing: str) -> None:
        self._frames = frames
        self._local = frames.local
        self._doing = doing
        self._relations = Relations(frames, doing)
        self._here: dict[str, tuple[LocalJob, IncomingData]] = {}
        self._held_names: set[str] = set()
        self._open = ExitStack()

    def close(self) -> None:
        self._relations.close()
        self._open.close()

    def scan(self, name: str, plan: ScanPlan | AsOfPlan | RowSource) -> None:
        """A relation of the plan's rows."""
        with self._translated():
            if isinstance(plan, ScanPlan | AsOfPlan):
                self._relations.table = plan.table
                self._relations.add_plan(name, plan)
            else:
                self._relations.add(name, self._frames.relation(plan))

    def relation(
        self, name: str, plan: ScanPlan | AsOfPlan, among: Among | None = None
    ) -> PlanRelation:
        """The name, under which the plan's rows are. With `among`, those of files are narrow."""
        self._relations.table = plan.table
        with self._translated():
            others = self._relations.values_among(among) if among else None
            self._relations.add(name, self._frames.relation(plan, others))
        return PlanRelation(name, is_narrow=others is not None)

    def deletions(self, name: str, files: Sequence[DataFile]) -> None:
        """A relation of every position ever deleted from these files, and since which snapshot:
        `_tidelake_file`, `_tidelake_position`, `deleted_at`. The files must know their whole
        life (`catalog.files.whole_life`)."""
        with self._translated():
            frame = read_deletions(self._frames.spark, self._local, files)
            self._relations.add(name, Relation(frame, COLUMNS))

    def define(self, name: str, sql: str) -> None:
        """A relation of the query's rows, computed when they are asked for."""
        with self._translated():
            self._relations.add(name, self._relations.of(sql))

    def number(self, name: str, sql: str) -> None:
        """A relation of the query's rows with `_tidelake_row`, which grows as they come."""
        with self._translated():
            found = self._relations.of(sql)
            frame = found.frame.selectExpr("*", f"monotonically_increasing_id() AS {ROW_NUMBER}")
            columns = (*found.columns, Column(0, ROW_NUMBER, "int64"))
            self._relations.add(name, Relation(frame, columns))

    def gather(self, name: str, sql: str, by: str) -> None:
        """A relation of the query's rows, those with one value of a column in one partition."""
        with self._translated():
            found = self._relations.of(sql)
            self._relations.add(name, replace(found, frame=found.frame.repartition(by)))

    def reading(self, sql: str) -> SparkReading:
        """The query's rows, for the caller."""
        with self._translated():
            return SparkReading(self._relations.of(sql).frame, self._doing)

    def bring(
        self,
        name: str,
        data: Any,
        columns: Sequence[Column],
        table: TableName,
        *,
        defaults: bool = True,
    ) -> IncomingData:
        """What a caller gave, as a query of the table's columns. Of a DataFrame only the types
        are looked at yet; values that do not fit make the tasks fail that read them."""
        self._relations.table = table
        with self._translated():
            if not is_spark_frame(data):
                return self._bring_here(name, data, columns, defaults)
            frame = as_arrow(data, str(table))
            found = bring(
                self._relations.connection,
                "arrow_rows",
                empty_table(frame.schema, str(table)),
                columns,
                table=table,
                defaults=defaults,
            )
            self._relations.add(name, Relation(frame, tuple(columns), raw=True, defaults=defaults))
            return IncomingData(f"SELECT * FROM {quote(name)}", found.present, True)

    def columns(self, data: Any) -> tuple[Column, ...]:
        """The columns that the data has of its own."""
        with self._translated():
            return own_columns(self._relations.connection, data)

    def take(
        self, name: str, data: Any, table: TableName
    ) -> tuple[tuple[Column, ...], IncomingData] | None:
        """What a caller gave, as a query of the columns that it has of its own, and these."""
        columns = self.columns(data)
        if not columns:
            return None
        if is_spark_frame(data):
            with self._translated():
                self._relations.add(name, Relation(data, columns))
            names = frozenset(column.name for column in columns)
            return columns, IncomingData(f"SELECT * FROM {quote(name)}", names, True)
        columns = tuple(map(in_microseconds, columns))
        return columns, self.bring(name, data, columns, table)

    def shapes(self, sql: str) -> tuple[DataShape, ...]:
        """What a query computes, which reads no relation."""
        with self._translated():
            return computed_shapes(self._relations.connection, sql)

    def _bring_here(
        self, name: str, data: Any, columns: Sequence[Column], defaults: bool
    ) -> IncomingData:
        """Data that is in this process. What is not much goes to one task, and so into one file."""
        here = self._open.enter_context(self._local.job(self._doing))
        table = self._relations.table
        found = here.bring("arrow_rows", data, columns, table, defaults=defaults)
        rows = here.arrow(found.sql, columns)
        allow_times(self._frames.spark, columns, table)
        frame = from_here(self._frames.spark, rows.to_batches(), columns)
        few = rows.nbytes <= _BYTES_OF_A_TASK
        self._relations.add(name, Relation(frame.coalesce(1) if few else frame, tuple(columns)))
        sql = f"SELECT * FROM {quote(name)}"
        self._here[sql] = (here, found)
        return replace(found, sql=sql)

    def hold(self, name: str, sql: str) -> None:
        """A relation of the query's rows as they are now.

        It is a local checkpoint: what was computed from data that might come out otherwise a
        second time is never computed again, should an executor die. Spark frees it when nobody
        refers to it any more.
        """
        self._held(name, sql)

    def keep(self, name: str, sql: str) -> int:
        """A relation of the query's rows as they are now; how many they are."""
        held = self._held(name, sql)
        with self._translated():
            return held.count()

    def _held(self, name: str, sql: str) -> DataFrame:
        with self._on_executors(), big_batches(self._frames.spark):
            found = self._relations.of(sql)
            held = found.frame.localCheckpoint()
            self._relations.add(name, replace(found, frame=held))
            self._held_names.add(name)
            return held

    def rows(self, sql: str) -> list[Any]:
        """The rows of a query that gives few."""
        with self._translated():
            found, select = self._relations.collected(sql)
            return found.execute(select).fetchall()

    def catalog_rows(
        self, sql: str, columns: Sequence[Column], *, numbered: bool = False
    ) -> Rows | None:
        """The rows of a query that gives few, as the catalog keeps them; None if it cannot keep
        them exactly."""
        here, given = self._here.get(sql, (None, None))
        if here and given and given.rereadable:
            return here.catalog_rows(given.sql, columns, numbered=numbered)
        with self._translated():
            found, select = self._relations.collected(sql)
            return as_text(found, select, columns, numbered=numbered)

    def write(
        self,
        sql: str,
        target: Target,
        *,
        carries_row_ids: bool = False,
        count: int | None = None,
    ) -> tuple[NewFile, ...]:
        """Files with the rows of a query over the table's columns, written by the executors; few
        rows by few of them, if it is known how many there are."""
        with self._on_executors():
            rows, query, names = self._relations.for_tasks(sql, target)

            def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
                yield from query.write(batches, target, carries_row_ids)

            together = cluster_rows(rows, target, names, self._local)
            if count is not None and target.partitioning is None:
                together = together.coalesce(-(-count // target.row_group_rows) or 1)
            return tuple(_answers(together, write))

    def delete(
        self,
        pointers: str,
        target: Target,
        files: Iterable[DataFile],
        stamp: int,
        count: int | None = None,
    ) -> list[NewDeleteFile]:
        """Delete files for rows of these files that a query points at; a file's are written by
        one task."""
        by_id = {file.id: file for file in files}
        deletion = Deletion(self._local, self._doing, target, by_id, stamp)

        def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            yield from deletion.write(batches)

        listed = ", ".join(map(str, by_id))
        with self._on_executors():
            frame = self._relations.of(pointers).frame
            doomed = frame.where(f"{ROW_FILE} IN ({listed})").select(ROW_FILE, ROW_POSITION)
            few = count is not None and count <= _POSITIONS_OF_A_TASK
            few = few and len(by_id) <= _FILES_OF_A_TASK
            return _answers(doomed.coalesce(1) if few else doomed.repartition(ROW_FILE), write)

    def pieces(self, plan: ScanPlan) -> list[ScanPlan] | None:
        """None if tasks have no way to the files."""
        with self._translated():
            return [*slices_of_scan(plan)] if self._frames.tasks_can_read([plan]) else None

    def run(
        self,
        tasks: Sequence[Task],
        do: Callable[[Workbench, Task], Answer],
        undo: Callable[[Answer], object] | None = None,
    ) -> Iterator[Answer]:
        """What came of each piece of work, in their order, each done by a task."""
        work = Piecework(self._frames.spark, self._local, self._doing)
        with self._on_executors():
            made = work.answers(tasks, do, undo)
        yield from made

    def over(self, sql: str, do: Callable[[Workbench, str], Answer]) -> list[Answer]:
        """What `do` finds out about the rows of a query: each task answers for its own."""
        with self._on_executors():
            found = self._relations.of(sql)
            query = self._relations.executors.query(found, f"SELECT * FROM {ROWS}")

            def answer(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
                yield from query.over(batches, do)

            return _answers(found.frame, answer)

    def meet(
        self, names: Sequence[str], do: Callable[[Workbench], Answer], *, most: int | None = None
    ) -> Answer | None:
        """What `do` makes of relations that have few rows, all brought to one task. None if they
        have none, or the task has not the memory for them."""
        with self._on_executors():
            meeting, rows = Union.of({name: self._in_one_task(name, most) for name in names})
            query = self._relations.executors.query(rows, f"SELECT * FROM {ROWS}")

            def answer(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
                yield from query.over(batches, lambda work, sql: meeting.run(work, sql, do))

            return next(iter(_answers(rows.frame, answer)), None)

    def _in_one_task(self, name: str, most: int | None) -> Relation:
        """A relation that many tasks compute, then in one partition: `most` rows and one more."""
        found = self._relations.of(f"SELECT * FROM {quote(name)}")
        if most is not None:
            return replace(found, frame=found.frame.limit(most + 1))
        alone = found.frame.coalesce if name in self._held_names else found.frame.repartition
        return replace(found, frame=alone(1))

    def pick(self, name: str, sql: str, choose: Callable[[Workbench, str], str]) -> None:
        """A relation of what `choose` makes of the query: each task has it choose of its own
        rows."""
        with self._translated():
            found = self._relations.of(sql)
            query = self._relations.executors.query(found, f"SELECT * FROM {ROWS}")
            columns = found.columns

            def pick(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
                yield from query.select(batches, columns, choose)

            rows = name_by_place(found.frame).mapInArrow(pick, nullable(columns))
            self._relations.add(name, Relation(user_rows(rows, columns), columns))

    def beside(
        self,
        name: str,
        plan: str,
        others: Sequence[str],
        columns: Sequence[Column],
        find: Callable[[Workbench], str],
    ) -> bool:
        """A relation of what `find` asks of the rows of a plan: each task reads some of them, and
        all of the other plans, which are small."""
        with self._translated():
            others_too = {each: self._relations.plan(each) for each in others}
            pieces = pieces_of(self._frames, plan, self._relations.plan(plan), others_too)
            if pieces is None:
                return False
            allow_times(self._frames.spark, columns, self._relations.table)
            query = PlansQuery(self._local, self._doing, tuple(columns), find)
            frame = read_pieces(self._frames.spark, query, pieces)
            self._relations.add(name, Relation(frame, tuple(columns)))
        return True

    @contextmanager
    def _translated(self) -> Iterator[None]:
        with (
            naming(self._frames.spark, self._doing),
            translate_spark_errors(self._doing),
            translate_duckdb_errors(self._doing),
        ):
            yield

    @contextmanager
    def _on_executors(self) -> Iterator[None]:
        """For what runs our Python there."""
        with self._translated():
            check_executors(self._frames.spark)
            yield


def _answers(frame: DataFrame, ask: _Ask) -> list[Any]:
    """What our Python says of the rows, each task of its own."""
    rows = name_by_place(frame)
    return hand_over(rows, lambda each: unpickle_all(each.mapInArrow(ask, FACTS).collect()))


_JOB: type[Job] = SparkJob
