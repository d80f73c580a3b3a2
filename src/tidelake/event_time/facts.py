"""Tables of facts in time: which columns make them so, and facts one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from tidelake.catalog.read import snapshots
from tidelake.coverage.overlap import AppendedRows, OverlapGuard
from tidelake.drawing.amounts import quantity
from tidelake.engine.incoming.python_values import is_missing
from tidelake.errors import Invalid, NotFound
from tidelake.event_time.key import key_is
from tidelake.event_time.state import plan_state
from tidelake.model.change import WriteResult
from tidelake.model.event_time import EventTime, Knowledge, as_moment, moment_text, names
from tidelake.model.names import TableName, fold, quote
from tidelake.model.predicate import Predicate
from tidelake.model.schema import Column
from tidelake.model.settings import PREFIX, Settings, settings_from_names, with_required
from tidelake.model.table import TableInfo
from tidelake.session import staging
from tidelake.session.draft import TableDraft
from tidelake.session.drafting import DraftSession
from tidelake.session.planning import ReadRequest
from tidelake.write import rows as writes

_TAGS = tuple(
    f"{PREFIX}{name}"
    for name in ("key", "event_time", "tombstone", "valid_to", "knowledge_time", "recorded_since")
)
_NEW, _WAS, _STATE = "_tidelake_new", "_tidelake_was", "_tidelake_state"


def set_event_time(
    tx: DraftSession,
    name: TableName,
    event_time: str | None,
    key: str | Sequence[str],
    tombstone: str | None,
    valid_to: str | None = None,
    knowledge_time: str | None = None,
) -> WriteResult:
    draft = tx.draft(name)
    table = draft.after
    if event_time is not None and not key:
        raise Invalid("event_time needs a key", hint=f't.set_event_time({event_time!r}, key="id")')
    wanted = settings_from_names(
        table.schema,
        key=key,
        event_time=event_time,
        tombstone=tombstone,
        valid_to=valid_to,
        knowledge_time=knowledge_time,
    )
    if knowledge_time is not None:
        wanted = replace(wanted, recorded_since=_recorded_since(tx, table))
    _check_series(table.name, Settings.of(table.tags), wanted)
    after = with_required(table.schema, wanted)
    others = {tag: value for tag, value in table.tags.items() if tag not in _TAGS}
    if after != table.schema:
        _check_complete(tx, draft, wanted)
        staging.flush(tx, draft)
        draft.facts = draft.facts.evolved(replace(table, schema=after))
    draft.after = replace(table, schema=after, tags={**others, **wanted.tags()})
    return WriteResult(None, operation="set event time")


def _recorded_since(tx: DraftSession, table: TableInfo) -> str:
    """When the lake's own record of a table began, as far as it can be told."""
    if (said := Settings.of(table.tags).recorded_since) is not None:
        return said
    with tx.reading() as reader:
        began = min(snapshots.of_table(reader, table.id), default=None)
        first = None if began is None else snapshots.after(reader, began - 1, limit=1)
    return (first[0].time if first else datetime.now(UTC)).isoformat()


def _check_series(name: TableName, before: Settings, wanted: Settings) -> None:
    if before.bucket is not None and before.event_time != wanted.event_time:
        raise Invalid(
            f"{name} is a series whose coverage is kept by its event time",
            hint="the event time of a series stays as it was declared",
        )


def _check_complete(tx: DraftSession, draft: TableDraft, wanted: Settings) -> None:
    """Rows without a key or a time would be facts about nothing. Who adds one in the meantime
    makes this a conflict."""
    draft.depends_on_inserts = True
    found = {}
    for column in draft.columns:
        if column.id in wanted.required and column.nullable:
            null = f"{quote(column.name)} IS NULL"
            plan = tx.plan(draft.after.name, None, ReadRequest([column.name], null))
            found[column.name] = int(tx.engine.read(plan).count())
    lacking = [(name, count) for name, count in found.items() if count]
    if lacking:
        told = ", ".join(f"{_rows(count)} without {name!r}" for name, count in lacking)
        nulls = " OR ".join(f"{quote(name)} IS NULL" for name, _ in lacking)
        raise Invalid(
            f"{draft.after.name} has {told}: they cannot be facts in time",
            hint=f"complete them with update, or delete them: t.delete({nulls!r})",
        )


def _rows(count: int) -> str:
    return quantity(count, "row")


