"""What an append does with buckets of a series that are covered already: the table says whether
it is rejected, skips rows that lie in them, or replaces those that are there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING, Any

from tidelake.errors import Corrupt, Overlap
from tidelake.model import instant
from tidelake.model.buckets import Buckets, by_entity, pieces
from tidelake.model.change import NewFile
from tidelake.model.clock import COUNT
from tidelake.model.interval import Interval, interval
from tidelake.model.literal import Value
from tidelake.model.names import TableName, quote
from tidelake.model.piece import Covers, Piece
from tidelake.model.predicate import And, Compare, In, IsNull, Predicate
from tidelake.model.series import Series
from tidelake.model.told import covered_by
from tidelake.plan.scan import ScanPlan
from tidelake.session import staging
from tidelake.session.covered import covered
from tidelake.session.draft import TableDraft
from tidelake.session.planning import Asked
from tidelake.session.staging import POINTERS

if TYPE_CHECKING:
    from tidelake.session.transaction import Transaction

Found = Mapping[str, Buckets]
"""Buckets by entity, as it is kept."""

_ROWS, _KEPT, _REST, _THERE = "_came", "_kept", "_rest", "_there"
_FEW = 100
"""Entities that a condition should name."""
_PYTHON = (instant.of_date(date.min), instant.of_date(date.max))
_NANOSECONDS = (instant.of_date(date(1678, 1, 1)), instant.of_date(date(2262, 1, 1)))


@dataclass(frozen=True, slots=True)
class Incoming:
    """Rows to be appended: a query, how many they are if that is known, and whether it may be
    asked again."""

    sql: str
    count: int | None
    rereadable: bool


@dataclass(frozen=True, slots=True)
class Added:
    """What has been staged."""

    files: Sequence[NewFile]
    inserted: int
    deleted: int = 0


def watched(draft: TableDraft) -> Series | None:
    """The table's series, if an append may not simply add to it."""
    series = Series.maybe(draft.after)
    return None if series is None or series.overlap == "allow" else series


def may_add_plainly(
    tx: Transaction, draft: TableDraft, series: Series, rows: Sequence[Sequence[object]]
) -> bool:
    """Whether rows, as the catalog keeps them, lie in free buckets alone; these are then taken."""
    places = [draft.columns.index(column) for column in series.columns]
    found = covered_by(series, ([row[place] for place in places] for row in rows))
    if found is None or _taken(tx, draft, series, found):
        return False
    _claim(draft, series, found)
    return True


def append(
    tx: Transaction, draft: TableDraft, series: Series, job: Any, incoming: Incoming
) -> Added:
    """Stage rows as the table's policy has it; if that fails, nothing."""
    with tx.unless_it_fails(draft):
        if series.overlap == "reject" and not staging.may_inline(tx, draft, incoming.count):
            return _append_files(tx, draft, series, staging.written(tx, draft, job, incoming.sql))
        if job.on_spark or not incoming.rereadable:
            count = job.keep(_KEPT, incoming.sql)
            incoming = Incoming(f"SELECT * FROM {_KEPT}", count, True)
        found = by_entity(job.covers(incoming.sql, series))
        taken = _taken(tx, draft, series, found)
        if taken and series.overlap == "reject":
            raise _overlap(draft.after.name, series, taken)
        if taken and series.overlap == "skip":
            return _append_rest(tx, draft, series, job, incoming, (found, taken))
        deleted = _remove(tx, draft, series, taken) if taken else 0
        _claim(draft, series, found)
        return replace(staged(tx, draft, job, incoming), deleted=deleted)


def _append_files(
    tx: Transaction, draft: TableDraft, series: Series, files: Sequence[NewFile]
) -> Added:
    """Files that have been written, and know what they cover, under a policy of rejection."""
    found = by_entity(p for file in files if file.covers for p in file.covers.pieces)
    if taken := _taken(tx, draft, series, found):
        raise _overlap(draft.after.name, series, taken)
    _claim(draft, series, found)
    draft.add_files(files)
    return Added(files, sum(file.rows for file in files))


