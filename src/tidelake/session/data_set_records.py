"""Records of frozen data sets: which query at which moments, and the fingerprint of what it gave.

The rows are those of an ordinary table, which bears a tag; what is known of them is here. A record
stays as long as some snapshot sees its table, so a set that was dropped can come back.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from tidelake.catalog import own_tables
from tidelake.catalog.database.database import Reader, Row, Writer
from tidelake.catalog.own_tables import OwnTable
from tidelake.catalog.read.snapshots import as_instant

TABLE = "tidelake_data_set"
SCHEMA = "frozen"
"""Where sets are tables, under their own names."""
own_tables.know(
    {
        TABLE: OwnTable(
            "table_id int!, query text, as_of text, known_at int, known_time time, sources text,"
            " author text, message text, made_at time, row_count int, fingerprint text,"
            " next_row_id int, rebased_at time, next_row_count int, next_fingerprint text,"
            " dropped_at time",
            needed="table_id query known_at known_time made_at row_count fingerprint next_row_id",
        )
    }
)
_COLUMNS = (
    "table_id",
    "query",
    "as_of",
    "known_at",
    "known_time",
    "sources",
    "author",
    "message",
    "made_at",
    "row_count",
    "fingerprint",
    "next_row_id",
    "rebased_at",
    "dropped_at",
)


@dataclass(frozen=True, slots=True)
class DataSetRecord:
    """What is known of a set. `sources` are the tables that it was made of, by id; None if nobody
    can tell. `next_row_id` is the first that its table had not given to a row. `rebased_at` is when
    rows of it were erased last."""

    table_id: int
    query: str
    as_of: str | None
    known_at: int
    known_time: datetime
    sources: frozenset[int] | None
    author: str | None
    message: str | None
    made_at: datetime
    rows: int
    fingerprint: str
    next_row_id: int = 0
    rebased_at: datetime | None = None
    dropped_at: datetime | None = None


def ensure(writer: Writer) -> None:
    """Call it before anything is written: MySQL commits what has been written until then."""
    own_tables.ensure(writer, TABLE)


def every(reader: Reader) -> list[DataSetRecord]:
    """All of them, those of dropped sets too, in the order in which they were made."""
    if not reader.has_table(TABLE):
        return []
    rows = reader.rows(f"SELECT {', '.join(_COLUMNS)} FROM {TABLE} ORDER BY table_id")
    return [_record(row) for row in rows]


def of_table(reader: Reader, table_id: int) -> DataSetRecord | None:
    return next((each for each in every(reader) if each.table_id == table_id), None)


def _record(row: Row) -> DataSetRecord:
    sources = None if row[5] is None else frozenset(map(int, json.loads(row[5])))
    return DataSetRecord(
        int(row[0]),
        row[1],
        row[2],
        int(row[3]),
        as_instant(row[4]),
        sources,
        row[6],
        row[7],
        as_instant(row[8]),
        int(row[9]),
        row[10],
        int(row[11]),
        None if row[12] is None else as_instant(row[12]),
        None if row[13] is None else as_instant(row[13]),
    )


def put(writer: Writer, record: DataSetRecord) -> None:
    """Keep what is known of a set whose table has just been made. Requires: the lake's lock, and
    the table of records."""
    row = writer.row(
        "SELECT next_row_id FROM ducklake_table_stats WHERE table_id = :id", id=record.table_id
    )
    sources = None if record.sources is None else json.dumps(sorted(record.sources))
    values = (
        record.table_id,
        record.query,
        record.as_of,
        record.known_at,
        writer.dialect.moment(record.known_time),
        sources,
        record.author,
        record.message,
        writer.dialect.moment(record.made_at),
        record.rows,
        record.fingerprint,
        0 if row is None else int(row[0] or 0),
        None,
        None,
    )
    writer.insert_values(TABLE, _COLUMNS, [values])


def note_drop(writer: Writer, table_id: int) -> None:
    """It is known that the table is gone, and right so."""
    writer.execute(
        f"UPDATE {TABLE} SET dropped_at = :at WHERE table_id = :id",
        at=writer.dialect.moment(own_tables.clock(writer)),
        id=table_id,
    )


def announce(writer: Writer, table_id: int, rows: int, fingerprint: str) -> None:
    """Keep what the set will hold once an erasure has been committed. Should that never happen,
    nothing comes of it."""
    writer.execute(
        f"UPDATE {TABLE} SET next_row_count = :rows, next_fingerprint = :mark WHERE table_id = :id",
        rows=rows,
        mark=fingerprint,
        id=table_id,
    )


def rebase(writer: Writer, table_id: int) -> None:
    """What was announced is so now. Requires: the transaction of the erasure."""
    if not writer.has_table(TABLE):
        return
    writer.execute(
        f"UPDATE {TABLE} SET row_count = next_row_count, fingerprint = next_fingerprint,"
        " next_row_count = NULL, next_fingerprint = NULL, rebased_at = :at"
        " WHERE table_id = :id AND next_fingerprint IS NOT NULL",
        at=writer.dialect.moment(own_tables.clock(writer)),
        id=table_id,
    )


def forget(writer: Writer, table_ids: Collection[int]) -> None:
    """Strike off those of tables that leave the catalog."""
    if table_ids and writer.has_table(TABLE):
        listed = ", ".join(map(str, table_ids))
        writer.execute(f"DELETE FROM {TABLE} WHERE table_id IN ({listed})")


def strays(reader: Reader) -> list[int]:
    """Tables that somebody else has removed from the catalog altogether."""
    known = {each.table_id for each in every(reader)}
    if known:
        known -= {int(row[0]) for row in reader.rows("SELECT table_id FROM ducklake_table")}
    return sorted(known)
