"""The local engine: DuckDB in this process reads Parquet where it lies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count
from threading import Lock
from typing import TYPE_CHECKING

from tidelake import duck
from tidelake.engine.export import arrow_sql, as_pandas, as_polars, checked_rows, described
from tidelake.engine.local import scan_sql
from tidelake.engine.local.errors import translated
from tidelake.engine.local.object_stores import allow_remote
from tidelake.engine.local.reshape import Source
from tidelake.engine.local.supply import Answer, Supply
from tidelake.engine.parquet.footer_shape import named_shape, shapes
from tidelake.errors import Corrupt
from tidelake.model.file import DataFile, DeleteFile, InlinedRows
from tidelake.model.fork import keep_forever, tell_after_fork
from tidelake.model.literal import Value
from tidelake.model.names import fold, quote
from tidelake.model.schema import Column
from tidelake.plan.as_of import AsOfPlan, state_sql, winners_sql
from tidelake.plan.scan import ScanPlan
from tidelake.scratch import Scratch
from tidelake.store.files import Store, is_local

if TYPE_CHECKING:
    import duckdb
    import pandas
    import polars
    import pyarrow as pa

    from tidelake.engine.local.job import LocalJob

BATCH_ROWS = 122_880


class LocalEngine:
    """Runs plans in one private in-memory DuckDB. Every read and every write has a connection of
    its own to it, so they may overlap. Copies sent to other processes open their own."""

    name = "local"

    def __init__(
        self, storage_options: Mapping[str, str] | None = None, temp_directory: str | None = None
    ) -> None:
        self._options = dict(storage_options or {})
        self._temp_directory = temp_directory
        self._duck: tuple[duckdb.DuckDBPyConnection, Scratch] | None = None
        self._opening = Lock()
        self.store = Store(self._options)
        tell_after_fork(self)

    def after_fork(self) -> None:
        """Its threads have stayed behind: another DuckDB is made when it is needed. To close
        this one would wait for them forever."""
        if self._duck is not None:
            keep_forever(self._duck)
        self._duck = None
        self._opening = Lock()

    def __reduce__(self) -> tuple[type[LocalEngine], tuple[dict[str, str], str | None]]:
        return LocalEngine, (self._options, self._temp_directory)

    def workbench(self) -> Workbench:
        with self._opening:
            if self._duck is None:
                scratch = Scratch(self._temp_directory)
                self._duck = _duckdb(scratch), scratch
            connection, scratch = self._duck
            return Workbench(connection.cursor(), self._options, scratch)

    def close(self) -> None:
        """Let DuckDB go, and what it spilled, as soon as the last rows have been read."""
        with self._opening:
            self._duck = None

    def read(self, plan: ScanPlan | AsOfPlan) -> Reading:
        """The plan as a query that runs when its rows are asked for."""
        work = self.workbench()
        with translated(f"cannot read {plan.table}"):
            sql = work.scan(plan)
        return Reading(work, sql, f"cannot read {plan.table}", _output_columns(plan))

    def batches(self, plan: ScanPlan, rows: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
        """The plan's rows as a stream of Arrow batches."""
        return iter(self.read(plan).to_batches(rows))

    def job(self, doing: str) -> LocalJob:
        """The statements of one write; `doing` says which, should it fail."""
        from tidelake.engine.local.job import LocalJob

        return LocalJob(self, doing)

    def query(
        self,
        sql: str,
        tables: Mapping[str, ScanPlan | AsOfPlan],
        parameters: Mapping[str, Value] | None = None,
    ) -> Reading:
        """A DuckDB SELECT over plans, each standing under the name it is given here, and with
        these values for the parameters in it."""
        work = self.workbench()
        with translated("cannot run the query"):
            for name, plan in tables.items():
                work.define(name, plan)
        return Reading(work, sql, "cannot run the query", parameters=parameters)


def _duckdb(scratch: Scratch) -> duckdb.DuckDBPyConnection:
    connection = duck.opened(scratch=scratch)
    # A scan by field ids looks empty to DuckDB, which would then join every row with every other.
    connection.execute("SET GLOBAL asof_loop_join_threshold = 0")
    return connection


def _output_columns(plan: ScanPlan | AsOfPlan) -> tuple[Column, ...]:
    known = {column.name: column for column in plan.columns}
    return tuple(known.get(name) or Column(0, name, "int64") for name in plan.output)


