"""Rows as one file of Arrow's own formats."""

from __future__ import annotations

from typing import IO, Any

from pyarrow import ArrowException, ipc, parquet

from tidelake.errors import Unsupported


def write_parquet(batches: Any, file: IO[bytes]) -> int:
    """Write all rows as Parquet; how many. Unsupported if it has no such type."""
    try:
        writer = parquet.ParquetWriter(file, batches.schema, compression="zstd")
    except ArrowException as error:
        raise Unsupported(f"Parquet cannot hold it: {error}", hint="--format arrow can") from error
    with writer:
        return _passed_on(batches, writer)


def write_arrow(batches: Any, file: IO[bytes]) -> int:
    """Write all rows as a stream of Arrow; how many."""
    with ipc.new_stream(file, batches.schema) as writer:
        return _passed_on(batches, writer)


def _passed_on(batches: Any, writer: Any) -> int:
    count = 0
    for batch in batches:
        writer.write_batch(batch)
        count += batch.num_rows
    return count
