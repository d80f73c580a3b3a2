"""The lake's history: its snapshots, by id and by time."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import UTC, datetime

from tidelake.catalog.database.database import Reader, Row
from tidelake.errors import Corrupt, NotFound
from tidelake.model.changes_made import ADDS_ROWS, split_changes
from tidelake.model.snapshot import Snapshot

_SNAPSHOT = (
    "SELECT s.snapshot_id, s.snapshot_time, s.schema_version, c.changes_made, c.author,"
    " c.commit_message, c.commit_extra_info FROM ducklake_snapshot s"
    " LEFT JOIN ducklake_snapshot_changes c ON c.snapshot_id = s.snapshot_id"
)

_TOO_LARGE = 1 << 63


def every(reader: Reader) -> list[Snapshot]:
    rows = reader.rows(f"{_snapshot_sql(reader)} ORDER BY s.snapshot_id")
    return [_snapshot(row) for row in rows]


def newest(reader: Reader, at: int, limit: int | None = None) -> list[Snapshot]:
    """The newest ones at a snapshot, oldest first."""
    some = "" if limit is None else f" LIMIT {int(limit)}"
    rows = reader.rows(
        f"{_snapshot_sql(reader)} WHERE s.snapshot_id <= :at ORDER BY s.snapshot_id DESC{some}",
        at=at,
    )
    return [_snapshot(row) for row in reversed(rows)]


def of_changes_to(
    reader: Reader, table_id: int, ids: Collection[int], at: int, limit: int | None
) -> list[Snapshot]:
    """Snapshots up to one, newest first: these, and those whose changes have the table's number in
    them, or one that begins with it."""
    some = "" if limit is None else f" LIMIT {int(limit)}"
    listed = ", ".join(map(str, ids)) or "NULL"
    rows = reader.rows(
        f"{_snapshot_sql(reader)} WHERE s.snapshot_id <= :at"
        f" AND (c.changes_made LIKE :named OR s.snapshot_id IN ({listed}))"
        f" ORDER BY s.snapshot_id DESC{some}",
        at=at,
        named=f"%:{int(table_id)}%",
    )
    return [_snapshot(row) for row in rows]


def sample(reader: Reader, at: int, most: int) -> list[tuple[int, datetime]]:
    """About so many snapshots up to one, or all if they are fewer, with their times: of every run
    of ids the newest, and the oldest of all."""
    row = reader.row("SELECT min(snapshot_id) FROM ducklake_snapshot")
    first = int(row[0]) if row and row[0] is not None else at
    shift = max(0, (max(at - first, 1) // max(most, 1)).bit_length())
    rows = reader.rows(
        f"SELECT s.snapshot_id, {_time_column(reader, 's.snapshot_time')} FROM ducklake_snapshot s"
        " JOIN (SELECT max(snapshot_id) AS id FROM ducklake_snapshot WHERE snapshot_id <= :at"
        f" GROUP BY snapshot_id >> {shift}) AS picks ON picks.id = s.snapshot_id"
        " ORDER BY s.snapshot_id",
        at=at,
    )
    found = [(int(row[0]), as_instant(row[1])) for row in rows]
    if found and found[0][0] != first:
        found.insert(0, (first, by_id(reader, first).time))
    return found


def after(reader: Reader, since: int | None, limit: int | None = None) -> list[Snapshot]:
    """Snapshots after one, oldest first, all of them or the next few."""
    some = "" if limit is None else f" LIMIT {int(limit)}"
    rows = reader.rows(
        f"{_snapshot_sql(reader)} WHERE s.snapshot_id > :since ORDER BY s.snapshot_id{some}",
        since=-1 if since is None else since,
    )
    return [_snapshot(row) for row in rows]


def first_with_rows(reader: Reader, table_id: int) -> Snapshot | None:
    """The snapshot that first brought rows into a table; None if that cannot be told: there is
    none, or some have been expired of those since the table was made."""
    began = min(of_table(reader, table_id), default=None)
    own = {f"{kind}:{int(table_id)}" for kind in ADDS_ROWS}
    places = {f"own_{n}": f"%{each}" for n, each in enumerate(sorted(own))}
    tests = (f"c.changes_made LIKE :{name}{end}" for name in places for end in ("", "_and"))
    rows = reader.rows(
        f"{_snapshot_sql(reader)} WHERE {' OR '.join(tests)} ORDER BY s.snapshot_id LIMIT 10",
        **places,
        **{f"{name}_and": f"{text},%" for name, text in places.items()},
    )
    found = [each for each in map(_snapshot, rows) if own & {c.lower() for c in each.changes}]
    if began is None or not found:
        return None
    between = "SELECT count(*) FROM ducklake_snapshot WHERE snapshot_id BETWEEN :began AND :first"
    count = reader.row(between, began=began, first=found[0].snapshot_id)
    whole = count is not None and int(count[0]) == found[0].snapshot_id - began + 1
    return found[0] if whole else None


def exists(reader: Reader, snapshot_id: int) -> bool:
    found = "SELECT 1 FROM ducklake_snapshot WHERE snapshot_id = :id"
    return reader.row(found, id=snapshot_id) is not None


def oldest_id(reader: Reader) -> int:
    row = reader.row("SELECT min(snapshot_id) FROM ducklake_snapshot")
    return int(row[0]) if row else 0


def ids(reader: Reader) -> list[int]:
    """The ids of all snapshots, oldest first."""
    rows = reader.rows("SELECT snapshot_id FROM ducklake_snapshot ORDER BY snapshot_id")
    return [row[0] for row in rows]


def head_id(reader: Reader) -> int:
    """The newest snapshot's id. Every commit and all maintenance of files moves it."""
    row = reader.row("SELECT max(snapshot_id) FROM ducklake_snapshot")
    if row is None or row[0] is None:
        raise Corrupt("the catalog has no snapshots", hint="restore it from a backup")
    return int(row[0])


