"""Rows that are in memory already, and so can be sent to where there is no catalog."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tidelake.engine.declare.arrow import arrow_columns
from tidelake.engine.row_source import Tables
from tidelake.model.types import ARROW_NAMES
from tidelake.plan.as_of import AsOfPlan
from tidelake.plan.scan import ScanPlan

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class ArrowRows:
    """An Arrow table, to stand in a query."""

    table: pa.Table

    @staticmethod
    def of(columns: Mapping[str, str], rows: Sequence[Sequence[object]]) -> ArrowRows:
        """Of columns that are given by name and type."""
        import pyarrow as pa

        fields = [(name, _arrow_type(kind)) for name, kind in columns.items()]
        values = list(zip(*rows, strict=True)) or [()] * len(fields)
        arrays = [pa.array(each, kind) for each, (_, kind) in zip(values, fields, strict=True)]
        return ArrowRows(pa.table(arrays, schema=pa.schema(fields)))

    def to_batches(self, rows: int = 122_880) -> pa.RecordBatchReader:
        return self.table.to_reader(max_chunksize=rows)

    def to_spark(self, spark: Any = None) -> Any:
        from tidelake.engine.spark.arrow_reader import from_here

        return from_here(spark, self.table.to_batches(), arrow_columns(self.table.schema))


def _arrow_type(kind: str) -> pa.DataType:
    """A scalar type of the catalog, or a list of one."""
    import pyarrow as pa

    if kind.endswith("[]"):
        return pa.list_(_arrow_type(kind[:-2]))
    if kind == "timestamptz":
        return pa.timestamp("us", "UTC")
    return pa.type_for_alias(ARROW_NAMES[kind])


def sendable(tables: Tables) -> Tables:
    """The same for another process: what is no plan is found now."""
    return {
        name: each
        if isinstance(each, ScanPlan | AsOfPlan)
        else ArrowRows(each.to_batches().read_all())
        for name, each in tables.items()
    }
