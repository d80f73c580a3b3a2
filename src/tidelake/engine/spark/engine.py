"""The Spark engine: plans and queries run on a classic session and on Spark Connect alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from tidelake.engine.protocols import Engine, Reading
from tidelake.engine.row_source import Tables
from tidelake.engine.spark.job import SparkJob
from tidelake.engine.spark.plan_frames import PlanFrames
from tidelake.engine.spark.query import Query
from tidelake.engine.spark.reading import SparkReading
from tidelake.engine.spark.types import is_exact
from tidelake.model.names import quote
from tidelake.model.schema import Column
from tidelake.plan.as_of import AsOfPlan
from tidelake.plan.scan import ScanPlan

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from tidelake.engine.local.engine import LocalEngine


class SparkEngine:
    """Runs plans on a Spark session: the one given, else the active one."""

    name = "spark"
    bytes_at_once = 64 * 1024**3

    def __init__(self, spark: SparkSession | None, local: LocalEngine) -> None:
        self._frames = PlanFrames(spark, local)

    @property
    def session(self) -> SparkSession:
        return self._frames.spark

    def holds(self, columns: Iterable[Column]) -> bool:
        """Whether Spark has types for all of these."""
        return all(map(is_exact, columns))

    def read(self, plan: ScanPlan | AsOfPlan) -> SparkReading:
        """The plan as a query that runs when its rows are asked for."""
        return SparkReading(self.frame(plan), f"cannot read {plan.table}")

    def query(
        self,
        sql: str,
        tables: Tables,
        parameters: Mapping[str, Any] | None = None,
    ) -> SparkReading:
        """A SELECT in DuckDB's SQL over plans, each standing under the name it is given here, and
        with these values for the parameters in it."""
        with closing(Query(self._frames)) as statement:
            for name, rows in tables.items():
                statement.add(self._frames.relation(rows), name)
            found = statement.run(sql, parameters or {})
        return SparkReading(found, "cannot run the query")

    def described(
        self,
        sql: str,
        tables: Tables,
        parameters: Mapping[str, Any] | None = None,
    ) -> list[tuple[str, Any]]:
        """The columns that such a SELECT gives."""
        with closing(Query(self._frames)) as statement:
            for name, rows in tables.items():
                statement.shapes.declare(name, self._frames.relation(rows).columns)
            found = statement.described(sql, parameters or {})
        return [(column.name, column.duckdb_type) for column in found]

    def incoming(
        self,
        sql: str,
        tables: Tables,
        columns: Sequence[Column],
        *,
        few: bool = False,
    ) -> DataFrame | pa.Table:
        """The rows of such a SELECT, for these columns."""
        places = ", ".join(f"c{n}" for n in range(len(columns)))
        chosen = ", ".join(
            f"CAST(c{n} AS {c.duckdb_type}) AS {quote(c.name)}" for n, c in enumerate(columns)
        )
        found = self.query(f"SELECT {chosen} FROM ({sql}) AS r({places})", tables)
        return found.to_arrow() if few else found.to_spark()

    def job(self, doing: str) -> SparkJob:
        """The statements of one write; `doing` says which, should it fail."""
        return SparkJob(self._frames, doing)

    def frame(self, plan: ScanPlan | AsOfPlan) -> DataFrame:
        """The plan as a DataFrame. Nothing has been read yet but rows kept in the catalog."""
        return self._frames.frame(plan)


_ENGINE: type[Engine] = SparkEngine
_READING: type[Reading] = SparkReading
