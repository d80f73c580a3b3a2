"""The local engine for strangers: what they ask runs in cells, what they write is written here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING, Any, NoReturn

from tidelake.duck import settle
from tidelake.engine.arrow_rows import sendable
from tidelake.engine.cell.cell import Cell, Cells
from tidelake.engine.cell.question import Question
from tidelake.engine.export import as_pandas, as_polars, checked_rows, columns_of_query
from tidelake.engine.local.engine import LocalEngine
from tidelake.engine.local.reading import BATCH_ROWS
from tidelake.engine.protocols import Engine, Reading
from tidelake.engine.row_source import Tables
from tidelake.errors import Unsupported
from tidelake.model.literal import Value
from tidelake.model.sandbox import Confinement
from tidelake.plan.as_of import AsOfPlan
from tidelake.plan.scan import ScanPlan

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow as pa


class CellEngine(LocalEngine):
    """Reads plans and runs queries in cells."""

    def __init__(
        self,
        storage_options: Mapping[str, str] | None,
        temp_directory: str | None,
        confinement: Confinement,
    ) -> None:
        super().__init__(storage_options, temp_directory, confinement)
        inner = LocalEngine(storage_options, temp_directory, confinement)
        self._cells = Cells(inner, confinement.sandbox)
        self._asked: set[Cell] = set()
        self._cancelled = False
        self._lock = Lock()

    def __reduce__(self) -> tuple[type[LocalEngine], tuple[Any, ...]]:
        return CellEngine, self.identity

    def for_tasks(self) -> LocalEngine:
        return LocalEngine(*self.identity)

    def close(self) -> None:
        super().close()
        self._cells.close()

    def apart(self) -> CellEngine:
        """An engine with the same cells, for questions that can be cancelled together."""
        assert self.confinement is not None
        other = CellEngine(self.options, self.identity[1], self.confinement)
        other._cells = self._cells
        return other

    def cancel(self) -> None:
        """End what this engine has been asked and is not done with, and take no more questions."""
        with self._lock:
            self._cancelled = True
            for cell in self._asked:
                cell.cancel()

    @contextmanager
    def one_cell(self) -> Iterator[Cell]:
        """A cell, for one question."""
        with self._cells.one() as cell:
            with self._lock:
                self._asked.add(cell)
                if self._cancelled:
                    cell.cancel()
            try:
                yield cell
            finally:
                with self._lock:  # whoever is cancelled from now on is another's
                    self._asked.discard(cell)

    def read(self, plan: ScanPlan | AsOfPlan) -> CellReading:
        return CellReading(self, Question(plan))

    def query(
        self,
        sql: str,
        tables: Tables,
        parameters: Mapping[str, Value] | None = None,
    ) -> CellReading:
        question = Question(sql=sql, tables=sendable(tables), parameters=parameters)
        return CellReading(self, question)


class CellReading:
    """A query that a cell runs, once for each `to_*`."""

    def __init__(self, engine: CellEngine, question: Question) -> None:
        self._engine, self._question = engine, question

    def to_arrow(self) -> pa.Table:
        return self.to_batches().read_all()

    def to_batches(
        self, rows: int = BATCH_ROWS, halts: Callable[[], bool] | None = None
    ) -> pa.RecordBatchReader:
        """If `halts` says so while they are computed, nobody wants them any more."""
        import pyarrow as pa

        batches = self._answer(replace(self._question, rows=checked_rows(rows)), halts)
        empty = next(batches)
        return pa.RecordBatchReader.from_batches(empty.schema, batches)

    def schema(self) -> pa.Schema:
        """That of the batches. Nothing is read for it."""
        (empty,) = self._answer(replace(self._question, describes=True))
        return empty.schema

    def to_pandas(self) -> pandas.DataFrame:
        with closing(self._engine.workbench().connection) as connection:
            settle(connection).register("rows", self.to_arrow())
            sql = "SELECT * FROM rows"
            return as_pandas(connection, sql, columns_of_query(connection, sql, None), None)

    def to_polars(self) -> polars.DataFrame:
        return as_polars(self.to_arrow())

    def to_duckdb(self) -> NoReturn:
        raise Unsupported(
            "a sandbox gives no relations: they would be read outside of it",
            hint="take the rows with to_arrow()",
        )

    def to_spark(self) -> NoReturn:
        raise Unsupported("these rows are read by DuckDB", hint="ask an engine on Spark for them")

    def count(self) -> int:
        (batch,) = self._answer(replace(self._question, counts=True))
        return int(batch["count"][0].as_py())

    def _answer(
        self, question: Question, halts: Callable[[], bool] | None = None
    ) -> Iterator[pa.RecordBatch]:
        with self._engine.one_cell() as cell:
            yield from cell.answer(question, halts)


_ENGINE: type[Engine] = CellEngine
_READING: type[Reading] = CellReading
