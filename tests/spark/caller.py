"""What Spark does with a data source, in the same order and with the same copies, without Spark:
it makes it on the driver, sends copies to executors, and commits with another copy."""

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.serializers import CloudPickleSerializer
from pyspark.sql import types as t
from pyspark.sql.datasource import CaseInsensitiveDict, Filter

from tidelake.spark.source import TidelakeSource

_PICKLE = CloudPickleSerializer()


PASSWORD = "hush-hush"
"""Of addresses in tests. The server lets everybody in."""


def secrets_of(options: dict[str, Any]) -> list[str]:
    """What executors must not learn."""
    return [str(options["catalog"]), PASSWORD, "postgresql://"]


def sent(what: Any, *, secrets: Sequence[str] = ()) -> Any:
    """A copy, as Spark sends it; none of the secrets may be in it."""
    content = _PICKLE.dumps(what)
    for secret in secrets:
        assert secret.encode() not in content, f"{secret!r} is sent along"
    return _PICKLE.loads(content)


def source(**options: Any) -> TidelakeSource:
    texts = {key: str(value) for key, value in options.items()}
    return TidelakeSource(CaseInsensitiveDict(texts))


def read(
    *, schema: t.StructType | None = None, filters: Sequence[Filter] = (), **options: Any
) -> pa.Table:
    """`spark.read.format("tidelake").options(…).load()`, all of it."""
    secrets = secrets_of(options)
    made = source(**options)
    wanted = made.schema() if schema is None else schema
    made = sent(made)
    reader = made.reader(wanted)
    left = list(reader.pushFilters(list(filters)))
    assert left == list(filters), "Spark is to ask all filters again"
    there, _ = sent((reader, made), secrets=secrets)
    pieces = [sent(piece, secrets=secrets) for piece in reader.partitions()]
    found = [batch for piece in pieces for batch in there.read(piece)]
    return pa.Table.from_batches(found) if found else None


def pieces_of(*filters: Filter, **options: Any) -> list[Any]:
    made = source(**options)
    reader = made.reader(made.schema())
    reader.pushFilters(list(filters))
    return reader.partitions()


def spark_type(data: pa.Table) -> t.StructType:
    from pyspark.sql.pandas.types import from_arrow_schema

    found: t.StructType = from_arrow_schema(data.schema)
    return found


class Write:
    """`df.write.format("tidelake").save()`, in steps."""

    def __init__(self, *tasks: pa.Table, overwrite: bool = False, **options: Any) -> None:
        self._secrets = secrets_of(options)
        self.writer = sent(
            source(**options).writer(spark_type(tasks[0]), overwrite), secrets=self._secrets
        )
        self._tasks = tasks

    def run(self) -> list[Any]:
        return [self._task(task) for task in self._tasks]

    def _task(self, rows: pa.Table) -> Any:
        return sent(self.writer.write(iter(rows.to_batches())), secrets=self._secrets)

    def save(self) -> None:
        messages: list[Any] = []
        try:
            messages = self.run()
            sent(self.writer).commit(messages)
        except BaseException:
            sent(self.writer).abort([*messages, None])
            raise


def write(*tasks: pa.Table, **options: Any) -> None:
    Write(*tasks, **options).save()


class Sink:
    """A streaming query that writes: a batch is written, then committed by another copy."""

    def __init__(self, schema: t.StructType, **options: Any) -> None:
        self._schema = schema
        self._source = source(**options)
        self._secrets = secrets_of(options)

    def write(self, *tasks: pa.Table) -> list[Any]:
        writer = sent(sent(self._source).streamWriter(self._schema, False), secrets=self._secrets)
        return [sent(writer.write(iter(task.to_batches()))) for task in tasks]

    def commit(self, batch: int, messages: list[Any]) -> None:
        sent(self._source).streamWriter(self._schema, False).commit(messages, batch)

    def abort(self, batch: int, messages: list[Any]) -> None:
        sent(self._source).streamWriter(self._schema, False).abort(messages, batch)


class Stream:
    """A streaming query that reads; `offset` is what its checkpoint has."""

    def __init__(self, offset: dict[str, Any] | None = None, **options: Any) -> None:
        made = source(**options)
        self.schema = made.schema()
        made = sent(made)
        self._reader = made.streamReader(self.schema)
        self._secrets = secrets_of(options)
        self._there, _ = sent((self._reader, made), secrets=self._secrets)
        self.offset = self._reader.initialOffset() if offset is None else offset

    def batches(self) -> Iterator[pa.Table]:
        """What is there to read now, batch by batch."""
        limit = self._reader.getDefaultReadLimit()
        while (end := self._reader.latestOffset(self.offset, limit)) != self.offset:
            yield self.between(self.offset, end)
            self.offset = end

    def between(self, start: dict[str, Any], end: dict[str, Any]) -> pa.Table:
        found = self._reader.partitions(start, end)
        pieces = [sent(piece, secrets=self._secrets) for piece in found]
        read = [batch for piece in pieces for batch in self._there.read(piece)]
        empty = pa.schema([(f.name, pa.null()) for f in self.schema]).empty_table()
        return pa.Table.from_batches(read) if read else empty
