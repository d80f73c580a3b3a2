"""A DataFrame of the Spark engine, for whoever wants its rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

from tidelake.engine.export import as_polars, checked_rows, frame_of
from tidelake.engine.spark.arrow_reader import as_table
from tidelake.engine.spark.errors import translate_spark_errors
from tidelake.engine.spark.job_names import naming
from tidelake.errors import Unsupported

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow as pa
    from pyspark.sql import DataFrame


class SparkReading:
    """A DataFrame that has not run yet; each `to_*` runs it once."""

    def __init__(self, frame: DataFrame, doing: str) -> None:
        self._frame = frame
        self._doing = doing

    def to_spark(self) -> DataFrame:
        return self._frame

    def to_duckdb(self) -> NoReturn:
        raise Unsupported("these rows are computed by Spark", hint="ask for to_spark()")

    def to_arrow(self) -> pa.Table:
        with self._running():
            return as_table(self._frame)

    def to_batches(self, rows: int = 122_880) -> pa.RecordBatchReader:
        return self.to_arrow().to_reader(max_chunksize=checked_rows(rows))

    def to_pandas(self) -> pandas.DataFrame:
        return frame_of(self.to_arrow())

    def to_polars(self) -> polars.DataFrame:
        return as_polars(self.to_arrow())

    def count(self) -> int:
        with self._running():
            return self._frame.count()

    @contextmanager
    def _running(self) -> Iterator[None]:
        with naming(self._frame.sparkSession, self._doing), translate_spark_errors(self._doing):
            yield
