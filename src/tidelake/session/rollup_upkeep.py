"""Keeping rollups up: what a table's policy wants, and what expiry leaves of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from tidelake.catalog import rollups, snapshots
from tidelake.catalog.database import Reader
from tidelake.errors import Conflict, Invalid, NotFound
from tidelake.model import instant
from tidelake.model.change import WriteResult
from tidelake.model.compaction import RollupAction
from tidelake.model.event_time import EventTime, as_moment, spelled
from tidelake.model.names import TableName, quote
from tidelake.model.rollup import Rollup, settings_text
from tidelake.model.rollup_policy import TAG, RollupPolicy
from tidelake.model.table import TableInfo
from tidelake.session import rollups as making
from tidelake.session.planning import Request, TableFacts, plan_scan
from tidelake.session.progress import progress

if TYPE_CHECKING:
    from tidelake.session.lake import Lake
    from tidelake.session.transaction import Transaction

_FACTS = "_tidelake_facts"


@dataclass(frozen=True, slots=True)
class Due:
    """What is to be done for the rollups of a table."""

    make: tuple[int, ...] = ()
    drop: tuple[Rollup, ...] = ()


def roll_up(
    lake: Lake, name: TableName, as_of: object, every: object, keep: object
) -> Rollup | list[Rollup]:
    """One rollup as of a moment, or a policy and what it wants now."""
    if (as_of is None) == (every is None):
        raise Invalid(
            "rollup() takes either as_of or every",
            hint='t.rollup(as_of="2024-03-01") makes one, t.rollup(every="1mo") many',
        )
    if every is None and keep is not None:
        raise Invalid("keep goes with every", hint='t.rollup(every="1mo", keep=36)')
    making.check_place(lake, name)
    if every is None:
        return making.make(lake, name, as_moment(as_of))
    policy = RollupPolicy.checked(every, keep)
    with lake._reading() as reader:
        tags = lake._table_info(reader, lake._at(reader), name).tags
    if tags.get(TAG) != policy.text():
        lake._write(lambda tx: set_policy(tx, name, policy))
    before = {each.id for each in _listed(lake, name)}
    keep_up(lake, name)
    return [each for each in _listed(lake, name) if each.id not in before]


def _listed(lake: Lake, name: TableName) -> list[Rollup]:
    with lake._reading() as reader:
        at = lake._at(reader)
        return making.listed(lake, reader, at, lake._table_info(reader, at, name))


def drop_all(lake: Lake, name: TableName, *, policy: bool) -> int:
    making.check_place(lake, name)
    found = _listed(lake, name)
    if policy:
        lake._write(lambda tx: set_policy(tx, name, None))
    making.drop(lake, found)
    return len(found)


def set_policy(tx: Transaction, name: TableName, policy: RollupPolicy | None) -> WriteResult:
    """Have rollups made whenever the table is compacted; None ends it."""
    draft = tx.draft(name)
    EventTime.of(draft.after, tx._base)
    rest = {key: value for key, value in draft.after.tags.items() if key != TAG}
    tags = rest if policy is None else {**rest, TAG: policy.text()}
    draft.after = replace(draft.after, tags=tags)
    return WriteResult(None, operation="rollup")


def keep_up(lake: Lake, name: TableName, *, dry_run: bool = False) -> tuple[RollupAction, ...]:
    """Make the rollups that are due, the earliest first so that each begins with the one before,
    and drop those that are not wanted or can never be used again."""
    try:
        due = _due(lake, name)
    except NotFound:  # dropped, or renamed, meanwhile
        return ()
    if lake.encrypted:
        due = replace(due, make=())
    if not dry_run:
        making.drop(lake, due.drop)
        due = replace(due, make=_made(lake, name, due.make))
    made = [RollupAction(str(name), spelled(moment), "make") for moment in due.make]
    gone = [RollupAction(str(name), spelled(each.as_of), "drop") for each in due.drop]
    return (*gone, *made)


def _made(lake: Lake, name: TableName, moments: Sequence[int]) -> tuple[int, ...]:
    """Those that could be made: where others have written or expired meanwhile, the next run
    does what is left."""
    made = []
    with progress(f"rolling {name} up") as tell:
        for moment in moments:
            tell(phase=spelled(moment))
            try:
                making.make(lake, name, moment)
            except Conflict:
                continue
            made.append(moment)
    return tuple(made)


def _due(lake: Lake, name: TableName) -> Due:
    with lake._reading() as reader:
        at = lake._at(reader)
        table = lake._table_info(reader, at, name)
        found = making.listed(lake, reader, at, table)
        there = set(snapshots.ids(reader)) if found else set()
        lost = tuple(each for each in found if each.valid_through not in there)
        event, policy = EventTime.maybe(table), RollupPolicy.of(table.tags)
        if event is None or policy is None:
            return Due(drop=lost)
        span = _span(reader, table, event)
    span = span or _span_of_rows(lake, name, event)
    if span is None:
        return Due(drop=lost)
    wanted = policy.boundaries(*span)
    done = {each.as_of for each in found if each.usable}
    settings = settings_text(event)
    beyond = tuple(
        each
        for each in found
        if policy.keep is not None
        and wanted
        and each.as_of < wanted[0]
        and each.settings == settings
        and policy.is_boundary(each.as_of)
    )
    drop = {each.id: each for each in (*lost, *beyond)}
    return Due(tuple(moment for moment in wanted if moment not in done), tuple(drop.values()))


def _span(reader: Reader, table: TableInfo, event: EventTime) -> tuple[int, int] | None:
    """The first and the last event of the table by its statistics, the last not in the future:
    one event with a wrong date must not keep all others from being rolled up."""
    found = rollups.bounds(reader, table.id, event.time.id)
    if found is None:
        return None
    return _moments(*found)


def _moments(low: str, high: str) -> tuple[int, int] | None:
    first, last = (instant.parse_moment(text, zoned=None) for text in (low, high))
    if first is None or last is None:
        return None
    now = instant.of_date(datetime.now(UTC))
    earliest = instant.of_date(datetime.min)
    return int(max(first, earliest)), int(min(last, now))


def _span_of_rows(lake: Lake, name: TableName, event: EventTime) -> tuple[int, int] | None:
    """The same from the rows, where nothing is known of the column."""
    with lake._reading() as reader:
        at = lake._at(reader)
        facts = TableFacts.gather(reader, lake._table_info(reader, at, name))
        plan = plan_scan(reader, at, facts, Request((event.time.name,)))
    time = quote(event.time.name)
    engine: Any = lake._engine
    with engine.job(f"cannot look at {name}") as job:
        job.scan(_FACTS, plan)
        sql = f"SELECT CAST(min({time}) AS VARCHAR), CAST(max({time}) AS VARCHAR) FROM {_FACTS}"
        ((low, high),) = job.rows(sql)
    return None if low is None else _moments(low, high)
