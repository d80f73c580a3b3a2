"""Merge: bring a table into line with a source of rows, matched by key, in one pass.

The rows that match are found once, with where they lie; what becomes of each is decided by the
first clause whose condition holds. Only files in which something matches are touched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from tidelake.engine import Job
from tidelake.engine.incoming.conform import filler_sql, unknown
from tidelake.errors import Invalid
from tidelake.model.change import WriteResult
from tidelake.model.names import TableName, fold, quote
from tidelake.model.predicate import And, Compare, In, Predicate
from tidelake.model.schema import ROW_NUMBER, Column, Schema
from tidelake.model.settings import Settings
from tidelake.model.types import FLOATS
from tidelake.plan.expression import expression_sql
from tidelake.session import staging
from tidelake.session.draft import TableDraft
from tidelake.session.drafting import DraftSession
from tidelake.session.planning import ReadRequest
from tidelake.session.replay import Operation
from tidelake.session.staging import POINTERS
from tidelake.write.assignment import Assignment, parse_assignment, without_rows
from tidelake.write.rows import check_nulls, result, writable

_ACTION = "_tidelake_action"
_T, _S = "_tidelake_target", "_tidelake_source"
"""Names that no column has: DuckDB takes `s.x` for a field if there is a struct `s`."""
_FEW = 100
_RANGED = {"varchar", "date", "timestamp", "timestamptz", "uuid"}
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class MergeClause:
    """`kind` is update, delete or insert; `values` None stands for all columns of the source."""

    kind: str
    values: Mapping[str, Any] | None = None
    condition: str | None = None


@dataclass(frozen=True, slots=True)
class Clauses:
    matched: tuple[MergeClause, ...] = ()
    unmatched: tuple[MergeClause, ...] = ()
    orphaned: tuple[MergeClause, ...] = ()

    def texts(self) -> Iterator[str]:
        """All conditions and expressions in them."""
        for clause in (*self.matched, *self.unmatched, *self.orphaned):
            values = clause.values.values() if isinstance(clause.values, Mapping) else ()
            yield from (each for each in (clause.condition, *values) if isinstance(each, str))


UPSERT = Clauses((MergeClause("update"),), (MergeClause("insert"),))


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
        count = job.keep("source", incoming.sql)
        missing = [key.name for key in keys if key.name not in incoming.present]
        if missing:
            raise Invalid(
                f"the source of the merge has no column {', '.join(missing)}",
                hint="the columns in `on` must be in both",
            )
        work = _Work(draft, keys, incoming.present, clauses, extras)
        work.refuse_idle_extras()
        _refuse_repeated(job, work)
        return _run(tx, job, work, count)


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
class _Work:
    """A merge whose source is known: what it needs, in SQL over flat names such as
    `"target.x"` and `"source.x"`."""

    draft: TableDraft
    keys: Sequence[Column]
    present: frozenset[str]
    clauses: Clauses
    extras: tuple[Column, ...] = ()

    @property
    def schema(self) -> Schema:
        return self.draft.after.schema

    @property
    def source(self) -> Schema:
        own = tuple(c for c in self.schema if c.name in self.present)
        return Schema((*own, *self.extras))

    def action(self, clauses: Sequence[MergeClause]) -> str:
        """Which clause, counted from one, applies to a row; 0 if none does."""
        if not clauses:
            return "0"
        whens = [
            f"WHEN {self._condition(clause)} THEN {place}"
            for place, clause in enumerate(clauses, 1)
        ]
        return f"CASE {' '.join(whens)} ELSE 0 END"

    def _condition(self, clause: MergeClause) -> str:
        if clause.condition is None:
            return "true"
        return expression_sql(clause.condition, self._tables, None, _flat)

    @property
    def _tables(self) -> dict[str, Schema]:
        return {"target": self.schema, "source": self.source}

    def rows(self, job: Job, clause: MergeClause, source: str, *more: str) -> str:
        """The rows that a clause writes, over those of a source."""
        wanted = self._wanted(clause)
        found = wanted.checked(job, self.schema, self._empty, str(self.draft.after.name))
        chosen = [
            f"{found.get(column.id) or self._kept(clause, column)} AS {quote(column.name)}"
            for column in self.schema
        ]
        return f"SELECT {', '.join([*chosen, *more])} FROM {wanted.over(source)}"

    def _kept(self, clause: MergeClause, column: Column) -> str:
        """What a column has that a clause does not set."""
        if clause.kind == "update":
            return _flat("target", column.name)
        return filler_sql(column, str(self.draft.after.name), defaults=True)

    def _texts(self, clause: MergeClause) -> list[str]:
        """All SQL that a clause looks at rows with."""
        if clause.kind == "delete":
            return [self._condition(clause)]
        wanted = self._wanted(clause)
        there = {**wanted.expressions, **wanted.values}
        kept = [self._kept(clause, column) for column in self.schema if column.id not in there]
        return [self._condition(clause), *there.values(), *kept]

    @property
    def _empty(self) -> str:
        columns = [
            (f"{place}.{column.name}", column)
            for place, schema in self._tables.items()
            for column in schema
        ]
        return without_rows(columns, "t")

    def _wanted(self, clause: MergeClause) -> Assignment:
        if clause.values is None:
            keys = {key.id for key in self.keys} if clause.kind == "update" else set()
            own = [c for c in self.source if c.id > 0 and c.id not in keys]
            return Assignment(values={c.id: _flat("source", c.name) for c in own})
        if not clause.values or not isinstance(clause.values, Mapping):
            raise Invalid(
                "a clause of the merge sets nothing", hint='give columns: {"x": "source.x"}'
            )
        read = partial(expression_sql, tables=self._tables, bare=None, spell=_flat)
        place = str(self.draft.after.name)
        return parse_assignment(self.schema, clause.values.items(), place, read)

    def refuse_idle_extras(self) -> None:
        """A column that the table has not, and no clause looks at, is a mistake."""
        all_clauses = (*self.clauses.matched, *self.clauses.unmatched, *self.clauses.orphaned)
        texts = [text for clause in all_clauses for text in self._texts(clause)]
        for column in self.extras:
            if not any(_flat("source", column.name) in text for text in texts):
                raise unknown([column.name], self.draft.columns, str(self.draft.after.name))

    def target_columns(self) -> list[str]:
        """What of the table must be read: what clauses name, and what they leave as it is."""
        clauses = (*self.clauses.matched, *self.clauses.orphaned)
        texts = [text for clause in clauses for text in self._texts(clause)]
        keys = {key.id for key in self.keys}
        return [
            c.name
            for c in self.schema
            if c.id in keys or any(_flat("target", c.name) in text for text in texts)
        ]


def _flat(place: str, name: str) -> str:
    return quote(f"{place}.{name}")


def _refuse_repeated(job: Job, work: _Work) -> None:
    names = ", ".join(quote(key.name) for key in work.keys)
    given = " AND ".join(f"{quote(key.name)} IS NOT NULL" for key in work.keys)
    rows = job.rows(
        f"SELECT {names}, count(*) FROM source WHERE {given} GROUP BY {names}"
        f" HAVING count(*) > 1 ORDER BY {names} LIMIT {_SHOWN}"
    )
    if rows:
        listed = "; ".join(
            ", ".join(f"{k.name}={v!r}" for k, v in zip(work.keys, row, strict=False))
            for row in rows
        )
        raise Invalid(
            f"the source of the merge has several rows for one key: {listed}",
            hint="keep one row for each key, for example the newest",
        )


def _run(tx: DraftSession, job: Job, work: _Work, count: int) -> WriteResult:
    draft, clauses = work.draft, work.clauses
    draft.depends_on_inserts = True
    names = work.target_columns()
    where = None if clauses.orphaned else _range(job, work, count)
    plan = tx.plan(draft.after.name, None, ReadRequest([*names, *POINTERS, ROW_NUMBER], where))
    job.scan("target", plan)
    lineage = ", ".join(f"{_T}.{name}" for name in (*POINTERS, ROW_NUMBER))
    targets = ", ".join(f"{_T}.{quote(n)} AS {_flat('target', n)}" for n in names)
    sources = ", ".join(f"{_S}.{quote(c.name)} AS {_flat('source', c.name)}" for c in work.source)
    equal = " AND ".join(f"{_T}.{quote(k.name)} = {_S}.{quote(k.name)}" for k in work.keys)
    job.keep(
        "matched",
        f"SELECT *, {work.action(clauses.matched)} AS {_ACTION} FROM (SELECT {lineage}, {targets},"
        f" {sources} FROM target AS {_T} JOIN source AS {_S} ON {equal}) AS m",
    )
    unmatched = _unmatched(work, sources)
    if clauses.orphaned:
        job.keep(
            "orphaned",
            f"SELECT *, {work.action(clauses.orphaned)} AS {_ACTION} FROM (SELECT {lineage},"
            f" {targets} FROM target AS {_T} WHERE NOT EXISTS"
            f" (SELECT 1 FROM source AS {_S} WHERE {equal})) AS o",
        )
    return _apply(tx, job, work, plan, unmatched)


def _unmatched(work: _Work, sources: str) -> str:
    equal = " AND ".join(
        f"m.{_flat('source', key.name)} = {_S}.{quote(key.name)}" for key in work.keys
    )
    return (
        f"SELECT *, {work.action(work.clauses.unmatched)} AS {_ACTION} FROM (SELECT {sources}"
        f" FROM source AS {_S} WHERE NOT EXISTS (SELECT 1 FROM matched AS m WHERE {equal})) AS u"
    )


def _apply(tx: DraftSession, job: Job, work: _Work, plan: Any, unmatched: str) -> WriteResult:
    draft, clauses = work.draft, work.clauses
    relations = {"matched": clauses.matched}
    if clauses.orphaned:
        relations["orphaned"] = clauses.orphaned
    pointers = ", ".join(POINTERS)
    doomed = " UNION ALL ".join(
        f"SELECT {pointers} FROM {name} WHERE {_ACTION} > 0" for name in relations
    )
    changed = [
        work.rows(job, clause, f"{name} WHERE {_ACTION} = {place}", ROW_NUMBER)
        for name, listed in relations.items()
        for place, clause in enumerate(listed, 1)
        if clause.kind == "update"
    ]
    job.define("doomed", doomed)
    gone = staging.remove(tx, draft, job, "doomed", plan)
    files, updated, inserted = [], 0, 0
    if changed:
        job.define("changed", " UNION ALL ".join(changed))
        ends = any(clause.kind == "delete" for each in relations.values() for clause in each)
        updated = job.rows("SELECT count(*) FROM changed")[0][0] if ends else gone
        files += staging.add(tx, draft, job, "SELECT * FROM changed", count=updated, numbered=True)
    if clauses.unmatched:
        coming = " UNION ALL ".join(
            work.rows(job, clause, f"({unmatched}) WHERE {_ACTION} = {place}")
            for place, clause in enumerate(clauses.unmatched, 1)
        )
        inserted = job.keep("coming", coming)
        files += staging.add(tx, work.draft, job, "SELECT * FROM coming", count=inserted)
    check_nulls(work.draft, files)
    return result(
        files,
        rows=gone + inserted,
        inserted=inserted,
        updated=updated,
        deleted=gone - updated,
        operation="merge",
    )


def _range(job: Job, work: _Work, count: int) -> Predicate | None:
    """A condition that every row of the table with a match in the source meets."""
    parts: list[Predicate] = []
    for key in work.keys:
        if key.type in FLOATS or not (key.type in _RANGED or "int" in key.type):
            continue
        if count <= _FEW:
            rows = job.rows(
                f"SELECT DISTINCT {quote(key.name)} FROM source WHERE {quote(key.name)} IS NOT NULL"
            )
            parts.append(In(key.name, tuple(row[0] for row in rows)))
        else:
            ((low, high),) = job.rows(
                f"SELECT min({quote(key.name)}), max({quote(key.name)}) FROM source"
            )
            if low is not None:
                parts += [Compare(key.name, ">=", low), Compare(key.name, "<=", high)]
    return And(tuple(parts)) if parts else None
