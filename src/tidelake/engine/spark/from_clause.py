"""What a SELECT reads: its tables, subqueries and joins as one relation on Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING, Any

from tidelake.engine.spark.duck_tree import tree_of
from tidelake.engine.spark.relation import Relation, rename_columns, unsupported_on_spark
from tidelake.engine.spark.scalar import Speech
from tidelake.engine.spark.select import Selects
from tidelake.model.names import fold, quote
from tidelake.plan.spark_literal import NotEqual, backtick
from tidelake.syntax.tree import Node, inside, reference, replace_expressions, walk

if TYPE_CHECKING:
    from tidelake.engine.spark.statement import Statement

_JOINS = {
    "INNER": "INNER JOIN",
    "LEFT": "LEFT JOIN",
    "RIGHT": "RIGHT JOIN",
    "FULL": "FULL JOIN",
    "SEMI": "LEFT SEMI JOIN",
    "ANTI": "LEFT ANTI JOIN",
}
_ONE_SIDED = ("SEMI", "ANTI")


@dataclass(frozen=True, slots=True)
class ColumnInSight:
    """A column as the query may name it, and its name in the relation."""

    alias: str
    name: str
    own: str


@dataclass(frozen=True, slots=True)
class Source:
    """The rows that a SELECT goes through, and what it calls their columns. `merged` are those
    that a join made of two. A single table keeps its names and its `alias`."""

    relation: Relation
    seen: tuple[ColumnInSight, ...]
    alias: str = ""
    merged: Mapping[str, str] = field(default_factory=dict)
    is_join: bool = False

    def own_name(self, names: Sequence[str]) -> list[str] | None:
        """The column of the relation, and the fields inside it, that a name means."""
        first, *rest = (fold(name) for name in names)
        for each in self.seen:
            if rest and (fold(each.alias), fold(each.name)) == (first, rest[0]):
                return [each.own, *names[2:]]
        if first in self.merged:
            return [self.merged[first], *names[1:]]
        for each in self.seen:
            if fold(each.name) == first and (not rest or self._has_fields(each)):
                return [each.own, *names[1:]]
        return None

    def _has_fields(self, seen: ColumnInSight) -> bool:
        """What is qualified by a column that has no fields means a table outside."""
        return self.relation.by_name[fold(seen.own)].type == "struct"

    def resolved(self, node: Any) -> Any:
        """A SELECT, or an expression, in terms of the relation's own names."""
        if not self.is_join:
            return node
        local = {name for each in inside(node) for name in _parameters(each)}

        def own(each: Node) -> Node | None:
            if each["class"] != "COLUMN_REF" or fold(each["column_names"][0]) in local:
                return None
            found = self.own_name(each["column_names"])
            return None if found is None else {**reference(""), "column_names": found}

        if "select_list" not in node:
            return replace_expressions(node, own)
        listed = [item for each in node["select_list"] for item in self._expanded(each)]
        return {**replace_expressions({**node, "select_list": listed, "from_table": None}, own)}

    def _expanded(self, item: Node) -> Iterator[Node]:
        """The columns that a star stands for."""
        if item["class"] != "STAR":
            named = item["class"] == "COLUMN_REF" and not item["alias"]
            yield {**item, "alias": item["column_names"][-1]} if named else item
            return
        if item["columns"] or item["replace_list"] or item.get("rename_list"):
            raise unsupported_on_spark("a star with REPLACE, RENAME or COLUMNS over a join")
        if item.get("qualified_exclude_list"):
            raise unsupported_on_spark("a star with a qualified EXCLUDE over a join")
        left_out = {fold(str(name)) for name in item["exclude_list"]}
        merged = set()
        for each in self.seen:
            name = fold(each.name)
            if item["relation_name"] and fold(each.alias) != fold(item["relation_name"]):
                continue
            if name in left_out or (name in merged and not item["relation_name"]):
                continue
            own = each.own
            if name in self.merged and not item["relation_name"]:
                merged.add(name)
                own = self.merged[name]
            yield {**reference(own), "alias": each.name}


def _parameters(node: Node) -> list[str]:
    """The names that a lambda gives to what it is called with."""
    if node["class"] != "LAMBDA":
        return []
    return [fold(n) for each in inside(node["lhs"]) for n in each.get("column_names", ())]


