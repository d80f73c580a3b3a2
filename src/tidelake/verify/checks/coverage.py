"""Checks of coverage: what its rows say, by themselves and beside the rest of the catalog.

What is kept of files that DuckDB has merged or expired is no problem: nobody looks at it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from tidelake.catalog.batches import batches
from tidelake.catalog.database.database import Reader, Row
from tidelake.catalog.inventory import Inventory
from tidelake.catalog.read.files import among
from tidelake.coverage import records as coverage
from tidelake.coverage.layouts import LAYOUTS, PAGES, TABLE
from tidelake.coverage.values.bitmaps import ids_of
from tidelake.coverage.values.clock import SIGN
from tidelake.coverage.values.kept_sets import KeptPiece
from tidelake.coverage.values.page import kept_pieces, slots_of_entities
from tidelake.coverage.values.series import hash_of
from tidelake.errors import Corrupt
from tidelake.verify.values import Problem

CHECK = "coverage"
ANEW = "find it out anew: t.recompute_coverage()"
_EXPIRE = "lake.expire(…) takes it out"
_FILES_AT_ONCE = 20
_SHOWN = 60
_NO_ENTITY = "an entity that is none"


def coverage_owners(inventory: Inventory, reader: Reader) -> Iterator[Problem]:
    """Every row is of a table and a file that there have been."""
    newest = max(inventory.of("snapshot"), key=lambda row: row.snapshot_id)
    for table_id in coverage.tables(reader):
        if table_id >= newest.next_catalog_id:
            said = f"coverage of table {table_id}, which there has never been"
            yield Problem(CHECK, said, _EXPIRE)
    for table_id, ids in coverage.strays(reader).items():
        unknown = [file_id for file_id in ids if file_id >= newest.next_file_id]
        if unknown and _is_wanted(inventory, table_id):
            said = f"coverage of file {unknown[0]}, which there has never been"
            yield Problem(CHECK, said, _EXPIRE, table=inventory.name(table_id))


def coverage_records(inventory: Inventory, reader: Reader) -> Iterator[Problem]:
    """Every bitmap belongs to a record, and no record speaks of what has not happened yet."""
    for files, table in LAYOUTS.items():
        if reader.has_table(files) and reader.has_table(table):
            yield from _records(inventory, reader, files, table)


def _records(inventory: Inventory, reader: Reader, files: str, table: str) -> Iterator[Problem]:
    for table_id, file_id in reader.rows(
        f"SELECT DISTINCT p.table_id, p.data_file_id FROM {table} p LEFT JOIN {files} f"
        " ON f.table_id = p.table_id AND f.series = p.series AND f.data_file_id = p.data_file_id"
        " WHERE f.table_id IS NULL"
    ):
        if _is_wanted(inventory, table_id):
            said = f"bitmaps of file {file_id}, of which it is not said that they are all"
            yield Problem(CHECK, said, ANEW, table=inventory.name(table_id))
    for table_id, file_id, through in reader.rows(
        f"SELECT table_id, data_file_id, deleted_through FROM {files}"
        " WHERE deleted_through > :head OR deleted_through < 0 OR deleted_through IS NULL",
        head=inventory.head,
    ):
        if _is_wanted(inventory, table_id):
            said = f"what is kept of file {file_id} is to hold for deletes up to snapshot {through}"
            what = f"{said}, and the newest is {inventory.head}"
            yield Problem(CHECK, what, ANEW, table=inventory.name(table_id))


def coverage_bitmaps(inventory: Inventory, reader: Reader) -> Iterator[Problem]:
    """Every bitmap can be read and is what the columns beside it say, of an entity that is one."""
    looks = {TABLE: (_ROW, _odd_row), PAGES: (_PAGE, _odd_in_page)}
    for table_id in coverage.tables(reader):
        for name in filter(reader.has_table, looks if _is_wanted(inventory, table_id) else ()):
            columns, look = looks[name]
            for row in _rows(reader, name, columns, table_id):
                for said, entity in look(row):
                    what = f"{said}, of {entity[:_SHOWN]} in file {row[0]}"
                    yield Problem(CHECK, what, ANEW, table=inventory.name(table_id))


_ROW = (
    "data_file_id, entity, entity_hash, buckets, first_bucket, last_bucket, bucket_count,"
    " begin_snapshot, end_snapshot"
)
_PAGE = "data_file_id, slot, begin_snapshot, end_snapshot, entities, spans, buckets"
Odd = Iterator[tuple[str, str]]
"""What is wrong, and of which entity."""


def _rows(reader: Reader, name: str, columns: str, table_id: int) -> Iterator[Row]:
    """Of some files at a time."""
    of_table = f"FROM {name} WHERE table_id = :id"
    rows = reader.rows(f"SELECT DISTINCT data_file_id {of_table}", id=table_id)
    for some in batches(sorted(row[0] for row in rows), _FILES_AT_ONCE):
        yield from reader.rows(f"SELECT {columns} {of_table}{among(some)}", id=table_id)


def _odd_row(row: Row) -> Odd:
    file_id, entity, entity_hash, data, first, last, count, begin, end = row
    piece = (file_id, entity, first, last, count, bytes(data), False)
    if not _is_entity(entity) or hash_of(entity) != entity_hash:
        yield _NO_ENTITY, str(entity)
    elif (said := _odd(piece, begin, end)) is not None:
        yield said, entity


def _odd_in_page(row: Row) -> Odd:
    file_id, slot, begin, end, entities, spans, data = row
    try:
        pieces = list(kept_pieces(file_id, (entities, bytes(spans), bytes(data))))
    except Corrupt:
        yield "a page that cannot be read", entities
        return
    for piece in pieces:
        entity = piece[1]
        if not _is_entity(entity) or slot not in slots_of_entities([entity], slot):
            yield _NO_ENTITY, entity
        elif (said := _odd(piece, begin, end)) is not None:
            yield said, entity


def _is_wanted(inventory: Inventory, table_id: int) -> bool:
    return inventory.only is None or table_id in inventory.only


def _odd(piece: KeptPiece, begin: int | None, end: int | None) -> str | None:
    _, _, first, last, count, data, lacking = piece
    if begin is None or begin < 0 or (end is not None and end <= begin):
        return f"a bitmap that holds from snapshot {begin} until {end}"
    try:
        buckets = ids_of(data, first + SIGN, last + SIGN, lacking=lacking)
    except Corrupt:
        return "a bitmap that cannot be read"
    if not buckets:
        return "a bitmap without buckets"
    found = (buckets.min() - SIGN, buckets.max() - SIGN, len(buckets))
    if found != (first, last, count):
        return f"a bitmap of {len(buckets):,} buckets that is said to be another of {count:,}"
    return None


def _is_entity(text: object) -> bool:
    try:
        return isinstance(text, str) and isinstance(json.loads(text), list)
    except ValueError:
        return False


READING_CHECKS = (coverage_owners, coverage_records, coverage_bitmaps)
