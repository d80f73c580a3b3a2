"""Expressions over one row that Spark computes exactly as DuckDB does: a list of what is proven.

What is not on the list is NotEqual, and DuckDB computes it. Nothing here raises an error of
Spark's own, and nothing depends on settings of the session.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tidelake.engine.spark.duck_tree import constant, tree_of, type_of
from tidelake.engine.spark.spelling import (
    BOOLEAN,
    SparkExpression,
    is_number_of,
    literal_of,
    own_type,
    shared_type,
)
from tidelake.errors import Unsupported
from tidelake.model.names import fold
from tidelake.model.predicate import Like
from tidelake.model.schema import Column
from tidelake.model.types import FLOATS, INTEGERS, TIMESTAMPS, is_decimal
from tidelake.model.zone import with_zone_of
from tidelake.plan.spark_condition import comparison, like, membership
from tidelake.plan.spark_literal import NotEqual, backtick, literal, text_literal
from tidelake.syntax.tree import Node

if TYPE_CHECKING:
    import duckdb

_COMPARISONS = {
    "COMPARE_EQUAL": "=",
    "COMPARE_NOTEQUAL": "!=",
    "COMPARE_LESSTHAN": "<",
    "COMPARE_GREATERTHAN": ">",
    "COMPARE_LESSTHANOREQUALTO": "<=",
    "COMPARE_GREATERTHANOREQUALTO": ">=",
}
_DISTINCT = {"COMPARE_NOT_DISTINCT_FROM": "", "COMPARE_DISTINCT_FROM": "NOT "}
_MIRRORED = {"=": "=", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
_ORDERED = {"boolean", "varchar", "date", "time", "uuid", "blob"} | INTEGERS | FLOATS
_SIGNS = ("+", "-", "*")
_LONGEST = 4000


class Speech:
    """Says expressions over the columns of one relation, which may have a name to qualify them."""

    def __init__(self, columns: Sequence[Column], alias: str = "") -> None:
        self._columns = {fold(column.name): column for column in columns}
        self._alias = fold(alias)

    def condition(self, node: Node) -> str:
        """A boolean."""
        return self._boolean(node)

    def value(self, node: Node) -> str:
        """Any value, in the type that DuckDB gives it or one that casts to it exactly."""
        said = self._said(node)
        if said.kind is None:
            return self._typed(said, own_type(said))
        return said.text

    def typed(self, node: Node) -> tuple[str, str]:
        """Any value that is no literal, and the name of its type."""
        said = _known(self._said(node))
        assert said.kind is not None
        return said.text, said.kind.type

    def _said(self, node: Node) -> SparkExpression:
        found = constant(node)
        if found is not None:
            return SparkExpression("", None, found)
        say = _SAY.get(node["class"])
        if say is None:
            raise NotEqual(node.get("type", node["class"]))
        said: SparkExpression = say(self, node)
        if len(said.text) > _LONGEST:
            raise NotEqual("a long expression")
        return said

    def _boolean(self, node: Node) -> str:
        said = self._said(node)
        if said.value is not None and said.value[0] is None:
            return "CAST(NULL AS BOOLEAN)"
        if said.value is not None and isinstance(said.value[0], bool):
            return "TRUE" if said.value[0] else "FALSE"
        if said.kind is None or said.kind.type != "boolean":
            raise NotEqual("what is not a boolean")
        return said.text

    def _column(self, node: Node) -> SparkExpression:
        names = list(node["column_names"])
        if len(names) > 1 and fold(names[0]) == self._alias:
            if fold(names[1]) not in self._columns:
                raise NotEqual(".".join(names))
            names = names[1:]
        column = self._columns.get(fold(names[0]))
        if column is None:
            raise NotEqual(".".join(names))
        return _field(SparkExpression(backtick(column.name), column), names[1:])

    def _compared(self, node: Node) -> SparkExpression:
        left, right = self._said(node["left"]), self._said(node["right"])
        kind = node["type"]
        if kind in _DISTINCT:
            return SparkExpression(f"({_DISTINCT[kind]}{self._same(left, right)})", BOOLEAN)
        op = _COMPARISONS.get(kind)
        if op is None:
            raise NotEqual(kind)
        return SparkExpression(_comparison(left, op, right), BOOLEAN)

    def _same(self, left: SparkExpression, right: SparkExpression) -> str:
        """Equal, or both NULL."""
        if left.value is not None:
            left, right = right, left
        if right.value is None:
            return f"{left.text} <=> {_beside(left, right)}"
        if left.kind is None:
            raise NotEqual("two literals")
        if right.value[0] is None:
            return f"{left.text} IS NULL"
        return f"{left.text} <=> {literal(left.kind, with_zone_of(left.kind, right.value[0]))}"

    def _conjunction(self, node: Node) -> SparkExpression:
        word = {"CONJUNCTION_AND": " AND ", "CONJUNCTION_OR": " OR "}[node["type"]]
        return SparkExpression(f"({word.join(map(self._boolean, node['children']))})", BOOLEAN)

    def _operator(self, node: Node) -> SparkExpression:
        kind, children = node["type"], node["children"]
        if kind == "OPERATOR_NOT":
            return SparkExpression(f"(NOT {self._boolean(children[0])})", BOOLEAN)
        if kind in ("OPERATOR_IS_NULL", "OPERATOR_IS_NOT_NULL"):
            word = "IS NULL" if kind == "OPERATOR_IS_NULL" else "IS NOT NULL"
            return SparkExpression(f"({_known(self._said(children[0])).text} {word})", BOOLEAN)
        if kind in ("COMPARE_IN", "COMPARE_NOT_IN"):
            return self._in(children, "NOT " if kind == "COMPARE_NOT_IN" else "")
        if kind == "OPERATOR_COALESCE":
            parts = [self._said(child) for child in children]
            shared = shared_type(parts)
            texts = ", ".join(self._typed(part, shared) for part in parts)
            return SparkExpression(f"coalesce({texts})", shared)
        if kind in ("ARRAY_EXTRACT", "STRUCT_EXTRACT"):
            return self._extracted(children)
        raise NotEqual(kind)

    def _in(self, children: Sequence[Node], word: str) -> SparkExpression:
        first, *rest = (self._said(child) for child in children)
        values = [said.value for said in rest]
        if first.kind is None or not rest or None in values:
            raise NotEqual("IN without literals")
        kind = first.kind
        found = tuple(with_zone_of(kind, value[0]) for value in values if value is not None)
        return SparkExpression(f"({word}{membership(first.text, kind, found)})", BOOLEAN)

    def _between(self, node: Node) -> SparkExpression:
        given, low, high = (self._said(node[part]) for part in ("input", "lower", "upper"))
        if (low.value is None) != (high.value is None) or _class(low) is not _class(high):
            raise NotEqual("BETWEEN of several kinds")
        both = _comparison(given, ">=", low), _comparison(given, "<=", high)
        return SparkExpression(f"({both[0]} AND {both[1]})", BOOLEAN)

    def _case(self, node: Node) -> SparkExpression:
        checks = node["case_checks"]
        whens = [self._boolean(check["when_expr"]) for check in checks]
        parts = [self._said(check["then_expr"]) for check in checks]
        parts.append(self._said(node["else_expr"]))
        shared = shared_type(parts)
        *thens, otherwise = (self._typed(part, shared) for part in parts)
        said = " ".join(f"WHEN {w} THEN {t}" for w, t in zip(whens, thens, strict=True))
        return SparkExpression(f"(CASE {said} ELSE {otherwise} END)", shared)

    def _cast(self, node: Node) -> SparkExpression:
        wanted = type_of(node["cast_type"])
        given = self._said(node["child"])
        if wanted is None or node["try_cast"]:
            raise NotEqual("a cast")
        if given.value is not None:
            return SparkExpression("", None, (literal_of(wanted, given.value[0]),))
        assert given.kind is not None
        if given.kind.type == wanted.type and not wanted.children:
            return given
        if wanted.type in _WIDER.get(given.kind.type, ()):
            return SparkExpression(f"CAST({given.text} AS {_SPARK_NAMES[wanted.type]})", wanted)
        raise NotEqual(f"a cast of {given.kind.duckdb_type} to {wanted.duckdb_type}")

    def _function(self, node: Node) -> SparkExpression:
        if node["filter"] or node["distinct"] or node["order_bys"]["orders"]:
            raise NotEqual(node["function_name"])
        name, children = fold(node["function_name"]), node["children"]
        if name in _SIGNS and len(children) == 2:
            return self._arithmetic(name, *(self._said(child) for child in children))
        say = _FUNCTIONS.get((name, len(children)))
        if say is None:
            raise NotEqual(name)
        said: SparkExpression = say(self, *(self._said(child) for child in children))
        return said

    def _arithmetic(
        self, sign: str, left: SparkExpression, right: SparkExpression
    ) -> SparkExpression:
        shared = shared_type([left, right])
        if shared.type != "float64":
            raise NotEqual(f"{sign} of {shared.duckdb_type}")  # DuckDB may see no overflow
        return SparkExpression(
            f"({self._typed(left, shared)} {sign} {self._typed(right, shared)})", shared
        )

    def _joined(self, left: SparkExpression, right: SparkExpression) -> SparkExpression:
        text = Column(0, "", "varchar")
        if any(said.kind and said.kind.type != "varchar" for said in (left, right)):
            raise NotEqual("|| of other than texts")
        return SparkExpression(
            f"concat({self._typed(left, text)}, {self._typed(right, text)})", text
        )

    def _like(
        self, given: SparkExpression, pattern: SparkExpression, negated: bool = False
    ) -> SparkExpression:
        text = _text_of(pattern)
        if given.kind is None or given.kind.type != "varchar" or text is None:
            raise NotEqual("LIKE")
        return SparkExpression(like(given.text, Like("", text, negated)), BOOLEAN)

    def _starts(self, given: SparkExpression, prefix: SparkExpression) -> SparkExpression:
        text = _text_of(prefix)
        if given.kind is None or given.kind.type != "varchar" or text is None:
            raise NotEqual("starts_with")
        return SparkExpression(f"startswith({given.text}, {text_literal(text)})", BOOLEAN)

    def _length(self, given: SparkExpression) -> SparkExpression:
        if given.kind is None or given.kind.type != "varchar":
            raise NotEqual("length")
        return SparkExpression(f"CAST(length({given.text}) AS BIGINT)", Column(0, "", "int64"))

    def _extracted(
        self, children: Sequence[Node] | tuple[SparkExpression, SparkExpression]
    ) -> SparkExpression:
        given, name = (self._said(c) if isinstance(c, dict) else c for c in children)
        text = _text_of(name)
        if given.kind is None or given.kind.type != "struct" or text is None:
            raise NotEqual("an element")
        return _field(given, [text])

    def _typed(self, said: SparkExpression, kind: Column) -> str:
        """In a type: a literal of it, or an expression that is of it or casts to it exactly."""
        if said.value is None:
            assert said.kind is not None
            if said.kind.type == kind.type:
                return said.text
            return f"CAST({said.text} AS {_SPARK_NAMES[kind.type]})"
        value = said.value[0]
        if value is None:
            return "NULL"
        if not is_number_of(value, kind) and own_type(said).type != kind.type:
            raise NotEqual("a literal of another type")
        name = _SPARK_NAMES.get(kind.type)
        text = literal(kind, value)
        return f"CAST({text} AS {name})" if name and kind.type != "varchar" else text


def spark_condition(
    connection: duckdb.DuckDBPyConnection, speech: Speech, condition: str
) -> str | None:
    """A condition in DuckDB's SQL as one in Spark's; None if Spark might judge otherwise."""
    try:
        (node,) = tree_of(connection, f"SELECT ({condition})")["select_list"]
        return speech.condition(node)
    except (NotEqual, Unsupported):
        return None


def _comparison(left: SparkExpression, op: str, right: SparkExpression) -> str:
    if left.value is not None:
        left, right, op = right, left, _MIRRORED[op]
    if left.kind is None:
        raise NotEqual("two literals")
    if right.value is not None:
        return comparison(left.text, left.kind, op, with_zone_of(left.kind, right.value[0]))
    return f"({left.text} {op} {_beside(left, right)})"


def _beside(left: SparkExpression, right: SparkExpression) -> str:
    """The right side of a comparison, if both sides are of kinds that compare alike."""
    assert left.kind is not None
    assert right.kind is not None
    a, b = left.kind.type, right.kind.type
    alike = a == b and (a in _ORDERED or a in TIMESTAMPS or is_decimal(a))
    if not (alike or {a, b} <= INTEGERS or {a, b} <= FLOATS):
        raise NotEqual(f"{left.kind.duckdb_type} beside {right.kind.duckdb_type}")
    return right.text


def _known(said: SparkExpression) -> SparkExpression:
    if said.kind is None or said.kind.type == "variant":
        raise NotEqual("a literal")
    return said


def _field(said: SparkExpression, names: Sequence[str]) -> SparkExpression:
    for name in names:
        children = said.kind.children if said.kind and said.kind.type == "struct" else ()
        found = [child for child in children if fold(child.name) == fold(name)]
        if len(found) != 1:
            raise NotEqual(name)
        said = SparkExpression(f"{said.text}.{backtick(found[0].name)}", found[0])
    return said


def _class(said: SparkExpression) -> type[Any] | None:
    return None if said.value is None else type(said.value[0])


def _text_of(said: SparkExpression) -> str | None:
    value = said.value[0] if said.value is not None else None
    return value if isinstance(value, str) else None


_WIDER = {
    **dict.fromkeys(("int8", "uint8"), ("int16", "int32", "int64", "float64")),
    **dict.fromkeys(("int16", "uint16"), ("int32", "int64", "float64")),
    "int32": ("int64", "float64"),
    "uint32": ("int64", "float64"),
    "float32": ("float64",),
}
_SPARK_NAMES = {
    "boolean": "BOOLEAN",
    "int16": "SMALLINT",
    "int32": "INT",
    "int64": "BIGINT",
    "float64": "DOUBLE",
    "varchar": "STRING",
}
_SAY: Mapping[str, Callable[[Any, Node], SparkExpression]] = {
    "COLUMN_REF": Speech._column,
    "COMPARISON": Speech._compared,
    "CONJUNCTION": Speech._conjunction,
    "OPERATOR": Speech._operator,
    "BETWEEN": Speech._between,
    "CASE": Speech._case,
    "CAST": Speech._cast,
    "FUNCTION": Speech._function,
}
_FUNCTIONS: Mapping[tuple[str, int], Callable[..., SparkExpression]] = {
    ("||", 2): Speech._joined,
    ("~~", 2): Speech._like,
    ("!~~", 2): lambda speech, given, pattern: speech._like(given, pattern, negated=True),
    ("^@", 2): Speech._starts,
    ("prefix", 2): Speech._starts,
    ("starts_with", 2): Speech._starts,
    ("length", 1): Speech._length,
    ("len", 1): Speech._length,
    ("struct_extract", 2): lambda speech, given, name: speech._extracted((given, name)),
}
