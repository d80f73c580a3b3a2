"""Rows that are computed when they are asked for, in whatever form."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import duckdb
    import pandas
    import polars
    import pyarrow as pa

    from tidelake.lake.lake import Lake


class LazyRows(ABC):
    """The same `to_*` methods as a Scan has, over what `_reading` makes."""

    _lake: Lake

    @abstractmethod
    def _reading(self, engine: Any, *, ordered: bool = True) -> Any:
        """A reading of the rows on an engine."""

    def _usual(self) -> Any:
        """The engine that the rows are computed on unless another is asked for."""
        return self._lake._engine

    def _nearby(self) -> Any:
        """The engine in this process."""
        return self._lake._local

    def _on_spark(self, spark: Any) -> Any:
        return self._lake._spark_engine(spark)

    def count(self) -> int:
        """How many rows."""
        return int(self._reading(self._usual(), ordered=False).count())

    def to_arrow(self) -> pa.Table:
        table: pa.Table = self._reading(self._usual()).to_arrow()
        return table

    def to_pandas(self) -> pandas.DataFrame:
        frame: pandas.DataFrame = self._reading(self._usual()).to_pandas()
        return frame

    def to_polars(self) -> polars.DataFrame:
        frame: polars.DataFrame = self._reading(self._usual()).to_polars()
        return frame

    def to_batches(self, rows: int = 122_880) -> pa.RecordBatchReader:
        """A stream of Arrow batches, read in this process."""
        found: pa.RecordBatchReader = self._reading(self._nearby()).to_batches(rows)
        return found

    def to_duckdb(self) -> duckdb.DuckDBPyRelation:
        """A DuckDB relation, not yet run."""
        found: duckdb.DuckDBPyRelation = self._reading(self._nearby()).to_duckdb()
        return found

    def to_spark(self, spark: Any = None) -> Any:
        """A Spark DataFrame, not yet run and in no order; on the session given, the lake's, or
        the active one."""
        return self._reading(self._on_spark(spark), ordered=False).to_spark()
