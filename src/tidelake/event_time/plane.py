"""The plane of both times of a table, from what the catalog knows of its files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from tidelake.catalog.database.database import Reader, Row
from tidelake.catalog.read import inlined_data, snapshots, zones
from tidelake.catalog.read.sizes import file_ids_given
from tidelake.catalog.read.tables import visible
from tidelake.event_time.values.plane import (
    Cell,
    Plane,
    arrange,
    moment_of,
    prefix_length,
    span_of_prefix,
)
from tidelake.model.event_time import EventTime
from tidelake.model.schema import Column
from tidelake.session.source import Source

MANY_FILES = 20_000
"""Of more files the database itself counts those that lie near each other."""
_MARKS = 300
_RUNS_OF_SNAPSHOTS = 96

_OF_FILES = (
    " FROM ducklake_data_file f JOIN ducklake_file_column_stats s"
    " ON s.table_id = f.table_id AND s.data_file_id = f.data_file_id AND s.column_id = :column"
    f" WHERE f.table_id = :id AND {visible('f')}"
)


def plane(source: Source, marks: int = _MARKS, many_files: int = MANY_FILES) -> Plane:
    """Where the facts lie that the table has at its moment of knowing; with about so many marks."""
    with source.session.reading() as reader:
        at = source.at(reader)
        table = source.info(reader, at)
        look = _Look(reader, at, table.id, EventTime.of(table, at).time)
        many = file_ids_given(reader) > many_files
        found = [*look.of_rows(), *(look.of_many() if many else look.of_each())]
        shown = tuple(snapshots.sample(reader, at, marks))
    return Plane(str(table.name), at, shown, arrange(found))


@dataclass(frozen=True, slots=True)
class _Look:
    """At the event times of a table at a snapshot."""

    reader: Reader
    at: int
    table_id: int
    time: Column

    def of_rows(self) -> Iterator[Cell]:
        """Of rows that the catalog keeps."""
        for kept in inlined_data.inlined_rows(self.reader, self.at, self.table_id, {self.time.id}):
            times = Counter((row[1], str(row[2])) for row in kept.rows)
            for (known, text), rows in times.items():
                moment = moment_of(text)
                if moment is not None and isinstance(known, int):
                    yield Cell(moment, moment, known, known, rows)

    def of_each(self) -> Iterator[Cell]:
        """Of every file."""
        chosen = "f.begin_snapshot, f.partial_max, s.min_value, s.max_value, f.record_count"
        for begin, partial, low, high, rows in self._rows(f"SELECT {chosen}{_OF_FILES}"):
            first, last = moment_of(low), moment_of(high)
            if first is not None and last is not None:
                until = min(max(partial or begin, begin), self.at)
                yield Cell(first, last, begin, until, int(rows))

    def of_many(self) -> Iterator[Cell]:
        """Of a thousand files at a time where these have been summarised, else of those that the
        database finds near each other."""
        free = zones.summarised_until(self.reader, self.table_id)
        if free:
            yield from self._of_zones()
        size = prefix_length(*self._bounds())
        shift = (self.at // _RUNS_OF_SNAPSHOTS).bit_length()
        near = f"substr(s.min_value, 1, {size}), substr(s.max_value, 1, {size})"
        rows = self._rows(
            "SELECT min(f.begin_snapshot), max(f.begin_snapshot), min(s.min_value),"
            f" max(s.max_value), sum(f.record_count){_OF_FILES} AND f.data_file_id >= {free}"
            f" AND s.data_file_id >= {free} GROUP BY f.begin_snapshot >> {shift}, {near}"
        )
        for begin, until, low, high, count in rows:
            found = span_of_prefix(str(low)[:size], str(high)[:size])
            if found is not None:
                yield Cell(*found, begin, until, int(count))

    def _of_zones(self) -> Iterator[Cell]:
        for low, high, count, begin, until in zones.spans(self.reader, self.table_id, self.time.id):
            first, last = moment_of(low), moment_of(high)
            if first is not None and last is not None and begin <= self.at:
                yield Cell(first, last, begin, min(max(begin, until), self.at), int(count or 0))

    def _bounds(self) -> tuple[str | None, str | None]:
        row = self.reader.row(
            "SELECT min_value, max_value FROM ducklake_table_column_stats"
            " WHERE table_id = :id AND column_id = :column",
            id=self.table_id,
            column=self.time.id,
        )
        return (row[0], row[1]) if row else (None, None)

    def _rows(self, sql: str) -> list[Row]:
        return self.reader.rows(sql, id=self.table_id, column=self.time.id, at=self.at)
