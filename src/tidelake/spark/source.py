"""The data source `tidelake` of Spark: `spark.read.format("tidelake")`, and writes and streams."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql import types as t
from pyspark.sql.datasource import (
    CaseInsensitiveDict,
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)

from tidelake.engine.spark.arrow_reader import nullable
from tidelake.errors import Invalid, Unsupported
from tidelake.spark import vault
from tidelake.spark.batch_reader import BatchReader
from tidelake.spark.batch_writer import BatchWriter
from tidelake.spark.lakes import lake_of
from tidelake.spark.options import OF_TABLE, SourceOptions
from tidelake.spark.relation import NamedRelation
from tidelake.spark.stream_writer import StreamWriter
from tidelake.spark.table_label import label_for, labelled_options, with_label

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

KEEP, FORGET = "keep", "forget"
"""What can be asked of the driver's vault, from wherever a session is used."""


class TidelakeSource(DataSource):
    """Made on the driver with all options. Spark also sends it to executors, along with what it
    makes; that copy has none. A DataFrame is of the snapshot at which it was loaded."""

    _pinned: int | None = None
    _travels: bool = False

    @classmethod
    def name(cls) -> str:
        return "tidelake"

    def schema(self) -> StructType:
        options = self._said()
        if (order := options.text("vault")) is not None:
            return t.StructType([t.StructField(_obey(order, options), t.StringType())])
        with lake_of(options, read_only=True) as lake:
            relation = NamedRelation.of(lake, options)
            found = nullable(relation.columns())
            if self._is_created:
                return with_label(found, label_for(options, lake))
            self._pinned = relation.snapshot_id
        return found

    def reader(self, schema: StructType) -> DataSourceReader:
        found = BatchReader(self._said(schema), schema, self._pinned)
        self._travels = True
        return found

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        return BatchWriter(self._target(), schema, overwrite)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        from tidelake.spark.stream_reader import StreamReader  # which PySpark 4.1 has not all for

        found = StreamReader(self._said(schema), schema)
        self._travels = True
        return found

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802
        return StreamWriter(self._target(), schema, overwrite)

    def _target(self) -> SourceOptions:
        """Labels do not count here: what an INSERT selects has the labels of where it is from."""
        options = self._said()
        if not options.names_a_table:
            raise Unsupported(
                "Spark does not tell the data source which table of its own catalog to write to",
                hint='write with df.write.format("tidelake")….save("ns.table") or lake.sql(…)',
            )
        return options

    @property
    def _is_created(self) -> bool:
        """Whether this is about a table of Spark's own catalog that is being created."""
        return any(key.lower().startswith(OF_TABLE) for key in self.options)

    def _said(self, schema: StructType | None = None) -> SourceOptions:
        options = SourceOptions.of(dict(self.options))
        return options if schema is None else labelled_options(options, schema)

    def __getstate__(self) -> dict[str, Any]:
        options = CaseInsensitiveDict() if self._travels else self.options
        return {"options": options, "_pinned": self._pinned}


def _obey(order: str, options: SourceOptions) -> str:
    """The word of the lake that is kept or forgotten."""
    if order == KEEP:
        with lake_of(options) as lake:
            return vault.keep(lake)
    word = options.text("lake")
    if order != FORGET or word is None:
        raise Invalid(f"the vault knows no {order!r}", hint="leave option vault out")
    vault.forget(word)
    return word
