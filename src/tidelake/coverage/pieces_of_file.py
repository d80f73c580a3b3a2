"""What a file that has just been written covers, of the most usual kind: an entity's name, and a
moment. Arrow leaves text as it is in the file, numbers that stand for the entries of a dictionary,
so that reading these columns back takes a fraction of the time that DuckDB takes for it."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidelake.coverage.bucket_sets import encoded
from tidelake.coverage.values.bitmaps import Buckets, pieces
from tidelake.coverage.values.clock import TIME
from tidelake.coverage.values.piece import Piece
from tidelake.coverage.values.series import Series
from tidelake.model.types import TIMESTAMPS

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

_MOST_FLAGS = 1 << 26
_FLAGS_FOR_A_ROW = 32
_INFINITE = (1 << 63) - 1
_RUN = 32
"""Where runs are closer together than this, buckets are listed one by one."""
_NANOSECONDS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}


def is_usual(series: Series) -> bool:
    names = [column.type for column in series.entity]
    clock = series.clock
    is_plain = clock.kind == TIME and not clock.origin and series.time.type in TIMESTAMPS
    return is_plain and names == ["varchar"]


def pieces_of_file(path: Path, names: tuple[str, str], series: Series) -> list[Piece] | None:
    """None if there are too many buckets for a flag for each, or it is not certain where they lie.
    `names` are what the two columns are called in the file. Requires a usual series."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        listed = file.schema_arrow.names
        if any(listed.count(name) != 1 for name in names):
            return None
        unit = file.schema_arrow.field(names[1]).type.unit
        width, rest = divmod(series.clock.width, _NANOSECONDS[unit])
        ends = _ends(file.metadata, names[1])
        if rest or ends is None:
            return None
        first, last = (end // width for end in ends)
        flags = _Flags(
            last - first + 1, min(_MOST_FLAGS, file.metadata.num_rows * _FLAGS_FOR_A_ROW)
        )
        for table in _row_groups(path, names, file.metadata.num_row_groups):
            if not all(flags.raise_(*rows) for rows in _rows(table, names, width, first)):
                return None
    return list(flags.pieces(series.clock.id(first)))


def _row_groups(path: Path, names: tuple[str, str], many: int) -> Iterator[pa.Table]:
    """Two columns of each row group, which fit into the processor's cache. The next is read while
    somebody looks at one."""
    import pyarrow.parquet as pq

    with (
        pq.ParquetFile(path, memory_map=True, read_dictionary=[names[0]]) as file,
        ThreadPoolExecutor(1) as beside,
    ):
        read = partial(file.read_row_group, columns=list(names), use_threads=False)
        coming = beside.submit(read, 0)
        for number in range(1, many):
            table, coming = coming.result(), beside.submit(read, number)
            yield table
        yield coming.result()


def _ends(footer: Any, name: str) -> tuple[int, int] | None:
    """The least and the greatest value of a column, as it is stored; None if one is at infinity, or
    nobody says."""
    ends: list[int] = []
    for number in range(footer.num_row_groups):
        group = footer.row_group(number)
        columns = (group.column(place) for place in range(group.num_columns))
        known = next(each for each in columns if each.path_in_schema == name).statistics
        if known is None or not known.has_min_max:
            return None
        ends += known.min_raw, known.max_raw
    is_finite = ends and max(map(abs, ends)) < _INFINITE
    return (min(ends), max(ends)) if is_finite else None


def _rows(
    table: pa.Table, names: tuple[str, str], width: int, first: int
) -> Iterator[tuple[pa.Array, pa.Array, np.ndarray[Any, Any]]]:
    """A dictionary of entities; of rows, their numbers in it and their buckets, from the first one
    on."""
    import pyarrow as pa

    if table.column(names[1]).null_count:
        table = table.filter(table.column(names[1]).is_valid())
    for batch in table.select(names).to_batches():
        texts, moments = batch.columns
        buckets = moments.cast(pa.int64()).to_numpy() // width
        buckets -= first
        yield texts.dictionary, texts.indices, buckets


@dataclass(slots=True)
class _Flags:
    """A flag for each bucket of each entity; between two entities there is one that stays down."""

    length: int
    most: int
    _places: dict[str | None, int] = field(default_factory=dict)
    _flags: Any = None
    _dictionary: Any = None
    _bases: Any = None

    def raise_(
        self, dictionary: pa.Array, numbers: pa.Array, buckets: np.ndarray[Any, Any]
    ) -> bool:
        """False if there are too many."""
        import numpy as np

        if self._dictionary is None or not dictionary.equals(self._dictionary):
            known: list[str | None] = [*dictionary.to_pylist(), None]
            places = [self._places.setdefault(text, len(self._places)) for text in known]
            if not self._has_room():
                return False
            self._dictionary = dictionary
            self._bases = np.array(places, np.int64) * (self.length + 1) + 1
        if numbers.null_count:
            numbers = numbers.fill_null(len(dictionary))
        buckets += self._bases.take(numbers.to_numpy())
        self._flags[buckets] = 1
        return True

    def _has_room(self) -> bool:
        import numpy as np

        needed = len(self._places) * (self.length + 1) + 2
        if needed > self.most:
            return False
        if self._flags is None:
            self._flags = np.zeros(needed, np.int8)
        elif needed > len(self._flags):
            more = max(needed, min(2 * len(self._flags), self.most)) - len(self._flags)
            self._flags = np.concatenate([self._flags, np.zeros(more, np.int8)])
        return True

    def pieces(self, origin: int) -> Iterator[Piece]:
        """The buckets of each entity; `origin` is the id of the first."""
        import numpy as np

        if self._flags is None:
            return
        step = self.length + 1
        edges = np.flatnonzero(self._flags[1:] != self._flags[:-1])
        starts, ends = edges[0::2], edges[1::2]
        owners = starts // step
        bounds = np.searchsorted(owners, np.arange(len(self._places) + 1)).tolist()
        starts, ends = starts - owners * step, ends - owners * step
        firsts, lasts = starts.tolist(), ends.tolist()
        for text, (first, last) in zip(self._places, pairwise(bounds), strict=True):
            if last - first == 1:
                begin, end = origin + firsts[first], origin + lasts[first]
                yield Piece(_named(text), b"", begin, end - 1, end - begin)
            elif first < last:
                ids = _of_runs(starts[first:last], ends[first:last], origin)
                yield from pieces(_named(text), ids)


def _named(text: str | None) -> str:
    """What `encoded([text])` is, in half the time."""
    return f"[{encoded(text)}]"


def _of_runs(starts: np.ndarray[Any, Any], ends: np.ndarray[Any, Any], origin: int) -> Buckets:
    import numpy as np

    if len(starts) * _RUN <= ends[-1] - starts[0] + _RUN:
        found = Buckets()
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            found.add_range(origin + start, origin + end)
        return found
    lengths = ends - starts
    before = np.repeat(np.cumsum(lengths) - lengths, lengths)
    ids = np.repeat(starts, lengths) + np.arange(len(before)) - before
    return Buckets(array("Q", (ids.astype(np.uint64) + np.uint64(origin)).tobytes()))
