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


class PassingRows:
    """Rows that a query goes through once, from end to end, and so need not be kept for it. Whoever
    asks again has them found again."""

    def __init__(self, rows: RowSource) -> None:
        self._rows = rows
        self._begun: pa.RecordBatchReader | None = None

    def to_batches(self, rows: int = 122_880) -> pa.RecordBatchReader:
        return self._rows.to_batches(rows)

    def to_spark(self, spark: Any = None) -> Any:
        return self._rows.to_spark(spark)

    def begin(self) -> pa.RecordBatchReader:
        """What speaks against them is said here, before anybody else is asked to read them."""
        if self._begun is None:
            self._begun = self._rows.to_batches()
        return self._begun

    def __arrow_c_schema__(self) -> object:
        return self.begin().schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        begun, self._begun = self._begun, None
        reader = self._rows.to_batches() if begun is None else begun
        return reader.__arrow_c_stream__(requested_schema)


def pass_on(rows: ScanPlan | AsOfPlan | RowSource) -> ScanPlan | AsOfPlan | RowSource:
    """For a query that goes through them once; plans are never kept."""
    return rows if isinstance(rows, ScanPlan | AsOfPlan) else PassingRows(rows)


Tables: TypeAlias = Mapping[str, ScanPlan | AsOfPlan | RowSource]
"""What a query reads, by the names that it calls it by."""
