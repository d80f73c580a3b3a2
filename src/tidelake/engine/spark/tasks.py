"""What a Spark task does with rows that come to it as Arrow: DuckDB runs a query over them in the
executor's Python, with the types, the rules and the file writer of the local engine.

Nothing here is Spark's; executors must have `tidelake` installed, as they must have Python.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tidelake.duck import arrow_source, settle
from tidelake.engine.incoming.bring import bring
from tidelake.engine.local.errors import refusal, translate_duckdb_errors
from tidelake.engine.local.reading import LocalReading
from tidelake.engine.parquet.delete_files import write_delete_file
from tidelake.engine.parquet.writer import write_files
from tidelake.engine.spark.arrow_reader import arrow_schema, cast_batch
from tidelake.engine.spark.worker import WORKER
from tidelake.errors import TidelakeError
from tidelake.model.names import TableName, quote
from tidelake.model.schema import ROW_FILE, ROW_POSITION, Column
from tidelake.plan.partitioning.sql import allow_keys, key_sql

if TYPE_CHECKING:
    from tidelake.engine.local.engine import LocalEngine
    from tidelake.engine.local.workbench import Workbench
    from tidelake.model.change import NewDeleteFile
    from tidelake.model.file import DataFile
    from tidelake.plan.as_of import AsOfPlan
    from tidelake.plan.scan import ScanPlan
    from tidelake.plan.target import Target

ROWS = "rows_of_the_task"
"""What queries call the rows that come to a task."""
FACTS = "facts BINARY"
_BATCH_ROWS = 40_960


@dataclass(frozen=True, slots=True)
class RowsQuery:
    """A DuckDB query over `ROWS`, which are first made into `columns` as data from outside is;
    with `defaults`, they may also lack some. `names` are those of what comes: Spark's functions
    on Arrow fail on names with dots in them, so batches go by position."""

    local: LocalEngine
    doing: str
    table: TableName
    names: tuple[str, ...]
    columns: tuple[Column, ...]
    sql: str
    defaults: bool = False

    def select(
        self,
        batches: Iterator[pa.RecordBatch],
        wanted: tuple[Column, ...],
        choose: Callable[[Workbench, str], str] | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """The query's rows as Spark takes them, or those of them that are chosen."""
        schema = arrow_schema(wanted)
        with _opened(self, batches) as (work, sql):
            if work is not None:
                chosen = sql if choose is None else choose(work, sql)
                found = LocalReading(work, chosen, self.doing, wanted)
                for batch in found.to_batches(_BATCH_ROWS):
                    yield cast_batch(batch, schema)

    def write(
        self, batches: Iterator[pa.RecordBatch], target: Target, carries_row_ids: bool
    ) -> Iterator[pa.RecordBatch]:
        """The query's rows go into files; what comes back is what is known of these."""
        with _opened(self, batches) as (work, sql):
            if work is not None:
                work.reach([target.path])
                yield told_by_task(write_files(work, sql, target, carries_row_ids=carries_row_ids))

    def over(
        self, batches: Iterator[pa.RecordBatch], do: Callable[[Workbench, str], object]
    ) -> Iterator[pa.RecordBatch]:
        """What comes back is what is found out about the query's rows."""
        with _opened(self, batches) as (work, sql):
            if work is not None:
                yield told_by_task([do(work, sql)])


@dataclass(frozen=True, slots=True)
class PlansQuery:
    """A query over plans, for these columns: `find` gives it once their rows are there under their
    names."""

    local: LocalEngine
    doing: str
    columns: tuple[Column, ...]
    find: Callable[[Workbench], str]

    def select(self, plans: Mapping[str, ScanPlan | AsOfPlan]) -> Iterator[pa.RecordBatch]:
        """The query's rows as Spark takes them."""
        schema = arrow_schema(self.columns)
        with one_thread(self.local, self.doing) as work:
            for name, plan in plans.items():
                work.define(name, plan)
            found = LocalReading(work, self.find(work), self.doing, self.columns)
            for batch in found.to_batches(_BATCH_ROWS):
                yield cast_batch(batch, schema)


