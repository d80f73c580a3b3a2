"""Rows into sets of buckets: by lists of ids or, where these lie close together, by bits."""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress, islice, pairwise
from typing import TYPE_CHECKING, Any

from tidelake.coverage.bucket_sql import as_id, number_sql, placed_sql
from tidelake.coverage.values.bitmaps import Buckets
from tidelake.coverage.values.series import Series
from tidelake.duck import arrow_source
from tidelake.model.names import quote

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

EntityBuckets = tuple[str, tuple[Any, ...], Buckets]
"""An entity, what stands beside it in the query, and its buckets."""

_SHORT = 1 << 11
"""Strings of so many bits are no larger than what a list needs beside its ids."""
_MOST_BITS = 1 << 27
_BITS_FOR_A_ROW = 32
_BATCH = 1024
_BYTES = array("Q").itemsize
_ONES = re.compile("1+")
encoded = json.JSONEncoder(separators=(",", ":")).encode
_FLAGS = bytes.maketrans(b"01", b"\0\1")


@dataclass(frozen=True, slots=True)
class Portions:
    """How much is done at a time. So many `rows` are listed; of more, those that are alike are put
    together before. So many `bits` are looked at, and where runs of them are closer together than
    `run`, they are gone through one by one."""

    rows: int = 4_000_000
    bits: int = 1 << 20
    run: int = 32


_USUAL = Portions()


