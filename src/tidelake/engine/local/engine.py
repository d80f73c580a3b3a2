"""The local engine: DuckDB in this process reads Parquet where it lies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any

from tidelake import duck
from tidelake.engine.local.errors import translate_duckdb_errors
from tidelake.engine.local.known_files import KnownFiles
from tidelake.engine.local.object_stores import allow_remote, ask_more_at_once, schemes_of
from tidelake.engine.local.reading import BATCH_ROWS, LocalReading
from tidelake.engine.local.workbench import Workbench
from tidelake.engine.protocols import Engine, Reading
from tidelake.engine.row_source import Tables
from tidelake.model.fork import keep_forever, tell_after_fork
from tidelake.model.literal import Value
from tidelake.model.sandbox import Confinement
from tidelake.model.schema import Column
from tidelake.plan.as_of import AsOfPlan
from tidelake.plan.scan import ScanPlan
from tidelake.scratch import Scratch
from tidelake.store.files import Store

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from tidelake.engine.local.job import LocalJob
    from tidelake.engine.local.selection import Selection
    from tidelake.store.cache import FileCache


class LocalEngine:
    """Runs plans in one private in-memory DuckDB. Every read and every write has a connection of
    its own to it, so they may overlap. Copies sent to other processes open their own."""

    name = "local"
    session = None
    bytes_at_once = 2 * 1024**3

    def __init__(
        self,
        storage_options: Mapping[str, str] | None = None,
        temp_directory: str | None = None,
        confinement: Confinement | None = None,
        cache: FileCache | None = None,
    ) -> None:
        self.options = dict(storage_options or {})
        self._temp_directory = temp_directory
        self.confinement = confinement
        self._cache = cache
        self._duck: tuple[duckdb.DuckDBPyConnection, Scratch] | None = None
        self._opening = Lock()
        self.is_alone = True
        self.is_small = False
        self._asks_more = False
        self._known = KnownFiles()
        self.store = Store(self.options, confinement, forget=cache.forget if cache else None)
        tell_after_fork(self)

    def after_fork(self) -> None:
        """Its threads have stayed behind: another DuckDB is made when it is needed. To close
        this one would wait for them forever."""
        if self._duck is not None:
            keep_forever(self._duck)
        self._duck = None
        self._opening = Lock()
        self._asks_more = False

    @property
    def identity(self) -> tuple[dict[str, str], str | None, Confinement | None]:
        """What another engine that does the same has in common with it. Copies of files are this
        process's own."""
        return self.options, self._temp_directory, self.confinement

    def __reduce__(self) -> tuple[type[LocalEngine], tuple[Any, ...]]:
        return LocalEngine, self.identity

    def for_tasks(self) -> LocalEngine:
        """The one that is sent to where each task has a process already."""
        return self

    def workbench(self) -> Workbench:
        """For a write, or whoever wants to know what the store itself has."""
        return self._bench(None)

    def _reader(self) -> Workbench:
        """For rows, which may come from copies of their files."""
        return self._bench(self._cache)

    def _bench(self, cache: FileCache | None) -> Workbench:
        with self._opening:
            if self._duck is None:
                scratch = Scratch(self._temp_directory)
                self._duck = self._opened(scratch), scratch
            connection, scratch = self._duck
            walls, known = self.confinement, self._known
            work = Workbench(connection.cursor(), self.options, scratch, walls, cache, known)
            work.is_small = self.is_small
            return work

    def _opened(self, scratch: Scratch) -> duckdb.DuckDBPyConnection:
        """What is confined can reach its stores from the beginning, and later no others."""
        connection = _duckdb(scratch)
        if (walls := self.confinement) is not None:
            far = schemes_of(walls.readable_places)
            allow_remote(connection, far, self.options)
            if far and self.is_alone:
                ask_more_at_once(connection)
            duck.confine(connection, walls.readable_places, walls.sandbox.memory)
        return connection

    def close(self) -> None:
        """Let DuckDB go, and what it spilled, as soon as the last rows have been read."""
        with self._opening:
            self._duck = None

    def holds(self, _: Iterable[Column]) -> bool:
        return True

    def read(self, plan: ScanPlan | AsOfPlan) -> Reading:
        """The plan as a query that runs when its rows are asked for."""
        work = self._reader()
        with translate_duckdb_errors(f"cannot read {plan.table}"):
            sql = work.scan(plan)
            self._look_far(work)
        return LocalReading(work, sql, f"cannot read {plan.table}", _output_columns(plan))

    def batches(
        self, plan: ScanPlan | AsOfPlan, rows: int = BATCH_ROWS
    ) -> Iterator[pa.RecordBatch]:
        """The plan's rows as a stream of Arrow batches."""
        return iter(self.read(plan).to_batches(rows))

    def job(self, doing: str) -> LocalJob:
        """The statements of one write; `doing` says which, should it fail."""
        from tidelake.engine.local.job import LocalJob

        return LocalJob(self.workbench, doing)

    def query(
        self,
        sql: str,
        tables: Tables,
        parameters: Mapping[str, Value] | None = None,
    ) -> Reading:
        """A DuckDB SELECT over plans, each standing under the name it is given here, and with
        these values for the parameters in it."""
        work = self._reader()
        with translate_duckdb_errors("cannot run the query"):
            for name, plan in tables.items():
                work.define(name, plan)
            self._look_far(work)
        return LocalReading(work, sql, "cannot run the query", parameters=parameters)

    def _look_far(self, work: Workbench) -> None:
        """Where files come from a store, DuckDB waits more than it works."""
        if work.is_far and self.is_alone and not self._asks_more and self.confinement is None:
            self._asks_more = True
            ask_more_at_once(work.connection)

    def described(
        self,
        sql: str,
        tables: Tables,
        parameters: Mapping[str, Value] | None = None,
    ) -> list[tuple[str, Any]]:
        """The columns that such a SELECT gives."""
        relation = LocalEngine.query(self, sql, tables, parameters).to_duckdb()
        return list(zip(relation.columns, relation.types, strict=True))

    def incoming(
        self,
        sql: str,
        tables: Tables,
        columns: Sequence[Column],
        *,
        few: bool = False,  # noqa: ARG002
    ) -> Selection:
        """The rows of such a SELECT, for these columns."""
        from tidelake.engine.local.selection import Selection

        return Selection(sql, tables, columns)


def _duckdb(scratch: Scratch) -> duckdb.DuckDBPyConnection:
    connection = duck.open_duckdb(scratch=scratch)
    # A scan by field ids looks empty to DuckDB, which would then join every row with every other.
    connection.execute("SET GLOBAL asof_loop_join_threshold = 0")
    # The system keeps files of a disk in memory; a second copy costs more than it saves.
    connection.execute("SET GLOBAL enable_external_file_cache = false")
    return connection


def _output_columns(plan: ScanPlan | AsOfPlan) -> tuple[Column, ...]:
    known = {column.name: column for column in plan.columns}
    return tuple(known.get(name) or Column(0, name, "int64") for name in plan.output)


_ENGINE: type[Engine] = LocalEngine
_READING: type[Reading] = LocalReading
