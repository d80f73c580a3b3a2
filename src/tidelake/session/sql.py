"""SQL over the lake: find its tables in a query, plan each, and let the engine do the rest.

What is not a query is a write, and becomes a call of the write API.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

from tidelake.engine.selection import Selection
from tidelake.errors import Invalid, Unsupported
from tidelake.model.change import WriteResult
from tidelake.model.event_time import as_moment
from tidelake.model.literal import Value
from tidelake.model.names import DEFAULT_SCHEMA, TableName, fold, quote
from tidelake.model.schema import Column
from tidelake.model.table import ViewInfo
from tidelake.plan.as_of import AsOfPlan
from tidelake.plan.scan import ScanPlan
from tidelake.session.sql_binding import DECLARE, DEEPEST_VIEW, Binding
from tidelake.session.sql_clauses import clauses_of, refuse_clauses
from tidelake.session.sql_conditions import own_condition, understood
from tidelake.session.sql_moments import Clock
from tidelake.session.sql_parameters import (
    NOTHING,
    Beside,
    Given,
    bound,
    put_literals,
    used_in,
)
from tidelake.session.sql_seen import Seen
from tidelake.session.sql_statement import parsed, query_of
from tidelake.session.sql_text import Text, read
from tidelake.session.sql_words import Words, refuse_others
from tidelake.syntax.tokens import edited
from tidelake.syntax.tree import NotSelect

if TYPE_CHECKING:
    from sqlglot import exp

    from tidelake.session.lake import Lake


def run(
    lake: Lake,
    text: str,
    parameters: Given = None,
    as_of: str | date | None = None,
    known_at: int | str | datetime | None = None,
) -> Query | WriteResult:
    """A query, which runs when its rows are asked for; anything else is done at once."""
    from tidelake.session.sql_definitions import definition
    from tidelake.session.sql_merge import merge_of
    from tidelake.session.sql_pieces import piecewise
    from tidelake.session.sql_writes import is_write, write

    if not isinstance(text, str):
        raise Invalid(f"{text!r} is no SQL", hint='lake.sql("SELECT …")')
    beside = Beside(parameters, as_of, known_at)
    operation = definition(Words(text), beside)
    if operation is None:
        operation = piecewise(text, beside) or merge_of(text, beside)
    if operation is None:
        asked, values = ask(text, beside)
        if isinstance(asked, Text) or not is_write(asked):
            return Query(lake, text, asked, values, beside)
        operation = write(asked, values, beside)
    return lake._write(operation)


def ask(text: str, beside: Beside = NOTHING) -> tuple[Text | exp.Expr, dict[str, Value]]:
    """A statement, in DuckDB's SQL whoever runs it, and the values of its parameters. What DuckDB
    is to run it reads itself, and shows if it is a query; all else goes by a tree."""
    try:
        query = read(text)
        return query, bound(query, beside.parameters)
    except NotSelect:
        refuse_others(text)
    statement = parsed(text)
    return statement.tree, bound(statement, beside.parameters)


def written_query(lake: Lake, text: str, beside: Beside) -> Query:
    """A query whose rows are to be written."""
    asked, values = ask(text, beside)
    return Query(lake, text, asked, values, beside, written=True)


def is_query(text: str) -> bool:
    """Whether a statement in DuckDB's SQL only reads."""
    from tidelake.session.sql_definitions import defines
    from tidelake.session.sql_writes import is_write

    if defines(Words(text)):
        return False
    try:
        read(text)
    except NotSelect:
        return not is_write(parsed(text).tree)
    return True


def check_view(lake: Lake, text: str) -> None:
    """Raise unless the text can be a view's: a query in DuckDB's SQL of what is there."""
    asked, values = ask(text)
    Query(lake, text, asked, values)


