"""A SELECT in DuckDB's SQL, run on Spark: what it means is what it means in DuckDB.

DuckDB takes the statement apart (`duck_tree`). Joins, unions, sorting and the spreading of rows
are Spark's; between them a SELECT over one relation runs in Spark's words if all of it is on the
list of what is proven equal (`spark_scalar`), and else in DuckDB on the executors
(`spark_select`). What can be done in neither way is refused by name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tidelake.engine.local.errors import translate_duckdb_errors
from tidelake.engine.local.reading import LocalReading
from tidelake.engine.spark.arrow_reader import from_here
from tidelake.engine.spark.duck_tree import is_understood, sql_of, tree_of, with_values
from tidelake.engine.spark.errors import translate_spark_errors
from tidelake.engine.spark.from_clause import Sources
from tidelake.engine.spark.relation import (
    Relation,
    held_columns,
    held_query,
    rename_by_place,
    rename_columns,
    rename_like,
    unsupported_on_spark,
)
from tidelake.engine.spark.select import Selects
from tidelake.engine.spark.statement import DOING, Statement
from tidelake.engine.spark.subqueries import Subqueries
from tidelake.model.literal import Value
from tidelake.model.names import fold, quote
from tidelake.model.schema import Column
from tidelake.syntax.tree import Node, walk

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


_SET_OPERATIONS = {
    ("EXCEPT", True): "exceptAll",
    ("EXCEPT", False): "subtract",
    ("INTERSECT", True): "intersectAll",
    ("INTERSECT", False): "intersect",
}


class Query(Statement):
    """The whole of it."""

    def run(self, sql: str, parameters: Mapping[str, Value]) -> DataFrame:
        """The rows of a query."""
        with translate_spark_errors(DOING), translate_duckdb_errors(DOING):
            columns = self.shapes.columns_of(sql, parameters)
            return rename_like(self.evaluated(self._tree(sql, parameters)), columns).frame

    def described(self, sql: str, parameters: Mapping[str, Value]) -> tuple[Column, ...]:
        """The columns of a query, as Spark holds them."""
        with translate_duckdb_errors(DOING):
            columns = self.shapes.columns_of(sql, parameters)
        held_as = held_columns(columns)
        return tuple(replace(h, name=c.name) for h, c in zip(held_as, columns, strict=True))

    def _tree(self, sql: str, parameters: Mapping[str, Value]) -> Node:
        connection = self.shapes.connection
        node = with_values(connection, tree_of(connection, sql), parameters)
        if not is_understood(connection, node):
            raise unsupported_on_spark("this statement")
        return node

    def evaluated(self, node: Node) -> Relation:
        """The rows of a query's node."""
        node = self._without_ctes(node)
        if not self._reads(node):
            return self._here(node)
        if node["type"] == "SET_OPERATION_NODE":
            return self._set_operation(node)
        if node["type"] != "SELECT_NODE":
            raise unsupported_on_spark(node["type"].replace("_", " ").lower().removesuffix(" node"))
        return self._select(node)

    def _reads(self, node: Node) -> bool:
        """Whether it reads anything that is on Spark."""
        return any(each.get("table_name") in self.relations for each in walk(node))

    def _here(self, node: Node) -> Relation:
        """A query of no table: DuckDB runs it in this process."""
        columns = self.columns_of(node)
        sql, held_as = held_query(sql_of(self.shapes.connection, node), columns)
        work = self.frames.local.workbench()
        batches = LocalReading(work, sql, DOING, held_as).to_batches()
        frame = from_here(self.frames.spark, batches, held_as)
        return rename_like(Relation(frame, held_as), columns)

    def _select(self, node: Node) -> Relation:
        if node["sample"]:
            raise unsupported_on_spark("a sample")
        columns = self.columns_of(node)
        source = Sources(self).source(node["from_table"])
        node, relation = Subqueries(self, source).taken_out(source.resolved(node), source.relation)
        name = self.add(relation)
        return rename_like(self._over(name, node, source.alias), columns)

    def _over(self, name: str, node: Node, alias: str = "") -> Relation:
        """A SELECT over a relation in place of what it reads."""
        text = f"FROM {quote(name)}" + (f" AS {quote(alias)}" if alias else "")
        table = tree_of(self.shapes.connection, text)["from_table"]
        return Selects(self, name, alias).evaluated({**node, "from_table": table})

    def _set_operation(self, node: Node) -> Relation:
        columns = self.columns_of(node)
        kind, everyone = node["setop_type"], bool(node["setop_all"])
        sides = [self._cast(node[side], columns) for side in ("left", "right")]
        left, right = (side.frame for side in sides)
        if kind == "UNION":
            found = Relation(left.union(right), sides[0].columns)
            if not everyone:
                found = Selects(self, self.add(found), "").distinct()
        elif (kind, everyone) in _SET_OPERATIONS:
            _refuse_unlike(columns, kind)
            made = getattr(left, _SET_OPERATIONS[kind, everyone])(right)
            found = Relation(made, sides[0].columns)
        else:
            raise unsupported_on_spark(kind.replace("_", " "))
        if not node["modifiers"]:
            return rename_like(found, columns)
        star = tree_of(self.shapes.connection, "FROM t")
        name = self.add(rename_like(found, columns))
        return rename_like(self._over(name, {**star, "modifiers": node["modifiers"]}), columns)

    def _cast(self, node: Node, columns: Sequence[Column]) -> Relation:
        """A side of a set operation, in the types of the whole."""
        relation = self.evaluated(node)
        name = self.add(rename_by_place(relation))
        casts = ", ".join(
            f"CAST(c{place} AS {column.duckdb_type}) AS c{place}"
            for place, column in enumerate(columns)
        )
        node = tree_of(self.shapes.connection, f"SELECT {casts} FROM {quote(name)}")
        return Selects(self, name, "").evaluated(node)

    def _without_ctes(self, node: Node) -> Node:
        """Each CTE becomes a relation of its own, which stands where its name stood."""
        while ctes := _ctes(node):
            entry, *rest = ctes
            query = entry["value"]["query"]["node"]
            if query["type"] == "RECURSIVE_CTE_NODE":
                raise unsupported_on_spark("a recursive query")
            relation = self.evaluated(query)
            if aliases := entry["value"]["aliases"]:
                names = [*aliases, *(c.name for c in relation.columns[len(aliases) :])]
                relation = rename_columns(relation, names)
            own = {**node, "cte_map": {"map": rest}}
            node = _renamed_tables(own, entry["key"], self.add(relation))
        return node


def _refuse_unlike(columns: Sequence[Column], kind: str) -> None:
    """Of -0.0 and 0.0, which are equal, either may remain; nested values compare otherwise."""
    for column in columns:
        if column.is_nested or column.type in ("variant", "geometry", "json", "float32", "float64"):
            raise unsupported_on_spark(f"{kind} of {column.duckdb_type}")


def _renamed_tables(node: Any, name: str, new: str) -> Any:
    """With another table of that name everywhere, but not where the name means something else."""
    if isinstance(node, list):
        return [_renamed_tables(each, name, new) for each in node]
    if not isinstance(node, dict):
        return node
    if any(fold(e["key"]) == fold(name) for e in _ctes(node)):
        return node
    is_bare_table = node.get("type") == "BASE_TABLE" and not node["schema_name"]
    if is_bare_table and fold(node["table_name"]) == fold(name):
        return {**node, "table_name": new, "alias": node["alias"] or node["table_name"]}
    return {key: _renamed_tables(each, name, new) for key, each in node.items()}


def _ctes(node: Node) -> list[Any]:
    found = node.get("cte_map")
    return list(found["map"]) if isinstance(found, dict) else []
