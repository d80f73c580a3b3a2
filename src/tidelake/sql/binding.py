"""A query in DuckDB's SQL over a lake: its tables get plans, and the rest stays as written."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tidelake.engine import Engine, Reading
from tidelake.engine.row_source import RowSource, Tables
from tidelake.errors import Invalid, Unsupported
from tidelake.model.names import DEFAULT_SCHEMA, TableName, fold, quote
from tidelake.model.table import ViewInfo
from tidelake.plan.as_of import AsOfPlan
from tidelake.plan.scan import ScanPlan
from tidelake.session.lazy_rows import LazyRows
from tidelake.session.readable import Read, reads_of
from tidelake.session.session import Session
from tidelake.session.source import Source
from tidelake.sql.asof_join import asof_rows
from tidelake.sql.calls import FUNCTIONS, Call
from tidelake.sql.description import description, is_described
from tidelake.sql.functions import rows_of
from tidelake.sql.hints import has_hint, hint
from tidelake.sql.moments import MomentReader
from tidelake.sql.scope import Hint, Scope
from tidelake.sql.text import Table, Text, read
from tidelake.syntax import tree
from tidelake.syntax.harmless import refuse_harm
from tidelake.syntax.tokens import Edit, apply_edits
from tidelake.syntax.tree import NotSelect

DEEPEST_VIEW = 32
DECLARE = (
    'declare it: t.set_event_time("ts", key=["id"]); for tables as they were committed at a moment'
    " use known_at(…)"
)
# DuckDB has tables and views of its own under such names.
_TAKEN = re.compile(r"(duckdb|pg|sqlite|pragma|_tidelake)_.*", re.IGNORECASE)


class BoundRows(LazyRows):
    """The rows of a query within another."""

    def __init__(
        self, session: Session, sql: str, tables: Tables, sources: Mapping[str, Source]
    ) -> None:
        self._session = session
        self._sql = sql
        self._tables = tables
        self._sources = sources

    def reads(self) -> Iterator[Read]:
        """The tables of the query."""
        return reads_of(self._tables, self._sources)

    def types(self) -> Sequence[tuple[str, Any]]:
        """The names of its columns, with types."""
        return self._session.engine.described(self._sql, self._tables)

    def _reading(self, engine: Engine, *, ordered: bool = True) -> Reading:  # noqa: ARG002
        return engine.query(self._sql, self._tables)


@dataclass(slots=True)
class QueryTables:
    """The tables of one query, by the names that they have in it. Where a table can go under its
    own name nothing is written anew."""

    clock: MomentReader
    tables: dict[str, ScanPlan | AsOfPlan | RowSource] = field(default_factory=dict)
    sources: dict[str, Source] = field(default_factory=dict)
    """What each of them is read of."""

    def bind(self, text: Text, schema: str, seen: Scope, depth: int = 0) -> tuple[list[Edit], bool]:
        """What must be written anew, and whether one of the tables has an event time.

        All of them are read at the same moments, unless the query names others for a table; what
        it names for a view holds for the tables behind it that name none.
        """
        if depth > DEEPEST_VIEW:
            raise Invalid(
                "the views in this query refer to each other in a circle",
                hint="drop one of them, or create it anew",
            )
        if depth or seen.session.is_sandbox:
            refuse_harm(text.node, "a view" if depth else "the query", FUNCTIONS)
        edits: list[Edit] = []
        timed = False
        homes: dict[str, list[tuple[TableName, str]]] = {}
        for table in text.tables:
            with seen.session.reading() as reader:
                own = seen.asked(reader, table.clauses, self.clock)
                name, view = own.resolve(reader, table.schema, table.name, schema)
            alias = _alias(table, text)
            if not table.node["alias"]:
                homes.setdefault(fold(table.name), []).append((name, alias))
            if view is not None:
                inner, has_time = self._expanded(view, own, depth)
                edits += table.replaced(inner, alias)
            else:
                plan, has_time = own.plan(name, self._hint(table))
                timed |= has_time
                if is_described(table):
                    edits.append(self._description(table, plan, own, name))
                    continue
                edits += self._placed(table, plan, alias, depth)
                as_of = plan.as_of if isinstance(plan, AsOfPlan) else None
                self.sources[next(reversed(self.tables))] = replace(own.source(name), as_of=as_of)
            timed |= has_time
        for call in text.calls:
            handle = f"_tidelake_{len(self.tables)}"
            self.tables[handle] = self._called(call, seen, depth)
            edits.append(call.replaced(quote(handle)))
            timed = True
        return [*edits, *_shortened(text, homes)], timed

    def _called(self, call: Call, seen: Scope, depth: int) -> RowSource:
        """The rows that a function of the lake gives."""
        if call.name != "asof_join":
            return rows_of(call, seen, self.clock)
        return asof_rows(call, seen, self.clock, lambda text: self._inner(text, seen, depth))

    def _inner(self, text: str, seen: Scope, depth: int) -> BoundRows:
        """The rows of a query that is given as a text."""
        try:
            asked = read(text)
        except NotSelect:
            raise Invalid(f"{text!r} is no query", hint="SELECT …") from None
        values = self.clock.values
        if asked.marks or not values.keys() >= set(asked.parameter_names()):
            raise Invalid(
                f"{text!r} has parameters of its own", hint="write it in brackets, not as a text"
            )
        inner = QueryTables(self.clock)
        edits, _ = inner.bind(asked, DEFAULT_SCHEMA, seen, depth)
        sql = apply_edits(asked.sql, [*edits, *asked.literals(values)])
        return BoundRows(seen.session, sql, inner.tables, inner.sources)

    def _hint(self, table: Table) -> Hint | None:
        if not has_hint(table):
            return None
        return lambda schema: hint(table, schema, self.clock.values)

    def _description(
        self, table: Table, plan: ScanPlan | AsOfPlan | RowSource, seen: Scope, name: TableName
    ) -> Edit:
        source = seen.source(name)
        with seen.session.reading() as reader:
            at = seen.at if source.known_by is None else source.at(reader)
            schema = seen.session.table_info(reader, at, name).schema
        return description(table, plan, schema, self.clock.local)

    def _placed(
        self, table: Table, plan: ScanPlan | AsOfPlan | RowSource, alias: str, depth: int
    ) -> list[Edit]:
        plain = not depth and not table.schema and alias == quote(table.name)
        taken = {fold(name) for name in self.tables}
        if plain and fold(table.name) not in taken and not _TAKEN.match(table.name):
            self.tables[table.name] = plan
            return []
        handle = f"_tidelake_{len(self.tables)}"
        self.tables[handle] = plan
        return table.replaced(quote(handle), alias)

    def _expanded(self, view: ViewInfo, seen: Scope, depth: int) -> tuple[str, bool]:
        if view.dialect != "duckdb":
            raise Unsupported(
                f"view {view.name} is written in {view.dialect}'s SQL",
                hint="query the tables behind it",
            )
        inner = read(view.sql)
        within = replace(seen, insists=False)
        edits, timed = self.bind(inner, view.name.schema, within, depth + 1)
        if seen.insists and not timed:
            raise Invalid(f"no table behind view {view.name} has an event time", hint=DECLARE)
        sql = f"({apply_edits(inner.sql, edits)}\n)"
        if view.column_aliases:
            names = ", ".join(map(quote, view.column_aliases))
            sql = f"(SELECT * FROM {sql} AS _tidelake_view({names}))"
        return sql, timed


def _alias(table: Table, text: Text) -> str:
    """What an unaliased table is called in the rest of the query: with its schema where others of
    its name come from other schemas."""
    name = fold(table.name)
    others = {
        fold(each.schema)
        for each in text.tables
        if fold(each.name) == name and not each.node["alias"]
    }
    qualified = bool(table.schema) and len(others) > 1
    return quote(f"{table.schema}.{table.name}" if qualified else table.name)


def _shortened(text: Text, homes: dict[str, list[tuple[TableName, str]]]) -> list[Edit]:
    """Columns as `schema.table.column` get the name that their table has now."""
    starts = {token.start: at for at, token in enumerate(text.found)}
    edits = []
    for node in tree.walk(text.node):
        names = node.get("column_names") or () if node.get("class") == "COLUMN_REF" else ()
        place = tree.place(node, text.sql)
        for before in (1, 2):
            if len(names) <= before + 1 or place not in starts:
                continue
            for name, alias in homes.get(fold(names[before]), ()):
                if fold(name.schema) == fold(names[before - 1]):
                    first = starts[place]
                    stop = text.found[first + 2 * before].end + 1
                    edits.append(Edit(place, stop, alias))
                    break
    return list({edit.start: edit for edit in edits}.values())