class Query:
    """A SELECT over a lake, with the same `to_*` methods as a Scan. Nothing runs until asked, and
    then it sees the lake as it is by then.

    If its rows are to be `written`, parameters become part of the SQL where that is DuckDB's: it
    goes into larger statements then.
    """

    def __init__(
        self,
        lake: Lake,
        text: str,
        asked: Text | exp.Expr,
        values: Mapping[str, Value],
        beside: Beside = NOTHING,
        *,
        written: bool = False,
    ) -> None:
        self._lake = lake
        self._text = text
        self._asked = asked, values, beside
        self._written = written
        self._find_tables()

    def _find_tables(self) -> None:
        """Plan the tables of the query, as the lake is now."""
        asked, values, beside = self._asked
        self._tables: dict[str, ScanPlan | AsOfPlan] = {}
        self._clock = Clock(self._lake._local, values, datetime.now(UTC))
        self._parameters: Mapping[str, Any] = {}
        self._is_values = False
        if isinstance(asked, Text):
            timed = self._take_text(asked, beside)
        else:
            timed = self._take_tree(query_of(asked).copy(), beside)
        if self._written and not self._tables:
            beside.refuse_moments("a write")
        if beside.as_of is not None and not timed:
            raise Invalid(
                f"as_of={beside.as_of!r}, and no table of the query has an event time",
                hint=DECLARE,
            )

    def _take_text(self, asked: Text, beside: Beside) -> bool:
        values = self._clock.values
        source = asked.node.get("from_table") or {}
        self._is_values = source.get("type") == "EXPRESSION_LIST"
        binding = Binding(self._clock, self._tables)
        edits, timed = binding.bind(asked, DEFAULT_SCHEMA, self._start(beside))
        self._whole_sql = edited(asked.sql, [*edits, *asked.literals(values)])
        self._sql = self._whole_sql if self._written else edited(asked.sql, edits)
        self._parameters = {} if self._written else asked.used(values)
        return timed

    def _take_tree(self, tree: exp.Expr, beside: Beside) -> bool:
        values = self._clock.values
        self._is_values = tree.key == "values"
        timed = self._bind(tree, DEFAULT_SCHEMA, self._start(beside))
        self._whole_sql = put_literals(tree.copy(), values).sql(dialect="duckdb")
        tree = put_literals(tree, values) if self._written else tree
        self._parameters = used_in(tree, values)
        self._sql = tree.sql(dialect="duckdb")
        return timed

    def _look_again(self) -> None:
        """Rows are those of the lake when they are asked for, as a scan's are; those of a write
        when it began."""
        if self._written:
            return
        with self._lake._reading() as reader:
            at = self._lake._at(reader)
        if at != self._at or self._lake._committed is not self._lake:
            self._find_tables()

    def _start(self, beside: Beside) -> Seen:
        as_of = None if beside.as_of is None else as_moment(beside.as_of)
        with self._lake._reading() as reader:
            self._at = self._lake._at(reader)
            seen = Seen(self._lake, self._at, as_of)
            return seen.moved(reader, beside.known_at)

    def count(self) -> int:
        return int(self._read().count())

    def to_arrow(self) -> Any:
        return self._read().to_arrow()

    def to_pandas(self) -> Any:
        return self._read().to_pandas()

    def to_polars(self) -> Any:
        return self._read().to_polars()

    def to_batches(self, rows: int = 122_880) -> Any:
        return self._read().to_batches(rows)

    def to_duckdb(self) -> Any:
        return self._read().to_duckdb()

    def to_spark(self, spark: Any = None) -> Any:
        if self._lake.engine == "local":
            raise Unsupported(
                "this query is in DuckDB's SQL", hint="open the lake with engine='spark'"
            )
        self._look_again()
        engine = self._lake._spark_engine(spark)
        return engine.query(self._sql, self._tables, self._parameters).to_spark()

    def __repr__(self) -> str:
        return f"<Query {self._text!r}>"

    def _read(self) -> Any:
        self._look_again()
        return self._lake._engine.query(self._sql, self._tables, self._parameters)

    def _whole(self) -> str:
        """In DuckDB's SQL with its parameters as literals, to stand in a larger statement."""
        return self._whole_sql

    # For writes of what a query gives.

    def _columns(self) -> Any:
        """Its columns, as create_table takes them."""
        if self._lake.engine == "local":
            relation = self.to_duckdb()
            listed: list[tuple[str, Any]] = list(zip(relation.columns, relation.types, strict=True))
        else:
            listed = [(column.name, column.duckdb_type) for column in self._described()]
        columns = dict(listed)
        if len(columns) < len(listed):
            raise Invalid("two columns of the query have one name", hint="rename one with AS")
        return columns

    def _names(self) -> list[str]:
        if self._lake.engine != "local":
            return [column.name for column in self._described()]
        return list(self.to_duckdb().columns)

    def _described(self) -> tuple[Column, ...]:
        engine = self._lake._spark_engine(None)
        found: tuple[Column, ...] = engine.described(self._sql, self._tables, self._parameters)
        return found

    def _rows(self, columns: Sequence[Column]) -> Any:
        """Its rows as writes take them, for these columns, by position, cast as DuckDB's INSERT
        casts."""
        if self._lake.engine == "local":
            return Selection(self._sql, self._tables, columns)
        places = ", ".join(f"c{n}" for n in range(len(columns)))
        chosen = [
            f"CAST(c{n} AS {c.duckdb_type}) AS {quote(c.name)}" for n, c in enumerate(columns)
        ]
        self._sql = f"SELECT {', '.join(chosen)} FROM ({self._sql}) AS r({places})"
        return self.to_arrow() if self._is_values else self.to_spark()

    def _bind(self, tree: exp.Expr, schema: str, seen: Seen, depth: int = 0) -> bool:
        """Replace every table of the lake by the name its plan goes under; whether one of them
        has an event time.

        All of them are read at the same moments, unless the query names others for a table; what
        it names for a view holds for the tables behind it that name none.
        """
        if depth > DEEPEST_VIEW:
            raise Invalid("the views in this query refer to each other in a circle")
        _shorten_columns(tree)
        timed = False
        for node in list(_tables(tree)):
            with self._lake._reading() as reader:
                own = seen.asked(reader, clauses_of(node), self._clock)
                name, view = own.resolve(reader, node.db, node.name, schema)
            if view is not None:
                timed |= self._expand(node, view, own, depth)
            else:
                timed |= self._replace(node, name, own)
        return timed

    def _replace(self, node: exp.Table, name: TableName, seen: Seen) -> bool:
        from sqlglot import exp

        said = own_condition(node, self._clock.values)
        plan, timed = seen.plan(
            name, None if said is None else lambda schema: understood(said, schema)
        )
        handle = f"_tidelake_{len(self._tables)}"
        self._tables[handle] = plan
        alias = node.args.get("alias") or _alias_of(node)
        table_node = exp.Table(this=exp.to_identifier(handle, quoted=True), alias=alias)
        node.replace(_with_rest(table_node, node))
        return timed

    def _expand(self, node: exp.Table, view: ViewInfo, seen: Seen, depth: int) -> bool:
        from sqlglot import exp

        if view.dialect != "duckdb":
            raise Unsupported(
                f"view {view.name} is written in {view.dialect}'s SQL",
                hint="query the tables behind it",
            )
        inner = query_of(parsed(view.sql).tree)
        within = replace(seen, insists=False)
        timed = self._bind(inner, view.name.schema, within, depth + 1)
        if seen.insists and not timed:
            raise Invalid(f"no table behind view {view.name} has an event time", hint=DECLARE)
        alias = node.args.get("alias") or _alias_of(node)
        if view.column_aliases and not alias.args.get("columns"):
            alias.set("columns", [exp.to_identifier(a, quoted=True) for a in view.column_aliases])
        node.replace(_with_rest(exp.Subquery(this=inner, alias=alias), node))
        return timed


