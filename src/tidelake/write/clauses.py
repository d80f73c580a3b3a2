"""What a merge does with rows: its clauses, and the SQL that they come to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from tidelake.engine import Job
from tidelake.engine.incoming.conform import filler_sql, unknown
from tidelake.errors import Invalid
from tidelake.model.names import quote
from tidelake.model.schema import Column, Schema
from tidelake.plan.expression import expression_sql
from tidelake.session.draft import TableDraft
from tidelake.write.assignment import Assignment, parse_assignment, without_rows


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


@dataclass(frozen=True, slots=True)
class MergeWork:
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
        return expression_sql(clause.condition, self._tables, None, flat)

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
            return flat("target", column.name)
        return filler_sql(column, str(self.draft.after.name), defaults=True)

    def _text(self, clauses: Iterable[MergeClause]) -> str:
        """All SQL that clauses look at rows with; no name holds what stands between."""
        return "\0".join(text for clause in clauses for text in self._texts(clause))

    def _texts(self, clause: MergeClause) -> list[str]:
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
            return Assignment(values={c.id: flat("source", c.name) for c in own})
        if not clause.values or not isinstance(clause.values, Mapping):
            raise Invalid(
                "a clause of the merge sets nothing", hint='give columns: {"x": "source.x"}'
            )
        tables = {"source": self.source} if clause.kind == "insert" else self._tables
        read = partial(expression_sql, tables=tables, bare=None, spell=flat)
        place = str(self.draft.after.name)
        return parse_assignment(self.schema, clause.values.items(), place, read)

    def refuse_idle_extras(self) -> None:
        """A column that the table has not, and no clause looks at, is a mistake."""
        all_clauses = (*self.clauses.matched, *self.clauses.unmatched, *self.clauses.orphaned)
        text = self._text(all_clauses)
        for column in self.extras:
            if flat("source", column.name) not in text:
                raise unknown([column.name], self.draft.columns, str(self.draft.after.name))

    def target_columns(self) -> list[str]:
        """What of the table must be read: what clauses name, and what they leave as it is."""
        text = self._text((*self.clauses.matched, *self.clauses.orphaned))
        keys = {key.id for key in self.keys}
        return [c.name for c in self.schema if c.id in keys or flat("target", c.name) in text]


def flat(place: str, name: str) -> str:
    return quote(f"{place}.{name}")
