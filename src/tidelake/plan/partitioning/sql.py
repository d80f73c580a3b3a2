"""The partition values of rows, as DuckDB SQL gives them: for the writer of files.

The text is what DuckDB's own writer records for the same row.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tidelake.model.schema import Column
from tidelake.plan.partitioning.transforms import KINDS, transform_of

if TYPE_CHECKING:
    import duckdb


def key_column(at: int) -> str:
    """The name under which COPY … PARTITION_BY is given the key at that place."""
    return f"__tidelake_partition_{at}"


def partition_values(returned: Mapping[str, str | None], count: int) -> tuple[str | None, ...]:
    """The values of a file, from the `partition_keys` that COPY … RETURN_STATS says of it.

    They are as exact as the SQL that gave them: NULL stays NULL, and no text is encoded.
    """
    return tuple(returned[key_column(at)] for at in range(count))


def key_sql(column: Column, transform: str, reference: str) -> str:
    """A VARCHAR expression for one key of a partitioning; NULL where the key is null.

    Requires: `reference` is SQL for a value of the column's type; `allow_keys` has been called;
    for a `timestamptz`, the connection is in UTC.
    """
    return transform_of(transform).sql(column, reference)


def allow_keys(connection: duckdb.DuckDBPyConnection) -> None:
    """Give a connection the macros that keys are made of. Doing it again is harmless."""
    for kind in KINDS:
        if kind.macros:
            connection.execute(kind.macros)
