"""Rows as a file that is sent while it is made: CSV, Parquet or Arrow."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from typing import Any

from tidelake.errors import Invalid
from tidelake.model import json_values
from tidelake.web.site import cell

Stream = Iterator[bytes]


class _Sink(io.RawIOBase):
    """Takes what a writer writes, and gives it away piece by piece."""

    def __init__(self) -> None:
        super().__init__()
        self._parts: list[bytes] = []
        self._written = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        part = bytes(data)
        self._parts.append(part)
        self._written += len(part)
        return len(part)

    def tell(self) -> int:
        return self._written

    def taken(self) -> bytes:
        parts, self._parts = self._parts, []
        return b"".join(parts)


def _csv(batches: Any) -> Stream:
    text = io.StringIO()
    lines = csv.writer(text)
    lines.writerow(batches.schema.names)
    for batch in batches:
        for row in json_values.rows(batch):
            lines.writerow("" if value is None else cell(value) for value in row)
        yield text.getvalue().encode()
        text.seek(0)
        text.truncate()
    yield text.getvalue().encode()


def _parquet(batches: Any) -> Stream:
    from pyarrow.parquet import ParquetWriter

    return _written(batches, lambda sink: ParquetWriter(sink, batches.schema, compression="zstd"))


def _arrow(batches: Any) -> Stream:
    import pyarrow as pa

    return _written(batches, lambda sink: pa.ipc.new_stream(sink, batches.schema))


def _written(batches: Any, open_writer: Callable[[Any], Any]) -> Stream:
    sink = _Sink()
    with open_writer(sink) as writer:
        for batch in batches:
            writer.write_batch(batch)
            if part := sink.taken():
                yield part
    yield sink.taken()


FORMATS: dict[str, tuple[str, str, Callable[[Any], Stream]]] = {
    "csv": ("text/csv; charset=utf-8", "csv", _csv),
    "parquet": ("application/vnd.apache.parquet", "parquet", _parquet),
    "arrow": ("application/vnd.apache.arrow.stream", "arrows", _arrow),
}
"""By name: what a browser calls it, how files end, and what makes it."""


def export_as(name: str, batches: Any) -> tuple[str, str, Stream]:
    if name not in FORMATS:
        raise Invalid(f"there is no format {name!r}", hint=f"there are: {', '.join(FORMATS)}")
    kind, suffix, make = FORMATS[name]
    return kind, suffix, make(batches)
