"""A table at a moment: its schema, history, files and rows."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from tidelake.catalog import counting, snapshots
from tidelake.catalog.database import Reader
from tidelake.model.file import DataFile
from tidelake.model.names import TableName
from tidelake.model.predicate import Predicate
from tidelake.model.schema import Schema
from tidelake.model.snapshot import Snapshot
from tidelake.model.table import PartitionSpec, SortKey, TableInfo
from tidelake.plan.scan import ScanPlan
from tidelake.session.scan import Scan

if TYPE_CHECKING:
    import duckdb
    import pandas
    import polars
    import pyarrow as pa

    from tidelake.session.lake import Lake


class Table:
    """A table of a lake. Unpinned, every call sees the newest snapshot; `known_at` pins it.

    A table keeps its identity when it is renamed: a handle follows the name it was asked for.
    """

    def __init__(self, lake: Lake, name: TableName, snapshot_id: int | None = None) -> None:
        self._lake = lake
        self._name = name
        self._snapshot_id = snapshot_id

    @property
    def name(self) -> str:
        """The qualified name, quoted where SQL needs it."""
        return str(self._name)

    @property
    def schema(self) -> Schema:
        return self.info.schema

    @property
    def comment(self) -> str | None:
        return self.info.comment

    @property
    def tags(self) -> dict[str, str]:
        return dict(self.info.tags)

    @property
    def partitioning(self) -> PartitionSpec | None:
        return self.info.partitioning

    @property
    def sorting(self) -> tuple[SortKey, ...]:
        return self.info.sorting

    @property
    def info(self) -> TableInfo:
        """All that the catalog says of the table at this moment."""
        with self._lake._reading() as reader:
            return self._info(reader, self._at(reader))

    def known_at(self, moment: int | str | datetime) -> Table:
        """The table as the lake knew it: at a snapshot id, or at a time (UTC if it has no zone)."""
        with self._lake._reading() as reader:
            snapshot = self._lake._snapshot(reader, moment)
            self._info(reader, snapshot.snapshot_id)
        return Table(self._lake, self._name, snapshot.snapshot_id)

    def snapshots(self) -> list[Snapshot]:
        """The snapshots that changed this table, oldest first."""
        with self._lake._reading() as reader:
            at = self._at(reader)
            table_id = self._info(reader, at).id
            ids = snapshots.of_table(reader, table_id)
            return [
                s
                for s in snapshots.every(reader)
                if s.snapshot_id <= at and _touches(s, table_id, ids)
            ]

    def files(self) -> list[DataFile]:
        """All data files of the table at this moment."""
        return self.scan().files()

    def scan(
        self,
        columns: Sequence[str] | None = None,
        where: str | Predicate | None = None,
        *,
        known_at: int | str | datetime | None = None,
    ) -> Scan:
        """A lazy read of some columns and rows; `where` is SQL text or a `col(…)` condition."""
        table = self if known_at is None else self.known_at(known_at)
        return Scan(table, columns, where)

    def count(self) -> int:
        return self.scan().count()

    def to_arrow(self) -> pa.Table:
        return self.scan().to_arrow()

    def to_pandas(self) -> pandas.DataFrame:
        return self.scan().to_pandas()

    def to_polars(self) -> polars.DataFrame:
        return self.scan().to_polars()

    def to_batches(self, rows: int = 122_880) -> pa.RecordBatchReader:
        """A stream of Arrow batches, read in this process with bounded memory."""
        return self.scan().to_batches(rows)

    def to_duckdb(self) -> duckdb.DuckDBPyRelation:
        """A DuckDB relation, not yet run."""
        return self.scan().to_duckdb()

    def to_spark(self, spark: Any = None) -> Any:
        """A Spark DataFrame, not yet run; on the session given, the lake's, or the active one."""
        return self.scan().to_spark(spark)

    def __repr__(self) -> str:
        pinned = "" if self._snapshot_id is None else f" known at {self._snapshot_id}"
        return f"<Table {self.name}{pinned}>"

    def _at(self, reader: Reader) -> int:
        return self._snapshot_id if self._snapshot_id is not None else self._lake._at(reader)

    def _info(self, reader: Reader, at: int) -> TableInfo:
        return self._lake._table_info(reader, at, self._name)

    def _plan(
        self,
        columns: Sequence[str] | None,
        where: str | Predicate | None,
        *,
        counted: bool = False,
    ) -> ScanPlan:
        return self._lake._plan(
            self._name, self._snapshot_id, columns=columns, where=where, counted=counted
        )

    def _count_from_catalog(self) -> int | None:
        with self._lake._reading() as reader:
            at = self._at(reader)
            return counting.row_count(reader, at, self._info(reader, at).id)


def _touches(snapshot: Snapshot, table_id: int, ids: frozenset[int]) -> bool:
    if snapshot.snapshot_id in ids:
        return True
    return any(change.endswith(f":{table_id}") for change in snapshot.changes)
