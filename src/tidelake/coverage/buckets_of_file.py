"""What a file that has just been written covers, of the most usual kind: an entity's name, and a
moment. Arrow leaves text as it is in the file, numbers that stand for the entries of a dictionary,
so that reading these columns back takes a fraction of the time that DuckDB takes for it."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
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
            if not flags.raise_(*_numbers(table, names, width, first)):
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


def _numbers(
    table: Any, names: tuple[str, str], width: int, first: int
) -> tuple[Any, np.ndarray[Any, Any]]:
    """The entities, as numbers of a dictionary, and the buckets, from the first one on."""
    import pyarrow as pa

    if table.column(names[1]).null_count:
        table = table.filter(table.column(names[1]).is_valid())
    texts = table.column(names[0]).unify_dictionaries().combine_chunks()
    moments = table.column(names[1]).cast(pa.int64()).to_numpy()
    return texts, moments // width - first


@dataclass(slots=True)
class _Flags:
    """A flag for each bucket of each entity; between two entities there is one that stays down."""

    length: int
    most: int
    _places: dict[str | None, int] = field(default_factory=dict)
    _flags: Any = None

    def raise_(self, texts: Any, buckets: np.ndarray[Any, Any]) -> bool:
        """False if there are too many."""
        import numpy as np

        known: list[str | None] = [*texts.dictionary.to_pylist(), None]
        places = [self._places.setdefault(text, len(self._places)) for text in known]
        if not self._has_room():
            return False
        codes = texts.indices.fill_null(len(known) - 1).to_numpy()
        rows = np.array(places)[codes]
        rows *= self.length + 1
        rows += buckets
        self._flags[1:][rows] = 1
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
        flags = self._flags
        edges = np.flatnonzero(flags[1:] != flags[:-1]) + 1
        starts, ends = edges[0::2] - 1, edges[1::2] - 1
        owners = starts // (self.length + 1)
        bounds = np.searchsorted(owners, np.arange(len(self._places) + 1)).tolist()
        found = []
        for text, place in self._places.items():
            first, last = bounds[place], bounds[place + 1]
            if first < last:
                base = place * (self.length + 1)
                runs = (starts[first:last] - base, ends[first:last] - base)
                found.append((encoded([text]), (), _of_runs(*runs, origin)))
        return found


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
