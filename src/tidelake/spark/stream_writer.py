"""Writing a stream with `writeStream.format("tidelake")`: every batch is in the lake once, however
often Spark tries it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage

from tidelake.errors import Invalid, TidelakeError
from tidelake.session import once_records
from tidelake.spark import vault
from tidelake.spark.file_task import FilesMessage, FileTask, written_files
from tidelake.spark.lakes import lake_of
from tidelake.spark.row_write import RowWrite
from tidelake.store.files import Store

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

    from tidelake.spark.options import SourceOptions

_HINT = "pass option checkpointLocation, or name the query with option query_id"
_STORES = {"s3a": "s3", "s3n": "s3"}


class StreamWriter(DataSourceStreamArrowWriter):
    """Spark makes one for the executors and another to commit each batch. The copies that go to the
    executors know of no lake."""

    def __init__(self, options: SourceOptions, schema: StructType, overwrite: bool) -> None:
        options.refuse(("once", "expected"), "in a stream, where every batch is in the lake once")
        if options.text("query_id") is None and options.checkpoint is None:
            raise Invalid("nothing tells this stream from others", hint=_HINT)
        self._options = options
        with lake_of(options) as lake:
            self._wanted = RowWrite.of(lake, options, schema, overwrite)
            self._task: FileTask = self._wanted.task(lake)

    def __getstate__(self) -> dict[str, Any]:
        return {"_task": self._task}

    def write(self, iterator: Iterator[pa.RecordBatch]) -> FilesMessage:
        return self._task.write(iterator)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        token = f"{query_of(self._options, self._task.local.store)}/{batchId}"
        attempt = _attempt(token)
        target = next((m.target for m in messages if isinstance(m, FilesMessage)), None)
        with lake_of(self._options) as lake:
            vault.note(attempt)
            files = written_files(messages)
            self._wanted.land(lake, files, target or self._task.target, once=token)
            vault.forget(attempt)
            self._end_leases(messages)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Spark also aborts what failed to commit. Files are removed only if it is certain that no
        commit has them: none was made, and none was tried of which nobody knows the end."""
        with suppress(TidelakeError):
            token = f"{query_of(self._options, self._task.local.store)}/{batchId}"
            was_tried = vault.forget(_attempt(token))
            if not was_tried and not self._is_done(token):
                self._task.discard(written_files(messages))
        self._end_leases(messages)

    def _is_done(self, token: str) -> bool:
        with lake_of(self._options) as lake, lake.session.reading() as reader:
            return once_records.find(reader, token) is not None

    def _end_leases(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        for lease in {each.lease for each in messages if isinstance(each, FilesMessage)}:
            lease.end(self._task.local.store)


def _attempt(token: str) -> str:
    """The word under which the driver notes that a batch is being committed."""
    return sha256(token.encode()).hexdigest()[:32]


def query_of(options: SourceOptions, store: Store) -> str:
    """What tells a streaming query from all others: the name that it was given, else the id that
    Spark keeps in its checkpoint. A new checkpoint is another query, and begins with batch 0."""
    if (given := options.text("query_id")) is not None:
        return given
    assert options.checkpoint is not None
    place = f"{options.checkpoint.rstrip('/')}/metadata"
    try:
        found = json.loads(_content(place, store))["id"]
    except (OSError, TidelakeError, ValueError, KeyError, TypeError) as error:
        raise Invalid(
            f"the id of the query cannot be read from its checkpoint, {place}: {error}",
            hint="name the query with option query_id, another for every new checkpoint",
        ) from error
    return str(found)


def _content(place: str, store: Store) -> bytes:
    scheme, separator, rest = place.partition("://")
    if not separator:
        return Path(place.removeprefix("file:")).read_bytes()
    if scheme == "file":
        return Path("/" + rest.partition("/")[2]).read_bytes()
    return store.read(f"{_STORES.get(scheme, scheme)}://{rest}")
