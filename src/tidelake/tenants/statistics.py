"""What all tenants have and do, found out in few queries, however many they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from tidelake.catalog.batches import batches
from tidelake.catalog.database.database import Reader
from tidelake.catalog.read import tables as read
from tidelake.tenants import records, retention
from tidelake.tenants.owners import Owners, TenantCommit
from tidelake.tenants.records import TenantRecord
from tidelake.tenants.values import TenantState

_AT_ONCE = 100
"""Tables of rows that one query counts; SQLite takes 500."""

Sums = Mapping[str, int]
"""A number for each tenant."""


@dataclass(frozen=True, slots=True)
class _Files:
    count: Sums
    bytes: Sums
    rows: Sums


def states(reader: Reader, at: int, now: datetime) -> list[TenantState]:
    """All tenants, by name, at a snapshot, which is the newest for all but what is counted over
    all of them."""
    known = records.every(reader)
    owners = Owners.of(reader, [each.name for each in known])
    there = {each for each, _ in read.names(reader, at, "table") if each in owners.by_id}
    tables = Counter(owners.by_id[table_id] for table_id in there)
    ever = _files(reader, owners, "", at)
    present = _files(reader, owners, f" WHERE {read.visible()}", at)
    inlined, gone = _catalog_rows(reader, owners, there, at)
    commits = owners.commits(reader)
    spans = retention.every(reader)

    def state(record: TenantRecord) -> TenantState:
        name = record.name
        done = commits[name]
        return TenantState(
            name,
            record.quota,
            record.created_at,
            tables=tables[name],
            rows=present.rows.get(name, 0) + inlined[name] - gone[name],
            files=ever.count.get(name, 0),
            bytes=ever.bytes.get(name, 0),
            files_now=present.count.get(name, 0),
            bytes_now=present.bytes.get(name, 0),
            inlined_rows=inlined[name],
            snapshots=len(done),
            last_commit=done[-1].time if done else None,
            commits_last_day=_since(done, now - timedelta(days=1)),
            commits_last_week=_since(done, now - timedelta(weeks=1)),
            retention=spans.get(name),
        )

    return [state(record) for record in known]


def _since(done: Sequence[TenantCommit], moment: datetime) -> int:
    return sum(each.time >= moment for each in done)


def _files(reader: Reader, owners: Owners, which: str, at: int) -> _Files:
    """Data files and delete files; the rows are those of the former without those of the latter."""
    count: Counter[str] = Counter()
    size: Counter[str] = Counter()
    rows: Counter[str] = Counter()
    given = {"at": at} if which else {}
    for kind, counted, sign in (("data", "record_count", 1), ("delete", "delete_count", -1)):
        for table_id, number, total, each in reader.rows(
            f"SELECT table_id, count(*), coalesce(sum(file_size_bytes), 0),"
            f" coalesce(sum({counted}), 0) FROM ducklake_{kind}_file{which} GROUP BY table_id",
            **given,
        ):
            if (tenant := owners.by_id.get(table_id)) is not None:
                count[tenant] += int(number)
                size[tenant] += int(total)
                rows[tenant] += sign * int(each)
    return _Files(count, size, rows)


def _catalog_rows(
    reader: Reader, owners: Owners, tables: Collection[int], at: int
) -> tuple[Counter[str], Counter[str]]:
    """Rows that the catalog keeps itself of these tables, and rows of files that it says are
    deleted. Of tables that have been dropped it still has them."""
    there = {row[0] for row in reader.rows(reader.dialect.every_column)}
    listed = [
        (table_id, name)
        for table_id, name in reader.rows(
            "SELECT table_id, table_name FROM ducklake_inlined_data_tables"
        )
        if table_id in tables and name in there
    ]
    counted = 'SELECT count(*) AS n FROM "{}" WHERE ' + read.visible()
    rows = _summed(reader, owners, at, [(key, counted.format(name)) for key, name in listed])
    deletes = [(key, _deleted(key)) for key in tables if f"ducklake_inlined_delete_{key}" in there]
    return rows, _summed(reader, owners, at, deletes)


def _deleted(table_id: int) -> str:
    return (
        "SELECT count(*) AS n FROM (SELECT DISTINCT file_id, row_id FROM"
        f' "ducklake_inlined_delete_{table_id}" WHERE begin_snapshot <= :at AND file_id IN'
        f" (SELECT data_file_id FROM ducklake_data_file WHERE table_id = {table_id}"
        f" AND {read.visible()})) AS gone"
    )


def _summed(
    reader: Reader, owners: Owners, at: int, counts: Iterable[tuple[int, str]]
) -> Counter[str]:
    """What these queries count, each of a table, for its tenant."""
    found: Counter[str] = Counter()
    for some in batches(counts, _AT_ONCE):
        sql = " UNION ALL ".join(
            f"SELECT {key} AS id, n FROM ({each}) AS t{key}" for key, each in some
        )
        for table_id, number in reader.rows(sql, at=at):
            found[owners.by_id[table_id]] += int(number)
    return found
