"""What a query can read beside plans."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from tidelake.plan.as_of import AsOfPlan
from tidelake.plan.scan import ScanPlan

if TYPE_CHECKING:
    import pyarrow as pa


class RowSource(Protocol):
    """Rows that a feature finds, to stand in a query as a table does."""

    def to_batches(self, rows: int = ...) -> pa.RecordBatchReader: ...

    def to_spark(self, spark: Any = ...) -> Any: ...


Tables: TypeAlias = Mapping[str, ScanPlan | AsOfPlan | RowSource]
"""What a query reads, by the names that it calls it by."""