class Sources:
    def __init__(self, statement: Statement) -> None:
        self._statement = statement
        self._numbers = count()

    def source(self, node: Node) -> Source:
        if node.get("sample"):
            raise unsupported_on_spark("a sample")
        if node["type"] == "JOIN":
            return self._join(node)
        relation, alias = self._table(node)
        seen = tuple(ColumnInSight(alias, column.name, column.name) for column in relation.columns)
        return Source(relation, seen, alias)

    def _table(self, node: Node) -> tuple[Relation, str]:
        """A table or a subquery, under the names that the query gives its columns."""
        kind, statement = node["type"], self._statement
        if kind == "BASE_TABLE":
            relation = statement.relations[node["table_name"]]
            alias = node["alias"] or node["table_name"]
        elif kind == "SUBQUERY":
            query, alias = node["subquery"]["node"], node["alias"]
            if not statement.stands_alone(query):
                raise unsupported_on_spark("a subquery that looks at the tables beside it")
            relation = statement.evaluated(query)
        elif kind in ("TABLE_FUNCTION", "EXPRESSION_LIST"):
            whole = tree_of(statement.shapes.connection, "FROM t")
            relation = statement.evaluated({**whole, "from_table": node})
            return relation, node["alias"] or node.get("function", {}).get("function_name", "")
        else:
            raise unsupported_on_spark(kind.replace("_", " ").lower())
        if names := node["column_name_alias"]:
            rest = [column.name for column in relation.columns[len(names) :]]
            relation = rename_columns(relation, [*names, *rest])
        return relation, alias

    def _join(self, node: Node) -> Source:
        kind, way = node["join_type"], node["ref_type"]
        if kind not in _JOINS or way not in ("REGULAR", "CROSS", "NATURAL"):
            raise unsupported_on_spark(f"{kind if way == 'REGULAR' else way} JOIN")
        left, right = (self._apart(self.source(node[side])) for side in ("left", "right"))
        using = list(node["using_columns"])
        if way == "NATURAL":
            there = {fold(each.name) for each in right.seen}
            using = [each.name for each in left.seen if fold(each.name) in there]
        both = _united(left, right)
        conditions = list(conjuncts(both.resolved(node["condition"]) if node["condition"] else []))
        for name in using:
            sides = left.own_name([name]), right.own_name([name])
            assert sides[0] is not None
            assert sides[1] is not None
            conditions.append(equal(sides[0][0], sides[1][0]))
        joined, later = self._joined(kind, left, right, conditions)
        found = _merged(replace(both, relation=joined), kind, left, right, using)
        if later:
            found = replace(found, relation=self._filtered(found.relation, later))
        return found

    def _apart(self, source: Source) -> Source:
        """With names of columns that no other relation has."""
        own = {c.name: f"_tidelake_{next(_COLUMNS)}" for c in source.relation.columns}
        return replace(
            source,
            relation=rename_columns(source.relation, list(own.values())),
            seen=tuple(replace(each, own=own[each.own]) for each in source.seen),
            merged={name: own[each] for name, each in source.merged.items()},
            is_join=True,
        )

    def _joined(
        self, kind: str, left: Source, right: Source, conditions: Sequence[Node]
    ) -> tuple[Relation, list[Node]]:
        """The joined rows, and conditions that are still to be applied to them."""
        sides, texts, later = [left.relation, right.relation], [], []
        for node in conditions:
            try:
                texts.append(_speech(sides).condition(node))
            except NotEqual:
                if kind == "INNER":
                    later.append(node)
                else:
                    texts.append(self._computed(sides, node, kind))
        a, b = sides
        kept = a.columns if kind in _ONE_SIDED else (*a.columns, *b.columns)
        chosen = ", ".join(backtick(column.name) for column in kept)
        on = f" ON {' AND '.join(texts)}" if texts else ""
        way = _JOINS[kind] if texts or kind != "INNER" else "CROSS JOIN"
        on = on or ("" if way == "CROSS JOIN" else " ON TRUE")
        text = f"SELECT {chosen} FROM l {way} r{on}"
        frame = self._statement.frames.select(text, {"l": a.frame, "r": b.frame})
        return Relation(frame, kept), later

    def _computed(self, sides: list[Relation], node: Node, kind: str) -> str:
        """A condition that Spark cannot be asked, computed beforehand by DuckDB from the one side
        that it looks at; or each side of a comparison from its own."""
        places = _places(sides, node)
        if len(places) == 1:
            return self._column(sides, places.pop(), node)
        if node["class"] == "COMPARISON":
            own = [_places(sides, node[part]) for part in ("left", "right")]
            if all(len(each) == 1 for each in own):
                parts = ("left", "right")
                names = [
                    self._column(sides, place.pop(), node[part])
                    for place, part in zip(own, parts, strict=True)
                ]
                made = [reference(name.strip("`")) for name in names]
                try:
                    said = {**node, "left": made[0], "right": made[1]}
                    return _speech(sides).condition(said)
                except NotEqual:
                    pass
        raise unsupported_on_spark(f"this condition of a {kind} JOIN")

    def _column(self, sides: list[Relation], place: int, node: Node) -> str:
        name = f"_tidelake_{next(_COLUMNS)}"
        sides[place] = with_column(self._statement, sides[place], name, node)
        return backtick(name)

    def _filtered(self, relation: Relation, conditions: Sequence[Node]) -> Relation:
        statement = self._statement
        name = statement.add(relation)
        node = tree_of(statement.shapes.connection, f"SELECT * FROM {quote(name)} WHERE a AND b")
        where = {**node["where_clause"], "children": [*conditions]}
        node["where_clause"] = conditions[0] if len(conditions) == 1 else where
        found = Selects(statement, name, "").evaluated(node)
        return rename_columns(found, [column.name for column in relation.columns])


