"""One write on the local engine: the statements it needs, on a connection of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from tidelake.engine.incoming.bring import IncomingData, bring
from tidelake.engine.incoming.columns_of_data import own_columns
from tidelake.engine.incoming.conform import DataShape
from tidelake.engine.incoming.csv_files import CsvSource
from tidelake.engine.incoming.inline_text import Rows, as_text
from tidelake.engine.local.errors import translate_duckdb_errors
from tidelake.engine.local.expression_shapes import computed_shapes
from tidelake.engine.local.reading import LocalReading
from tidelake.engine.local.selection import Selection
from tidelake.engine.local.supply import Answer
from tidelake.engine.local.workbench import Workbench
from tidelake.engine.parquet.delete_files import restamp_file, write_delete_file
from tidelake.engine.parquet.deletions import deletions_sql
from tidelake.engine.parquet.first_look import look_first
from tidelake.engine.parquet.register import found_files
from tidelake.engine.parquet.writer import write_files
from tidelake.engine.protocols import Among, Job, PlanRelation, Task
from tidelake.engine.row_source import RowSource
from tidelake.errors import Invalid
from tidelake.model.change import NewDeleteFile, NewFile
from tidelake.model.closable import Closable
from tidelake.model.file import DataFile
from tidelake.model.names import TableName, quote
from tidelake.model.schema import ROW_FILE, ROW_NUMBER, ROW_POSITION, Column
from tidelake.model.source_files import SourceFiles
from tidelake.plan.as_of import AsOfPlan
from tidelake.plan.scan import ScanPlan
from tidelake.plan.target import Target

if TYPE_CHECKING:
    import pyarrow as pa


class LocalJob(Closable):
    """Relations have names; SQL is DuckDB's. Close it, or use it in a `with`."""

    in_process = True

    def __init__(self, workbench: Callable[[], Workbench], doing: str) -> None:
        self._workbench = workbench
        self._work = workbench()
        self._doing = doing
        self._csv: tuple[CsvSource, ...] = ()
        self._brought: dict[str, IncomingData] = {}

    def close(self) -> None:
        self._work.supply.close()
        self._work.connection.close()

    def _run(
        self,
        statement: Callable[[], Answer],
        undo: Callable[[Answer], object] | None = None,
    ) -> Answer:
        """Run what may take long, or read from a stream that a caller gave."""
        with self._locating():
            return self._work.run(self._doing, statement, undo)

    @contextmanager
    def _locating(self) -> Iterator[None]:
        try:
            yield
        except Invalid as error:
            raise self._located(error) or error from error.__cause__

    def _located(self, error: Invalid) -> Invalid | None:
        """An error about a value in a CSV file, with the line that it stands in."""
        found = (source.located(self._work.connection, error) for source in self._csv)
        return next((each for each in found if each is not None), None)

    def scan(self, name: str, plan: ScanPlan | AsOfPlan | RowSource) -> None:
        """A relation of the plan's rows."""
        with translate_duckdb_errors(self._doing):
            self._work.define(name, plan)

    def relation(
        self,
        name: str,  # noqa: ARG002
        plan: ScanPlan | AsOfPlan,
        among: Among | None = None,  # noqa: ARG002
    ) -> PlanRelation:
        """The plan's rows, as a query in brackets: all of them."""
        with translate_duckdb_errors(self._doing):
            return PlanRelation(f"({self._work.scan(plan)})")

    def deletions(self, name: str, files: Sequence[DataFile]) -> None:
        """A relation of every position ever deleted from these files, and since which snapshot:
        `_tidelake_file`, `_tidelake_position`, `deleted_at`. The files must know their whole
        life (`catalog.files.whole_life`)."""
        with translate_duckdb_errors(self._doing):
            sql = deletions_sql(self._work, files)
            self._work.connection.execute(f"CREATE TEMP VIEW {quote(name)} AS {sql}")

    def define(self, name: str, sql: str) -> None:
        """A relation of the query's rows, computed when they are asked for."""
        with translate_duckdb_errors(self._doing):
            self._work.connection.execute(f"CREATE TEMP VIEW {quote(name)} AS {sql}")

    def number(self, name: str, sql: str) -> None:
        """A relation of the query's rows with `_tidelake_row`, which grows as they come."""
        self.define(name, f"SELECT *, row_number() OVER () AS {ROW_NUMBER} FROM ({sql}) AS r")

    def gather(self, name: str, sql: str, by: str) -> None:  # noqa: ARG002
        """A relation of the query's rows: all are in one place."""
        self.define(name, sql)

    def pick(self, name: str, sql: str, choose: Callable[[Workbench, str], str]) -> None:
        """A relation of what `choose` makes of the query: some of its rows."""
        with translate_duckdb_errors(self._doing):
            self.define(name, choose(self._work, sql))

    def beside(
        self,
        name: str,
        plan: str,  # noqa: ARG002
        others: Sequence[str],  # noqa: ARG002
        columns: Sequence[Column],  # noqa: ARG002
        find: Callable[[Workbench], str],
    ) -> bool:
        """A relation of what `find` asks: all rows are in one place."""
        with translate_duckdb_errors(self._doing):
            self.define(name, find(self._work))
        return True

    def reading(self, sql: str) -> LocalReading:
        """The query's rows, for the caller; it outlives the job if that is not closed."""
        return LocalReading(self._work, sql, self._doing)

    def bring(
        self,
        name: str,
        data: Any,
        columns: Sequence[Column],
        table: TableName,
        *,
        defaults: bool = True,
    ) -> IncomingData:
        """What a caller gave, as a query of the table's columns."""
        with translate_duckdb_errors(self._doing):
            if isinstance(data, Selection):
                for each, plan in data.tables.items():
                    self._work.define(each, plan)
                return data.incoming(self._work.connection, columns, table, defaults=defaults)
            self._work.reach_unknown(_paths(data))
            found = bring(
                self._work.connection,
                name,
                data,
                columns,
                table=table,
                defaults=defaults,
                supply=self._work.supply,
            )
            self._csv += found.csv
            self._brought[found.sql] = found
            return found

    def columns(self, data: Any) -> tuple[Column, ...]:
        """The columns that the data has of its own."""
        with translate_duckdb_errors(self._doing):
            self._work.reach_unknown(_paths(data))
            return own_columns(self._work.connection, data)

    def take(
        self, name: str, data: Any, table: TableName
    ) -> tuple[tuple[Column, ...], IncomingData] | None:
        """What a caller gave, as a query of the columns that it has of its own, and these."""
        columns = self.columns(data)
        return (columns, self.bring(name, data, columns, table)) if columns else None

    def shapes(self, sql: str) -> tuple[DataShape, ...]:
        """What a query computes."""
        with translate_duckdb_errors(self._doing):
            return computed_shapes(self._work.connection, sql)

    def hold(self, name: str, sql: str) -> None:
        """A relation of the query's rows as they are now."""
        self.keep(name, sql)

    def keep(self, name: str, sql: str) -> int:
        """A relation of the query's rows as they are now; how many they are."""
        connection = self._work.connection
        kept = f"CREATE TEMP TABLE {quote(name)} AS {sql}"
        self._pass_on(self._brought.get(sql))
        row = self._run(lambda: connection.execute(kept).fetchone())
        return int(row[0]) if row else 0

    def _pass_on(self, brought: IncomingData | None) -> None:
        """Have the next statement be the one that reads what was brought."""
        if brought is not None and brought.pass_on is not None:
            brought.pass_on()

    def arrow(self, sql: str, columns: Sequence[Column]) -> pa.Table:
        """The rows of a query over these columns, for another engine."""
        with self._locating():
            return LocalReading(self._work, sql, self._doing, columns).to_arrow()

    def rows(self, sql: str) -> list[Any]:
        """The rows of a query that gives few."""
        return self._run(lambda: self._work.connection.execute(sql).fetchall())

    def write(
        self,
        sql: str,
        target: Target,
        *,
        carries_row_ids: bool = False,
        count: int | None = None,
    ) -> tuple[NewFile, ...]:
        """Files with the rows of a query over the table's columns."""

        def write() -> tuple[NewFile, ...]:
            self._work.reach([target.path])
            brought = self._brought.get(sql)
            into_one = brought is not None and _fits_one(brought, target)
            self._pass_on(brought)
            return write_files(
                self._work,
                sql,
                target.in_even_groups(count) if into_one and count else target,
                carries_row_ids=carries_row_ids,
                zeros=brought is None or not brought.has_no_negative_zeros,
                nans=brought is None or not brought.has_no_nans,
                into_one=into_one,
            )

        def undo(files: tuple[NewFile, ...]) -> None:
            self._work.store.delete([file.path for file in files])

        return self._run(write, undo)

    def catalog_rows(
        self, sql: str, columns: Sequence[Column], *, numbered: bool = False
    ) -> Rows | None:
        """The rows of a query as the catalog keeps them; None if it cannot keep them exactly."""
        connection = self._work.connection
        return self._run(lambda: as_text(connection, sql, columns, numbered=numbered))

    def delete(
        self,
        pointers: str,
        target: Target,
        files: Iterable[DataFile],
        stamp: int,
        count: int | None = None,  # noqa: ARG002
    ) -> list[NewDeleteFile]:
        """Delete files for rows of these files that a query points at."""
        with translate_duckdb_errors(self._doing):
            self._work.reach([target.path])
            return [
                write_delete_file(
                    self._work,
                    target,
                    file,
                    f"SELECT {ROW_POSITION} AS pos FROM ({pointers}) WHERE {ROW_FILE} = {file.id}",
                    stamp,
                )
                for file in files
            ]

    def restamp(self, target: Target, file: NewDeleteFile, stamp: int) -> NewDeleteFile:
        """A delete file for another snapshot than was expected."""
        with translate_duckdb_errors(self._doing):
            self._work.reach([target.path])
            return restamp_file(self._work, target, file, stamp)

    def over(self, sql: str, do: Callable[[Workbench, str], Answer]) -> list[Answer]:
        """What `do` finds out about the rows of a query."""
        return [self._run(lambda: do(self._work, sql))]

    def meet(
        self,
        names: Sequence[str],  # noqa: ARG002
        do: Callable[[Workbench], Answer],
        *,
        most: int | None = None,  # noqa: ARG002
    ) -> Answer:
        """What `do` makes of relations: all are in one place."""
        return self._run(lambda: do(self._work))

    def pieces(self, plan: ScanPlan) -> None:  # noqa: ARG002
        """None: rows are computed here."""
        return

    def run(
        self,
        tasks: Sequence[Task],
        do: Callable[[Workbench, Task], Answer],
        undo: Callable[[Answer], object] | None = None,
    ) -> Iterator[Answer]:
        """What came of each piece of work, one after the other, each on a connection of its own."""
        done: list[Answer] = []
        for task in tasks:
            work = self._workbench()
            try:
                done.append(work.run(self._doing, partial(do, work, task)))
            except BaseException:
                if undo is not None:
                    for each in done:
                        undo(each)
                raise
            finally:
                work.connection.close()
            yield done[-1]

    def found(
        self, paths: Sequence[str], target: Target, options: Mapping[str, Any]
    ) -> list[NewFile]:
        """What the footers of existing Parquet files say, for registering them."""
        with translate_duckdb_errors(self._doing):
            self._work.reach(paths)
            look_first(self._work.store, paths)
            return found_files(
                self._work.connection,
                paths,
                target.columns,
                table=target.table,
                partition=target.partitioning,
                **options,
            )


def _fits_one(brought: IncomingData, target: Target) -> bool:
    """Whether all of it is one file's worth, for certain. DuckDB makes row groups of one file on
    all cores, which it does not where it keeps to a size."""
    if target.partitioning is not None or target.sorting:
        return False
    return brought.bytes is not None and brought.bytes <= target.file_bytes


def _paths(data: Any) -> list[str]:
    if isinstance(data, str | SourceFiles):
        return [data] if isinstance(data, str) else list(data.paths)
    return [item for item in data if isinstance(item, str)] if isinstance(data, list) else []


_JOB: type[Job] = LocalJob