@contextmanager
def _opened(
    query: RowsQuery, batches: Iterator[pa.RecordBatch]
) -> Iterator[tuple[Workbench | None, str]]:
    """Nothing is opened for a task without rows."""
    first = next(batches, None)
    if first is None:
        yield None, ""
        return
    with one_thread(query.local, query.doing) as work:
        named = (batch.rename_columns(query.names) for batch in chain([first], batches))
        schema = first.rename_columns(query.names).schema
        rows = pa.RecordBatchReader.from_batches(schema, named)
        found = bring(
            work.connection,
            "arrow_rows",
            rows,
            query.columns,
            table=query.table,
            defaults=query.defaults,
        )
        yield work, f"WITH {ROWS} AS NOT MATERIALIZED ({found.sql}) {query.sql}"


@contextmanager
def one_thread(local: LocalEngine, doing: str) -> Iterator[Workbench]:
    """A connection to the worker's DuckDB. What goes wrong keeps its kind and its hint on the way
    through Spark: `errors` finds them in the text."""
    try:
        with at_work(local, doing) as work:
            yield work
    except TidelakeError as error:
        raise type(error)(refusal(error.message, error.hint or "")) from error


@contextmanager
def at_work(local: LocalEngine, doing: str) -> Iterator[Workbench]:
    """The same, for what goes wrong to be told by the task itself."""
    with WORKER.engine(local) as engine:
        work = engine.workbench()
        try:
            with translate_duckdb_errors(doing):
                yield work
        finally:
            work.connection.close()
            if work.has_run_out:
                WORKER.forget()


def told_by_task(facts: object) -> pa.RecordBatch:
    return pa.record_batch([pa.array([pickle.dumps(facts)], pa.binary())], names=["facts"])


def unpickle_all(rows: list[Any]) -> list[Any]:
    """What all tasks have said."""
    return [fact for row in rows for fact in pickle.loads(row[0])]


@dataclass(frozen=True, slots=True)
class KeyQuery:
    """What DuckDB calls the partitions of values, for one key of a partitioning."""

    local: LocalEngine
    table: TableName
    column: Column
    transform: str

    def keys(self, arrays: Iterator[pa.Array]) -> Iterator[pa.Array]:
        column = replace(self.column, nullable=True)
        key = key_sql(column, self.transform, quote(column.name))
        with one_thread(self.local, f"cannot write {self.table}") as work:
            allow_keys(work.connection)
            for array in arrays:
                data = pa.table([array], [column.name])
                found = bring(work.connection, "arrow_rows", data, [column], table=self.table)
                told = arrow_source(work.connection, f"SELECT {key} AS k FROM ({found.sql})")
                yield told.to_arrow_table().column(0).combine_chunks().cast(pa.string())


@dataclass(frozen=True, slots=True)
class Deletion:
    """Delete files for rows of some data files: all rows of one file come to one task."""

    local: LocalEngine
    doing: str
    target: Target
    files: Mapping[int, DataFile]
    stamp: int

    def write(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """`batches` have the number of a row's file, and its position there."""
        names = [ROW_FILE, ROW_POSITION]
        found = [batch.rename_columns(names) for batch in batches if batch.num_rows]
        if not found:
            return
        pointers = pa.Table.from_batches(found)
        with one_thread(self.local, self.doing) as work:
            settle(work.connection).register("pointers", pointers)
            numbers = pointers.column(ROW_FILE).unique().to_pylist()
            files = [self.files[number] for number in sorted(numbers)]
            yield told_by_task([self._written(work, file) for file in files])

    def _written(self, work: Workbench, file: DataFile) -> NewDeleteFile:
        work.reach([self.target.path, file.path])
        positions = f"SELECT {ROW_POSITION} AS pos FROM pointers WHERE {ROW_FILE} = {file.id}"
        return write_delete_file(work, self.target, file, positions, self.stamp)
