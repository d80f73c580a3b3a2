"""What a file that has just been written covers, of the most usual kind: an entity's name, and a
moment. Arrow leaves text as it is in the file, numbers that stand for the entries of a dictionary,
so that reading these columns back takes a fraction of the time that DuckDB takes for it."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidelake.coverage.bucket_sets import EntityBuckets, encoded
from tidelake.coverage.values.bitmaps import Buckets
from tidelake.coverage.values.clock import TIME
from tidelake.coverage.values.series import Series
from tidelake.model.types import TIMESTAMPS

if TYPE_CHECKING:
    import numpy as np

_MOST_FLAGS = 1 << 26
_FLAGS_FOR_A_ROW = 32
_ROWS_AT_ONCE = 1 << 21
_INFINITE = (1 << 63) - 1
_RUN = 32
"""Where runs are closer together than this, buckets are listed one by one."""
_NANOSECONDS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}


def is_usual(series: Series) -> bool:
    names = [column.type for column in series.entity]
    clock = series.clock
    is_plain = clock.kind == TIME and not clock.origin and series.time.type in TIMESTAMPS
    return is_plain and names == ["varchar"]


def buckets_of_file(
    path: Path, names: tuple[str, str], series: Series
) -> list[EntityBuckets] | None:
    """None if there are too many buckets for a flag for each, or it is not certain where they lie.
    `names` are what the two columns are called in the file. Requires a usual series."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path, memory_map=True, read_dictionary=[names[0]]) as file:
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
        for groups in _portions(file.metadata):
            table = file.read_row_groups(groups, columns=list(names))
            if not flags.raise_(*_rows(table, names, width, first)):
                return None
    return flags.sets(series.clock.id(first))


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


def _portions(footer: Any) -> Iterator[list[int]]:
    """Row groups that are read together."""
    portion: list[int] = []
    rows = 0
    for number in range(footer.num_row_groups):
        portion.append(number)
        rows += footer.row_group(number).num_rows
        if rows >= _ROWS_AT_ONCE or number == footer.num_row_groups - 1:
            yield portion
            portion, rows = [], 0


def _rows(
    table: Any, names: tuple[str, str], width: int, first: int
) -> tuple[Any, list[tuple[Any, np.ndarray[Any, Any]]]]:
    """A dictionary of entities; and for some rows at a time, which fit into the processor's cache,
    their numbers in it and their buckets, from the first one on."""
    import pyarrow as pa

    if table.column(names[1]).null_count:
        table = table.filter(table.column(names[1]).is_valid())
    parts = []
    dictionary = pa.array([], pa.string())
    for batch in table.select(names).unify_dictionaries().to_batches():
        texts, moments = batch.columns
        dictionary = texts.dictionary
        parts.append((texts.indices, moments.cast(pa.int64()).to_numpy() // width - first))
    return dictionary, parts


@dataclass(slots=True)
class _Flags:
    """A flag for each bucket of each entity; between two entities there is one that stays down."""

    length: int
    most: int
    _places: dict[str | None, int] = field(default_factory=dict)
    _flags: Any = None

    def raise_(self, dictionary: Any, rows: Iterable[tuple[Any, np.ndarray[Any, Any]]]) -> bool:
        """False if there are too many."""
        import numpy as np

        known: list[str | None] = [*dictionary.to_pylist(), None]
        places = [self._places.setdefault(text, len(self._places)) for text in known]
        if not self._has_room():
            return False
        bases = np.array(places, np.int64) * (self.length + 1) + 1
        for numbers, buckets in rows:
            flags = bases[numbers.fill_null(len(known) - 1).to_numpy()]
            flags += buckets
            self._flags[flags] = 1
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

    def sets(self, origin: int) -> list[EntityBuckets]:
        """The buckets of each entity; `origin` is the id of the first."""
        import numpy as np

        if self._flags is None:
            return []
        step = self.length + 1
        edges = np.flatnonzero(self._flags[1:] != self._flags[:-1])
        starts, ends = edges[0::2], edges[1::2]
        owners = starts // step
        bounds = np.searchsorted(owners, np.arange(len(self._places) + 1)).tolist()
        starts, ends = starts - owners * step, ends - owners * step
        return [
            (_named(text), (), _of_runs(starts[first:last], ends[first:last], origin))
            for text, (first, last) in zip(self._places, pairwise(bounds), strict=True)
            if first < last
        ]


def _named(text: str | None) -> str:
    """What `encoded([text])` is, in half the time."""
    return f"[{encoded(text)}]"


def _of_runs(starts: np.ndarray[Any, Any], ends: np.ndarray[Any, Any], origin: int) -> Buckets:
    import numpy as np

    if len(starts) == 1:
        found = Buckets()
        found.add_range(origin + int(starts[0]), origin + int(ends[0]))
        return found
    if len(starts) * _RUN <= ends[-1] - starts[0] + _RUN:
        found = Buckets()
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            found.add_range(origin + start, origin + end)
        return found
    lengths = ends - starts
    before = np.repeat(np.cumsum(lengths) - lengths, lengths)
    ids = np.repeat(starts, lengths) + np.arange(len(before)) - before
    return Buckets(array("Q", (ids.astype(np.uint64) + np.uint64(origin)).tobytes()))