@dataclass(frozen=True, slots=True)
class Span:
    """From the first to the last bucket of rows, by number."""

    first: int
    last: int

    @property
    def length(self) -> int:
        return self.last - self.first + 1

    def parts(self, rows: int, most: int) -> Iterator[tuple[int, int]]:
        """The same in stretches that have at most so many rows, if all buckets have as many."""
        step = max(1, self.length * most // rows)
        for first in range(self.first, self.last + 1, step):
            yield first, min(first + step, self.last + 1)


def span_of(connection: duckdb.DuckDBPyConnection, sql: str, series: Series) -> Span | None:
    """None if there is no row, or one at infinity."""
    time = quote(series.time.name)
    ends = [
        f"CASE WHEN {placed_sql(series.time, end)} THEN {number_sql(series, end)} END"
        for end in ("least", "most")
    ]
    found = connection.execute(
        f"SELECT {', '.join(ends)} FROM"
        f" (SELECT min({time}) AS least, max({time}) AS most FROM ({sql}) AS r) AS s"
    ).fetchall()[0]
    return None if None in found else Span(*found)


def is_dense(
    connection: duckdb.DuckDBPyConnection, sql: str, series: Series, span: Span, rows: int
) -> bool:
    """Whether a bit for each bucket of each entity is not much for so many rows."""
    most = min(_MOST_BITS, rows * _BITS_FOR_A_ROW)
    if span.length <= _SHORT or span.length > most or not series.entity:
        return span.length <= most
    keys = ", ".join(quote(column.name) for column in series.entity)
    each = f"SELECT DISTINCT {keys} FROM ({sql}) AS r"
    entities = connection.execute(f"SELECT count(*) FROM ({each}) AS e").fetchall()[0][0]
    return bool(span.length * entities <= most)


def buckets_of_rows(
    connection: duckdb.DuckDBPyConnection,
    sql: str,
    series: Series,
    beside: Sequence[str] = (),
    *,
    rows: int | None,
    portions: Portions = _USUAL,
) -> Iterator[EntityBuckets]:
    """What the rows of a query cover; how many these are is None if nobody knows."""
    if rows is not None and rows <= portions.rows:
        yield from _listed(connection, sql, series, beside, alike=False)
        return
    span = span_of(connection, sql, series) if rows else None
    if span is None or not rows:
        yield from _listed(connection, sql, series, beside, alike=True)
        return
    together: dict[tuple[str, tuple[Any, ...]], Buckets] = {}
    for part in span.parts(rows, portions.rows):
        for entity, others, ids in _listed(connection, sql, series, beside, part, alike=True):
            together.setdefault((entity, others), Buckets()).update(ids)
    for (entity, others), ids in together.items():
        yield entity, others, ids


def buckets_by_bits(
    connection: duckdb.DuckDBPyConnection,
    sql: str,
    series: Series,
    span: Span,
    portions: Portions = _USUAL,
) -> Iterator[EntityBuckets]:
    """The same by a bit for each bucket of the span. It needs no list of all rows, and where
    most buckets are covered is several times faster."""
    bits = f"CAST(bitstring_agg(number, {span.first}, {span.last}) AS VARCHAR)"
    origin = series.clock.id(span.first)

    def sets(texts: pa.StringArray) -> Iterator[Buckets]:
        return (_of_bits(text, origin, portions) for text in texts.to_pylist())

    yield from _grouped(connection, _numbers(sql, series, ()), series, (), bits, sets)


def _listed(
    connection: duckdb.DuckDBPyConnection,
    sql: str,
    series: Series,
    beside: Sequence[str],
    part: tuple[int, int] | None = None,
    *,
    alike: bool,
) -> Iterator[EntityBuckets]:
    numbers = _numbers(sql, series, beside, alike=alike)
    if part is not None:
        numbers = f"SELECT * FROM ({numbers}) AS n WHERE number >= {part[0]} AND number < {part[1]}"
    ids = f"list({as_id(series, 'number')})"
    yield from _grouped(connection, numbers, series, beside, ids, _of_lists)


def _numbers(sql: str, series: Series, beside: Sequence[str], *, alike: bool = False) -> str:
    """Of every row the entity's columns, what stands beside them, and the bucket's number."""
    keys = [_key(column.type, quote(column.name)) for column in series.entity] + list(beside)
    chosen = "".join(f"{key} AS k{place}, " for place, key in enumerate(keys))
    time = quote(series.time.name)
    return (
        f"SELECT {'DISTINCT ' if alike else ''}{chosen}{number_sql(series, time)} AS number"
        f" FROM ({sql}) AS r WHERE {placed_sql(series.time, time)}"
    )


def _key(kind: str, value: str) -> str:
    """A part of an entity as JSON keeps it."""
    return f"CAST({value} AS VARCHAR)" if kind in ("date", "uuid") else value


def _grouped(
    connection: duckdb.DuckDBPyConnection,
    numbers: str,
    series: Series,
    beside: Sequence[str],
    gathered: str,
    sets: Callable[[Any], Iterator[Buckets]],
) -> Iterator[EntityBuckets]:
    width = len(series.entity)
    keys = [f"k{place}" for place in range(width + len(beside))]
    sql = f"SELECT {', '.join([*keys, gathered])} FROM ({numbers}) AS b GROUP BY ALL"
    if not keys:
        sql += " HAVING count(*) > 0"
    for batch in arrow_source(connection, sql).to_arrow_reader(_BATCH):
        columns = [batch.column(place).to_pylist() for place in range(len(keys))]
        rows: Iterable[tuple[Any, ...]] = zip(*columns, strict=True) if keys else [()]
        for row, ids in zip(rows, sets(batch.column(len(keys))), strict=True):
            yield encoded(row[:width]), row[width:], ids


def _of_lists(lists: pa.ListArray) -> Iterator[Buckets]:
    """Every list as a set. Bits of ids are the same with and without a sign."""
    offsets = lists.offsets.to_pylist()
    values = lists.values
    data = memoryview(values.buffers()[1])[values.offset * _BYTES :] if offsets[-1] else b""
    for first, end in pairwise(offsets):
        ids = array("Q")
        ids.frombytes(data[first * _BYTES : end * _BYTES])
        yield Buckets(ids)


def _of_bits(text: str, origin: int, portions: Portions) -> Buckets:
    """A string of zeros and ones, of which the first stands for the origin."""
    found = Buckets()
    for start in range(0, len(text), portions.bits):
        bits, first = text[start : start + portions.bits], origin + start
        few = len(bits) // portions.run + 1
        runs = list(islice(_ONES.finditer(bits), few + 1))
        if len(runs) <= few:
            for run in runs:
                found.add_range(first + run.start(), first + run.end())
        else:
            flags = bits.encode().translate(_FLAGS)
            found |= Buckets(array("Q", compress(range(first, first + len(bits)), flags)))
    return found
