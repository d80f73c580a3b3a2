"""DuckDB 2 puts its trees into another form than DuckDB 1.5. Here they come into the older one,
which all that looks at trees knows, and which DuckDB 2 takes back.

What the older form has no words for is refused, so nothing is left out of a tree unnoticed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tidelake.errors import Unsupported

Node = dict[str, Any]

_UNSAID = frozenset({"query_location_length", "qualified_name", "has_ignore_nulls", "syntax_type"})
_NEAREST = {"nearest_approx": False, "nearest_count": 1, "nearest_order_type": "ASCENDING"}
_INTEGERS = (("INTEGER", 31), ("BIGINT", 63), ("HUGEINT", 127), ("UHUGEINT", 128))
_MOST_DIGITS = 38
_UNSET = 2**64 - 1

_OPPOSITES = {
    "COMPARE_EQUAL": "COMPARE_NOTEQUAL",
    "COMPARE_NOTEQUAL": "COMPARE_EQUAL",
    "COMPARE_LESSTHAN": "COMPARE_GREATERTHANOREQUALTO",
    "COMPARE_GREATERTHANOREQUALTO": "COMPARE_LESSTHAN",
    "COMPARE_GREATERTHAN": "COMPARE_LESSTHANOREQUALTO",
    "COMPARE_LESSTHANOREQUALTO": "COMPARE_GREATERTHAN",
    "COMPARE_DISTINCT_FROM": "COMPARE_NOT_DISTINCT_FROM",
    "COMPARE_NOT_DISTINCT_FROM": "COMPARE_DISTINCT_FROM",
    "COMPARE_IN": "COMPARE_NOT_IN",
    "COMPARE_NOT_IN": "COMPARE_IN",
}

Types = Callable[[], Mapping[str, str]]
"""Which type each name stands for, in small letters."""


def older_form(node: Any, types: Types) -> Any:
    """A tree of DuckDB 2, or part of one, as DuckDB 1.5 would have put it."""
    if isinstance(node, list):
        return [older_form(each, types) for each in node]
    if not isinstance(node, dict):
        return node
    _check_name(node)
    said = {name: older_form(each, types) for name, each in node.items() if name not in _UNSAID}
    if "arguments" in said:
        said["children"] = [_argument(each) for each in said.pop("arguments")]
    if "query_node" in said:
        said["query"] = {"node": said.pop("query_node"), "named_param_map": []}
    if "type_expr" in said:
        return _cast(said, types)
    form = _FORMS.get(str(said.get("class", said.get("type"))))
    return form(said) if form else said


def own_form(node: Any) -> Any:
    """What DuckDB 2 takes back: types and literals that the older form says in part only stand
    beside it as they were."""
    if isinstance(node, list):
        return [own_form(each) for each in node]
    if not isinstance(node, dict):
        return node
    twice = {"cast_type"} if "type_expr" in node else {"value"} if "literal" in node else set()
    return {name: own_form(each) for name, each in node.items() if name not in twice}


def _check_name(node: Node) -> None:
    """A name of more parts than three would lose some."""
    path = (node.get("qualified_name") or {}).get("path", [])
    if len(path) > 3:
        raise Unsupported(
            f"the name {'.'.join(path)} has more than three parts",
            hint="name a table as table or schema.table",
        )


def _argument(argument: Node) -> Node:
    expression: Node = argument["expression"]
    return {**expression, "alias": argument["name"] or expression.get("alias", "")}


def _function(node: Node) -> Node:
    """Of three values `if` is a CASE."""
    is_case = node["function_name"] == "if" and len(node["children"]) == 3
    return _case(node) if is_case else node


def _join(node: Node) -> Node:
    if node.pop("ranking_expression", None) is not None:
        raise Unsupported(
            "a join of the nearest rows is DuckDB's alone",
            hint="use ASOF JOIN, or a window with row_number()",
        )
    return {
        name: value
        for name, value in node.items()
        if name != "is_implicit" and (name not in _NEAREST or _NEAREST[name] != value)
    }


def _limit(node: Node) -> Node:
    """A part of the rows is called otherwise, for those who know of numbers only."""
    if node.get("limit_type", "ROW_COUNT") != "ROW_COUNT":
        return {**node, "type": "LEGACY_LIMIT_PERCENT_MODIFIER"}
    return {name: value for name, value in node.items() if name != "limit_type"}


def _table_function(node: Node) -> Node:
    """The function stands where its table does."""
    function = node["function"]
    if function.get("query_location", _UNSET) == _UNSET:
        function = {**function, "query_location": node.get("query_location", _UNSET)}
    return {**node, "function": function}


def _negation(node: Node) -> Node:
    """NOT before a comparison is the opposite one."""
    if node["type"] != "OPERATOR_NOT":
        return node
    (child,) = node["children"]
    opposite = _OPPOSITES.get(child["type"])
    return node if opposite is None else {**child, "type": opposite, "alias": node["alias"]}


def _pairs(node: Node) -> Node:
    """Queries are put together two by two; what stands behind the last goes for all."""
    if not node.get("children"):
        return node
    first, *after = node.pop("children")
    last = after[0]
    if len(after) > 1:
        last = _pairs({**node, "modifiers": [], "cte_map": {"map": []}, "children": after})
    return {**node, "left": first, "right": last}


def _case(node: Node) -> Node:
    when, then, otherwise = node["children"]
    return {
        "class": "CASE",
        "type": "CASE_EXPR",
        "alias": node["alias"],
        "query_location": node["query_location"],
        "case_checks": [{"when_expr": when, "then_expr": then}],
        "else_expr": otherwise,
    }


def _constant(node: Node) -> Node:
    """Of literals that DuckDB 1.5 does not have, such as bits, the kind is said: it is no type."""
    if "literal" not in node:
        return node
    literal = node.pop("literal")
    kind, text = literal["kind"], literal["text"]
    match kind:
        case "BOOLEAN":
            return _truth(node, text == "true")
        case "NULL_LITERAL":
            return {**node, "value": {"type": _plain("NULL"), "is_null": True}}
        case "INTEGER" | "NUMERIC":
            held, value = _number(text)
        case "STRING":
            held, value = _plain("VARCHAR"), text
        case _:
            node, held, value = {**node, "literal": literal}, _plain(kind), text
    return {**node, "value": {"type": held, "is_null": False, "value": value}}


def _truth(node: Node, is_true: bool) -> Node:
    """A text that is cast, as DuckDB 1.5 reads TRUE."""
    letter = {"type": _plain("VARCHAR"), "is_null": False, "value": "t" if is_true else "f"}
    return {
        "class": "CAST",
        "type": "OPERATOR_CAST",
        "alias": node["alias"],
        "query_location": _UNSET,
        "child": {**node, "alias": "", "value": letter},
        "cast_type": _plain("BOOLEAN"),
        "try_cast": False,
    }


def _number(text: str) -> tuple[Node, Any]:
    digits = text.replace("_", "")
    if digits.lstrip("+-").isdigit():
        whole = int(digits)
        for name, bits in _INTEGERS:
            if -(2**bits) <= whole < 2**bits:
                return _plain(name), whole if bits < 64 else _halves(whole)
    before, _, after = digits.lstrip("+-").partition(".")
    width, scale = len(before) + len(after), len(after)
    if not (before + after).isdigit() or width > _MOST_DIGITS:
        return _plain("DOUBLE"), float(digits)
    unscaled = int(digits.replace(".", ""))
    return _decimal(width, scale), unscaled if width <= 18 else _halves(unscaled)


def _halves(value: int) -> Node:
    return {"upper": value >> 64, "lower": value & _UNSET}


def _plain(name: str) -> Node:
    return {"id": name, "type_info": None}


def _cast(node: Node, types: Types) -> Node:
    """A type that is more than a name is said by its word alone; all of it stays beside it."""
    expression = node.pop("type_expr")
    found = _type(expression, types)
    info = found["type_info"]
    whole = info is None or info["type"] == "DECIMAL_TYPE_INFO"
    return {**node, "cast_type": found, **({} if whole else {"type_expr": expression})}


def _type(node: Node, types: Types) -> Node:
    name = str(node.get("type_name", ""))
    known = types().get(name.lower())
    if known is None:
        return {"id": "UNBOUND", "type_info": {"type": "UNBOUND_TYPE_INFO", "name": name}}
    sizes = [each.get("value", {}).get("value") for each in node["children"]]
    if known == "DECIMAL":
        width, scale = [*sizes, 0][:2] if sizes else (18, 3)
        return _decimal(width, scale)
    if known != "VARCHAR" and (sizes or known in _MADE_OF_OTHERS):
        return {"id": known, "type_info": {"type": f"{known}_TYPE_INFO"}}
    return _plain(known)


def _decimal(width: int, scale: int) -> Node:
    info = {"type": "DECIMAL_TYPE_INFO", "alias": "", "extension_info": None}
    return {"id": "DECIMAL", "type_info": {**info, "width": width, "scale": scale}}


_MADE_OF_OTHERS = frozenset(
    ("ARRAY", "ENUM", "GEOMETRY", "LIST", "MAP", "STRUCT", "TUPLE", "UNION", "VARIANT")
)
_FORMS: Mapping[str, Callable[[Node], Node]] = {
    "CONSTANT": _constant,
    "FUNCTION": _function,
    "JOIN": _join,
    "LIMIT_MODIFIER": _limit,
    "OPERATOR": _negation,
    "SET_OPERATION_NODE": _pairs,
    "TABLE_FUNCTION": _table_function,
}