def put(tx: DraftSession, name: TableName, facts: Any) -> WriteResult:
    """Add facts, each of which must say what it is about and since when it holds."""
    rows = dicts_of(facts, "put")
    draft = writes.writable(tx, name)
    event = EventTime.of(draft.after, tx.base)
    complete = [complete_fact(draft.after.name, event, row) for row in rows]
    return replace(writes.append(tx, name, complete), operation="put")


def dicts_of(rows: Any, doing: str) -> Sequence[Mapping[str, Any]]:
    """One dict, or a list of them, as several; Invalid for anything else."""
    several = [rows] if isinstance(rows, Mapping) else rows
    if isinstance(several, list | tuple) and all(isinstance(row, Mapping) for row in several):
        return several
    raise Invalid(
        f"{doing} takes a dict, or a list of dicts, not {type(rows).__name__}",
        hint="t.append(…) takes frames, Arrow data and files",
    )


def complete_fact(name: TableName, event: EventTime, row: Mapping[str, Any]) -> Mapping[str, Any]:
    """The row, which says that the key is there unless it says otherwise."""
    given = {fold(str(key)): value for key, value in row.items()}
    needed = names((*event.key, event.time))
    lacking = [each for each in needed if _is_nothing(given.get(fold(each)))]
    if lacking:
        raise Invalid(
            f"a fact in {name} needs {', '.join(lacking)}",
            hint=f"its key and event time are {', '.join(needed)}",
        )
    end = event.tombstone
    if end is None or end.nullable or end.default is not None or fold(end.name) in given:
        return row
    return {**row, end.name: False}


def _is_nothing(value: Any) -> bool:
    return value is None or is_missing(value)


def without_tombstone(table: TableInfo, event: EventTime) -> Invalid:
    """Its keys cannot end. The hint says all that is declared already, which would go otherwise."""
    keys = ", ".join(repr(column) for column in names(event.key))
    more = "" if event.valid_to is None else f", valid_to={event.valid_to.name!r}"
    if (known := Knowledge.maybe(table)) is not None:
        more += f", knowledge_time={known.column.name!r}"
    return Invalid(
        f"{table.name} has no tombstone, so its keys cannot end",
        hint="declare a boolean column as such:"
        f' t.set_event_time({event.time.name!r}, key=[{keys}], tombstone="gone"{more})',
    )


def end(tx: DraftSession, name: TableName, key: object, at: object) -> WriteResult:
    """Add a tombstone. Columns that must have a value, and have no default, keep the one that
    the key had."""
    draft = writes.writable(tx, name)
    event = EventTime.of(draft.after, tx.base)
    if event.tombstone is None:
        raise without_tombstone(draft.after, event)
    moment = as_moment(at, "at")
    row = event.key_values(key)
    row |= {event.time.name: event.exactly(moment), event.tombstone.name: True}
    kept = [c for c in draft.columns if _must_be_given(c) and c.name not in row]
    if kept:
        done = _end_as_it_was(tx, draft, row, kept, (key_is(event, key), moment))
    else:
        done = writes.append(tx, name, [row])
    return replace(done, operation="end")


def _must_be_given(column: Column) -> bool:
    return not column.nullable and column.default is None


def _end_as_it_was(
    tx: DraftSession,
    draft: TableDraft,
    row: Mapping[str, object],
    kept: Sequence[Column],
    about: tuple[Predicate, int],
) -> WriteResult:
    name, (condition, moment) = draft.after.name, about
    plan = plan_state(tx, name, None, moment, ReadRequest([c.name for c in kept], condition))
    loose = [
        replace(column, nullable=True) if column in kept else column for column in draft.columns
    ]
    with tx.job(f"cannot write to {name}") as job:
        job.scan(_STATE, plan)
        if not job.keep(_WAS, f"SELECT * FROM {_STATE}"):
            listed = ", ".join(repr(column.name) for column in kept)
            raise NotFound(
                f"there is no {condition.sql()} in {name} as of {moment_text(moment)}, from which"
                f" to take {listed}",
                hint="end a key that is there; t.put(…) adds a tombstone with values of your own",
            )
        incoming = job.bring("incoming", [dict(row)], loose, name)
        columns = ", ".join(
            f"{_WAS if column in kept else _NEW}.{quote(column.name)}" for column in draft.columns
        )
        sql = f"SELECT {columns} FROM ({incoming.sql}) AS {_NEW} CROSS JOIN {_WAS}"
        return writes.add_rows(
            tx, draft, job, AppendedRows(sql, 1, True), OverlapGuard.of(tx, draft)
        )
