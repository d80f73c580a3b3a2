"""By which series coverage of a table is kept, and which of them some snapshot still has."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

from tidelake.catalog.database.database import Reader, Writer
from tidelake.catalog.read import snapshots
from tidelake.catalog.read import tables as read
from tidelake.coverage import records as coverage
from tidelake.coverage.layouts import Scope
from tidelake.coverage.values.series import Series
from tidelake.errors import NotFound
from tidelake.model.table import TableInfo

_EDGES = (
    "SELECT begin_snapshot, end_snapshot FROM ducklake_table WHERE table_id = :id",
    "SELECT begin_snapshot, end_snapshot FROM ducklake_column WHERE table_id = :id",
    "SELECT begin_snapshot, end_snapshot FROM ducklake_tag WHERE object_id = :id",
)


@dataclass(frozen=True, slots=True)
class Usage:
    """A series, and the table as a snapshot that has it sees it."""

    at: int
    table: TableInfo
    series: Series

    @property
    def scope(self) -> Scope:
        return Scope(self.table.id, self.series.number)


def in_use(reader: Reader, table_id: int, data_path: str) -> dict[int, Usage]:
    """The series that the table has at any snapshot that is left, by number; each as the last of
    them sees it."""
    ids = snapshots.ids(reader)
    edges = {edge for sql in _EDGES for row in reader.rows(sql, id=table_id) for edge in row}
    places = {bisect_left(ids, edge) for edge in edges if edge is not None}
    found: dict[int, Usage] = {}
    for at in sorted(ids[place] for place in places if place < len(ids)):
        usage = _usage(reader, table_id, at, data_path)
        if usage is not None:
            found[usage.series.number] = usage
    return found


def _usage(reader: Reader, table_id: int, at: int, data_path: str) -> Usage | None:
    try:
        table = read.table(reader, at, table_id, data_path)
    except NotFound:
        return None
    series = Series.maybe(table)
    return None if series is None else Usage(at, table, series)


def idle(reader: Reader, data_path: str) -> list[int]:
    """Tables of which coverage is kept by a series that no snapshot has any more."""
    return [id_ for id_ in coverage.tables(reader) if any(_idle(reader, id_, data_path))]


def forget_idle(writer: Writer, table_id: int, data_path: str) -> None:
    """Strike off what is kept by such a series. Requires the lake's lock: nobody then takes it up
    again."""
    for scope in _idle(writer, table_id, data_path):
        coverage.forget_series(writer, scope)


def _idle(reader: Reader, table_id: int, data_path: str) -> Iterator[Scope]:
    """Of most tables everything is kept by the series that they have now."""
    kept = coverage.scopes(reader, table_id)
    now = _usage(reader, table_id, snapshots.head_id(reader), data_path)
    if now is not None and kept == [now.scope]:
        return
    used = in_use(reader, table_id, data_path) if kept else {}
    yield from (scope for scope in kept if scope.series not in used)