_COLUMNS = count()


def with_column(
    statement: Statement, relation: Relation, name: str, node: Node, alias: str = ""
) -> Relation:
    """The relation and one more column, an expression over the others."""
    called = statement.add(relation)
    text = f"SELECT * FROM {quote(called)}" + (f" AS {quote(alias)}" if alias else "")
    whole = tree_of(statement.shapes.connection, text)
    whole["select_list"].append({**node, "alias": name})
    found = Selects(statement, called, alias).evaluated(whole)
    return rename_columns(found, [*(column.name for column in relation.columns), name])


def _speech(sides: Sequence[Relation]) -> Speech:
    return Speech([column for side in sides for column in side.columns])


def _places(sides: Sequence[Relation], node: Node) -> set[int]:
    """Which sides an expression looks at."""
    names = {each["column_names"][0] for each in inside(node) if each["class"] == "COLUMN_REF"}
    own = [{column.name for column in side.columns} for side in sides]
    return {place for place, side in enumerate(own) if side & names}


def _united(left: Source, right: Source) -> Source:
    columns = (*left.relation.columns, *right.relation.columns)
    relation = Relation(left.relation.frame, columns)
    merged = {**left.merged, **right.merged}
    return Source(relation, (*left.seen, *right.seen), merged=merged, is_join=True)


def _merged(both: Source, kind: str, left: Source, right: Source, using: Sequence[str]) -> Source:
    if kind in _ONE_SIDED:
        return replace(both, seen=left.seen, merged=left.merged)
    merged = {**both.merged}
    relation = both.relation
    for name in using:
        a, b = left.own_name([name]), right.own_name([name])
        assert a is not None
        assert b is not None
        merged[fold(name)] = b[0] if kind == "RIGHT" else a[0]
        if kind == "FULL":
            own = f"_tidelake_{next(_COLUMNS)}"
            merged[fold(name)] = own
            column = replace(relation.by_name[fold(a[0])], name=own)
            text = f"coalesce({backtick(a[0])}, {backtick(b[0])}) AS {backtick(own)}"
            frame = relation.frame.selectExpr("*", text)
            relation = Relation(frame, (*relation.columns, column))
    return replace(both, relation=relation, merged=merged)


def conjuncts(node: Any) -> Iterator[Node]:
    if isinstance(node, dict) and node.get("type") == "CONJUNCTION_AND":
        for each in node["children"]:
            yield from conjuncts(each)
    elif node:
        yield node


def equal(a: str, b: str) -> Node:
    return {
        "class": "COMPARISON",
        "type": "COMPARE_EQUAL",
        "alias": "",
        "query_location": 0,
        "left": reference(a),
        "right": reference(b),
    }


def has_subquery(node: Any) -> bool:
    return any(each.get("class") == "SUBQUERY" for each in walk(node))
