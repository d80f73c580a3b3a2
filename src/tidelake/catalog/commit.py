"""The one door for writes: a Change becomes a snapshot, whole or not at all.

Files have been written before; inside the lake's lock and one transaction the change is checked
against what landed since, gets its ids, and becomes rows. Somebody who does not take our lock
(DuckDB) can still come first: then the snapshot's primary key is taken, the transaction is void,
and the same change is tried again from the beginning.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from tidelake.catalog import conflict, contents, declarations
from tidelake.catalog.database import Database, Reader, Writer
from tidelake.catalog.entries import Entries, Numbers
from tidelake.catalog.failures import LostRace
from tidelake.catalog.snapshots import as_instant
from tidelake.errors import Corrupt
from tidelake.model.change import Change

PATIENCE_S = 60.0
_FIRST_WAIT_S = 0.005
_LONGEST_WAIT_S = 0.5


@dataclass(frozen=True, slots=True)
class Landed:
    """A commit that is there. `next_file_id` tells how far the lake's file ids have come."""

    snapshot_id: int
    schema_version: int
    next_file_id: int
    attempts: int
    duplicate: bool
    seconds: float


def commit(database: Database, change: Callable[[int], Change], data_path: str) -> Landed:
    """Commit what `change` gives for a snapshot id. It is asked inside the lock, once for
    every attempt, and must give the same change for the same id."""
    started = time.monotonic()
    attempts = 0
    while True:
        attempts += 1
        try:
            numbers, duplicate = _attempt(database, change, data_path, again=attempts > 1)
        except LostRace:
            if time.monotonic() - started > PATIENCE_S:
                raise
            _wait(attempts)
            continue
        return Landed(
            numbers.snapshot_id,
            numbers.schema_version,
            numbers.next_file_id,
            attempts,
            duplicate,
            time.monotonic() - started,
        )


def _wait(attempts: int) -> None:
    longest = min(_FIRST_WAIT_S * 2**attempts, _LONGEST_WAIT_S)
    time.sleep(random.uniform(longest / 2, longest))


def _attempt(
    database: Database, change: Callable[[int], Change], data_path: str, *, again: bool
) -> tuple[Numbers, bool]:
    with database.writing() as writer:
        head, last_time, clock = _head(writer)
        wanted = change(head.snapshot_id + 1)
        if again and (landed := _landed_before(writer, wanted)) is not None:
            return landed, True
        conflict.check(writer, wanted, head, data_path)
        numbers = Numbers(
            head.snapshot_id + 1, head.schema_version, head.next_catalog_id, head.next_file_id
        )
        now = max(clock or datetime.now(UTC), last_time)
        entries = Entries(numbers, writer.dialect.moment(now), head.schema_version)
        ids = declarations.declare(writer, entries, wanted, data_path)
        for table in wanted.tables:
            contents.fill(writer, entries, table, ids.table(table.table.id), data_path)
        _write(writer, entries, wanted)
        return numbers, False


def _head(reader: Reader) -> tuple[Numbers, datetime, datetime | None]:
    """The newest snapshot's counters and time, and the server's clock where there is one."""
    moment = reader.dialect.instant.format("snapshot_time")
    row = reader.row(
        f"SELECT snapshot_id, schema_version, next_catalog_id, next_file_id, {moment},"
        f" {reader.dialect.clock or 'NULL'} FROM ducklake_snapshot"
        " ORDER BY snapshot_id DESC LIMIT 1"
    )
    if row is None:
        raise Corrupt("the catalog has no snapshots", hint="restore it from a backup")
    clock = None if row[5] is None else as_instant(row[5])
    return Numbers(*row[:4]), as_instant(row[4]), clock


def _landed_before(reader: Reader, change: Change) -> Numbers | None:
    """The snapshot that an earlier attempt made, if its reply was lost."""
    row = reader.row(
        "SELECT s.snapshot_id, s.schema_version, s.next_catalog_id, s.next_file_id"
        " FROM ducklake_snapshot s JOIN ducklake_snapshot_changes c"
        " ON c.snapshot_id = s.snapshot_id"
        " WHERE s.snapshot_id > :base AND c.commit_extra_info = :extra",
        base=change.base,
        extra=_extra(change),
    )
    return Numbers(*row) if row else None


def _extra(change: Change) -> str:
    return json.dumps({"tidelake": {"token": change.token}})


def _write(writer: Writer, entries: Entries, change: Change) -> None:
    """Tables first, because MySQL commits after each; then the snapshot, whose key stops
    everybody else; then the rest."""
    for sql in entries.creates:
        writer.execute(sql)
    numbers = entries.numbers
    with writer.together():
        writer.insert(
            "ducklake_snapshot",
            [
                {
                    "snapshot_id": numbers.snapshot_id,
                    "snapshot_time": entries.moment,
                    "schema_version": numbers.schema_version,
                    "next_catalog_id": numbers.next_catalog_id,
                    "next_file_id": numbers.next_file_id,
                }
            ],
        )
        entries.write(writer)
        writer.insert(
            "ducklake_snapshot_changes",
            [
                {
                    "snapshot_id": numbers.snapshot_id,
                    "changes_made": ",".join(entries.tokens),
                    "author": change.author,
                    "commit_message": change.message,
                    "commit_extra_info": _extra(change),
                }
            ],
        )
