"""A SELECT over one relation: in Spark's words where they are proven equal, else by DuckDB on the
executors. For groups, windows and DISTINCT the rows that belong together are first brought to one
task, so that each task can answer for its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tidelake.engine.spark.duck_tree import constant, sql_of, tree_of
from tidelake.engine.spark.groups import Groups, is_plain_grouping
from tidelake.engine.spark.order import order_of
from tidelake.engine.spark.relation import (
    Relation,
    as_columns,
    held_columns,
    held_query,
    rename_by_place,
)
from tidelake.engine.spark.scalar import Speech
from tidelake.engine.spark.tasks import ROWS
from tidelake.model.names import fold, quote
from tidelake.model.schema import Column
from tidelake.model.types import INTEGERS, TIMESTAMPS, is_decimal
from tidelake.plan.spark_literal import NotEqual, backtick
from tidelake.syntax.tree import Node, inside

if TYPE_CHECKING:
    from tidelake.engine.spark.statement import Statement

_REAL = "_tidelake_real"
_SPREAD = {"varchar", "date", "boolean", "uuid"} | INTEGERS
"""Kinds of which equal values have one spelling, so that a hash brings them together."""


class Selects:
    """SELECTs over a relation of the statement; `alias` is what they call it."""

    def __init__(self, statement: Statement, name: str, alias: str) -> None:
        self._statement = statement
        self._name = name
        self._alias = alias
        self._rows = statement.relations[name]
        self._speech = Speech(self._rows.columns, alias)

    def evaluated(self, node: Node) -> Relation:
        """The rows of a SELECT without subqueries, sorted and limited as it says."""
        statement = self._statement
        columns = statement.columns_of(node)
        order = order_of(statement, node, columns)
        if order is None:
            return self._by_duckdb(node, columns, [])
        return order.applied(statement.frames, self._body(order.body), len(columns))

    def _body(self, node: Node) -> Relation:
        if _is_distinct(node):
            rows = rename_by_place(self._body({**node, "modifiers": []}))
            return Selects(self._statement, self._statement.add(rows), "").distinct()
        keys = self._keys(node)
        columns = self._statement.columns_of(node)
        try:
            if keys is None:
                return self._natively(node, columns)
            return self._grouped(node, columns)
        except NotEqual:
            return self._by_duckdb(node, columns, keys)

    def distinct(self) -> Relation:
        """The relation's rows, each once."""
        columns = self._rows.columns
        keys = [column.name for column in columns if _spreads(column)]
        if len(keys) == len(columns):
            return Relation(self._rows.frame.distinct(), columns)
        text = f"SELECT DISTINCT * FROM {quote(self._name)}"
        node = tree_of(self._statement.shapes.connection, text)
        return self._by_duckdb(node, columns, keys)

    def _natively(self, node: Node, columns: Sequence[Column]) -> Relation:
        if node["modifiers"] or node["sample"] or node["qualify"]:
            raise NotEqual("more than rows")
        chosen = [text for item in node["select_list"] for text in self._item(item)]
        frame = self._rows.frame
        if node["where_clause"]:
            frame = frame.where(self._speech.condition(node["where_clause"]))
        named = [f"{text} AS c{place}" for place, text in enumerate(chosen)]
        return as_columns(frame.selectExpr(*named), held_columns(columns))

    def _item(self, item: Node) -> Iterator[str]:
        if item["class"] != "STAR":
            yield self._speech.value(item)
            return
        if any(item[part] for part in ("exclude_list", "replace_list", "columns")) or (
            item.get("rename_list") or item.get("qualified_exclude_list")
        ):
            raise NotEqual("a star")
        yield from (backtick(column.name) for column in self._rows.columns)

    def _grouped(self, node: Node, columns: Sequence[Column]) -> Relation:
        groups = Groups(self._rows.columns, self._speech, self._alias)
        chosen, keys, where = groups.texts(node)
        frame = self._rows.frame.where(where) if where else self._rows.frame
        named = ", ".join(f"{text} AS c{place}" for place, text in enumerate(chosen))
        by = f" GROUP BY {', '.join(keys)}" if keys else ""
        made = self._statement.frames.select(f"SELECT {named} FROM rows{by}", {"rows": frame})
        return as_columns(made, held_columns(columns))

    def _by_duckdb(
        self, node: Node, columns: Sequence[Column], keys: Sequence[str] | None
    ) -> Relation:
        """Without `keys`, by any tasks; with some, rows that are alike in them in one task; with
        an empty list, all in one."""
        rows = self._narrowed(node)
        names = ", ".join(quote(column.name) for column in rows.columns)
        where = ""
        if keys:
            rows = Relation(rows.frame.repartition(*map(backtick, keys)), rows.columns)
        elif keys is not None:
            rows, where = self._in_one_place(rows), f" WHERE {_REAL}"
        own = sql_of(self._statement.shapes.connection, node)
        whole = f"WITH {quote(self._name)} AS (SELECT {names} FROM {ROWS}{where}) {own}"
        sql, held_as = held_query(whole, columns)
        return self._statement.executors.select(rows, sql, held_as)

    def _in_one_place(self, rows: Relation) -> Relation:
        """With a row that is none, so that there is a task even if there are no rows."""
        none = "SELECT rows.*, false FROM (SELECT 1) LEFT JOIN rows ON false"
        text = f"SELECT *, true FROM rows UNION ALL {none}"
        frame = self._statement.frames.select(text, {"rows": rows.frame}).repartition(1)
        column = Column(0, _REAL, "boolean")
        names = [*rows.frame.columns, _REAL]
        return Relation(frame.toDF(*names), (*rows.columns, column))

    def _narrowed(self, node: Node) -> Relation:
        """The rows without columns that nobody looks at, and without those that the part of the
        condition which Spark can judge rules out."""
        frame = self._rows.frame
        for part in _conjuncts(node["where_clause"]):
            try:
                frame = frame.where(self._speech.condition(part))
            except NotEqual:
                continue
        nodes = list(inside(node))
        if any(each["class"] in ("STAR", "POSITIONAL_REFERENCE") for each in nodes):
            return Relation(frame, self._rows.columns)
        named = {fold(n) for each in nodes for n in each.get("column_names", ())}
        kept = [c for c in self._rows.columns if fold(c.name) in named]
        kept = kept or list(self._rows.columns[:1])
        return Relation(frame.select(*(backtick(c.name) for c in kept)), tuple(kept))

    def _keys(self, node: Node) -> list[str] | None:
        """Columns by which rows can be spread over tasks; None if it does not matter how."""
        needs = [_plain(self._alias, window["partitions"]) for window in _windows(node)]
        if self._is_aggregated(node):
            needs.append(self._group_keys(node))
        if targets := [t for m in node["modifiers"] for t in m.get("distinct_on_targets") or ()]:
            needs.append(_plain(self._alias, targets))
        if not needs:
            return None
        shared = set.intersection(*needs) - _renamed(self._alias, node)
        return [c.name for c in self._rows.columns if fold(c.name) in shared and _spreads(c)]

    def _group_keys(self, node: Node) -> set[str]:
        if node["aggregate_handling"] == "FORCE_AGGREGATES":
            return _plain(self._alias, node["select_list"])
        if not is_plain_grouping(node):
            return set()
        listed = node["select_list"]
        stars = any(item["class"] == "STAR" for item in listed)
        given = []
        for each in node["group_expressions"]:
            place = (constant(each) or (None,))[0]
            if isinstance(place, int) and not stars and 0 < place <= len(listed):
                given.append(listed[place - 1])
            else:
                given.append(each)
        return _plain(self._alias, given)

    def _is_aggregated(self, node: Node) -> bool:
        if node["group_expressions"] or node["having"] or node["group_sets"]:
            return True
        if node["aggregate_handling"] != "STANDARD_HANDLING":
            return True
        aggregates = self._statement.shapes.aggregates
        return any(
            each["class"] == "FUNCTION" and fold(each["function_name"]) in aggregates
            for each in inside([node["select_list"], node["qualify"]])
        )


