"""What a Spark task does with rows to be written: it writes files for a table, and says which."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql.datasource import WriterCommitMessage

from tidelake.engine.incoming.bring import bring
from tidelake.engine.spark.frames import empty_table
from tidelake.engine.spark.tasks import ROWS, RowsQuery, unpickle_all
from tidelake.model.change import NewFile
from tidelake.plan.target import Target
from tidelake.session.leases import SharedLease

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

    from tidelake.engine.local.engine import LocalEngine
    from tidelake.session.session import Session
    from tidelake.write.files import FileOrder

__all__ = ["ROWS", "FileTask", "FilesMessage", "task_for", "written_files"]


@dataclass(frozen=True)
class FilesMessage(WriterCommitMessage):
    """The files that a task has written, for what they were written, and what protects them."""

    files: tuple[NewFile, ...]
    target: Target
    lease: SharedLease


@dataclass(frozen=True)
class FileTask:
    """Goes to the executors: it holds what opens files, and not how to get into a catalog."""

    query: RowsQuery
    target: Target
    lease: SharedLease

    @property
    def local(self) -> LocalEngine:
        return self.query.local

    def write(self, batches: Iterator[pa.RecordBatch]) -> FilesMessage:
        """While it writes, and for some minutes after it, nobody takes the files for orphans."""
        with self.lease.renewing(self.local.store):
            rows = [
                [batch.column(0)[0].as_py()]
                for batch in self.query.write(batches, self.target, False)
            ]
            files = tuple(unpickle_all(rows))
        return FilesMessage(files, self.target, self.lease)

    def discard(self, files: Iterable[NewFile]) -> None:
        """Remove files that nothing refers to."""
        self.local.store.delete(sorted(file.path for file in files))


def task_for(session: Session, order: FileOrder, schema: StructType, doing: str) -> FileTask:
    """The task that writes rows of a Spark schema as ordered. What the schema already tells is
    refused here."""
    table = order.target.table
    work = session.local.workbench()
    with work.connection as connection:
        data = empty_table(schema, str(table))
        bring(connection, "arrow_rows", data, order.columns, table=table, defaults=order.defaults)
    names = tuple(schema.fieldNames())
    query = RowsQuery(session.local, doing, table, names, order.columns, order.sql, order.defaults)
    return FileTask(query, order.target, SharedLease.of(session.home))


def written_files(messages: Sequence[WriterCommitMessage | None]) -> tuple[NewFile, ...]:
    """The files of all tasks that have said what they wrote."""
    return tuple(
        file for message in messages if isinstance(message, FilesMessage) for file in message.files
    )
