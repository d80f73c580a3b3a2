"""Rows that are computed when they are asked for, in whatever form."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from tidelake.engine import Engine, Reading
from tidelake.session.session import Session

if TYPE_CHECKING:
    import duckdb
    import pandas
    import polars
    import pyarrow as pa


class LazyRows(ABC):
    """The same `to_*` methods as a Scan has, over what `_reading` makes."""

    _session: Session

    @abstractmethod
    def _reading(self, engine: Engine, *, ordered: bool = True) -> Reading:
        """A reading of the rows on an engine."""

    def _default_engine(self) -> Engine:
        """The engine that the rows are computed on unless another is asked for."""
        return self._session.engine

    def _local_engine(self) -> Engine:
        """The engine in this process."""
        return self._session.local

    def _on_spark(self, spark: Any) -> Engine:
        return self._session.spark_engine(spark)

    def count(self) -> int:
        """How many rows."""
        return self._reading(self._default_engine(), ordered=False).count()

    def __len__(self) -> int:
        return self.count()

    def __bool__(self) -> bool:
        """True, with rows or without: nothing is read to find out."""
        return True

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows as a stream of Arrow's C interface, which Polars, pandas, DuckDB, pyarrow and
        Tidelake's own writes take as it is."""
        return self.to_batches().__arrow_c_stream__(requested_schema)

    def to_dicts(self) -> list[dict[str, Any]]:
        """The rows as dicts, with the values that Arrow has for Python."""
        rows: list[dict[str, Any]] = self.to_arrow().to_pylist()
        return rows

    def to_arrow(self) -> pa.Table:
        """The rows as an Arrow table."""
        return self._reading(self._default_engine()).to_arrow()

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a pandas frame that loses nothing."""
        return self._reading(self._default_engine()).to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """The rows as a Polars frame."""
        return self._reading(self._default_engine()).to_polars()

    def to_batches(self, rows: int = 122_880) -> pa.RecordBatchReader:
        """A stream of Arrow batches, read in this process."""
        return self._reading(self._local_engine()).to_batches(rows)

    def to_duckdb(self) -> duckdb.DuckDBPyRelation:
        """A DuckDB relation, not yet run."""
        return self._reading(self._local_engine()).to_duckdb()

    def to_spark(self, spark: Any = None) -> Any:
        """A Spark DataFrame, not yet run and in no order; on the session given, the lake's, or
        the active one."""
        return self._reading(self._on_spark(spark), ordered=False).to_spark()