def _is_distinct(node: Node) -> bool:
    kinds = [each["type"] for each in node["modifiers"]]
    return kinds == ["DISTINCT_MODIFIER"] and not node["modifiers"][0]["distinct_on_targets"]


def _windows(node: Node) -> list[Node]:
    return [each for each in inside(node) if each["class"] == "WINDOW"]


def _plain(alias: str, nodes: Sequence[Node]) -> set[str]:
    """Those that are nothing but a column, by name in lower case."""
    found = set()
    for node in nodes:
        names = [fold(n) for n in node["column_names"]] if node["class"] == "COLUMN_REF" else []
        if len(names) == 2 and names[0] == fold(alias):
            names = names[1:]
        if len(names) == 1:
            found.add(names[0])
    return found


def _renamed(alias: str, node: Node) -> set[str]:
    """Names that the SELECT gives to something else than the column of the name."""
    return {
        fold(item["alias"])
        for item in node["select_list"]
        if item["alias"] and _plain(alias, [item]) != {fold(item["alias"])}
    }


def _spreads(column: Column) -> bool:
    return column.type in _SPREAD or column.type in TIMESTAMPS or is_decimal(column.type)


def _conjuncts(node: Any) -> Iterator[Node]:
    if isinstance(node, dict) and node.get("type") == "CONJUNCTION_AND":
        for each in node["children"]:
            yield from _conjuncts(each)
    elif node:
        yield node
