"""What no snapshot sees any more, once some have been expired.

A row that ended stays unseen for ever: new snapshots only come after its end. So what is found
here may be removed later, bit by bit, whatever others commit in between; and what a run that
broke off left behind is simply found by the next one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from tidelake.catalog.annex import Annexes
from tidelake.catalog.database.database import Reader
from tidelake.model.names import TableName

DEFINITIONS = ("ducklake_schema", "ducklake_view", "ducklake_tag", "ducklake_macro")
"""Rows that go as soon as they are unseen. Those of columns, partitionings and sortings stay as
long as their table: files and rows of earlier forms are read with them."""

Gap = tuple[int, int]
"""Two neighbouring snapshots: what began after the first and ended by the second is unseen."""


class RemainingSnapshots:
    """The snapshots that remain."""

    def __init__(self, snapshots: Iterable[int]) -> None:
        self._ids = sorted(snapshots)

    def sees(self, begin: int, end: int | None) -> bool:
        if end is None:
            return True
        place = bisect_left(self._ids, begin)
        return place < len(self._ids) and self._ids[place] < end

    def gap(self, begin: int, end: int) -> Gap:
        """The neighbours between which an unseen span lies."""
        before, after = bisect_left(self._ids, begin), bisect_left(self._ids, end)
        return (
            self._ids[before - 1] if before else -1,
            self._ids[after] if after < len(self._ids) else end,
        )


@dataclass(frozen=True, slots=True)
class UnseenData:
    """`tables` are names by id; files are sizes by id; `gaps` say of tables of the catalog which
    rows are unseen, `rows` how many of these had been kept for the lake's own tables."""

    tables: Mapping[int, str]
    data_files: Mapping[int, int]
    delete_files: Mapping[int, int]
    gaps: Mapping[str, tuple[Gap, ...]]
    rows: int


def find(reader: Reader, annexes: Annexes, without: Collection[int] = ()) -> UnseenData:
    """What is unseen; or would be, if there were not these snapshots."""
    ids = {row[0] for row in reader.rows("SELECT snapshot_id FROM ducklake_snapshot")}
    remaining = RemainingSnapshots(ids - set(without))
    tables = _tables(reader, remaining)
    data_files = _data_files(reader, remaining, tables)
    gaps, rows = _inlined(reader, remaining, tables)
    spans = [name for annex in annexes for name in annex.spans if reader.has_table(name)]
    for name in (*DEFINITIONS, *spans):
        ended = reader.rows(
            f"SELECT DISTINCT begin_snapshot, end_snapshot FROM {name}"
            " WHERE end_snapshot IS NOT NULL"
        )
        if found := _gaps(remaining, ended):
            gaps[name] = found
    delete_files = _delete_files(reader, remaining, tables, data_files)
    return UnseenData(tables, data_files, delete_files, gaps, rows)


def _tables(reader: Reader, remaining: RemainingSnapshots) -> dict[int, str]:
    """Tables of which no form is seen. One that was renamed has several rows."""
    rows = reader.rows(
        "SELECT t.table_id, t.begin_snapshot, t.end_snapshot, s.schema_name, t.table_name"
        " FROM ducklake_table t LEFT JOIN ducklake_schema s ON s.schema_id = t.schema_id"
        " ORDER BY t.begin_snapshot"
    )
    seen = {row[0] for row in rows if remaining.sees(row[1], row[2])}
    return {row[0]: str(TableName(row[3] or "?", row[4])) for row in rows if row[0] not in seen}


def _data_files(
    reader: Reader, remaining: RemainingSnapshots, tables: Collection[int]
) -> dict[int, int]:
    rows = reader.rows(
        "SELECT data_file_id, table_id, begin_snapshot, end_snapshot, file_size_bytes"
        f" FROM ducklake_data_file WHERE end_snapshot IS NOT NULL OR {_among(tables)}"
    )
    return {
        row[0]: row[4] or 0 for row in rows if row[1] in tables or not remaining.sees(*row[2:4])
    }


def _delete_files(
    reader: Reader,
    remaining: RemainingSnapshots,
    tables: Collection[int],
    data_files: Collection[int],
) -> dict[int, int]:
    """Also those that have not ended, of data files that have."""
    rows = reader.rows(
        "SELECT delete_file_id, table_id, begin_snapshot, end_snapshot, file_size_bytes,"
        " data_file_id FROM ducklake_delete_file"
    )
    return {
        row[0]: row[4] or 0
        for row in rows
        if row[1] in tables or row[5] in data_files or not remaining.sees(*row[2:4])
    }


def _inlined(
    reader: Reader, remaining: RemainingSnapshots, tables: Collection[int]
) -> tuple[dict[str, tuple[Gap, ...]], int]:
    """Rows that the catalog keeps for tables, and how many of them are unseen. Those of tables
    that are unseen themselves go with them, and are counted only."""
    gaps, total = {}, 0
    for table_id, name in reader.rows(
        "SELECT table_id, table_name FROM ducklake_inlined_data_tables"
    ):
        if not reader.has_table(name):
            continue
        if table_id in tables:
            total += reader.rows(f'SELECT count(*) FROM "{name}"')[0][0]
            continue
        spans = reader.rows(
            f'SELECT begin_snapshot, end_snapshot, count(*) FROM "{name}"'
            " WHERE end_snapshot IS NOT NULL GROUP BY begin_snapshot, end_snapshot"
        )
        total += sum(row[2] for row in spans if not remaining.sees(row[0], row[1]))
        if found := _gaps(remaining, spans):
            gaps[name] = found
    return gaps, total


def _gaps(remaining: RemainingSnapshots, spans: Iterable[tuple[int, ...]]) -> tuple[Gap, ...]:
    unseen = {(row[0], row[1]) for row in spans if not remaining.sees(row[0], row[1])}
    return tuple(sorted({remaining.gap(*span) for span in unseen}))


def _among(ids: Collection[int]) -> str:
    return f"table_id IN ({', '.join(map(str, ids)) or 'NULL'})"
