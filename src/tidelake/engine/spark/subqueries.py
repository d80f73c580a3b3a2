"""Subqueries inside expressions, as columns of the rows around them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

from tidelake.engine.spark.duck_tree import tree_of
from tidelake.engine.spark.from_clause import (
    Source,
    Sources,
    conjuncts,
    equal,
    has_subquery,
    with_column,
)
from tidelake.engine.spark.relation import (
    Relation,
    rename_by_place,
    rename_columns,
    unsupported_on_spark,
)
from tidelake.engine.spark.scalar import Speech
from tidelake.engine.spark.select import Selects
from tidelake.model.names import quote
from tidelake.model.schema import Column
from tidelake.plan.spark_literal import NotEqual, backtick
from tidelake.syntax.tree import Node, inside, reference, replace_expressions

if TYPE_CHECKING:
    from tidelake.engine.spark.statement import Statement

_COLUMNS = count()


class Subqueries:
    """Those of a SELECT over a source."""

    def __init__(self, statement: Statement, source: Source) -> None:
        self._statement = statement
        self._source = source

    def taken_out(self, node: Node, relation: Relation) -> tuple[Node, Relation]:
        """The SELECT with columns where subqueries stood, and the relation that has them."""
        names = {}
        for each in inside(node):
            if each["class"] == "SUBQUERY":
                names[id(each)] = f"_tidelake_found_{next(_COLUMNS)}"
                relation = self._with(each, relation, names[id(each)])

        def column(each: Node) -> Node | None:
            return reference(names[id(each)]) if id(each) in names else None

        made: Node = replace_expressions(node, column) if names else node
        return made, relation

    def _with(self, node: Node, relation: Relation, name: str) -> Relation:
        query, kind = node["subquery"]["node"], node["subquery_type"]
        if not self._statement.stands_alone(query):
            if kind != "EXISTS":
                raise unsupported_on_spark("a subquery that looks at the tables around it")
            return self._correlated(query, relation, name)
        rows = rename_by_place(self._statement.evaluated(query))
        if kind == "SCALAR":
            return self._said(relation, rows, name, "(SELECT c0 FROM s)", rows.columns[0])
        if kind == "EXISTS":
            text = "(SELECT count(*) > 0 FROM (SELECT 1 FROM s LIMIT 1))"
            return self._said(relation, rows, name, text, Column(0, "", "boolean"))
        if kind == "ANY" and node["comparison_type"] == "COMPARE_EQUAL" and len(rows.columns) == 1:
            return self._membership(node["child"], relation, rows, name)
        raise unsupported_on_spark("a subquery compared with ANY or ALL")

    def _said(
        self, relation: Relation, rows: Relation, name: str, text: str, kind: Column
    ) -> Relation:
        frames = {"r": relation.frame, "s": rows.frame}
        found = self._statement.frames.select(f"SELECT *, {text} FROM r", frames)
        columns = (*relation.columns, Column(0, name, kind.type, children=kind.children))
        return rename_columns(Relation(found, columns), [column.name for column in columns])

    def _membership(self, value: Node, relation: Relation, rows: Relation, name: str) -> Relation:
        """`value IN (SELECT …)`, which may be NULL."""
        key = f"{name}_key"
        relation = self._with_column(relation, key, value)
        _refuse_other_kinds(relation.by_name[key], rows.columns[0])
        kept = ", ".join(f"r.{backtick(c.name)}" for c in relation.columns)
        text = (
            f"SELECT {kept}, CASE WHEN n.total = 0 THEN false WHEN r.{key} IS NULL THEN NULL"
            " WHEN f.c0 IS NOT NULL THEN true WHEN n.nulls > 0 THEN NULL ELSE false END"
            " FROM r CROSS JOIN (SELECT count(*) AS total, count(*) - count(c0) AS nulls FROM s) n"
            f" LEFT JOIN (SELECT DISTINCT c0 FROM s WHERE c0 IS NOT NULL) f ON r.{key} = f.c0"
        )
        return self._joined(text, relation, rows, name)

    def _joined(self, text: str, relation: Relation, rows: Relation, name: str) -> Relation:
        frames = {"r": relation.frame, "s": rows.frame}
        found = self._statement.frames.select(text, frames)
        columns = (*relation.columns, Column(0, name, "boolean"))
        return rename_columns(Relation(found, columns), [column.name for column in columns])

    def _correlated(self, query: Node, relation: Relation, name: str) -> Relation:
        """EXISTS of rows that equal the row outside in some expressions."""
        given = query["type"] == "SELECT_NODE" and not query["cte_map"]["map"]
        if not given or query["group_expressions"] or query["modifiers"] or query["having"]:
            raise unsupported_on_spark("this subquery that looks at the tables around it")
        inner = Sources(self._statement).source(query["from_table"])
        pairs, own = [], []
        for part in conjuncts(query["where_clause"]):
            if _is_of(inner, part):
                own.append(part)
            else:
                pairs.append(_pair(inner, part))
        rows = self._keys(inner, own, [pair[0] for pair in pairs])
        keys = []
        for place, (_, outer) in enumerate(pairs):
            keys.append(f"{name}_key_{place}")
            relation = self._with_column(relation, keys[-1], outer)
            _refuse_other_kinds(relation.by_name[keys[-1]], rows.columns[place])
        kept = ", ".join(f"r.{backtick(c.name)}" for c in relation.columns)
        on = " AND ".join(f"r.{key} = f.c{place}" for place, key in enumerate(keys))
        text = (
            f"SELECT {kept}, f.c0 IS NOT NULL FROM r LEFT JOIN (SELECT DISTINCT * FROM s WHERE"
            f" {' AND '.join(f'c{place} IS NOT NULL' for place in range(len(keys)))}) f ON {on}"
        )
        return self._joined(text, relation, rows, name)

    def _with_column(self, relation: Relation, name: str, value: Node) -> Relation:
        if has_subquery(value):
            raise unsupported_on_spark("a subquery beside a subquery")
        own = self._source.resolved(value)
        return with_column(self._statement, relation, name, own, self._source.alias)

    def _keys(self, inner: Source, own: Sequence[Node], keys: Sequence[Node]) -> Relation:
        statement = self._statement
        called = statement.add(inner.relation)
        alias = f" AS {quote(inner.alias)}" if inner.alias else ""
        text = f"SELECT 1 FROM {quote(called)}{alias} WHERE a AND b"
        node = tree_of(statement.shapes.connection, text)
        node["select_list"] = [inner.resolved(key) for key in keys]
        parts = [inner.resolved(part) for part in own]
        where = {**node["where_clause"], "children": parts} if len(parts) > 1 else None
        node["where_clause"] = where or (parts[0] if parts else None)
        return rename_by_place(Selects(statement, called, inner.alias).evaluated(node))


def _is_of(inner: Source, node: Node) -> bool:
    """Whether an expression looks at the inner rows alone."""
    if has_subquery(node):
        raise unsupported_on_spark("a subquery in a subquery that looks at the tables around it")
    names = [each["column_names"] for each in inside(node) if each["class"] == "COLUMN_REF"]
    return all(inner.own_name(each) is not None for each in names)


def _pair(inner: Source, node: Node) -> tuple[Node, Node]:
    """The inner and the outer side of an equality."""
    if node.get("type") == "COMPARE_EQUAL":
        for one, other in (("left", "right"), ("right", "left")):
            names = [
                each["column_names"]
                for each in inside(node[other])
                if each["class"] == "COLUMN_REF"
            ]
            if _is_of(inner, node[one]) and not any(inner.own_name(each) for each in names):
                return node[one], node[other]
    raise unsupported_on_spark(
        "a subquery that looks at the tables around it by other than equality"
    )


def _refuse_other_kinds(left: Column, right: Column) -> None:
    kinds = f"{left.duckdb_type} compared with {right.duckdb_type} of a subquery"
    try:
        Speech([replace(left, name="a"), replace(right, name="b")]).condition(equal("a", "b"))
    except NotEqual:
        raise unsupported_on_spark(kinds) from None
