"""Rows that lie within stretches of a series, or outside of them, in DuckDB.

It runs wherever rows are: in this process, or in the executors of Spark.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import count
from typing import TYPE_CHECKING

from tidelake.coverage.bucket_sql import number_sql, placed_sql
from tidelake.coverage.values.bitmaps import Buckets, by_entity, count_runs
from tidelake.coverage.values.clock import SIGN
from tidelake.coverage.values.piece import Piece
from tidelake.coverage.values.series import Series
from tidelake.duck import settle
from tidelake.model.names import quote

if TYPE_CHECKING:
    import pyarrow as pa

    from tidelake.engine.local.workbench import Workbench

_NAMES = (f"_tidelake_stretches_{number}" for number in count())
_WHO, _PLACE, _BUCKET = "_tidelake_who", "_tidelake_place", "_tidelake_bucket"
_R, _E, _S = "_tidelake_row", "_tidelake_entity", "_tidelake_stretch"
"""Names that no column has: DuckDB takes `r.x` for a field if there is a struct `r`."""


def rows_in_buckets(
    work: Workbench, sql: str, series: Series, pieces: Iterable[Piece], *, inside: bool
) -> str:
    """A query of those rows of another that lie in these buckets, or of all others, in their
    order. Requires a query that has the series' columns.

    ASOF finds the last run that begins before a row: so it does not matter how many there are.
    """
    entities, stretches = next(_NAMES), next(_NAMES)
    _define(work, series, pieces, (entities, stretches))
    time = quote(series.time.name)
    same = " AND ".join(
        f"{_R}.{quote(column.name)} IS NOT DISTINCT FROM {_E}.c{place}"
        for place, column in enumerate(series.entity)
    )
    bucket = f"CASE WHEN {placed_sql(series.time, time)} THEN {number_sql(series, time)} END"
    placed = (
        f"SELECT *, row_number() OVER () AS {_PLACE}, {bucket} AS {_BUCKET} FROM ({sql}) AS {_R}"
    )
    # A row without a time finds a run too, to which it does not belong.
    return (
        f"SELECT {_R}.* EXCLUDE ({_WHO}, {_PLACE}, {_BUCKET}) FROM"
        f" (SELECT {_R}.*, {_E}.{_WHO} FROM ({placed}) AS {_R} LEFT JOIN {entities} AS {_E}"
        f" ON {same or 'true'}) AS {_R} ASOF LEFT JOIN {stretches} AS {_S}"
        f" ON {_R}.{_WHO} = {_S}.{_WHO} AND {_R}.{_BUCKET} >= {_S}.first"
        f" WHERE ({_R}.{_BUCKET} <= {_S}.last) IS {'' if inside else 'NOT '}TRUE"
        f" ORDER BY {_R}.{_PLACE}"
    )


def _define(
    work: Workbench, series: Series, pieces: Iterable[Piece], called: tuple[str, str]
) -> None:
    """Tables of the entities, each with a number, and of their runs of buckets: both ends belong
    to them. There may be millions of runs, so nothing is done with each of them in Python."""
    import pyarrow as pa

    buckets = by_entity(pieces)
    names = [json.loads(text) for text in buckets]
    columns: dict[str, pa.Array] = {
        f"c{place}": pa.array([None if name[place] is None else str(name[place]) for name in names])
        for place in range(len(series.entity))
    }
    columns[_WHO] = pa.array(range(len(names)), pa.int64())
    casts = "".join(
        f"CAST(c{place} AS {column.duckdb_type}) AS c{place}, "
        for place, column in enumerate(series.entity)
    )
    _keep(work, called[0], f"{casts}{_WHO}", pa.table(columns))
    runs = pa.table(
        {
            _WHO: pa.chunked_array(
                [pa.repeat(n, count_runs(ids)) for n, ids in enumerate(buckets.values())],
                pa.int64(),
            ),
            "first": _ids(ids - ids.shift(1) for ids in buckets.values()),
            "last": _ids(ids - ids.shift(-1) for ids in buckets.values()),
        }
    )
    typed = ", ".join(f"{_number(series, end)} AS {end}" for end in ("first", "last"))
    _keep(work, called[1], f"{_WHO}, {typed}", runs)


def _keep(work: Workbench, name: str, chosen: str, data: pa.Table) -> None:
    settle(work.connection).register("_tidelake_stretches", data)
    work.connection.execute(f"CREATE TEMP TABLE {name} AS SELECT {chosen} FROM _tidelake_stretches")
    settle(work.connection).unregister("_tidelake_stretches")


def _ids(found: Iterable[Buckets]) -> pa.ChunkedArray:
    """The ids of buckets, as they lie in memory."""
    import pyarrow as pa

    arrays = [ids.to_array() for ids in found]
    return pa.chunked_array(
        [
            pa.Array.from_buffers(pa.uint64(), len(each), [None, pa.py_buffer(each)])
            for each in arrays
        ],
        pa.uint64(),
    )


def _number(series: Series, bucket: str) -> str:
    """The number of a bucket, of which `number_sql` says where it lies."""
    if not series.clock.signed:
        return bucket
    return f"CAST(CAST({bucket} AS HUGEINT) - {SIGN} AS BIGINT)"
