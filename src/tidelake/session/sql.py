"""SQL over the lake: find its tables in a query, plan each, and let the engine do the rest.

What is not a query is a write, and becomes a call of the write API.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from tidelake.catalog.database import Reader
from tidelake.engine.selection import Selection
from tidelake.errors import Invalid, NotFound, Unsupported
from tidelake.model.change import WriteResult
from tidelake.model.names import DEFAULT_SCHEMA, TableName
from tidelake.model.schema import Column
from tidelake.model.table import ViewInfo
from tidelake.model.tag import parse_moment
from tidelake.plan.scan import ScanPlan
from tidelake.session.sql_words import HINT, Words

if TYPE_CHECKING:
    from sqlglot import exp

    from tidelake.session.lake import Lake

_DEEPEST_VIEW = 32


def run(lake: Lake, text: str) -> Query | WriteResult:
    """A query, which runs when its rows are asked for; anything else is done at once."""
    from tidelake.session.sql_definitions import definition
    from tidelake.session.sql_writes import is_write, write

    dialect = dialect_of(lake)
    operation = definition(Words(text, dialect))
    if operation is None:
        statement = _parse(text, dialect)
        if not is_write(statement):
            return Query(lake, text, statement)
        operation = write(statement)
    return lake._write(operation)


def is_query(text: str) -> bool:
    """Whether a statement in DuckDB's SQL only reads."""
    from tidelake.session.sql_definitions import defines
    from tidelake.session.sql_writes import is_write

    return not defines(Words(text, "duckdb")) and not is_write(_parse(text, "duckdb"))


def dialect_of(lake: Lake) -> str:
    return "duckdb" if lake.engine == "local" else "spark"


class Query:
    """A SELECT over a lake, with the same `to_*` methods as a Scan. Nothing runs until asked."""

    def __init__(self, lake: Lake, text: str, statement: exp.Expr | None = None) -> None:
        self._lake = lake
        self._text = text
        self._tables: dict[str, ScanPlan] = {}
        dialect = dialect_of(lake)
        statement = _read(_parse(text, dialect) if statement is None else statement)
        self._is_values = statement.key == "values"
        with lake._reading() as reader:
            at = lake._at(reader)
        self._bind(statement, DEFAULT_SCHEMA, _Seen(lake, at))
        self._sql = statement.sql(dialect=dialect)

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
        return self._lake._spark_engine(spark).query(self._sql, self._tables).to_spark()

    def __repr__(self) -> str:
        return f"<Query {self._text!r}>"

    def _read(self) -> Any:
        return self._lake._engine.query(self._sql, self._tables)

    # For writes of what a query gives.

    def _columns(self) -> Any:
        """Its columns, as create_table takes them."""
        if self._lake.engine != "local":
            return self.to_spark().schema
        relation = self.to_duckdb()
        columns = dict(zip(relation.columns, relation.types, strict=True))
        if len(columns) < len(relation.columns):
            raise Invalid("two columns of the query have one name", hint="rename one with AS")
        return columns

    def _names(self) -> list[str]:
        found = self.to_duckdb() if self._lake.engine == "local" else self.to_spark()
        return list(found.columns)

    def _rows(self, columns: Sequence[Column]) -> Any:
        """Its rows as writes take them, for these columns, by position. Spark's are not cast:
        they must be of the right types."""
        if self._lake.engine == "local":
            return Selection(self._sql, self._tables, columns)
        places = ", ".join(f"c{n}" for n in range(len(columns)))
        chosen = [f"c{n} AS `{c.name.replace('`', '``')}`" for n, c in enumerate(columns)]
        self._sql = f"SELECT {', '.join(chosen)} FROM ({self._sql}) AS r({places})"
        return self.to_arrow() if self._is_values else self.to_spark()

    def _bind(self, statement: exp.Expr, schema: str, seen: _Seen, depth: int = 0) -> None:
        """Replace every table of the lake by the name its plan goes under.

        All of them are read at one snapshot, unless the query names another for a table; what
        it names for a view holds for the tables behind it.
        """
        if depth > _DEEPEST_VIEW:
            raise Invalid("the views in this query refer to each other in a circle")
        _shorten_columns(statement)
        for node in list(_tables(statement)):
            with self._lake._reading() as reader:
                own = seen.moved(reader, _moment(node))
                name, view = own.resolve(reader, node, schema)
            if view is not None:
                self._expand(node, view, own, depth)
            else:
                self._replace(node, name, own)

    def _replace(self, node: exp.Table, name: TableName, seen: _Seen) -> None:
        from sqlglot import exp

        condition = _own_condition(node, seen.lake, name, seen.at)
        plan = seen.lake._plan(name, seen.at, prune_by=condition)
        handle = f"_tidelake_{len(self._tables)}"
        self._tables[handle] = plan
        alias = node.args.get("alias") or _alias_of(node)
        rest = {k: v for k, v in node.args.items() if k in ("joins", "sample", "pivots") and v}
        node.replace(exp.Table(this=exp.to_identifier(handle, quoted=True), alias=alias, **rest))

    def _expand(self, node: exp.Table, view: ViewInfo, seen: _Seen, depth: int) -> None:
        from sqlglot import exp

        if view.dialect != "duckdb" or self._lake.engine != "local":
            raise Unsupported(
                f"view {view.name} is written in {view.dialect}'s SQL, which the"
                f" {self._lake.engine} engine does not run",
                hint="read it with engine='local', or query the tables behind it",
            )
        inner = _read(_parse(view.sql, "duckdb"))
        self._bind(inner, view.name.schema, seen, depth + 1)
        alias = node.args.get("alias") or _alias_of(node)
        if view.column_aliases and not alias.args.get("columns"):
            alias.set("columns", [exp.to_identifier(a, quoted=True) for a in view.column_aliases])
        joins = node.args.get("joins")
        subquery = exp.Subquery(this=inner, alias=alias, **({"joins": joins} if joins else {}))
        node.replace(subquery)


