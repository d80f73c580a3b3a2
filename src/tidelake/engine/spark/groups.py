"""Groups that Spark computes exactly as DuckDB does: plain keys and a few aggregates."""

from __future__ import annotations

from collections.abc import Sequence

from tidelake.engine.spark.scalar import Speech
from tidelake.model.names import fold
from tidelake.model.schema import Column
from tidelake.model.types import FLOATS, INTEGERS, TIMESTAMPS, decimal_shape, is_decimal
from tidelake.plan.spark_literal import NotEqual, backtick
from tidelake.syntax.tree import Node, inside

_KEYS = {"varchar", "date", "boolean", "uuid", "time", "blob"} | INTEGERS
_WIDEST_SUMMED = 28


def is_plain_grouping(node: Node) -> bool:
    """Whether rows are grouped once, by all the keys."""
    return node["group_sets"] in ([], [list(range(len(node["group_expressions"])))])


class Groups:
    def __init__(self, columns: Sequence[Column], speech: Speech, alias: str) -> None:
        self._columns = {fold(column.name): column for column in columns}
        self._speech = speech
        self._alias = fold(alias)

    def texts(self, node: Node) -> tuple[list[str], list[str], str | None]:
        """What to select, the keys and the condition, in Spark's words; NotEqual if it cannot be
        said in them."""
        if node["modifiers"] or node["having"] or node["qualify"] or node["sample"]:
            raise NotEqual("more than groups")
        if not is_plain_grouping(node) or any(e["class"] == "WINDOW" for e in inside(node)):
            raise NotEqual("more than groups")
        listed = node["select_list"]
        given = node["group_expressions"]
        if node["aggregate_handling"] == "FORCE_AGGREGATES":
            given = [item for item in listed if item["class"] == "COLUMN_REF"]
        keys = [self._key(each) for each in given]
        chosen = [self._chosen(item, keys) for item in listed]
        where = node["where_clause"]
        texts = [backtick(key.name) for key in keys]
        return chosen, texts, self._speech.condition(where) if where else None

    def _key(self, node: Node) -> Column:
        """A column, of a kind of which equal values have one spelling."""
        names = list(node["column_names"]) if node["class"] == "COLUMN_REF" else []
        if len(names) == 2 and fold(names[0]) == self._alias:
            names = names[1:]
        column = self._columns.get(fold(names[0])) if len(names) == 1 else None
        if column is None:
            raise NotEqual("a key that is no column")
        if not (column.type in _KEYS or column.type in TIMESTAMPS or is_decimal(column.type)):
            raise NotEqual(f"groups by {column.duckdb_type}")
        return column

    def _chosen(self, item: Node, keys: Sequence[Column]) -> str:
        if item["class"] == "COLUMN_REF":
            key = self._key(item)
            if key not in keys:
                raise NotEqual("a column that is no key")
            return backtick(key.name)
        if item["class"] != "FUNCTION" or item["order_bys"]["orders"]:
            raise NotEqual("an expression of aggregates")
        text = self._aggregate(item)
        if condition := item["filter"]:
            text = f"{text} FILTER (WHERE {self._speech.condition(condition)})"
        return text

    def _aggregate(self, item: Node) -> str:
        name, children = fold(item["function_name"]), item["children"]
        if name == "count_star" or (name == "count" and not children):
            return "count(*)"
        if len(children) != 1 or (item["distinct"] and name not in ("count", "min", "max")):
            raise NotEqual(name)
        text, kind = self._speech.typed(children[0])
        simple = kind in _KEYS or kind in TIMESTAMPS or is_decimal(kind)
        if name == "count" and (simple or not item["distinct"]):
            return f"count({'DISTINCT ' if item['distinct'] else ''}{text})"
        if name in ("min", "max") and (simple or kind in FLOATS):
            return f"{name}({text})"
        if name in ("bool_and", "bool_or") and kind == "boolean":
            return f"{name}({text})"
        if name == "sum":
            return _sum(text, kind)
        if name in ("avg", "mean") and kind == "float64":
            return f"avg({text})"
        raise NotEqual(name)


def _sum(text: str, kind: str) -> str:
    """In decimals of 38 digits: neither setting of a session makes these overflow."""
    if kind == "float64":
        return f"sum({text})"
    if kind in INTEGERS:
        return f"sum(CAST({text} AS DECIMAL(28, 0)))"
    if is_decimal(kind):
        width, scale = decimal_shape(kind)
        if width <= _WIDEST_SUMMED:
            return f"sum(CAST({text} AS DECIMAL({_WIDEST_SUMMED}, {scale})))"
    raise NotEqual(f"a sum of {kind}")
