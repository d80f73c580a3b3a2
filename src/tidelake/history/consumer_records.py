"""Consumers of the lake's changes: how far each has come, and who holds it.

A lease is an owner and the moment until which it holds, by the database's clock. Whoever finds
it over may take the consumer; the owner before then gets no further. All of it happens inside
the lake's lock.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from tidelake.catalog import own_tables
from tidelake.catalog.database.database import Reader, Row, Writer
from tidelake.catalog.own_tables import OwnTable
from tidelake.catalog.read.snapshots import as_instant
from tidelake.errors import Conflict, NotFound
from tidelake.history.values import ConsumerState

TABLE = "tidelake_consumer"
own_tables.know(
    {
        TABLE: OwnTable(
            "consumer_name name!, snapshot_id int, owner text, lease_until time, updated_at time",
            needed="consumer_name updated_at",
        )
    }
)


def every(reader: Reader) -> list[ConsumerState]:
    if not reader.has_table(TABLE):
        return []
    return [_state(row) for row in reader.rows(f"{_select(reader)} ORDER BY consumer_name")]


def place_of(reader: Reader, name: str) -> int | None:
    """The place of one that is there."""
    known = _find(reader, name)
    return None if known is None else known.snapshot_id


def make(writer: Writer, name: str, place: int | None) -> None:
    """A consumer that nobody holds. Refused if there is one."""
    if _find(writer, name) is not None:
        raise Conflict(
            f"the consumer {name!r} is not one that is shared", hint="give the group another name"
        )
    now = writer.dialect.moment(own_tables.clock(writer))
    writer.insert(TABLE, [{"consumer_name": name, "snapshot_id": place, "updated_at": now}])


def take(
    writer: Writer, name: str, owner: str, lease: timedelta, since: int | None
) -> ConsumerState:
    """Hold a consumer, which starts after `since` if it is new."""
    own_tables.ensure(writer, TABLE)
    now = own_tables.clock(writer)
    until = now + lease
    known = _find(writer, name)
    if known is None:
        values = (name, since, owner, writer.dialect.moment(until), writer.dialect.moment(now))
        columns = ("consumer_name", "snapshot_id", "owner", "lease_until", "updated_at")
        writer.insert_values(TABLE, columns, [values])
        return ConsumerState(name, since, owner, until)
    theirs = known.lease_until if known.owner != owner else None
    if theirs is not None and theirs > now:
        raise Conflict(
            f"the consumer {name!r} is held by {known.owner} until {theirs:%H:%M:%S} UTC"
            f" ({(theirs - now).total_seconds():.1f} s from now)",
            hint="try again when it has been closed, or its lease is over",
        )
    _hold(writer, name, owner, until, now)
    return ConsumerState(name, known.snapshot_id, owner, until)


def held_consumer(reader: Reader, name: str, owner: str) -> ConsumerState:
    """The consumer, if it is still this owner's; a lease that is over is, until another takes it.
    Its `lag` says nothing."""
    known = _find(reader, name) if reader.has_table(TABLE) else None
    if known is None:
        raise NotFound(
            f"there is no consumer {name!r} any more",
            hint="it was dropped; lake.consumer(…) makes a new one, from the beginning",
        )
    if known.owner != owner:
        now = f"{known.owner} has taken it" if known.owner else "another had it since"
        raise Conflict(
            f"the consumer {name!r} is no longer held here: the lease was over, and {now}",
            hint="whatever was not committed comes again, to whoever holds it; take it again with"
            " lake.consumer(…), with a longer lease_seconds if the work takes longer",
        )
    return known


def renew(writer: Writer, name: str, owner: str, lease: timedelta) -> ConsumerState:
    known = held_consumer(writer, name, owner)
    now = own_tables.clock(writer)
    _hold(writer, name, owner, now + lease, now)
    return ConsumerState(name, known.snapshot_id, owner, now + lease)


def move(writer: Writer, name: str, position: int | None) -> None:
    """Requires: the caller holds it."""
    writer.execute(
        f"UPDATE {TABLE} SET snapshot_id = :position WHERE consumer_name = :name",
        position=position,
        name=name,
    )


def release(writer: Writer, name: str, owner: str) -> None:
    """Others may have it at once. Somebody else's lease stays."""
    if writer.has_table(TABLE):
        writer.execute(
            f"UPDATE {TABLE} SET owner = NULL, lease_until = NULL"
            " WHERE consumer_name = :name AND owner = :owner",
            name=name,
            owner=owner,
        )


def forget(writer: Writer, name: str) -> None:
    writer.execute(f"DELETE FROM {TABLE} WHERE consumer_name = :name", name=name)


def _hold(writer: Writer, name: str, owner: str, until: datetime, now: datetime) -> None:
    writer.execute(
        f"UPDATE {TABLE} SET owner = :owner, lease_until = :until, updated_at = :now"
        " WHERE consumer_name = :name",
        owner=owner,
        until=writer.dialect.moment(until),
        now=writer.dialect.moment(now),
        name=name,
    )


def _find(reader: Reader, name: str) -> ConsumerState | None:
    row = reader.row(f"{_select(reader, lag='0')} WHERE consumer_name = :name", name=name)
    return None if row is None else _state(row)


_LAG = (
    "(SELECT count(*) FROM ducklake_snapshot s WHERE s.snapshot_id > COALESCE(c.snapshot_id, -1))"
)


def _select(reader: Reader, lag: str = _LAG) -> str:
    until = reader.dialect.instant.format("lease_until")
    return f"SELECT consumer_name, snapshot_id, owner, {until}, {lag} FROM {TABLE} c"


def _state(row: Row) -> ConsumerState:
    name, at, owner, until, lag = row
    return ConsumerState(name, at, owner, None if until is None else as_instant(until), lag)
