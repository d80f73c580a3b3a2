"""Zones: statistics of a thousand files at a time, so that planning can skip them together.

A zone is a run of `WIDTH` data file ids. DuckLake never gives an id twice, so once all ids of
a zone have been given, no file can join it: files only ever leave, and a summary of the zone
stays true for what remains. Summaries live in `tidelake_zone`, in the form of ordinary column
statistics; a row with column 0 says that the table has files in the zone, and the one with
column -1 how far the table has been summarised. With `tidelake_zone` dropped, every plan is the
same, only slower.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tidelake.catalog.database.database import Reader, Writer
from tidelake.model.bounds import greatest, least
from tidelake.model.predicate import Predicate
from tidelake.model.schema import Column, Schema
from tidelake.model.statistics import ColumnStats, matcher

TABLE = "tidelake_zone"
WIDTH = 1024

_BOUNDARY = -1
_HAS_FILES = 0
_AT_ONCE = 8
_MOST_RUNS = 32

Range = tuple[int, int | None]
"""File ids from the first to the last, both included; without a last, all from the first on."""

EVERYTHING: Range = (0, None)


class ZoneMap:
    """The zones of a table, as they were when they were first asked for, column by column. They
    stay true: files only ever leave them. Threads may share it."""

    def __init__(self, table_id: int) -> None:
        self._table_id = table_id
        self._boundary: int | None = None
        self._columns: dict[int, dict[int, ColumnStats]] = {}

    def candidates(self, reader: Reader, predicate: Predicate, schema: Schema) -> tuple[Range, ...]:
        """Runs of ids of files that may hold wanted rows; the last is of those in no zone yet."""
        boundary = self._boundary
        if boundary is None:
            boundary = self._boundary = summarised_until(reader, self._table_id) // WIDTH
        if not boundary:
            return (EVERYTHING,)
        may_match = matcher(predicate, schema)
        wanted = [column.id for column in schema if column.name in predicate.columns()]
        known = self._known(reader, wanted)
        kept = [zone for zone in sorted(known[_HAS_FILES]) if may_match(_of_zone(known, zone))]
        return (*_runs(kept), (boundary * WIDTH, None))

    def _known(self, reader: Reader, wanted: Sequence[int]) -> dict[int, dict[int, ColumnStats]]:
        """By column, what is known of each zone in which the table has files."""
        known = self._columns
        missing = [each for each in (_HAS_FILES, *wanted) if each not in known]
        if missing:
            known = self._columns = {**known, **_summaries(reader, self._table_id, missing)}
        return {column_id: known[column_id] for column_id in (_HAS_FILES, *wanted)}


def _of_zone(known: dict[int, dict[int, ColumnStats]], zone: int) -> dict[int, ColumnStats]:
    return {column_id: zones[zone] for column_id, zones in known.items() if zone in zones}


def from_id(runs: Sequence[Range], first: int) -> tuple[Range, ...]:
    """What of the runs is not below an id."""
    return tuple((max(start, first), last) for start, last in runs if last is None or last >= first)


def _runs(zones: Sequence[int]) -> list[Range]:
    """Zones as few runs of file ids; where they lie too scattered, with some between."""
    edges: list[tuple[int, int]] = []
    for zone in zones:
        if edges and edges[-1][1] == zone - 1:
            edges[-1] = (edges[-1][0], zone)
        else:
            edges.append((zone, zone))
    step = -(-len(edges) // _MOST_RUNS) or 1
    groups = [edges[place : place + step] for place in range(0, len(edges), step)]
    return [(group[0][0] * WIDTH, group[-1][1] * WIDTH + WIDTH - 1) for group in groups]


def _boundary(reader: Reader, table_id: int) -> int:
    row = reader.row(
        f"SELECT zone FROM {TABLE} WHERE table_id = :id AND column_id = {_BOUNDARY}", id=table_id
    )
    return int(row[0]) if row else 0


def _summaries(
    reader: Reader, table_id: int, columns: Sequence[int]
) -> dict[int, dict[int, ColumnStats]]:
    """By column, what is known of the zones in which the table has files."""
    listed = ", ".join(map(str, columns))
    rows = reader.rows(
        "SELECT zone, column_id, min_value, max_value, null_count, value_count, contains_nan"
        f" FROM {TABLE} WHERE table_id = :id AND column_id IN ({listed})",
        id=table_id,
    )
    found: dict[int, dict[int, ColumnStats]] = {column_id: {} for column_id in columns}
    for zone, column_id, *values in rows:
        found[column_id][zone] = _stats(values)
    return found


def summarised_until(reader: Reader, table_id: int) -> int:
    """The first file id of a table that is in no zone yet."""
    return _boundary(reader, table_id) * WIDTH if reader.has_table(TABLE) else 0


def spans(reader: Reader, table_id: int, column_id: int) -> list[tuple[Any, ...]]:
    """Of every zone of a table: the least and the greatest value of a column, how many there are,
    and the snapshots at which the first and the last file of the zone began."""
    begun = "(SELECT f.begin_snapshot FROM ducklake_data_file f WHERE f.data_file_id {} LIMIT 1)"
    first = begun.format(f">= z.zone * {WIDTH} ORDER BY f.data_file_id")
    last = begun.format(f"< (z.zone + 1) * {WIDTH} ORDER BY f.data_file_id DESC")
    return reader.rows(
        f"SELECT z.min_value, z.max_value, z.value_count, {first}, {last} FROM {TABLE} z"
        " WHERE z.table_id = :id AND z.column_id = :column",
        id=table_id,
        column=column_id,
    )


def _stats(values: Sequence[Any]) -> ColumnStats:
    low, high, nulls, count, nan = values
    return ColumnStats(low, high, nulls, count, None if nan is None else bool(nan))


def summarise(writer: Writer, table_id: int, columns: Iterable[Column]) -> bool:
    """Summarise some of the zones that have become complete; False when none is left."""
    first = _boundary(writer, table_id)
    stop = min(first + _AT_ONCE, _complete(writer))
    if stop <= first:
        return False
    leaves = {leaf.id: leaf for column in columns for leaf in column.leaves()}
    writer.insert(TABLE, list(_summary_rows(writer, table_id, leaves, first, stop)))
    writer.execute(
        f"DELETE FROM {TABLE} WHERE table_id = :id AND column_id = {_BOUNDARY}", id=table_id
    )
    writer.insert(TABLE, [{"table_id": table_id, "column_id": _BOUNDARY, "zone": stop}])
    return True


def _complete(reader: Reader) -> int:
    """How many zones no file will come to any more, up to the last that has files."""
    counter = reader.row("SELECT max(next_file_id) FROM ducklake_snapshot")
    newest = reader.row("SELECT max(data_file_id) FROM ducklake_data_file")
    if not counter or not newest or None in (counter[0], newest[0]):
        return 0
    return int(min(counter[0] // WIDTH, newest[0] // WIDTH + 1))


def forget(writer: Writer, table_id: int, files: Iterable[int]) -> None:
    """Drop the summaries of zones in which a table had these files and now has none."""
    if not writer.has_table(TABLE):
        return
    for zone in sorted({file_id // WIDTH for file_id in files}):
        writer.execute(
            f"DELETE FROM {TABLE} WHERE table_id = :id AND zone = :zone"
            f" AND column_id <> {_BOUNDARY} AND NOT EXISTS (SELECT 1 FROM ducklake_data_file"
            " WHERE +ducklake_data_file.table_id = :id AND data_file_id BETWEEN :first AND :last)",
            id=table_id,
            zone=zone,
            first=zone * WIDTH,
            last=zone * WIDTH + WIDTH - 1,
        )


def _summary_rows(
    reader: Reader, table_id: int, leaves: dict[int, Column], start: int, stop: int
) -> Iterator[dict[str, object]]:
    bounds = {"id": table_id, "first": start * WIDTH, "last": stop * WIDTH - 1}
    within = "data_file_id BETWEEN :first AND :last"
    files: dict[int, int] = defaultdict(int)
    listed = f"SELECT data_file_id FROM ducklake_data_file WHERE +table_id = :id AND {within}"
    for (file_id,) in reader.rows(listed, **bounds):
        files[file_id // WIDTH] += 1
    known: dict[tuple[int, int], list[ColumnStats]] = defaultdict(list)
    for column_id in leaves:
        for file_id, *values in reader.rows(
            "SELECT data_file_id, min_value, max_value, null_count, value_count, contains_nan"
            " FROM ducklake_file_column_stats"
            f" WHERE table_id = :id AND column_id = :column AND {within}",
            column=column_id,
            **bounds,
        ):
            known[file_id // WIDTH, column_id].append(_stats(values))
    for zone, number in files.items():
        yield _row(table_id, _HAS_FILES, zone, ColumnStats())
        for column_id, column in leaves.items():
            found = known[zone, column_id]
            merged = _merged(column, found) if len(found) == number else ColumnStats()
            yield _row(table_id, column_id, zone, merged)


def _row(table_id: int, column_id: int, zone: int, stats: ColumnStats) -> dict[str, object]:
    return {
        "table_id": table_id,
        "column_id": column_id,
        "zone": zone,
        "min_value": stats.min,
        "max_value": stats.max,
        "null_count": stats.null_count,
        "value_count": stats.value_count,
        "contains_nan": stats.contains_nan,
    }


def _merged(column: Column, files: Sequence[ColumnStats]) -> ColumnStats:
    """What holds of all the files together; None wherever one of them does not say."""
    valued = [stats for stats in files if stats.value_count != 0]
    nans = [stats.contains_nan for stats in valued]
    return ColumnStats(
        min=least(column.type, [stats.min for stats in valued]),
        max=greatest(column.type, [stats.max for stats in valued]),
        null_count=_total([stats.null_count for stats in files]),
        value_count=_total([stats.value_count for stats in files]),
        contains_nan=True if True in nans else None if None in nans else False,
    )


def _total(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None
