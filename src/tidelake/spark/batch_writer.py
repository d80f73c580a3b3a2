"""Writing with `df.write.format("tidelake")`: executors write files, the driver commits them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from tidelake.spark import vault
from tidelake.spark.file_task import FilesMessage, written_files
from tidelake.spark.lakes import lake_of
from tidelake.spark.row_write import RowWrite

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

    from tidelake.spark.options import SourceOptions


class BatchWriter(DataSourceArrowWriter):
    """Spark sends copies of it to the executors, and one to the process that commits. None of them
    knows the catalog: the driver keeps it in its vault, under a word that the copies have."""

    def __init__(self, options: SourceOptions, schema: StructType, overwrite: bool) -> None:
        options.refuse(("query_id",), "but in a stream")
        with lake_of(options) as lake:
            self._wanted = RowWrite.of(lake, options, schema, overwrite)
            self._task = self._wanted.task(lake)
            self._word = vault.keep(lake)
            self._task.lease.renew(lake.session.store)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> FilesMessage:
        return self._task.write(iterator)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        files = written_files(messages)
        with vault.recall(self._word) as lake:
            vault.forget(self._word)
            try:
                self._wanted.land(lake, files, self._task.target)
            finally:
                self._task.lease.end(lake.session.store)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Spark also aborts what failed to commit: what was to become of the files has been
        decided then, and the word is gone."""
        if vault.forget(self._word):
            self._task.discard(written_files(messages))
            self._task.lease.end(self._task.local.store)
