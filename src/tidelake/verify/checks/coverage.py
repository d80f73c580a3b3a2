"""Checks of coverage: what its rows say, by themselves and beside the rest of the catalog.

What is kept of files that DuckDB has merged or expired is no problem: nobody looks at it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from tidelake.catalog.database.database import Reader
from tidelake.catalog.inventory import Inventory
from tidelake.catalog.read.files import among
from tidelake.coverage import records as coverage
from tidelake.coverage.records import FILES, TABLE
from tidelake.coverage.values.bitmaps import unpack
from tidelake.coverage.values.clock import SIGN
from tidelake.coverage.values.series import hash_of
from tidelake.errors import Corrupt
from tidelake.verify.values import Problem

CHECK = "coverage"
ANEW = "find it out anew: t.recompute_coverage()"
_EXPIRE = "lake.expire(…) takes it out"
_FILES_AT_ONCE = 20


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
    if not reader.has_table(FILES):
        return
    for table_id, file_id in reader.rows(
        f"SELECT DISTINCT p.table_id, p.data_file_id FROM {TABLE} p LEFT JOIN {FILES} f"
        " ON f.table_id = p.table_id AND f.series = p.series AND f.data_file_id = p.data_file_id"
        " WHERE f.table_id IS NULL"
    ):
        if _is_wanted(inventory, table_id):
            said = f"bitmaps of file {file_id}, of which it is not said that they are all"
            yield Problem(CHECK, said, ANEW, table=inventory.name(table_id))
    for table_id, file_id, through in reader.rows(
        f"SELECT table_id, data_file_id, deleted_through FROM {FILES}"
        " WHERE deleted_through > :head OR deleted_through < 0 OR deleted_through IS NULL",
        head=inventory.head,
    ):
        if _is_wanted(inventory, table_id):
            said = f"what is kept of file {file_id} is to hold for deletes up to snapshot {through}"
            what = f"{said}, and the newest is {inventory.head}"
            yield Problem(CHECK, what, ANEW, table=inventory.name(table_id))


def coverage_bitmaps(inventory: Inventory, reader: Reader) -> Iterator[Problem]:
    """Every bitmap can be read and is what the columns beside it say, of an entity that is one."""
    for table_id in coverage.tables(reader):
        if not _is_wanted(inventory, table_id):
            continue
        rows = reader.rows(
            f"SELECT DISTINCT data_file_id FROM {TABLE} WHERE table_id = :id", id=table_id
        )
        ids = sorted(row[0] for row in rows)
        for start in range(0, len(ids), _FILES_AT_ONCE):
            for row in reader.rows(
                "SELECT data_file_id, entity, entity_hash, buckets, first_bucket, last_bucket,"
                f" bucket_count, begin_snapshot, end_snapshot FROM {TABLE}"
                f" WHERE table_id = :id{among(ids[start : start + _FILES_AT_ONCE])}",
                id=table_id,
            ):
                said = _odd(*row[1:])
                if said is not None:
                    what = f"{said}, of {str(row[1])[:60]} in file {row[0]}"
                    yield Problem(CHECK, what, ANEW, table=inventory.name(table_id))


def _is_wanted(inventory: Inventory, table_id: int) -> bool:
    return inventory.only is None or table_id in inventory.only


def _odd(
    entity: str,
    entity_hash: int,
    data: bytes,
    first: int,
    last: int,
    count: int,
    begin: int | None,
    end: int | None,
) -> str | None:
    if not _is_entity(entity) or hash_of(entity) != entity_hash:
        return "an entity that is none"
    if begin is None or begin < 0 or (end is not None and end <= begin):
        return f"a bitmap that holds from snapshot {begin} until {end}"
    try:
        buckets = unpack(bytes(data))
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