def _append_rest(
    tx: Transaction,
    draft: TableDraft,
    series: Series,
    job: Any,
    incoming: Incoming,
    known: tuple[Found, Found],
) -> Added:
    """Rows in buckets that are free, or in none. Who makes others free in the meantime makes this
    wrong."""
    found, taken = known
    job.lying(_ROWS, incoming.sql, series, _pieces(taken), inside=False)
    columns = ", ".join(quote(column.name) for column in draft.columns)
    rest = Incoming(f"SELECT {columns} FROM {_ROWS}", None, True)
    if staging.may_inline(tx, draft, incoming.count):
        rest = replace(rest, count=job.keep(_REST, rest.sql), sql=f"SELECT * FROM {_REST}")
    added = staged(tx, draft, job, rest)
    if added.inserted:
        _claim(draft, series, _without(found, taken))
        draft.alone = True
    else:
        tx.check_current(draft.after.name)
    return added


def staged(tx: Transaction, draft: TableDraft, job: Any, incoming: Incoming) -> Added:
    """Stage rows, wherever they lie."""
    files = staging.add(tx, draft, job, incoming.sql, count=incoming.count)
    return Added(files, sum(file.rows for file in files) if files else incoming.count or 0)


def add_files(
    tx: Transaction, draft: TableDraft, series: Series, files: Sequence[NewFile]
) -> Added:
    """Stage files that lie there already. Those of which only a part is to be skipped are written
    anew, without it."""
    with tx.unless_it_fails(draft):
        with tx.job(f"cannot add files to {draft.after.name}") as job:
            known = [_with_coverage(tx, draft, series, job, file) for file in files]
            if series.overlap == "reject":
                return _append_files(tx, draft, series, known)
            found = by_entity(p for file in known if file.covers for p in file.covers.pieces)
            taken = _taken(tx, draft, series, found)
            skips = series.overlap == "skip"
            deleted = _remove(tx, draft, series, taken) if taken and not skips else 0
            before = set(draft.files)
            draft.add_files(known)
            skipped = 0
            if taken and skips:
                fresh = {id_: file for id_, file in draft.files.items() if id_ not in before}
                skipped = _drop(tx, draft, series, job, (fresh, taken))
        inserted = sum(file.rows for file in known) - skipped
        _claim(draft, series, _without(found, taken) if skips else found)
        if skipped and inserted:
            draft.alone = True
        return Added(known, inserted, deleted)


def _with_coverage(
    tx: Transaction, draft: TableDraft, series: Series, job: Any, file: NewFile
) -> NewFile:
    name = f"{_THERE}_{file.path}"
    job.scan(name, _plan_of(tx, draft, series, {-1: file}))
    told = job.covers(f"SELECT * FROM {quote(name)}", series)
    return replace(file, covers=Covers(series.number, tuple(told)))


def _plan_of(
    tx: Transaction, draft: TableDraft, series: Series, files: Mapping[int, NewFile]
) -> ScanPlan:
    """A read of files that have no ids but these."""
    names = [column.name for column in series.columns]
    plan = tx._plan(draft.after.name, None, Asked([*names, *POINTERS]))
    return replace(
        plan,
        files=tuple(draft.as_staged(id_, file) for id_, file in files.items()),
        inlined=(),
        mappings={id_: file.mapping for id_, file in files.items() if file.mapping is not None},
    )


def _drop(
    tx: Transaction,
    draft: TableDraft,
    series: Series,
    job: Any,
    which: tuple[Mapping[int, NewFile], Found],
) -> int:
    """Rows of the draft's own files that lie in buckets leave it again; how many they are."""
    files, taken = which
    return _doomed(tx, draft, series, job, (_plan_of(tx, draft, series, files), taken))


def _remove(tx: Transaction, draft: TableDraft, series: Series, taken: Found) -> int:
    """Rows that lie in buckets leave the table; how many they are."""
    names = [column.name for column in series.columns]
    plan = tx._plan(draft.after.name, None, Asked([*names, *POINTERS], _where(series, taken)))
    with tx.job(f"cannot replace rows of {draft.after.name}") as job:
        return _doomed(tx, draft, series, job, (plan, taken))


