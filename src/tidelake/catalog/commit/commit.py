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
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Protocol

from tidelake.catalog.annex import Annexes
from tidelake.catalog.commit import conflict, contents, declarations, erase
from tidelake.catalog.commit import rebuild as upkeep
from tidelake.catalog.commit.clock import check_past, file_clock
from tidelake.catalog.commit.entries import Entries, Numbers
from tidelake.catalog.commit.table_statistics import TableStatistics
from tidelake.catalog.database.database import Database, Reader, Writer
from tidelake.catalog.read import registrations
from tidelake.catalog.read.snapshots import as_instant
from tidelake.catalog.read.tables import check_version
from tidelake.errors import Corrupt, Unavailable
from tidelake.model.change import Change

_FIRST_WAIT_S = 0.005
_LONGEST_WAIT_S = 0.5


@dataclass(frozen=True, slots=True)
class CommitResult:
    """A commit that is there. `next_file_id` tells how far the lake's file ids have come."""

    snapshot_id: int
    schema_version: int
    next_file_id: int
    attempts: int
    duplicate: bool
    seconds: float


class CommitGuard(Protocol):
    """Decides inside the lock whether there is to be a commit, and writes down that there was."""

    def begin(self, writer: Writer, /) -> None:
        """Before anything else. What it raises ends the attempt."""

    def check(self, reader: Reader, head: int, /) -> None:
        """Once the change is known. Raises Conflict."""

    def keep(self, writer: Writer, snapshot_id: int, change: Change, /) -> None:
        """In the same transaction, also if nothing is changed and there is no new snapshot."""


@dataclass(frozen=True, slots=True)
class CommitRequest:
    """A commit to be made. `change` is asked inside the lock, once for every attempt, for what
    to commit as a given snapshot. `token` and `since` tell how to find out whether an earlier
    attempt has landed: which mark it bears, and after which snapshot. `annexes` are all that keep
    something beside the lake. `grows` are the ids of
    tables that it adds rows to, as far as they are known before. `began`: when the work for it
    did, by the monotonic clock. `beside` is what else is to be done in the same transaction, once
    the snapshot is there; `check` raises Conflict if it rests on what is no longer so; `guard` is
    asked too, and tells it the terms of the caller."""

    change: Callable[[int], Change]
    token: str
    since: int
    annexes: Annexes
    grows: Sequence[int] = ()
    began: float = field(default_factory=time.monotonic)
    beside: Callable[[Writer], None] | None = None
    check: Callable[[Reader, Numbers], None] | None = None
    guard: CommitGuard | None = None


def commit(database: Database, wanted: CommitRequest, data_path: str) -> CommitResult:
    """Commit, again and again while others come first. A change of nothing makes no snapshot."""
    started = time.monotonic()
    attempts = 0
    while True:
        attempts += 1
        try:
            numbers, duplicate = _attempt(database, wanted, data_path, again=attempts > 1)
        except Unavailable as error:
            late = time.monotonic() - started > database.tuning.patience_s
            if late or not error.passing:
                raise
            wait(attempts)
            continue
        return CommitResult(
            numbers.snapshot_id,
            numbers.schema_version,
            numbers.next_file_id,
            attempts,
            duplicate,
            time.monotonic() - started,
        )


def wait(attempts: int) -> None:
    """A little before the next attempt, longer each time, so that many do not come at once."""
    longest = min(_FIRST_WAIT_S * 2**attempts, _LONGEST_WAIT_S)
    time.sleep(random.uniform(longest / 2, longest))


def _attempt(
    database: Database, wanted: CommitRequest, data_path: str, *, again: bool
) -> tuple[Numbers, bool]:
    guard = wanted.guard
    with database.writing() as writer:
        if again and (landed := landed_since(writer, wanted.token, wanted.since)) is not None:
            return landed, True
        if guard is not None:
            guard.begin(writer)
        head, last_time, clock, statistics = _read(writer, wanted.grows)
        change = wanted.change(head.snapshot_id + 1)
        if guard is not None:
            guard.check(writer, head.snapshot_id)
        numbers = head
        if not change.is_empty:
            _check(writer, wanted, change, head, data_path)
            if head.schema_version != change.schema_version:
                change = _without_hints(change)
            clock = clock or file_clock(writer, database.url, last_time, datetime.now(UTC))
            moment = writer.dialect.moment(_moment(writer, change, last_time, clock))
            numbers = replace(head, snapshot_id=head.snapshot_id + 1)
            entries = Entries(numbers, moment, head.schema_version, wanted.annexes)
            _fill(writer, entries, change, statistics, data_path)
            _write(writer, entries, change, wanted.began)
            if wanted.beside is not None:
                wanted.beside(writer)
        if guard is not None:
            at = change.base if change.is_empty else numbers.snapshot_id
            guard.keep(writer, at, change)
        return numbers, False


def _check(
    writer: Writer, wanted: CommitRequest, change: Change, head: Numbers, data_path: str
) -> None:
    """Raise Conflict if the change does not hold on top of what has landed since."""
    for annex in wanted.annexes:
        annex.prepare(writer, change)
    registrations.ensure(writer, change)
    conflict.check(writer, change, head, data_path, wanted.annexes)
    if wanted.check is not None:
        wanted.check(writer, head)
    upkeep.check(writer, change, head)


def _fill(
    writer: Writer,
    entries: Entries,
    change: Change,
    statistics: dict[int, TableStatistics],
    data_path: str,
) -> None:
    """All that the commit declares and adds, as entries."""
    ids = declarations.declare(writer, entries, change, data_path)
    for table in change.tables:
        table_id = ids.table(table.table.id)
        known = statistics.get(table_id) or _statistics(writer, table_id)
        contents.fill(writer, entries, table, known, data_path)
        if table.upkeep is not None:
            upkeep.fill(writer, entries, table, known, (data_path, change.base))
        if table.purge is not None:
            erase.fill(writer, entries, table, data_path)