def _with_rest(made: exp.Expr, node: exp.Table) -> exp.Expr:
    """With what stood behind a table besides its alias."""
    for each in ("joins", "sample", "pivots"):
        if node.args.get(each):
            made.set(each, node.args[each])
    return made


def _tables(tree: exp.Expr) -> Iterator[exp.Table]:
    """Tables that are not names of the query's own CTEs, nor functions such as range()."""
    from sqlglot import exp

    for node in tree.find_all(exp.Table):
        if not isinstance(node.this, exp.Identifier):
            continue
        if not node.db and fold(node.name) in _ctes_in_sight(node):
            refuse_clauses(node, f"{node.name}, a name of the query's own,")
            continue
        yield node


def _ctes_in_sight(node: exp.Expr) -> set[str]:
    """A CTE sees those before it, and itself if it is recursive."""
    from sqlglot import exp

    names: set[str] = set()
    within: exp.Expr | None = None
    parent = node.parent
    while parent is not None:
        if isinstance(parent, exp.CTE):
            within = parent
        with_ = parent.args.get("with_")
        if with_ is not None:
            names |= _names_before(with_, within)
        parent = parent.parent
    return names


def _names_before(with_: exp.Expr, within: exp.Expr | None) -> set[str]:
    names = set()
    for cte in with_.expressions:
        if cte is within and not with_.args.get("recursive"):
            break
        names.add(fold(cte.alias_or_name))
        if cte is within:
            break
    return names


def _alias_of(node: exp.Table) -> exp.TableAlias:
    """What an unaliased table is called in the rest of the query: with its schema where one was
    written, as columns may be qualified by it."""
    from sqlglot import exp

    name = f"{node.db}.{node.name}" if node.meta.get("qualified") else node.name
    return exp.TableAlias(this=exp.to_identifier(name, quoted=True))


def _shorten_columns(statement: exp.Expr) -> None:
    """Turn `catalog.schema.table.column` into a column of one qualifier.

    Two tables of the same name from different schemas keep apart by their full names.
    """
    from sqlglot import exp

    bare = [node for node in _tables(statement) if not node.alias]
    schemas: dict[str, set[str]] = {}
    for node in bare:
        schemas.setdefault(fold(node.name), set()).add(fold(node.db))
    for node in bare:
        node.meta["qualified"] = bool(node.db) and len(schemas[fold(node.name)]) > 1
    for column in list(statement.find_all(exp.Column)):
        if not column.db:
            continue
        if len(schemas.get(fold(column.table), ())) > 1:
            name = f"{column.db}.{column.table}"
            column.set("table", exp.to_identifier(name, quoted=True))
        column.set("db", None)
        column.set("catalog", None)