class Reading:
    """A query that has been prepared and not yet run; each `to_*` runs it once.

    `columns` are known for scans of a table and let types that Arrow cannot hold be
    carried over exactly or refused by name; other queries ask DuckDB for their types.
    """

    def __init__(
        self,
        work: Workbench,
        sql: str,
        doing: str,
        columns: Sequence[Column] | None = None,
        parameters: Mapping[str, Value] | None = None,
    ) -> None:
        self._work = work
        self._sql = sql
        self._doing = doing
        self._columns = columns
        self._parameters = dict(parameters) if parameters else None

    def to_duckdb(self) -> duckdb.DuckDBPyRelation:
        """A relation lives as long as its holder likes, and may spill for as long."""
        self._work.scratch.keep()
        with translated(self._doing):
            return self._work.connection.sql(self._sql, params=self._parameters)

    def to_arrow(self) -> pa.Table:
        """From a relation, which DuckDB turns into Arrow on all cores; a result only on one. But
        a relation gives other names to columns that are called alike."""
        return self._work.run(self._doing, self._arrow_table)

    def _arrow_table(self) -> pa.Table:
        sql = self._arrow_sql()
        names = {fold(column.name) for column in self._described()}
        if len(names) < len(self._described()):
            return self._run(sql).to_arrow_table()
        return self._work.connection.sql(sql, params=self._parameters).to_arrow_table()

    def to_batches(self, rows: int = BATCH_ROWS) -> pa.RecordBatchReader:
        """A stream: memory stays bounded by a few batches, whatever the table's size."""
        import pyarrow as pa

        size = checked_rows(rows)

        def started() -> pa.RecordBatchReader:
            return self._run(self._arrow_sql()).to_arrow_reader(size)

        reader = self._work.run(self._doing, started)
        return pa.RecordBatchReader.from_batches(reader.schema, self._batches(reader))

    def _batches(self, reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
        following = partial(next, iter(reader), None)
        while (batch := self._work.run(self._doing, following)) is not None:
            yield batch

    def to_pandas(self) -> pandas.DataFrame:
        connection = self._work.connection

        def frame() -> pandas.DataFrame:
            return as_pandas(connection, self._sql, self._described(), self._parameters)

        return self._work.run(self._doing, frame)

    def to_polars(self) -> polars.DataFrame:
        return as_polars(self.to_arrow())

    def count(self) -> int:
        counting = f"SELECT count(*) FROM ({self._sql})"
        row = self._work.run(self._doing, lambda: self._run(counting).fetchone())
        return int(row[0]) if row else 0

    def _described(self) -> Sequence[Column]:
        if self._columns is None:
            self._columns = described(self._work.connection, self._sql, self._parameters)
        return self._columns

    def _run(self, sql: str) -> duckdb.DuckDBPyConnection:
        """The query, or one around it."""
        return self._work.connection.execute(sql, self._parameters)

    def _arrow_sql(self) -> str:
        return arrow_sql(self._sql, self._described())


class Workbench:
    """A connection on which plans become views and queries run; nobody else sees them. While
    somebody has it, the folder that DuckDB spills into stays."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        storage_options: Mapping[str, str],
        scratch: Scratch,
    ) -> None:
        self.connection = connection
        self.scratch = scratch
        self.supply = Supply(connection)
        self._options = dict(storage_options)
        self.store = Store(storage_options)
        self._names = (f"inlined_{n}" for n in count())

    def run(
        self,
        doing: str,
        statement: Callable[[], Answer],
        undo: Callable[[Answer], object] | None = None,
    ) -> Answer:
        """Run what may take long; Ctrl-C ends it. `doing` says what it was, should it fail."""

        def run() -> Answer:
            with translated(doing):
                return statement()

        return self.supply.run(run, undo)

    def define(self, name: str, plan: ScanPlan | AsOfPlan) -> None:
        self.connection.execute(f"CREATE TEMP VIEW {quote(name)} AS {self.scan(plan)}")

    def scan(self, plan: ScanPlan | AsOfPlan) -> str:
        """One SELECT that reads the plan, with all it needs registered on the connection."""
        if isinstance(plan, AsOfPlan):
            return self._state(plan)
        self.reach(file.path for file in plan.files)
        self._check_field_ids(plan)
        found = self._inspected([f for f in plan.files if scan_sql.needs_inspection(plan, f)])
        branches = [
            scan_sql.group_branch(plan, group, self._deletes(group.files, plan.snapshot_id))
            for group in scan_sql.arrange(plan, found)
        ]
        branches += [
            scan_sql.inlined_branch(plan, inlined, self._register(inlined))
            for inlined in plan.inlined
            if inlined.rows
        ]
        return scan_sql.scan_sql(plan, branches)

    def _state(self, plan: AsOfPlan) -> str:
        facts = " UNION ALL ".join(self.scan(part) for part in plan.parts)
        return state_sql(plan, winners_sql(plan, f"({facts})"))

    def reach(self, paths: Iterable[str]) -> None:
        """Let the connection open these paths, wherever they are."""
        remote = next((path for path in paths if not is_local(path)), None)
        if remote:
            allow_remote(self.connection, remote, self._options)

    def _check_field_ids(self, plan: ScanPlan) -> None:
        """Columns of a file without field ids would all be missing, and so read as NULL.

        Whoever writes such files writes all of them so: the first is looked at, and those
        that are not named as DuckDB names its own.
        """
        numbered = [f for f in plan.files if f.mapping_id is None and not f.encryption_key]
        suspects = numbered[:1] + [f for f in numbered[1:] if "/ducklake-" not in f.path]
        found = shapes(self.connection, [file.path for file in suspects]) if suspects else {}
        for path, fields in found.items():
            if all(field.id is None for field in fields):
                raise Corrupt(
                    f"{plan.table}: {path} has neither field ids nor a name mapping, so its"
                    " columns cannot be told apart",
                    hint="register the file again with DuckDB's ducklake_add_data_files",
                )

    def _inspected(self, files: Sequence[DataFile]) -> dict[str, tuple[Source, ...]]:
        plain = [file.path for file in files if not file.encryption_key]
        found = shapes(self.connection, plain) if plain else {}
        for file in files:
            if file.encryption_key:
                reading = scan_sql.encrypted_read(file.path, file.encryption_key)
                found[file.path] = named_shape(self.connection.sql(f"FROM {reading}"))
        return found

    def _deletes(self, files: Sequence[DataFile], snapshot_id: int) -> str | None:
        branches = []
        plain: list[tuple[int, DeleteFile]] = []
        for place, file in enumerate(files):
            gone = list(file.deleted_positions)
            for delete in file.deletes:
                if delete.format == "puffin":
                    gone += self._vector(delete)
                elif key := delete.encryption_key:
                    branches.append(
                        scan_sql.encrypted_delete_branch(delete.path, key, place, snapshot_id)
                    )
                else:
                    plain.append((place, delete))
            if gone:
                listed = ", ".join(str(position) for position in gone)
                branches.append(f"SELECT {place}::UBIGINT AS file, unnest([{listed}]) AS pos")
        branches += self._plain_deletes(plain, snapshot_id)
        return " UNION ALL ".join(branches) or None

    def _plain_deletes(self, deletes: list[tuple[int, DeleteFile]], snapshot_id: int) -> list[str]:
        if not deletes:
            return []
        found = shapes(self.connection, [delete.path for _, delete in deletes])
        by_columns: dict[tuple[str, str | None], list[tuple[int, str]]] = {}
        for place, delete in deletes:
            names = [source.name for source in found[delete.path]]
            stamped = names[2:3] == ["_ducklake_internal_snapshot_id"] and not delete.is_staged
            columns = (names[1], names[2] if stamped else None)
            by_columns.setdefault(columns, []).append((place, delete.path))
        return [
            scan_sql.delete_branch(
                [path for _, path in group], [place for place, _ in group], columns, snapshot_id
            )
            for columns, group in by_columns.items()
        ]

    def _vector(self, delete: DeleteFile) -> list[int]:
        from tidelake.engine.parquet.puffin import positions

        return positions(self.store.read(delete.path), delete.path)

    def _register(self, inlined: InlinedRows) -> str:
        import pyarrow as pa

        name = next(self._names)
        width = len(inlined.columns) + 2
        values = list(zip(*inlined.rows, strict=True))
        kinds = [
            pa.int64() if index < 2 else pa.binary() if _is_bytes(values[index]) else pa.string()
            for index in range(width)
        ]
        arrays = [pa.array(value, kind) for value, kind in zip(values, kinds, strict=True)]
        rows = pa.table(arrays, [f"c{n}" for n in range(width)])
        # A table of its own: joins push filters into scans that Arrow scans do not know.
        self.connection.register("incoming", rows)
        self.connection.execute(f"CREATE TEMP TABLE {name} AS FROM incoming")
        self.connection.unregister("incoming")
        return name


def _is_bytes(values: Sequence[object]) -> bool:
    return any(isinstance(value, bytes) for value in values)
