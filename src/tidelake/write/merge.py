"""Merge: bring a table into line with a source of rows, matched by key, in one pass.

The rows that match are found once, with where they lie; what becomes of each is decided by the
first clause whose condition holds. Only files in which something matches are touched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import MAXYEAR, MINYEAR, date
from typing import Any

from tidelake.engine import Among, Job
from tidelake.errors import Invalid
from tidelake.model.change import NewFile, WriteResult
from tidelake.model.names import TableName, fold, quote
from tidelake.model.predicate import And, Compare, In, Predicate
from tidelake.model.reflexes import OF_MERGES, Guessable
from tidelake.model.schema import ROW_NUMBER, ROW_POSITION, Column
from tidelake.model.settings import Settings
from tidelake.model.types import FLOATS
from tidelake.plan.scan import ScanPlan
from tidelake.session.draft import TableDraft
from tidelake.session.drafting import DraftSession
from tidelake.session.exchange import Arrival, Exchange
from tidelake.session.planning import ReadRequest
from tidelake.session.replay import Operation
from tidelake.session.single_task import is_near
from tidelake.session.staging import POINTERS
from tidelake.write.clauses import UPSERT, Clauses, MergeClause, MergeWork, flat
from tidelake.write.merge_task import TARGET, MergeScript, MergeTask, is_for_one_task, run_task
from tidelake.write.rows import check_nulls, result, writable
from tidelake.write.tally import ACTION, Tally, tally_of

_T, _S = "_tidelake_target", "_tidelake_source"
"""Names that no column has: DuckDB takes `s.x` for a field if there is a struct `s`."""
_MATCHED = f"joined WHERE {ROW_POSITION} IS NOT NULL AND {ACTION}"
_UNMATCHED = f"joined WHERE {ROW_POSITION} IS NULL AND {ACTION}"
_ORPHANED = f"orphaned WHERE {ACTION}"
"""Rows by what becomes of them: a number is compared with."""
_COUNT = "_tidelake_count"
_FEW = 100
_RANGED = {"varchar", "date", "timestamp", "timestamptz", "uuid"}
_SHOWN = 3


class Merge(Guessable):
    """A merge in the making. Clauses of one kind are tried in the order in which they were given;
    `execute` runs it. Expressions name columns as `target.x` and `source.x`; the source may have
    columns that the table has not, for example one that says what is to be done."""

    _reflexes = ("merge", OF_MERGES)

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
        tx.replayable = tx.replayable and incoming.repeatable
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
        _refuse_conditions(listed, schema)
        found = [schema.column(name) for name in listed]
    if not found or len({column.id for column in found}) != len(found):
        of = draft.after.name
        said = f"{of} has no key" if on is None else f"on={on!r} names no key, or a column twice"
        raise Invalid(f"a merge into {of} must be told its key: {said}", hint='merge(df, on="id")')
    for column in found:
        if column.is_nested:
            raise Invalid(
                f"cannot merge by {column.name!r}, a {column.type}",
                hint="name columns of plain values",
            )
    return found


def _refuse_conditions(on: Iterable[object], schema: Iterable[Column]) -> None:
    for name in on:
        if isinstance(name, str) and "=" in name and name not in {c.name for c in schema}:
            raise Invalid(
                f"on={name!r} is a condition, and on= takes names of columns that both sides have",
                hint='merge(df, on="id"); for other conditions lake.sql("MERGE INTO …")',
            )


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
    if (told := _where_files_are(tx, job, work, survey, plan)) is not None:
        return told
    keys = tuple(key.name for key in work.keys)
    among = None if clauses.orphaned else Among("source", keys, survey.count)
    target = job.relation(TARGET, plan, among)
    found, equal = _found(work, target.sql)
    script = _script(job, work, _joined(work, *found, equal))
    if target.is_narrow and is_for_one_task(draft, plan, survey.count):
        task = MergeTask.of(tx, draft, plan, survey.count, script)
        if done := run_task(tx, draft, job, plan, task):
            return _told(draft, *done)
    job.hold("joined", script.joined)
    if clauses.orphaned:
        job.hold(
            "orphaned",
            f"SELECT *, {work.action(clauses.orphaned)} AS {ACTION} FROM ({' FROM '.join(found)}"
            f" WHERE NOT EXISTS"
            f" (SELECT 1 FROM source AS {_S} WHERE {equal})) AS o",
        )
    return _apply(tx, job, draft, plan, script)


def _where_files_are(
    tx: DraftSession, job: Job, work: MergeWork, survey: _Survey, plan: ScanPlan
) -> WriteResult | None:
    """Have a task do it that is brought the source, and reads the table's files itself; None if
    they are too large for one, or none can."""
    draft = work.draft
    if job.in_process or work.clauses.orphaned or not is_near(plan):
        return None
    if not is_for_one_task(draft, plan, survey.count) or not job.pieces(plan):
        return None
    found, equal = _found(work, TARGET)
    script = _script(job, work, _joined(work, *found, equal))
    task = MergeTask.of(tx, draft, plan, survey.count, script)
    done = run_task(tx, draft, job, plan, replace(task, reads=replace(plan, pruned=())))
    return None if done is None else _told(draft, *done)


def _found(work: MergeWork, target: str) -> tuple[tuple[str, str], str]:
    """What is chosen of the table, which stands behind FROM as this, and when a row of it is equal
    to one of the source."""
    lineage = ", ".join(f"{_T}.{name}" for name in (*POINTERS, ROW_NUMBER))
    targets = ", ".join(f"{_T}.{quote(n)} AS {flat('target', n)}" for n in work.target_columns())
    equal = " AND ".join(f"{_T}.{quote(k.name)} = {_S}.{quote(k.name)}" for k in work.keys)
    return (f"SELECT {lineage}, {targets}", f"{target} AS {_T}"), equal


def _joined(work: MergeWork, chosen: str, target: str, equal: str) -> str:
    """Rows of the source with those of the table that match, if something becomes of them."""
    clauses = work.clauses
    sources = ", ".join(f"{_S}.{quote(c.name)} AS {flat('source', c.name)}" for c in work.source)
    action = (
        f"CASE WHEN {ROW_POSITION} IS NULL THEN {work.action(clauses.unmatched)}"
        f" ELSE {work.action(clauses.matched)} END"
    )
    rows = (
        f"{chosen}, {sources} FROM source AS {_S}"
        f" {'LEFT ' if clauses.unmatched else ''}JOIN {target} ON {equal}"
    )
    return (
        f"SELECT * FROM (SELECT *, {action} AS {ACTION} FROM ({rows}) AS m) AS n WHERE {ACTION} > 0"
    )


def _apply(
    tx: DraftSession, job: Job, draft: TableDraft, plan: ScanPlan, script: MergeScript
) -> WriteResult:
    tally = tally_of(job.rows, script.kinds)
    counts = {True: tally.updated, False: tally.inserted}
    coming = tuple(
        Arrival(sql, counts[numbered], numbered) for numbered, sql in script.queries.items()
    )
    exchange = Exchange(plan, tuple(script.kinds), script.doomed, tally.gone, coming)
    return _told(draft, tally, exchange.run(tx, draft, job))


def _told(draft: TableDraft, tally: Tally, files: Sequence[NewFile]) -> WriteResult:
    check_nulls(draft, files)
    gone = sum(tally.gone.values())
    return result(
        files,
        rows=gone + tally.inserted,
        inserted=tally.inserted,
        updated=tally.updated,
        deleted=gone - tally.updated,
        operation="merge",
    )


def _script(job: Job, work: MergeWork, joined: str) -> MergeScript:
    clauses = work.clauses
    found = {_MATCHED: clauses.matched}
    if clauses.orphaned:
        found[_ORPHANED] = clauses.orphaned
    doomed = " UNION ALL ".join(f"SELECT {', '.join(POINTERS)} FROM {rows} > 0" for rows in found)
    changed = " UNION ALL ".join(_changed(job, work, found))
    new = " UNION ALL ".join(
        work.rows(job, clause, f"{_UNMATCHED} = {place}")
        for place, clause in enumerate(clauses.unmatched, 1)
    )
    queries = {numbered: sql for numbered, sql in ((True, changed), (False, new)) if sql}
    kinds = {
        rows.partition(" ")[0]: [clause.kind for clause in listed] for rows, listed in found.items()
    }
    return MergeScript(joined, f"({doomed})", queries, kinds)


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
            if not any(_is_at_an_end(value) for (value,) in rows):
                parts.append(In(name, tuple(value for (value,) in rows)))
        elif low is not None and not _is_at_an_end(low) and not _is_at_an_end(high):
            parts += [Compare(name, ">=", low), Compare(name, "<=", high)]
    return And(tuple(parts)) if parts else None


def _is_at_an_end(value: object) -> bool:
    """Whether it may stand for an infinity: for Python that is the first or the last day."""
    return isinstance(value, date) and value.year in (MINYEAR, MAXYEAR)


def _is_ranged(key: Column) -> bool:
    return key.type not in FLOATS and (key.type in _RANGED or "int" in key.type)
