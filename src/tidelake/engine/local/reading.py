"""A query of the local engine, for whoever wants its rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NoReturn

from tidelake.duck import arrow_source, settle
from tidelake.engine.export import (
    arrow_sql,
    as_pandas,
    as_polars,
    checked_rows,
    columns_of_query,
    columns_of_relation,
)
from tidelake.engine.local.errors import translate_duckdb_errors
from tidelake.errors import Unsupported
from tidelake.model.literal import Value
from tidelake.model.names import fold
from tidelake.model.schema import Column

if TYPE_CHECKING:
    import duckdb
    import pandas
    import polars
    import pyarrow as pa

    from tidelake.engine.local.workbench import Workbench

BATCH_ROWS = 122_880


class LocalReading:
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
        self._work.keep()
        with translate_duckdb_errors(self._doing):
            return settle(self._work.connection).sql(self._sql, params=self._parameters)

    def to_spark(self) -> NoReturn:
        raise Unsupported(
            "these rows are read by DuckDB in this process", hint="ask an engine on Spark for them"
        )

    def to_arrow(self) -> pa.Table:
        """From a relation, which DuckDB turns into Arrow on all cores; a result only on one. But
        a relation gives other names to columns that are called alike."""
        return self._work.run(self._doing, self._arrow_table)

    def _arrow_table(self) -> pa.Table:
        """What told the columns gives the rows too, if they are for Arrow as they are."""
        relation = self._relation()
        sql = self._arrow_sql()
        if self._has_alike():
            return self._run(sql).to_arrow_table()
        if relation is None or sql != self._sql:
            relation = settle(self._work.connection).sql(sql, params=self._parameters)
        return relation.to_arrow_table()

    def _relation(self) -> duckdb.DuckDBPyRelation | None:
        """The query, if it has to be asked for its columns and has no parameters; with those it
        would run at once."""
        if self._columns is not None or self._parameters is not None:
            return None
        relation = settle(self._work.connection).sql(self._sql)
        self._columns = columns_of_relation(relation)
        return relation

    def to_batches(self, rows: int = BATCH_ROWS) -> pa.RecordBatchReader:
        """A stream: memory stays bounded by a few batches, whatever the table's size."""
        import pyarrow as pa

        size = checked_rows(rows)

        def started() -> pa.RecordBatchReader:
            return self._source(self._arrow_sql()).to_arrow_reader(size)

        reader = self._work.run(self._doing, started)
        return pa.RecordBatchReader.from_batches(reader.schema, self._batches(reader))

    def _batches(self, reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
        following = partial(next, iter(reader), None)
        while (batch := self._work.run(self._doing, following)) is not None:
            yield batch

    def schema(self) -> pa.Schema:
        """That of the batches. Nothing is read for it."""
        import pyarrow as pa

        def described() -> pa.Schema:
            empty = f"SELECT * FROM ({self._arrow_sql()}) LIMIT 0"
            return (
                arrow_source(self._work.connection, empty, self._parameters).to_arrow_table().schema
            )

        found = self._work.run(self._doing, described)
        names = [column.name for column in self._described()]  # a query around it renames some
        fields = (field.with_name(name) for name, field in zip(names, found, strict=True))
        return pa.schema(fields, found.metadata)

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
            self._columns = columns_of_query(self._work.connection, self._sql, self._parameters)
        return self._columns

    def _has_alike(self) -> bool:
        """Whether columns are called alike."""
        names = {fold(column.name) for column in self._described()}
        return len(names) < len(self._described())

    def _source(self, sql: str) -> duckdb.DuckDBPyConnection | duckdb.DuckDBPyRelation:
        if self._has_alike():
            return self._run(sql)
        return arrow_source(self._work.connection, sql, self._parameters)

    def _run(self, sql: str) -> duckdb.DuckDBPyConnection:
        """The query, or one around it."""
        return self._work.connection.execute(sql, self._parameters)

    def _arrow_sql(self) -> str:
        return arrow_sql(self._sql, self._described())
