"""Groups that share a consumer's work: who takes part, and who has which table, up to where.

The place of the whole group, up to which everything of all its tables has been taken, is that of
the consumer of its name (`consumer_records`); expiry goes by it. A table without a share has not
been there up to that place. All of it happens inside the lake's lock.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from tidelake.catalog import own_tables
from tidelake.catalog.database.database import Reader, Writer
from tidelake.catalog.own_tables import OwnTable
from tidelake.catalog.read import snapshots, tables
from tidelake.catalog.read.snapshots import as_instant
from tidelake.errors import Conflict, Invalid, NotFound
from tidelake.history import consumer_records as consumers
from tidelake.history.values import ConsumerState, TableShare
from tidelake.model.names import TableName

GROUP = "tidelake_consumer_group"
MEMBER = "tidelake_consumer_member"
SHARE = "tidelake_consumer_share"
TABLES = (GROUP, MEMBER, SHARE)
own_tables.know(
    {
        GROUP: OwnTable("consumer_name name!, table_ids text", needed="consumer_name"),
        MEMBER: OwnTable(
            "consumer_name name!, owner name!, lease_until time",
            needed="consumer_name owner lease_until",
        ),
        SHARE: OwnTable(
            "consumer_name name!, table_id int!, snapshot_id int, owner text",
            needed="consumer_name table_id",
            wall="nobody",
        ),
    }
)
_OF_GROUP = "WHERE consumer_name = :name"
_OF_TABLE = f"{_OF_GROUP} AND table_id = :table_id"


@dataclass(frozen=True, slots=True)
class Share:
    """One table of a group: what has been taken of it, and by whom it is held."""

    table_id: int
    snapshot_id: int | None
    owner: str | None


@dataclass(frozen=True, slots=True)
class TableLife:
    """A table, alive or dropped; `end` is the last snapshot that has it."""

    table_id: int
    begins: frozenset[int]
    end: int | None


def establish(writer: Writer, name: str, wanted: Collection[int] | None, place: int | None) -> None:
    """Make a group, which begins at a place, unless it is there."""
    for table in (consumers.TABLE, *TABLES):
        own_tables.ensure(writer, table)
    if not is_group(writer, name):
        listed = None if wanted is None else json.dumps(sorted(wanted))
        consumers.make(writer, name, place)
        writer.insert(GROUP, [{"consumer_name": name, "table_ids": listed}])
    elif wanted is not None and wanted != tables_of(writer, name):
        raise Invalid(
            f"the group {name!r} follows other tables",
            hint="leave out tables=, or give the group another name",
        )


def is_group(reader: Reader, name: str) -> bool:
    return reader.has_table(GROUP) and bool(
        reader.rows(f"SELECT 1 FROM {GROUP} {_OF_GROUP}", name=name)
    )


def tables_of(reader: Reader, name: str) -> frozenset[int] | None:
    """The tables that it follows; None: all there are."""
    rows = reader.rows(f"SELECT table_ids FROM {GROUP} {_OF_GROUP}", name=name)
    if not rows:
        raise NotFound(
            f"there is no group {name!r} any more",
            hint="it was dropped; lake.consumer_group(…) makes a new one, from the beginning",
        )
    return None if rows[0][0] is None else frozenset(map(int, json.loads(rows[0][0])))


def check_single(reader: Reader, name: str) -> None:
    if is_group(reader, name):
        raise Conflict(
            f"the consumer {name!r} is shared by a group",
            hint=f"take part in it: lake.consumer_group({name!r})",
        )


def members(reader: Reader, name: str) -> dict[str, datetime]:
    """Who takes part, and until when unless they renew it."""
    until = reader.dialect.instant.format("lease_until")
    rows = reader.rows(f"SELECT owner, {until} FROM {MEMBER} {_OF_GROUP}", name=name)
    return {owner: as_instant(moment) for owner, moment in rows}


def shares(reader: Reader, name: str) -> list[Share]:
    """Those that are furthest behind come first."""
    rows = reader.rows(
        f"SELECT table_id, snapshot_id, owner FROM {SHARE} {_OF_GROUP} ORDER BY table_id", name=name
    )
    found = [Share(*row) for row in rows]
    return sorted(found, key=lambda each: -1 if each.snapshot_id is None else each.snapshot_id)


def lives(reader: Reader) -> dict[int, TableLife]:
    """All tables that the catalog knows of."""
    spans: dict[int, list[tuple[int, int | None]]] = {}
    sql = "SELECT table_id, begin_snapshot, end_snapshot FROM ducklake_table"
    for table_id, begin, end in reader.rows(sql):
        spans.setdefault(table_id, []).append((begin, end))
    return {
        table_id: TableLife(
            table_id,
            frozenset(begin for begin, _ in known),
            None if any(end is None for _, end in known) else max(end or 0 for _, end in known) - 1,
        )
        for table_id, known in spans.items()
    }


def renew(writer: Writer, name: str, owner: str, until: datetime) -> None:
    """Take part, or go on doing so."""
    leave(writer, name, owner)
    moment = writer.dialect.moment(until)
    writer.insert(MEMBER, [{"consumer_name": name, "owner": owner, "lease_until": moment}])


def leave(writer: Writer, name: str, owner: str) -> None:
    writer.execute(f"DELETE FROM {MEMBER} {_OF_GROUP} AND owner = :owner", name=name, owner=owner)


def add(writer: Writer, name: str, table_ids: Iterable[int], place: int | None) -> None:
    columns = ("consumer_name", "table_id", "snapshot_id", "owner")
    writer.insert_values(SHARE, columns, [(name, each, place, None) for each in table_ids])


def strike(writer: Writer, name: str, table_id: int) -> None:
    writer.execute(f"DELETE FROM {SHARE} {_OF_TABLE}", name=name, table_id=table_id)


def hold(writer: Writer, name: str, table_id: int, owner: str | None) -> None:
    """Let somebody have a table, or nobody."""
    writer.execute(
        f"UPDATE {SHARE} SET owner = :owner {_OF_TABLE}", name=name, table_id=table_id, owner=owner
    )


def move(writer: Writer, name: str, table_id: int, place: int | None) -> None:
    writer.execute(
        f"UPDATE {SHARE} SET snapshot_id = :place {_OF_TABLE}",
        name=name,
        table_id=table_id,
        place=place,
    )


def held_share(reader: Reader, name: str, table_id: int, owner: str) -> Share:
    """The share of a table, if it is this owner's; a lease that is over is, until another comes."""
    found = next((each for each in shares(reader, name) if each.table_id == table_id), None)
    if found is None or found.owner != owner:
        raise Conflict(
            f"the table of this batch is no longer held here, as a part of {name!r}:"
            " the lease was over, and another took it",
            hint="poll() again: whatever was not committed comes again, to whoever holds it; give"
            " a longer lease_seconds if the work takes longer",
        )
    return found


def states(reader: Reader) -> list[ConsumerState]:
    """All consumers; of groups also who takes part, and how far each table is."""
    found = consumers.every(reader)
    if not found or not reader.has_table(GROUP):
        return found
    grouped = {row[0] for row in reader.rows(f"SELECT consumer_name FROM {GROUP}")}
    names = dict(tables.names(reader, snapshots.head_id(reader), "table")) if grouped else {}
    return [_shared(reader, each, names) if each.name in grouped else each for each in found]


def _shared(reader: Reader, state: ConsumerState, names: dict[int, TableName]) -> ConsumerState:
    now = own_tables.clock(reader)
    living = (owner for owner, until in members(reader, state.name).items() if until > now)
    known = (
        TableShare(str(names[each.table_id]), each.snapshot_id, each.owner)
        for each in shares(reader, state.name)
        if each.table_id in names
    )
    by_name = sorted(known, key=lambda each: each.table)
    return replace(state, members=tuple(sorted(living)), tables=tuple(by_name))


def forget(writer: Writer, name: str) -> None:
    for table in TABLES:
        writer.execute(f"DELETE FROM {table} {_OF_GROUP}", name=name)
    consumers.forget(writer, name)