def _moment(writer: Writer, change: Change, last_time: datetime, clock: datetime) -> datetime:
    """When the commit is made: never before the one that it follows. A lake that has never had a
    table can be as old as what is brought into it."""
    if change.origin is None:
        check_past(last_time, clock)
        return max(clock, last_time)
    when = min(change.origin.time, clock)
    if when < last_time and writer.row("SELECT 1 FROM ducklake_table LIMIT 1") is None:
        writer.execute(
            "UPDATE ducklake_snapshot SET snapshot_time = :then", then=writer.dialect.moment(when)
        )
        return when
    return max(when, last_time)


def _read(
    reader: Reader, tables: Sequence[int]
) -> tuple[Numbers, datetime, datetime | None, dict[int, TableStatistics]]:
    """The newest snapshot's counters and time, the server's clock where there is one, the format,
    and the statistics of the tables; all in one trip, because everybody else waits for it."""
    moment = reader.dialect.instant.format("snapshot_time")
    head = (
        f"SELECT snapshot_id, schema_version, next_catalog_id, next_file_id, {moment},"
        f" {reader.dialect.clock or 'NULL'},"
        ' (SELECT "value" FROM ducklake_metadata WHERE "key" = \'version\' AND "scope" IS NULL)'
        " FROM ducklake_snapshot ORDER BY snapshot_id DESC LIMIT 1"
    )
    queries = [TableStatistics.query(table_id) for table_id in tables]
    heads, *found = reader.rows_of([(head, {}), *queries])
    if not heads:
        raise Corrupt("the catalog has no snapshots", hint="restore it from a backup")
    row = heads[0]
    check_version(row[6])  # another program may have brought it to a newer one
    clock = None if row[5] is None else as_instant(row[5])
    statistics = {
        table_id: TableStatistics.of(table_id, rows)
        for table_id, rows in zip(tables, found, strict=True)
    }
    return Numbers(*row[:4]), as_instant(row[4]), clock, statistics


def _statistics(reader: Reader, table_id: int) -> TableStatistics:
    (rows,) = reader.rows_of([TableStatistics.query(table_id)])
    return TableStatistics.of(table_id, rows)


def landed_since(reader: Reader, token: str, since: int) -> Numbers | None:
    """The snapshot that an attempt with this commit token made, if it has: its reply may be lost.
    Unavailable if nobody can tell."""
    mark = _mark(token)
    row = reader.row(
        "SELECT s.snapshot_id, s.schema_version, s.next_catalog_id, s.next_file_id"
        " FROM ducklake_snapshot s JOIN ducklake_snapshot_changes c"
        " ON c.snapshot_id = s.snapshot_id"
        " WHERE s.snapshot_id > :since"
        f" AND substr(c.commit_extra_info, 1, {len(mark)}) = :mark",
        since=since,
        mark=mark,
    )
    if row is None:
        _check_all_there(reader, since)
    return Numbers(*row) if row else None


def _check_all_there(reader: Reader, since: int) -> None:
    """Had the attempt landed and been expired since, to try again would be to do it twice."""
    number, last = reader.rows(
        "SELECT count(*), max(snapshot_id) FROM ducklake_snapshot WHERE snapshot_id > :since",
        since=since,
    )[0]
    if number and number < last - since:
        raise Unavailable(
            f"nobody can tell whether this commit has landed: snapshots after {since} have been"
            " expired while it was tried",
            hint="look at the table, then repeat the write if it is not there",
        )


def _without_hints(change: Change) -> Change:
    """Where the catalog keeps small writes may have changed with the schema."""
    return replace(
        change,
        tables=tuple(
            replace(table, write=replace(table.write, inline_table=None)) for table in change.tables
        ),
    )


def _mark(token: str) -> str:
    """How what a commit says of itself begins."""
    return f'{{"tidelake": {{"token": {json.dumps(token)}'


def _extra(entries: Entries, change: Change, began: float) -> str:
    """What a commit says of itself. Numbers that are not there are 0."""
    files = entries.values("ducklake_data_file", "file_size_bytes")
    said: dict[str, object] = {"seconds": round(time.monotonic() - began, 6)}
    if (done := change.done) is not None:
        rows = {"inserted": done.inserted, "updated": done.updated, "deleted": done.deleted}
        said |= {"operation": done.operation} if done.operation else {}
        said |= {name: count for name, count in rows.items() if count}
    if (origin := change.origin) is not None:
        known = {"version": origin.version, "time": origin.time.isoformat()}
        said |= {"delta": known | ({"operation": origin.operation} if origin.operation else {})}
    if change.seal is not None:
        said |= {"erasure": change.seal}
    if files:
        said |= {"files": len(files), "bytes": sum(map(int, files))}
    return f"{_mark(change.token)}, {json.dumps(said)[1:]}}}"


def _write(writer: Writer, entries: Entries, change: Change, began: float) -> None:
    """The snapshot, whose key stops everybody else, then tables, then the rest. Where a CREATE
    commits, tables come first of all."""
    if writer.dialect.commits_create:
        _create(writer, entries)
    numbers = entries.numbers
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
    if not writer.dialect.commits_create:
        _create(writer, entries)
    entries.write(writer)
    writer.insert(
        "ducklake_snapshot_changes",
        [
            {
                "snapshot_id": numbers.snapshot_id,
                "changes_made": ",".join(entries.tokens),
                "author": change.author,
                "commit_message": change.message,
                "commit_extra_info": _extra(entries, change, began),
            }
        ],
    )


def _create(writer: Writer, entries: Entries) -> None:
    for sql in entries.creates:
        writer.execute(sql)
