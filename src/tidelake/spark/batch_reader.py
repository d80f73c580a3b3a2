"""Reading a table, its changes or a view with `spark.read.format("tidelake")`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition

from tidelake.spark.filters import understood_filters
from tidelake.spark.lakes import lake_of
from tidelake.spark.pieces import PieceReader, check_schema
from tidelake.spark.relation import NamedRelation

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

    from tidelake.model.schema import Column
    from tidelake.spark.options import SourceOptions


class BatchReader(DataSourceReader):
    """Plans on the driver, reads on the executors. The copy that goes there has forgotten which
    lake it is about: it holds what opens files, and the pieces hold the rest."""

    def __init__(self, options: SourceOptions, schema: StructType, pinned: int | None) -> None:
        options.check_read()
        self._options = options
        with lake_of(options, read_only=True) as lake:
            relation = NamedRelation.of(lake, options, pinned)
            self._columns: Sequence[Column] = relation.columns()
            self._snapshot = relation.snapshot_id
            names = check_schema(schema, self._columns, relation.name)
            self._pieces = PieceReader(lake.session.local, schema, names)
        self._filters: list[Filter] = []
        self.pushFilters: Any = _FilterPush(self._filters)

    def __getstate__(self) -> dict[str, Any]:
        return {"_pieces": self._pieces}

    def partitions(self) -> list[InputPartition]:
        with lake_of(self._options, read_only=True) as lake:
            relation = NamedRelation.of(lake, self._options, self._snapshot)
            found = understood_filters(self._filters, self._columns)
            return relation.pieces(self._pieces.names, found)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self._pieces.batches(partition)


class _FilterPush:
    """Takes filters to skip files by them, and gives all of them back: Spark asks them again.

    Where a session has `spark.sql.python.filterPushdown.enabled` switched off Spark refuses
    readers that push filters, and tells these by the function behind the method. This one may
    stay unused, so it says that it is the one that does nothing.
    """

    def __init__(self, taken: list[Filter]) -> None:
        self._taken = taken
        self.__func__ = DataSourceReader.pushFilters

    def __call__(self, filters: list[Filter]) -> Iterable[Filter]:
        self._taken += filters
        return filters
