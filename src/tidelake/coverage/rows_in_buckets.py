"""Rows that lie within stretches of a series, or outside of them, in DuckDB.

It runs wherever rows are: in this process, or in the executors of Spark.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import count
from typing import TYPE_CHECKING

from tidelake.coverage.values.bitmaps import by_entity, runs
from tidelake.coverage.values.clock import COUNT
from tidelake.coverage.values.piece import Piece
from tidelake.coverage.values.series import Series
from tidelake.model.names import quote
from tidelake.model.types import BITS, TICKS

if TYPE_CHECKING:
    import pyarrow as pa

    from tidelake.engine.local.workbench import Workbench

_NAMES = (f"_tidelake_stretches_{number}" for number in count())
_WHO, _PLACE = "_tidelake_who", "_tidelake_place"
_R, _E, _S = "_tidelake_row", "_tidelake_entity", "_tidelake_stretch"
"""Names that no column has: DuckDB takes `r.x` for a field if there is a struct `r`."""
_UNITS = {"timestamp_s": "s", "timestamp_ms": "ms", "timestamp_ns": "ns"}


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
    placed = f"SELECT *, row_number() OVER () AS {_PLACE} FROM ({sql}) AS {_R}"
    # A row without a time finds a run too, to which it does not belong.
    return (
        f"SELECT {_R}.* EXCLUDE ({_WHO}, {_PLACE}) FROM"
        f" (SELECT {_R}.*, {_E}.{_WHO} FROM ({placed}) AS {_R} LEFT JOIN {entities} AS {_E}"
        f" ON {same or 'true'}) AS {_R} ASOF LEFT JOIN {stretches} AS {_S}"
        f" ON {_R}.{_WHO} = {_S}.{_WHO} AND {_R}.{time} >= {_S}.first"
        f" WHERE ({_R}.{time} <= {_S}.last) IS {'' if inside else 'NOT '}TRUE"
        f" ORDER BY {_R}.{_PLACE}"
    )


def _define(
    work: Workbench, series: Series, pieces: Iterable[Piece], called: tuple[str, str]
) -> None:
    """Tables of the entities, each with a number, and of their runs: both ends belong to them, in
    values of the time's own type."""
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
    who, first, last = [], [], []
    for number, ids in enumerate(buckets.values()):
        for low, high in _bounds(series, runs(ids)):
            who.append(number)
            first.append(low)
            last.append(high)
    ends = {_WHO: pa.array(who, pa.int64())}
    ends |= {"first": _times(series, first), "last": _times(series, last)}
    kind = series.time.duckdb_type
    typed = f"CAST(first AS {kind}) AS first, CAST(last AS {kind}) AS last"
    _keep(work, called[1], f"{_WHO}, {typed}", pa.table(ends))


def _keep(work: Workbench, name: str, chosen: str, data: pa.Table) -> None:
    work.connection.register("_tidelake_stretches", data)
    work.connection.execute(f"CREATE TEMP TABLE {name} AS SELECT {chosen} FROM _tidelake_stretches")
    work.connection.unregister("_tidelake_stretches")


def _bounds(series: Series, found: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The first and the last value of each run that the column's type can hold."""
    clock = series.clock
    tick, least, most = _range(series)
    for begin, end in found:
        low = clock.start(clock.number_of(begin)) // tick
        high = clock.start(clock.number_of(end)) // tick - 1
        yield max(low, least), min(high, most)


def _range(series: Series) -> tuple[int, int, int]:
    """What positions are divided by to give values, and which of these are finite."""
    kind = series.time.type
    if series.clock.kind == COUNT:
        most = 1 << (BITS[kind] - 1 if series.clock.signed else BITS[kind])
        return 1, -most if series.clock.signed else 0, most - 1
    beyond = 1 << (31 if kind == "date" else 63)
    return TICKS[kind], 2 - beyond, beyond - 2


def _times(series: Series, values: list[int]) -> pa.Array:
    import pyarrow as pa

    kind = series.time.type
    if series.clock.kind == COUNT:
        return pa.array(values, pa.int64() if series.clock.signed else pa.uint64())
    if kind == "date":
        return pa.array(values, pa.int32()).view(pa.date32())
    unit = _UNITS.get(kind, "us")
    zone = "UTC" if kind == "timestamptz" else None
    return pa.array(values, pa.int64()).view(pa.timestamp(unit, zone))