@dataclass(frozen=True, slots=True)
class _Seen:
    """Where the names of a query are looked up: a lake, which may be a transaction with writes of
    its own, at a snapshot."""

    lake: Lake
    at: int

    def moved(self, reader: Reader, moment: int | str | None) -> _Seen:
        """At a moment that the query names; nothing uncommitted was there then."""
        if moment is None:
            return self
        snapshot = self.lake._snapshot(reader, moment)
        return _Seen(self.lake._committed, snapshot.snapshot_id)

    def resolve(
        self, reader: Reader, node: exp.Table, schema: str
    ) -> tuple[TableName, ViewInfo | None]:
        """What a name means: without a schema it is looked for in `schema`, then in `main`."""
        homes = [node.db] if node.db else dict.fromkeys([schema, DEFAULT_SCHEMA])
        for home in homes:
            name = TableName(home, node.name)
            if self.lake._find(reader, self.at, "table", name) is not None:
                return name, None
            if (view_id := self.lake._find(reader, self.at, "view", name)) is not None:
                return name, self.lake._view_info(reader, self.at, view_id)
        raise self.lake._unknown(reader, self.at, name)


def _parse(text: str, dialect: str) -> exp.Expr:
    import sqlglot

    try:
        statements = [s for s in sqlglot.parse(text, dialect=dialect) if s is not None]
    except sqlglot.errors.SqlglotError as error:
        reason = str(error).split("\n")[0]
        raise Invalid(f"cannot read the SQL: {reason}", hint=HINT) from error
    if len(statements) != 1:
        raise Invalid(f"{len(statements)} statements in one query", hint=HINT)
    return statements[0]


def _read(statement: exp.Expr) -> exp.Expr:
    from sqlglot import exp

    if not isinstance(statement, exp.Query | exp.Values):
        raise Unsupported(f"{statement.key.upper()} is not a query", hint=HINT)
    return statement


