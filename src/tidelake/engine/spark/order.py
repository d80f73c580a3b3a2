"""ORDER BY, LIMIT and OFFSET of a SELECT, for Spark: DuckDB puts nulls last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tidelake.engine.spark.duck_tree import constant
from tidelake.engine.spark.relation import Relation
from tidelake.model.names import fold
from tidelake.model.schema import Column
from tidelake.model.types import FLOATS, INTEGERS, TIMESTAMPS, is_decimal
from tidelake.syntax.tree import Node, inside

if TYPE_CHECKING:
    from tidelake.engine.spark.plan_frames import PlanFrames
    from tidelake.engine.spark.statement import Statement

_SORTED = {"varchar", "date", "boolean", "uuid", "time", "blob"} | INTEGERS | FLOATS
_NULLS = {"ORDER_DEFAULT": "NULLS LAST", "NULLS LAST": "NULLS LAST", "NULLS FIRST": "NULLS FIRST"}


@dataclass(frozen=True, slots=True)
class Order:
    """A SELECT that gives its rows in any order, with columns behind the others where they are
    only for sorting; and how to sort and cut them."""

    body: Node
    keys: tuple[tuple[int, str], ...] = ()
    limit: int | None = None
    offset: int | None = None

    def applied(self, frames: PlanFrames, rows: Relation, width: int) -> Relation:
        if not self.keys and self.limit is None and self.offset is None:
            return rows
        names = [f"c{place}" for place in range(len(rows.columns))]
        text = f"SELECT {', '.join(names[:width])} FROM rows"
        if self.keys:
            text += f" ORDER BY {', '.join(f'c{place} {way}' for place, way in self.keys)}"
        if self.limit is not None:
            text += f" LIMIT {self.limit}"
        if self.offset is not None:
            text += f" OFFSET {self.offset}"
        found = frames.select(text, {"rows": rows.frame.toDF(*names)})
        return Relation(found.toDF(*rows.frame.columns[:width]), rows.columns[:width])


def order_of(statement: Statement, node: Node, columns: Sequence[Column]) -> Order | None:
    """How to sort the rows of a SELECT; None if only DuckDB can."""
    kept, limits, orders = [], [], []
    for modifier in node["modifiers"]:
        kind = modifier["type"]
        if kind == "ORDER_MODIFIER":
            orders += modifier["orders"]
        elif kind == "LIMIT_MODIFIER":
            limits.append(modifier)
        elif kind == "DISTINCT_MODIFIER" and not (modifier["distinct_on_targets"] and orders):
            kept.append(modifier)
        else:
            return None
    if kept and kept[0]["distinct_on_targets"] and orders:
        return None
    cut = [_number(each[part]) for each in limits for part in ("limit", "offset")] or [None, None]
    if any(each is False for each in cut) or len(cut) > 2:
        return None
    body = {**node, "modifiers": kept}
    found = _keys(statement, body, orders, columns, hidden=not kept)
    if found is None:
        return None
    limit, offset = cut
    return Order(found[0], found[1], limit, offset)


def _number(node: Node | None) -> int | bool | None:
    """A limit; False if it is not a plain number."""
    if node is None:
        return None
    value = (constant(node) or ("",))[0]
    if value is None:
        return None
    whole = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31
    return value if whole else False  # type: ignore[return-value]


def _keys(
    statement: Statement,
    body: Node,
    orders: Sequence[Node],
    columns: Sequence[Column],
    *,
    hidden: bool,
) -> tuple[Node, tuple[tuple[int, str], ...]] | None:
    extra: list[Node] = []
    keys = []
    for order in orders:
        places = _places(order["expression"], columns)
        if places is None:
            if not hidden or _is_unclear(order["expression"], body):
                return None
            places = [len(columns) + len(extra)]
            extra.append({**order["expression"], "alias": f"_tidelake_order_{len(extra)}"})
        way = "DESC" if order["type"] == "DESCENDING" else "ASC"
        keys += [(place, f"{way} {_nulls(order)}") for place in places]
    body = {**body, "select_list": [*body["select_list"], *extra]} if extra else body
    if not orders:
        return body, ()
    kinds = statement.columns_of(body)
    if not all(_is_sorted(kinds[place]) for place, _ in keys):
        return None
    return body, tuple(keys)


def _nulls(order: Node) -> str:
    return "NULLS FIRST" if "FIRST" in order["null_order"].upper() else "NULLS LAST"


def _places(node: Node, columns: Sequence[Column]) -> list[int] | None:
    """The columns of the result that an ORDER BY names; None if it names an expression."""
    if node["class"] == "STAR":
        return list(range(len(columns)))
    value = constant(node)
    if value is not None:
        place = value[0]
        is_place = isinstance(place, int) and 0 < place <= len(columns)
        return [place - 1] if is_place and isinstance(place, int) else None
    if node["class"] != "COLUMN_REF" or len(node["column_names"]) != 1:
        return None
    name = fold(node["column_names"][0])
    found = [place for place, column in enumerate(columns) if fold(column.name) == name]
    return found[:1] or None


def _is_unclear(node: Node, body: Node) -> bool:
    """Whether an expression for sorting might change the groups, or speak of names that the
    SELECT gives."""
    if body["aggregate_handling"] == "FORCE_AGGREGATES":
        return True
    given = {fold(item["alias"]) for item in body["select_list"] if item["alias"]}
    names = [each["column_names"] for each in inside(node) if each["class"] == "COLUMN_REF"]
    return any(len(each) == 1 and fold(each[0]) in given for each in names) or bool(constant(node))


def _is_sorted(column: Column) -> bool:
    kind: Any = column.type
    return kind in _SORTED or kind in TIMESTAMPS or is_decimal(kind) or kind == "int128"
