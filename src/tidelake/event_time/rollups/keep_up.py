"""Keeping rollups up: what a table's policy wants, and dropping them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from tidelake.catalog.database.database import Reader
from tidelake.catalog.read import snapshots
from tidelake.errors import Conflict, Invalid, NotFound
from tidelake.event_time.rollups import make as making
from tidelake.event_time.rollups import records as rollups
from tidelake.event_time.values.rollup import MOST, TAG, Rollup, RollupPolicy, settings_text
from tidelake.model import instant
from tidelake.model.change import WriteResult
from tidelake.model.event_time import EventTime, as_moment, moment_text
from tidelake.model.names import TableName, quote
from tidelake.model.table import TableInfo
from tidelake.model.terms import NO_TERMS, Terms
from tidelake.session.drafting import DraftSession
from tidelake.session.planning import BoundRequest, TableMeta, plan_scan
from tidelake.session.progress import progress
from tidelake.session.replay import write
from tidelake.session.session import Session
from tidelake.upkeep.values import RollupAction

_FACTS = "_tidelake_facts"


@dataclass(frozen=True, slots=True)
class DueRollups:
    """What is to be done for the rollups of a table."""

    make: tuple[int, ...] = ()
    drop: tuple[Rollup, ...] = ()


def roll_up(
    session: Session,
    name: TableName,
    as_of: object,
    wanted: tuple[object, object],
    terms: Terms = NO_TERMS,
) -> Rollup | list[Rollup]:
    """One rollup as of a moment, or a policy (`wanted`: how often, how many to keep), kept on these
    terms, and what it wants now."""
    every, keep = wanted
    if (as_of is None) == (every is None):
        raise Invalid(
            "rollup() takes either as_of or every",
            hint='t.rollup(as_of="2024-03-01") makes one, t.rollup(every="1mo") many',
        )
    if every is None and keep is not None:
        raise Invalid("keep goes with every", hint='t.rollup(every="1mo", keep=36)')
    making.check_place(session, name)
    if every is None:
        return making.make(session, name, as_moment(as_of))
    policy = RollupPolicy.checked(every, keep)
    with session.reading() as reader:
        at = session.at(reader)
        table = session.table_info(reader, at, name)
    if len(_boundaries(session, table, EventTime.of(table, at), policy)) > MOST:
        raise Invalid(
            f"every={policy.every!r} makes more than {MOST:,} rollups of {name}",
            hint="take a longer span, or say how many to keep: keep=36",
        )
    if table.tags.get(TAG) != policy.text():
        write(session, lambda tx: set_policy(tx, name, policy), terms=terms)
    before = {each.id for each in _listed(session, name)}
    _keep_up(session, name)
    return [each for each in _listed(session, name) if each.id not in before]


def _listed(session: Session, name: TableName) -> list[Rollup]:
    with session.reading() as reader:
        at = session.at(reader)
        return making.list_rollups(session, reader, at, session.table_info(reader, at, name))


def drop_all(session: Session, name: TableName, *, policy: bool, terms: Terms = NO_TERMS) -> int:
    making.check_place(session, name)
    found = _listed(session, name)
    if policy:
        write(session, lambda tx: set_policy(tx, name, None), terms=terms)
    making.drop(session, found)
    return len(found)


def set_policy(tx: DraftSession, name: TableName, policy: RollupPolicy | None) -> WriteResult:
    """Have rollups made whenever the table is compacted; None ends it."""
    draft = tx.draft(name)
    if policy is not None:
        EventTime.of(draft.after, tx.base)
    rest = {key: value for key, value in draft.after.tags.items() if key != TAG}
    tags = rest if policy is None else {**rest, TAG: policy.text()}
    draft.after = replace(draft.after, tags=tags)
    return WriteResult(None, operation="rollup")


def keep_up(
    session: Session, name: TableName, *, dry_run: bool = False
) -> tuple[RollupAction, ...]:
    """What compaction does for the rollups of a table. Where its facts cannot be put in order, or
    it has been dropped meanwhile, that is nothing: whoever reads the table is told."""
    try:
        return _keep_up(session, name, dry_run=dry_run)
    except (Invalid, NotFound):
        return ()


def _keep_up(
    session: Session, name: TableName, *, dry_run: bool = False
) -> tuple[RollupAction, ...]:
    """Make the rollups that are due, the earliest first so that each begins with the one before,
    and drop those that are not wanted or can never be used again."""
    due = _due(session, name)
    if not dry_run:
        making.drop(session, due.drop)
        due = replace(due, make=_made(session, name, due.make))
    made = [RollupAction(str(name), moment_text(moment), "make") for moment in due.make]
    gone = [RollupAction(str(name), moment_text(each.as_of), "drop") for each in due.drop]
    return (*gone, *made)


def _made(session: Session, name: TableName, moments: Sequence[int]) -> tuple[int, ...]:
    """Those that could be made: where others have written or expired meanwhile, the next run
    does what is left."""
    made = []
    with progress(f"rolling {name} up") as tell:
        for moment in moments:
            tell(phase=moment_text(moment))
            try:
                making.make(session, name, moment)
            except Conflict:
                continue
            made.append(moment)
    return tuple(made)


def _due(session: Session, name: TableName) -> DueRollups:
    with session.reading() as reader:
        at = session.at(reader)
        table = session.table_info(reader, at, name)
        found = making.list_rollups(session, reader, at, table)
        there = set(snapshots.ids(reader)) if found else set()
        good = {each.as_of for each in found if each.usable and _helps(reader, each)}
    lost = [each for each in found if each.valid_through not in there]
    event, policy = EventTime.maybe(table), RollupPolicy.of(table.tags)
    if event is None or policy is None:
        return DueRollups(drop=tuple(lost))
    wanted = _boundaries(session, table, event, policy)
    make = tuple(moment for moment in wanted if moment not in good)
    rest = [each for each in found if each not in lost and each.settings == settings_text(event)]
    return DueRollups(make, (*lost, *_beyond(policy, wanted, rest)))


def _helps(reader: Reader, rollup: Rollup) -> bool:
    """Whether a read that begins with it is about as short as it can be."""
    return rollups.mixed_rows(reader, rollup) <= rollup.rows


def _beyond(policy: RollupPolicy, wanted: Sequence[int], found: Iterable[Rollup]) -> list[Rollup]:
    """Rollups of boundaries that are no longer among the last."""
    if policy.keep is None or not wanted:
        return []
    return [each for each in found if each.as_of < wanted[0] and policy.is_boundary(each.as_of)]


def _boundaries(
    session: Session, table: TableInfo, event: EventTime, policy: RollupPolicy
) -> list[int]:
    """The moments of which there should be rollups."""
    with session.reading() as reader:
        found = rollups.bounds(reader, table.id, event.time.id)
    span = _moments(*(found or _bounds_of_rows(session, table.name, event)))
    return [] if span is None else policy.boundaries(*span)


def _moments(low: str | None, high: str | None) -> tuple[int, int] | None:
    """The first and the last event, the last not in the future: one event with a wrong date must
    not keep all others from being rolled up."""
    if low is None or high is None:
        return None
    first, last = (instant.parse_moment(text, zoned=None) for text in (low, high))
    if first is None or last is None:
        return None
    earliest, now = instant.of_date(datetime.min), instant.of_date(datetime.now(UTC))
    return int(min(max(first, earliest), now)), int(min(max(last, earliest), now))


def _bounds_of_rows(
    session: Session, name: TableName, event: EventTime
) -> tuple[str | None, str | None]:
    """The first and the last event from the rows, where nothing is known of the column."""
    with session.reading() as reader:
        at = session.at(reader)
        facts = TableMeta.gather(reader, session.table_info(reader, at, name))
        plan = plan_scan(reader, at, facts, BoundRequest((event.time.name,)))
    time = quote(event.time.name)
    with session.engine.job(f"cannot look at {name}") as job:
        job.scan(_FACTS, plan)
        sql = f"SELECT CAST(min({time}) AS VARCHAR), CAST(max({time}) AS VARCHAR) FROM {_FACTS}"
        ((low, high),) = job.rows(sql)
    return low, high