def _tables(statement: exp.Expr) -> Iterator[exp.Table]:
    """Tables that are not names of the query's own CTEs, nor functions such as range()."""
    from sqlglot import exp

    for node in statement.find_all(exp.Table):
        if not isinstance(node.this, exp.Identifier):
            continue
        if not node.db and node.name.casefold() in _ctes_in_sight(node):
            continue
        yield node


def _ctes_in_sight(node: exp.Expr) -> set[str]:
    names = set()
    parent = node.parent
    while parent is not None:
        with_ = parent.args.get("with_") or parent.args.get("with")
        if with_ is not None:
            names |= {cte.alias_or_name.casefold() for cte in with_.expressions}
        parent = parent.parent
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
        schemas.setdefault(node.name.casefold(), set()).add(node.db.casefold())
    for node in bare:
        node.meta["qualified"] = bool(node.db) and len(schemas[node.name.casefold()]) > 1
    for column in list(statement.find_all(exp.Column)):
        if not column.db:
            continue
        if len(schemas.get(column.table.casefold(), ())) > 1:
            name = f"{column.db}.{column.table}"
            column.set("table", exp.to_identifier(name, quoted=True))
        column.set("db", None)
        column.set("catalog", None)


def _moment(node: exp.Table) -> int | str | None:
    """The snapshot or time that a table reference names, in any of the spellings we take."""
    from sqlglot import exp

    clause = node.args.get("version") or node.args.get("when")
    if clause is None:
        return None
    value = clause.expression
    if isinstance(value, exp.Cast):
        value = value.this
    kind = (clause.name if isinstance(clause, exp.Version) else clause.text("kind")).upper()
    if not isinstance(value, exp.Literal) or kind not in ("VERSION", "TIMESTAMP"):
        raise Invalid(
            f"cannot tell the moment in {clause.sql(dialect='duckdb')!r}",
            hint="write a snapshot id, a time or a tag as a plain literal",
        )
    if kind == "VERSION" and isinstance(parse_moment(value.this), datetime):
        raise Invalid(
            f"version {value.this!r} is not a snapshot id, nor a tag",
            hint="name a time with TIMESTAMP AS OF",
        )
    return str(value.this)


def _own_condition(node: exp.Table, lake: Lake, name: TableName, at: int) -> str | None:
    """The part of the enclosing WHERE that speaks of this table alone, for skipping files.

    Only where no outer join could bring back rows that the condition would drop.
    """
    from sqlglot import exp

    select = node.parent.parent if isinstance(node.parent, exp.From | exp.Join) else None
    if not isinstance(select, exp.Select) or select.args.get("where") is None:
        return None
    joins = select.args.get("joins") or []
    if any(join.side for join in joins) or node.args.get("joins"):
        return None
    alone = not joins
    alias = node.alias_or_name.casefold()
    chosen = []
    for part in conjuncts(select.args["where"].this):
        columns = list(part.find_all(exp.Column))
        if part.find(exp.Query) or not columns:
            continue
        qualifiers = {column.table.casefold() for column in columns}
        if qualifiers == {alias} or (alone and qualifiers <= {alias, ""}):
            bare = part.copy()
            for column in bare.find_all(exp.Column):
                column.set("table", None)
            chosen.append(f"({bare.sql(dialect='duckdb')})")
    return _accepted(" AND ".join(chosen), lake, name, at) if chosen else None


def conjuncts(condition: exp.Expr) -> Iterator[exp.Expr]:
    from sqlglot import exp

    if isinstance(condition, exp.And):
        yield from conjuncts(condition.left)
        yield from conjuncts(condition.right)
    elif isinstance(condition, exp.Paren):
        yield from conjuncts(condition.this)
    else:
        yield condition


def _accepted(condition: str, lake: Lake, name: TableName, at: int) -> str | None:
    from tidelake.plan.where import parse_where

    with lake._reading() as reader:
        schema = lake._table_info(reader, at, name).schema
    try:
        parse_where(condition, schema)
    except (Invalid, NotFound):
        return None
    return condition
