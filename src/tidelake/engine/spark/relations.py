"""The relations of a job on Spark, and queries over them: by Spark what Spark does as DuckDB would,
the rest by DuckDB on the executors."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

from sqlglot import exp

from tidelake.engine.incoming.bring import bring
from tidelake.engine.protocols import Among
from tidelake.engine.spark import duck_tree
from tidelake.engine.spark import sql as tree_of
from tidelake.engine.spark.arrow_reader import as_table, output_columns
from tidelake.engine.spark.frames import same_columns
from tidelake.engine.spark.plan_frames import PlanFrames
from tidelake.engine.spark.relation import Executors, Relation, as_columns
from tidelake.engine.spark.shapes import Shapes
from tidelake.engine.spark.sql import ParsedQuery, is_alike
from tidelake.engine.spark.tasks import ROWS, RowsQuery
from tidelake.model.names import TableName, fold, quote
from tidelake.model.schema import Column
from tidelake.plan.spark_literal import backtick
from tidelake.plan.target import Target

if TYPE_CHECKING:
    import duckdb
    from pyspark.sql import DataFrame

    from tidelake.plan.as_of import AsOfPlan
    from tidelake.plan.scan import ScanPlan

_MOST_VALUES = 500_000


class Relations:
    """Rows by name. `table` is what errors about values call them."""

    def __init__(self, frames: PlanFrames, doing: str) -> None:
        self.table = TableName("main", "rows")
        self._frames = frames
        self._doing = doing
        self._shapes = Shapes(frames.local)
        self._relations: dict[str, Relation] = {}
        self._plans: dict[str, ScanPlan | AsOfPlan] = {}

    def close(self) -> None:
        self._relations.clear()
        self._plans.clear()
        self._shapes.close()

    @property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """A DuckDB that has the relations as empty tables."""
        return self._shapes.connection

    @property
    def executors(self) -> Executors:
        return Executors(self._frames.local, self._doing, self.table)

    def add(self, name: str, relation: Relation) -> None:
        self._shapes.declare(name, relation.columns)
        self._relations[name] = relation
        self._plans.pop(name, None)

    def add_plan(self, name: str, plan: ScanPlan | AsOfPlan) -> None:
        """The rows of a plan, of which Spark hears when they are asked for."""
        self._shapes.declare(name, output_columns(plan))
        self._plans[name] = plan
        self._relations.pop(name, None)

    def plan(self, name: str) -> ScanPlan | AsOfPlan | None:
        """What a relation was planned as, if it is just that."""
        return self._plans.get(name)

    def _named(self, name: str) -> Relation:
        if name not in self._relations and name in self._plans:
            self._relations[name] = self._frames.relation(self._plans[name])
        return self._relations[name]

    def of(self, sql: str) -> Relation:
        """The rows of a query over the relations."""
        return self._evaluated(self._parsed(sql))

    def values_among(self, among: Among) -> DataFrame | None:
        """What rows are compared with: the other relation's values, if Spark sees which are equal
        as DuckDB does and every task can have all of them."""
        other = self._named(among.relation)
        kinds = [other.by_name[fold(name)].type for name in among.columns]
        if other.raw or among.count > _MOST_VALUES or not all(map(is_alike, kinds)):
            return None
        names = [backtick(name) for name in among.columns]
        return other.frame.selectExpr(*names).dropna().hint("broadcast")

    def for_tasks(self, sql: str, target: Target) -> tuple[DataFrame, RowsQuery, dict[int, str]]:
        """The rows that a task which writes is to read, the query that it runs over them, and what
        columns that they are partitioned by are called there."""
        query = self._parsed(sql)
        return self._fused(query, target) or self._apart(query, target)

    def _fused(
        self, query: ParsedQuery, target: Target
    ) -> tuple[DataFrame, RowsQuery, dict[int, str]] | None:
        """A row-by-row query, run by the very task that writes. Not if it makes up values that
        rows are to be partitioned by: they have to be there before."""
        source = tree_of.source_of(query.tree, self._shapes.aggregates)
        if source is None:
            return None
        keys = _partitioned_by(target)
        if keys:
            inner, whole = self._source(source, query), query.over(ROWS)
        else:
            inner, whole, _ = self._through(source, query)
        there = {fold(name): name for name in inner.frame.columns}
        names = {}
        for column in keys:
            passed = tree_of.unchanged_column(query.tree, column.name)
            if passed is None:
                return None
            if fold(passed) in there:
                names[column.id] = there[fold(passed)]
        rows = self.executors.query(inner, self._sql(whole))
        return inner.frame, rows, names

    def _apart(
        self, query: ParsedQuery, target: Target
    ) -> tuple[DataFrame, RowsQuery, dict[int, str]]:
        found = self._evaluated(query)
        names = {column.id: column.name for column in _partitioned_by(target)}
        return found.frame, self.executors.query(found, f"SELECT * FROM {ROWS}"), names

    def _through(self, source: exp.Expr, query: ParsedQuery) -> tuple[Relation, ParsedQuery, bool]:
        """What a row-by-row query goes through, the query over `ROWS` in the place of that, and
        whether DuckDB has to compute it. What DuckDB has to compute in a subquery is part of it:
        on the way there may be values that Spark has no type for."""
        if isinstance(source, exp.Subquery):
            below = _inside(source, query)
            lower = tree_of.source_of(below.tree, self._shapes.aggregates)
            if lower is not None:
                inner, whole, is_computed = self._through(lower, below)
                if is_computed:
                    return inner, query.over_query(whole), True
        inner = self._source(source, query)
        return inner, query.over(ROWS), not tree_of.is_plain(query.tree, inner.by_name)

    def _source(self, source: exp.Expr, query: ParsedQuery) -> Relation:
        """A relation by name, or what a subquery gives."""
        if isinstance(source, exp.Subquery):
            return self._evaluated(_inside(source, query))
        return self._named(source.name)

    def _parsed(self, sql: str) -> ParsedQuery:
        return ParsedQuery(
            tree_of.parse_query(sql), duck_tree.tree_of(self._shapes.connection, sql)
        )

    def _sql(self, query: ParsedQuery) -> str:
        """As DuckDB writes it: nothing of what a caller wrote is lost on the way."""
        return duck_tree.sql_of(self._shapes.connection, query.node)

    def _evaluated(self, query: ParsedQuery) -> Relation:
        """The rows of a query: by Spark what Spark does as DuckDB would, else by DuckDB."""
        columns = self._shapes.columns_of(self._sql(query))
        if len(parts := query.parts()) > 1:
            sides = [self._evaluated(self._cast(part, columns)).frame for part in parts]
            return as_columns(reduce(lambda one, other: one.union(other), sides), columns)
        tree = query.tree
        source = tree_of.source_of(tree, self._shapes.aggregates)
        if source is None:
            named = tree_of.relations(tree) & {*self._relations, *self._plans}
            frames = {name: self._typed(self._named(name)).frame for name in named}
            return as_columns(self._frames.select(tree_of.spark_text(tree), frames), columns)
        inner, whole, is_computed = self._through(source, query)
        if is_computed:
            return self.executors.select(inner, self._sql(whole), columns)
        inner = self._typed(inner)
        if tree_of.is_whole(tree):  # Connect refuses plans that lie too deep
            return as_columns(inner.frame, columns)
        text = tree_of.spark_text(tree_of.over(tree, ROWS), inner.by_name)
        return as_columns(self._frames.select(text, {ROWS: inner.frame}), columns)

    def _cast(self, query: ParsedQuery, columns: tuple[Column, ...]) -> ParsedQuery:
        """The query in the types of these columns."""
        sql = self._sql(query)
        found = self._shapes.columns_of(sql)
        if [column.duckdb_type for column in found] == [c.duckdb_type for c in columns]:
            return query
        casts = ", ".join(
            f"CAST({quote(here.name)} AS {column.duckdb_type}) AS {quote(column.name)}"
            for here, column in zip(found, columns, strict=True)
        )
        tree = tree_of.parse_query(f"SELECT {casts} FROM ({query.tree.sql('duckdb')}) AS r")
        whole = f"SELECT {casts} FROM ({sql}) AS r"
        return ParsedQuery(tree, duck_tree.tree_of(self._shapes.connection, whole))

    def _typed(self, rows: Relation) -> Relation:
        """The relation with its columns in Spark's types."""
        if not rows.raw:
            return rows
        if (frame := same_columns(rows.frame, rows.columns)) is not None:
            return Relation(frame, rows.columns)
        return self.executors.select(rows, f"SELECT * FROM {ROWS}", rows.columns)

    def collected(self, sql: str) -> tuple[duckdb.DuckDBPyConnection, str]:
        """A few rows in DuckDB here: a connection, and a query of them in their own types."""
        found = self.of(sql)
        names = [f"c{place}" for place in range(len(found.columns))]
        columns = [
            replace(column, name=name, nullable=True)
            for column, name in zip(found.columns, names, strict=True)
        ]
        data = as_table(found.frame.toDF(*names))
        connection = self._shapes.connection
        taken = bring(connection, "few_rows", data, columns, table=self.table, defaults=False)
        labels = ", ".join(quote(column.name) for column in found.columns)
        return connection, f"SELECT * FROM ({taken.sql}) AS r({labels})"


def _inside(source: exp.Subquery, query: ParsedQuery) -> ParsedQuery:
    """The subquery that a query goes through."""
    below = query.node["from_table"]["subquery"]["node"]
    return ParsedQuery(tree_of.inside(source), below)


def _partitioned_by(target: Target) -> list[Column]:
    keys = target.partitioning.keys if target.partitioning else ()
    ids = {key.column_id for key in keys}
    return [column for column in target.columns if column.id in ids]