def head(reader: Reader) -> tuple[int, int]:
    """The newest snapshot's id, and the version of the lake's schema at it."""
    row = reader.row(
        "SELECT snapshot_id, schema_version FROM ducklake_snapshot"
        " ORDER BY snapshot_id DESC LIMIT 1"
    )
    if row is None:
        raise Corrupt("the catalog has no snapshots", hint="restore it from a backup")
    return int(row[0]), int(row[1])


def by_id(reader: Reader, snapshot_id: int) -> Snapshot:
    fits = abs(snapshot_id) < _TOO_LARGE
    sql = f"{_snapshot_sql(reader)} WHERE s.snapshot_id = :id"
    row = reader.row(sql, id=snapshot_id) if fits else None
    if row is not None:
        return _snapshot(row)
    first, last = reader.rows("SELECT min(snapshot_id), max(snapshot_id) FROM ducklake_snapshot")[0]
    raise NotFound(
        f"there is no snapshot {snapshot_id}",
        hint=f"the oldest is {first} and the newest {last}; some between may have been expired",
    )


def check_there(reader: Reader, snapshot_id: int) -> None:
    """Raise NotFound if a snapshot that somebody is pinned to has been expired since."""
    if not exists(reader, snapshot_id):
        by_id(reader, snapshot_id)


def by_time(reader: Reader, moment: datetime) -> Snapshot:
    """The newest snapshot committed at or before a moment (a naive one is in UTC)."""
    instant = moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(UTC)
    times = {s[0]: as_instant(s[1]) for s in reader.rows(_times_sql(reader))}
    earlier = [(at, snapshot_id) for snapshot_id, at in times.items() if at <= instant]
    if earlier:
        found = max(earlier)[1]
        _check_followed(found, instant, times)
        return by_id(reader, found)
    oldest = min(times.values())
    raise NotFound(
        f"the lake has no snapshot at or before {instant.isoformat()}",
        hint=f"the oldest is of {oldest.isoformat()}",
    )


def _check_followed(found: int, instant: datetime, times: Mapping[int, datetime]) -> None:
    """Where the next snapshot has been expired, nobody can tell until when it was the newest."""
    if found + 1 in times or found == max(times) or times[found] == instant:
        return
    after = min(each for each in times if each > found)
    raise NotFound(
        f"the snapshot that was the newest at {instant.isoformat()} has been expired",
        hint=f"the ones around it are {found}, of {times[found].isoformat()}, and {after}, of"
        f" {times[after].isoformat()}",
    )


def _time_column(reader: Reader, column: str) -> str:
    return reader.dialect.instant.format(column)


def _snapshot_sql(reader: Reader) -> str:
    return _SNAPSHOT.replace("s.snapshot_time", _time_column(reader, "s.snapshot_time"))


def _times_sql(reader: Reader) -> str:
    return f"SELECT snapshot_id, {_time_column(reader, 'snapshot_time')} FROM ducklake_snapshot"


def _snapshot(row: Row) -> Snapshot:
    return Snapshot(
        snapshot_id=row[0],
        time=as_instant(row[1]),
        schema_version=row[2],
        changes=split_changes(row[3] or ""),
        author=row[4],
        message=row[5],
        extra=row[6],
    )


def as_instant(value: object) -> datetime:
    if isinstance(value, datetime):
        return value.replace(tzinfo=value.tzinfo or UTC).astimezone(UTC)
    try:
        moment = datetime.fromisoformat(str(value))
    except ValueError:
        raise Corrupt(
            f"a snapshot has the time {value!r}, which is no timestamp",
            hint="mend ducklake_snapshot.snapshot_time",
        ) from None
    return moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(UTC)


def of_table(reader: Reader, table_id: int) -> frozenset[int]:
    """Snapshots at which the table itself was created, renamed or dropped."""
    rows = reader.rows(
        "SELECT begin_snapshot, end_snapshot FROM ducklake_table WHERE table_id = :id", id=table_id
    )
    return frozenset(edge for row in rows for edge in row if edge is not None)


def tables_begun(reader: Reader, since: int | None, until: int) -> set[int]:
    """Tables that were created or renamed after one snapshot and up to another."""
    rows = reader.rows(
        "SELECT table_id FROM ducklake_table WHERE begin_snapshot > :since"
        " AND begin_snapshot <= :until",
        since=-1 if since is None else since,
        until=until,
    )
    return {row[0] for row in rows}
