"""Which partition a foreign file belongs to, if all its rows belong to one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tidelake.errors import Unsupported
from tidelake.model.change import ColumnFacts
from tidelake.model.schema import Column
from tidelake.model.table import PartitionKey, PartitionSpec
from tidelake.plan.partitioning.transforms import transform_of

if TYPE_CHECKING:
    import duckdb


class _Unknown(Exception):
    """The rows have different values, or nobody knows."""


def found_values(
    connection: duckdb.DuckDBPyConnection,
    spec: PartitionSpec | None,
    columns: Sequence[Column],
    facts: Sequence[Mapping[int, ColumnFacts]],
    paths: Sequence[str],
) -> list[tuple[str | None, ...] | None]:
    """The partition values of each file; None where its statistics do not pin them down.

    A file outside all partitions is read by everybody, except that DuckDB looks for a value's
    bucket in nothing but files of that bucket, so there it is refused.
    """
    if spec is None or not spec.keys:
        return [None] * len(facts)
    by_id = {column.id: column for column in columns}
    found: list[tuple[str | None, ...] | None] = []
    for path, known in zip(paths, facts, strict=True):
        try:
            found.append(
                tuple(
                    _value(connection, key, by_id[key.column_id], known[key.column_id])
                    for key in spec.keys
                )
            )
        except _Unknown:
            _refuse(spec, path)
            found.append(None)
    return found


def _refuse(spec: PartitionSpec, path: str) -> None:
    if any(transform_of(key.transform).exclusive for key in spec.keys):
        raise Unsupported(
            f"{path} has rows of several buckets, or may have",
            hint="append() its rows, or register the files before partitioning by bucket",
        )


def _value(
    connection: duckdb.DuckDBPyConnection, key: PartitionKey, column: Column, facts: ColumnFacts
) -> str | None:
    if facts.values == 0:
        return None
    if facts.nulls != 0 or facts.min is None or facts.max is None:
        raise _Unknown
    by = transform_of(key.transform)
    found = by.value_between(connection, column, facts.min, facts.max)
    if found is None:
        raise _Unknown
    return found
