"""Merge: bring a table into line with a source of rows, matched by key, in one pass.

The rows that match are found once, with where they lie; what becomes of each is decided by the
first clause whose condition holds. Only files in which something matches are touched.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tidelake.engine import Among, Job
from tidelake.errors import Invalid
from tidelake.model.change import WriteResult
from tidelake.model.names import TableName, fold, quote
from tidelake.model.predicate import And, Compare, In, Predicate
from tidelake.model.schema import ROW_FILE, ROW_NUMBER, ROW_POSITION, Column
from tidelake.model.settings import Settings
from tidelake.model.types import FLOATS
from tidelake.session import staging
from tidelake.session.draft import TableDraft
from tidelake.session.drafting import DraftSession
from tidelake.session.planning import ReadRequest
from tidelake.session.replay import Operation
from tidelake.session.staging import POINTERS
from tidelake.write.clauses import UPSERT, Clauses, MergeClause, MergeWork, flat
from tidelake.write.rows import check_nulls, result, writable

_ACTION = "_tidelake_action"
_T, _S = "_tidelake_target", "_tidelake_source"
"""Names that no column has: DuckDB takes `s.x` for a field if there is a struct `s`."""
_MATCHED = f"joined WHERE {ROW_POSITION} IS NOT NULL AND {_ACTION}"
_UNMATCHED = f"joined WHERE {ROW_POSITION} IS NULL AND {_ACTION}"
_ORPHANED = f"orphaned WHERE {_ACTION}"
"""Rows by what becomes of them: a number is compared with."""
_COUNT, _NEW = "_tidelake_count", "_tidelake_new"
_FEW = 100
_RANGED = {"varchar", "date", "timestamp", "timestamptz", "uuid"}
_SHOWN = 3


class Merge:
    """A merge in the making. Clauses of one kind are tried in the order in which they were given;
    `execute` runs it. Expressions name columns as `target.x` and `source.x`; the source may have
    columns that the table has not, for example one that says what is to be done."""

    def __init__(
        self,
        write: Callable[[Operation], WriteResult],
        name: TableName,
        source: Any,
        on: str | Sequence[str] | None,
    ) -> None:
        self._write = write
        self._name = name
        self._source = source
        self._on = on
        self._clauses = Clauses()

    def when_matched_update(
        self, values: Mapping[str, Any] | None = None, *, condition: str | None = None
    ) -> Merge:
        """Set columns of rows with a match; without `values`, all that the source has."""
        return self._with(matched=MergeClause("update", values, condition))

    def when_matched_delete(self, *, condition: str | None = None) -> Merge:
        return self._with(matched=MergeClause("delete", None, condition))

    def when_not_matched_insert(
        self, values: Mapping[str, Any] | None = None, *, condition: str | None = None
    ) -> Merge:
        """Add rows of the source without a match; without `values`, as they are."""
        return self._with(unmatched=MergeClause("insert", values, condition))

    def when_not_matched_by_source_update(
        self, values: Mapping[str, Any], *, condition: str | None = None
    ) -> Merge:
        """Set columns of rows that the source has no row for."""
        return self._with(orphaned=MergeClause("update", values, condition))

    def when_not_matched_by_source_delete(self, *, condition: str | None = None) -> Merge:
        return self._with(orphaned=MergeClause("delete", None, condition))

    def execute(self) -> WriteResult:
        if self._clauses == Clauses():
            raise Invalid(
                "this merge does nothing", hint="add a clause such as when_matched_update()"
            )
        return self._write(lambda tx: merge(tx, self._name, self._source, self._on, self._clauses))

    def _with(self, **clause: MergeClause) -> Merge:
        ((which, added),) = clause.items()
        self._clauses = replace(self._clauses, **{which: (*getattr(self._clauses, which), added)})
        return self


def merge(
    tx: DraftSession,
    name: TableName,
    data: Any,
    on: str | Sequence[str] | None,
    clauses: Clauses = UPSERT,
) -> WriteResult:
    draft = writable(tx, name)
    tx.check_computed(*clauses.texts())
    keys = _keys(draft, on)
    with tx.job(f"cannot merge into {name}", data) as job:
        extras = () if clauses is UPSERT else _extras(draft, job.columns(data))
        columns = (*draft.columns, *extras)
        incoming = job.bring("incoming", data, columns, name, defaults=False)
        tx.replayable = tx.replayable and incoming.rereadable
        job.hold("source", incoming.sql)
        missing = [key.name for key in keys if key.name not in incoming.present]
        if missing:
            raise Invalid(
                f"the source of the merge has no column {', '.join(missing)}",
                hint="the columns in `on` must be in both",
            )
        work = MergeWork(draft, keys, incoming.present, clauses, extras)
        work.refuse_idle_extras()
        return _run(tx, job, work, _survey(job, work))


def _extras(draft: TableDraft, columns: Sequence[Column]) -> tuple[Column, ...]:
    """Columns that only the source has: conditions and values may name them."""
    known = {fold(column.name) for column in draft.columns}
    return tuple(
        replace(column, id=-place)
        for place, column in enumerate(columns, 1)
        if fold(column.name) not in known
    )


def _keys(draft: TableDraft, on: str | Sequence[str] | None) -> list[Column]:
    schema = draft.after.schema
    if on is None:
        ids = Settings.of(draft.after.tags).key
        found = [column for column in schema if column.id in ids]
    else:
        listed = [on] if isinstance(on, str) or not isinstance(on, Iterable) else on
        found = [schema.column(name) for name in listed]
    if not found or len({column.id for column in found}) != len(found):
        raise Invalid(
            f"on={on!r} names no key to merge {draft.after.name} by", hint='merge(df, on="id")'
        )
    for column in found:
        if column.is_nested:
            raise Invalid(f"cannot merge by {column.name!r}, a {column.type}")
    return found


@dataclass(frozen=True, slots=True)
class _Survey:
    """How many rows the source has, and between which values its keys are, by name."""

    count: int
    bounds: Mapping[str, tuple[Any, Any]]


def _survey(job: Job, work: MergeWork) -> _Survey:
    """All that has to be known of the source, in one query; Invalid if it has several rows for
    one key."""
    keys = ", ".join(quote(key.name) for key in work.keys)
    given = " AND ".join(f"{quote(key.name)} IS NOT NULL" for key in work.keys)
    ranged = [key.name for key in work.keys if _is_ranged(key)]
    ends = "".join(f", min({quote(name)}), max({quote(name)})" for name in ranged)
    groups = f"SELECT {keys}, count(*) AS {_COUNT} FROM source GROUP BY {keys}"
    ((count, most, *bounds),) = job.rows(
        f"SELECT CAST(coalesce(sum({_COUNT}), 0) AS BIGINT),"
        f" coalesce(max(CASE WHEN {given} THEN {_COUNT} ELSE 0 END), 0){ends}"
        f" FROM ({groups}) AS g"
    )
    if most > 1:
        raise _repeated(job, work)
    return _Survey(
        count, dict(zip(ranged, zip(bounds[::2], bounds[1::2], strict=True), strict=True))
    )


def _repeated(job: Job, work: MergeWork) -> Invalid:
    names = ", ".join(quote(key.name) for key in work.keys)
    given = " AND ".join(f"{quote(key.name)} IS NOT NULL" for key in work.keys)
    rows = job.rows(
        f"SELECT {names}, count(*) FROM source WHERE {given} GROUP BY {names}"
        f" HAVING count(*) > 1 ORDER BY {names} LIMIT {_SHOWN}"
    )
    listed = "; ".join(
        ", ".join(f"{k.name}={v!r}" for k, v in zip(work.keys, row, strict=False)) for row in rows
    )
    return Invalid(
        f"the source of the merge has several rows for one key: {listed}",
        hint="keep one row for each key, for example the newest",
    )


def _run(tx: DraftSession, job: Job, work: MergeWork, survey: _Survey) -> WriteResult:
    draft, clauses = work.draft, work.clauses
    draft.depends_on_inserts = True
    names = work.target_columns()
    where = None if clauses.orphaned else _range(job, survey)
    plan = tx.plan(draft.after.name, None, ReadRequest([*names, *POINTERS, ROW_NUMBER], where))
    keys = tuple(key.name for key in work.keys)
    among = None if clauses.orphaned else Among("source", keys, survey.count)
    target = job.relation("target", plan, among)
    lineage = ", ".join(f"{_T}.{name}" for name in (*POINTERS, ROW_NUMBER))
    targets = ", ".join(f"{_T}.{quote(n)} AS {flat('target', n)}" for n in names)
    sources = ", ".join(f"{_S}.{quote(c.name)} AS {flat('source', c.name)}" for c in work.source)
    equal = " AND ".join(f"{_T}.{quote(k.name)} = {_S}.{quote(k.name)}" for k in work.keys)
    action = (
        f"CASE WHEN {ROW_POSITION} IS NULL THEN {work.action(clauses.unmatched)}"
        f" ELSE {work.action(clauses.matched)} END"
    )
    job.hold(
        "joined",
        f"SELECT *, {action} AS {_ACTION} FROM (SELECT {lineage}, {targets}, {sources} FROM"
        f" source AS {_S} {'LEFT ' if clauses.unmatched else ''}JOIN {target} AS {_T}"
        f" ON {equal}) AS m",
    )
    if clauses.orphaned:
        job.hold(
            "orphaned",
            f"SELECT *, {work.action(clauses.orphaned)} AS {_ACTION} FROM (SELECT {lineage},"
            f" {targets} FROM {target} AS {_T} WHERE NOT EXISTS"
            f" (SELECT 1 FROM source AS {_S} WHERE {equal})) AS o",
        )
    return _apply(tx, job, work, plan)


@dataclass(frozen=True, slots=True)
class _Tally:
    """What becomes of rows: how many of each file leave it, are written anew, and are added."""

    gone: Mapping[int | None, int]
    updated: int
    inserted: int


def _tally(job: Job, clauses: Clauses) -> _Tally:
    gone: Counter[int | None] = Counter()
    updated = inserted = 0
    counted = {
        "joined": clauses.matched,
        **({"orphaned": clauses.orphaned} if clauses.orphaned else {}),
    }
    for name, listed in counted.items():
        keys = f"{ROW_FILE}, {_NEW}, {_ACTION}"
        rows = job.rows(
            f"SELECT {keys}, count(*) FROM (SELECT {ROW_FILE}, {ROW_POSITION} IS NULL AS {_NEW},"
            f" {_ACTION} FROM {name} WHERE {_ACTION} > 0) AS a GROUP BY {keys}"
        )
        for file, is_new, action, count in rows:
            if is_new:
                inserted += count
                continue
            gone[file] += count
            updated += count if listed[action - 1].kind == "update" else 0
    return _Tally(gone, updated, inserted)


def _apply(tx: DraftSession, job: Job, work: MergeWork, plan: Any) -> WriteResult:
    draft, clauses = work.draft, work.clauses
    tally = _tally(job, clauses)
    found = {_MATCHED: clauses.matched}
    if clauses.orphaned:
        found[_ORPHANED] = clauses.orphaned
    pointers = ", ".join(POINTERS)
    doomed = " UNION ALL ".join(f"SELECT {pointers} FROM {rows} > 0" for rows in found)
    gone = staging.remove(tx, draft, job, f"({doomed})", plan, known=tally.gone)
    files = []
    changed = " UNION ALL ".join(_changed(job, work, found))
    coming = " UNION ALL ".join(
        work.rows(job, clause, f"{_UNMATCHED} = {place}")
        for place, clause in enumerate(clauses.unmatched, 1)
    )
    if tally.updated:
        files += staging.add(tx, draft, job, changed, count=tally.updated, numbered=True)
    if tally.inserted:
        files += staging.add(tx, draft, job, coming, count=tally.inserted)
    check_nulls(draft, files)
    return result(
        files,
        rows=gone + tally.inserted,
        inserted=tally.inserted,
        updated=tally.updated,
        deleted=gone - tally.updated,
        operation="merge",
    )


def _changed(
    job: Job, work: MergeWork, found: Mapping[str, Sequence[MergeClause]]
) -> Iterator[str]:
    for rows, listed in found.items():
        for place, clause in enumerate(listed, 1):
            if clause.kind == "update":
                yield work.rows(job, clause, f"{rows} = {place}", ROW_NUMBER)


def _range(job: Job, survey: _Survey) -> Predicate | None:
    """A condition that every row of the table with a match in the source meets."""
    parts: list[Predicate] = []
    for name, (low, high) in survey.bounds.items():
        if survey.count <= _FEW:
            rows = job.rows(
                f"SELECT DISTINCT {quote(name)} FROM source WHERE {quote(name)} IS NOT NULL"
            )
            parts.append(In(name, tuple(row[0] for row in rows)))
        elif low is not None:
            parts += [Compare(name, ">=", low), Compare(name, "<=", high)]
    return And(tuple(parts)) if parts else None


def _is_ranged(key: Column) -> bool:
    return key.type not in FLOATS and (key.type in _RANGED or "int" in key.type)
