"""Checks of frozen data sets: each is there, and what it holds is what was frozen."""

from __future__ import annotations

from collections.abc import Iterator

from tidelake.catalog.database.database import Reader
from tidelake.catalog.inventory import Inventory
from tidelake.catalog.read import counting, inlined_data
from tidelake.model.names import TableName
from tidelake.session import data_set_records as data_sets
from tidelake.session.data_set_records import DataSetRecord
from tidelake.session.session import Session
from tidelake.verify.content import rows_hash
from tidelake.verify.values import Problem

_CHECK = "data-sets"


def data_set_tables(inventory: Inventory, reader: Reader) -> Iterator[Problem]:
    """By what the catalog counts: no row has come, and none has gone. Rows are not read."""
    for record in data_sets.every(reader):
        if record.table_id not in inventory.wanted_tables:
            continue
        table = inventory.tables[record.table_id]
        name = str(inventory.name(record.table_id))
        if table.end_snapshot is not None:
            if record.dropped_at is None:
                yield _gone(name, table.table_name)
            continue
        counted = counting.row_count(reader, inventory.head, record.table_id)
        if counted not in (None, record.rows) or _has_news(inventory, reader, record):
            said = "others" if counted in (None, record.rows) else f"{counted:,} rows"
            yield _changed(name, record, said)


def _has_news(inventory: Inventory, reader: Reader, record: DataSetRecord) -> bool:
    """Whether rows are there that came after the set. Upkeep leaves them to their snapshots."""
    id_ = record.table_id
    first = min(row.begin_snapshot for row in inventory.of_table("table", id_))
    files = [row for row in inventory.of_table("data_file", id_) if row.end_snapshot is None]
    late = any(max(row.begin_snapshot, row.partial_max or 0) > first for row in files)
    if late or _next_row_id(reader, id_) > record.next_row_id:
        return True
    return bool(inlined_data.begun_between(reader, first, inventory.head, id_, ()))


def _next_row_id(reader: Reader, table_id: int) -> int:
    row = reader.row(
        "SELECT next_row_id FROM ducklake_table_stats WHERE table_id = :id", id=table_id
    )
    return 0 if row is None else int(row[0] or 0)


def data_set_rows(session: Session, known: Inventory) -> Iterator[Problem]:
    """By their fingerprints: all rows of all sets are read."""
    with session.reading() as reader:
        found = data_sets.every(reader)
    for record in found:
        if record.table_id not in known.wanted_tables:
            continue
        table = known.tables[record.table_id]
        if table.end_snapshot is None:
            name = TableName(known.schemas[table.schema_id].schema_name, table.table_name)
            yield from changed_rows(session, record, name)


def changed_rows(session: Session, record: DataSetRecord, name: TableName) -> Iterator[Problem]:
    """One set by its fingerprint."""
    held = rows_hash(session, session.plan(name, None))
    if held.fingerprint != record.fingerprint:
        said = "others" if held.rows == record.rows else f"{held.rows:,} rows"
        yield _changed(str(name), record, said)


def _changed(name: str, record: DataSetRecord, now: str) -> Problem:
    return Problem(
        _CHECK,
        f"the data set has changed: {record.rows:,} rows were frozen, and it has {now} now",
        "somebody has written to its table without Tidelake. Read it as it was"
        " (lake.table(…).known_at(…), while that snapshot is kept), drop it, and freeze it again",
        table=name,
    )


def _gone(name: str, called: str) -> Problem:
    return Problem(
        _CHECK,
        "somebody has dropped the table of the data set without Tidelake",
        f"lake.undrop({name!r}) brings it back; if it is right, lake.undrop it and"
        f" lake.drop_frozen({called!r})",
        table=name,
    )


READING_CHECKS = (data_set_tables,)
