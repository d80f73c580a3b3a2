"""Which partition a foreign file belongs to, if all its rows belong to one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tidelake.errors import Unsupported
from tidelake.model.change import ColumnFacts
from tidelake.model.comparable import Comparable, domain, lower_bound
from tidelake.model.schema import Column
from tidelake.model.table import PartitionKey, PartitionSpec
from tidelake.plan.partitioning.bucket_hash import buckets_of

if TYPE_CHECKING:
    import duckdb

_CALENDAR = frozenset({"year", "month", "day", "hour"})
_BUCKET = re.compile(r"bucket\((\d+)\)")
_BOOLEANS = {"1": "true", "0": "false"}


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
            _refuse_buckets(spec, path)
            found.append(None)
    return found


def _refuse_buckets(spec: PartitionSpec, path: str) -> None:
    if any(_BUCKET.fullmatch(key.transform) for key in spec.keys):
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
    if key.transform in _CALENDAR:
        return _calendar(connection, key.transform, column, facts)
    if facts.min != facts.max:
        raise _Unknown
    if count := _BUCKET.fullmatch(key.transform):
        return _bucket(column, facts.min, int(count[1]))
    if key.transform != "identity":
        raise _Unknown
    return _BOOLEANS[facts.min] if column.type == "boolean" else facts.min


def _calendar(
    connection: duckdb.DuckDBPyConnection, part: str, column: Column, facts: ColumnFacts
) -> str:
    """The part that all moments between two have, if they are in the same one."""
    kind = column.duckdb_type
    row = connection.execute(
        f"SELECT CAST(date_part('{part}', low) AS VARCHAR) FROM"
        f" (SELECT CAST($1 AS {kind}) AS low, CAST($2 AS {kind}) AS high)"
        f" WHERE isfinite(low) AND isfinite(high)"
        f" AND date_trunc('{part}', low) = date_trunc('{part}', high)",
        [facts.min, facts.max],
    ).fetchone()
    if row is None or row[0] is None:
        raise _Unknown
    return str(row[0])


def _bucket(column: Column, text: str, count: int) -> str:
    kind = domain(column.type)
    if kind is None or kind == "rounded":
        raise _Unknown
    point = lower_bound(column.type, kind, text)
    if point is None:
        raise _Unknown
    found = buckets_of(Comparable(kind, point), column.type, count, type_then=column.type)
    if found is None or len(found) != 1:
        raise _Unknown
    return str(next(iter(found)))