def _doomed(
    tx: Transaction, draft: TableDraft, series: Series, job: Any, which: tuple[ScanPlan, Found]
) -> int:
    plan, taken = which
    job.scan(_THERE, plan)
    job.lying(_ROWS, f"SELECT * FROM {_THERE}", series, _pieces(taken), inside=True)
    job.keep("doomed", f"SELECT {', '.join(POINTERS)} FROM {_ROWS}")
    return staging.remove(tx, draft, job, "doomed", plan)


def _taken(tx: Transaction, draft: TableDraft, series: Series, found: Found) -> dict[str, Buckets]:
    """Those of the buckets that are covered, as the transaction sees it."""
    if not found:
        return {}
    there = covered(
        tx, draft.after.name, None, where=_where(series, found), texts=found.keys()
    ).buckets
    both = {entity: ids & there[entity] for entity, ids in found.items() if entity in there}
    return {entity: ids for entity, ids in both.items() if ids}


def _claim(draft: TableDraft, series: Series, found: Found) -> None:
    if draft.before is not None and found:
        draft.claims.append(Covers(series.number, tuple(_pieces(found))))


def _pieces(found: Found) -> list[Piece]:
    return [piece for entity, ids in found.items() if ids for piece in pieces(entity, ids)]


def _without(found: Found, taken: Found) -> dict[str, Buckets]:
    return {entity: ids - taken.get(entity, Buckets()) for entity, ids in found.items()}


def _where(series: Series, found: Found) -> Predicate | None:
    """A condition that all rows in the buckets meet."""
    low = _moment(series, min(ids.min() for ids in found.values()))
    high = _moment(series, max(ids.max() for ids in found.values()) + 1)
    parts: list[Predicate] = []
    if low is not None:
        parts.append(Compare(series.time.name, ">=", low))
    if high is not None:
        parts.append(Compare(series.time.name, "<", high))
    if len(found) <= _FEW:
        parts += _about(series, found)
    return And(tuple(parts)) if parts else None


def _moment(series: Series, bucket: int) -> Value | None:
    """When a bucket begins, if Python and every database can say that."""
    number = series.clock.number_of(bucket)
    start = series.clock.start(number)
    if series.clock.kind == COUNT:
        return start if abs(start) < 1 << 63 else None
    first, last = _NANOSECONDS if series.time.type == "timestamp_ns" else _PYTHON
    return series.moment(number) if first <= start <= last else None


def _about(series: Series, found: Found) -> list[Predicate]:
    try:
        entities = [series.entity_of(text) for text in found]
    except Corrupt:  # a date that Python cannot hold
        return []
    parts: list[Predicate] = []
    for place, column in enumerate(series.entity):
        values = {entity[place] for entity in entities}
        listed = In(column.name, tuple(value for value in values if value is not None))
        parts.append(listed | IsNull(column.name) if None in values else listed)
    return parts


def _overlap(name: TableName, series: Series, taken: Found) -> Overlap:
    first = min(taken, key=lambda entity: (taken[entity].min(), entity))
    entity = series.entity_of(first)
    count = sum(len(ids) for ids in taken.values())
    bucket = taken[first].min()
    low, high = bucket, max(ids.max() for ids in taken.values())
    whole = interval(series, low, high + 1, entity if len(taken) == 1 else None)
    at = interval(series, bucket, bucket + 1, entity)
    return Overlap(
        f"{name} covers {_buckets(count)} of what is to be appended already"
        f"{_whose(series, at, len(taken))}, from {_said(whole.start)} to {_said(whole.end)}",
        hint='append only what t.missing(…) gives, or declare overlap="skip" or "replace" with'
        " t.set_coverage(…)",
        entity=entity,
        bucket=at,
        range=whole,
        count=count,
    )


def _buckets(count: int) -> str:
    return "1 bucket" if count == 1 else f"{count:,} buckets"


def _whose(series: Series, at: Interval, entities: int) -> str:
    if not series.entity:
        return ""
    pairs = zip(series.entity, at.entity or (), strict=True)
    told = ", ".join(f"{column.name}={value!r}" for column, value in pairs)
    if entities == 1:
        return f" (of {told})"
    return f" (of {entities:,} entities, the first {told} at {_said(at.start)})"


def _said(moment: object) -> str:
    return moment.isoformat() if isinstance(moment, date) else str(moment)
