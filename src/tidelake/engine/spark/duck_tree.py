"""DuckDB's own tree of a query, as the JSON that it makes of it: no second parser has a say."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from tidelake.engine.declare.ddl import from_duckdb_type
from tidelake.errors import Unsupported
from tidelake.model.literal import Value, sql_literal
from tidelake.model.schema import Column
from tidelake.syntax.tree import Node, replace_expressions, unpack
from tidelake.syntax.tree_forms import own_form

if TYPE_CHECKING:
    import duckdb

_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")


def tree_of(connection: duckdb.DuckDBPyConnection, sql: str) -> Node:
    """The node of one query; Unsupported if DuckDB does not put it into a tree."""
    row = connection.execute("SELECT json_serialize_sql($1)", [sql]).fetchone()
    found = unpack(row[0]) if row else {}
    if found.get("error", True) or len(found["statements"]) != 1:
        reason = found.get("error_message", "not one query")
        raise Unsupported(
            f"Spark cannot run this statement: {reason}", hint="run it with engine='local'"
        )
    node: Node = replace_expressions(found["statements"][0]["node"], _double, deep=True)
    return node


def _double(node: Node) -> Node | None:
    """A float is written as a cast text: DuckDB would write it as a decimal."""
    if node["class"] != "CONSTANT" or node["value"]["type"]["id"] != "DOUBLE":
        return None
    text = {"type": {"id": "VARCHAR", "type_info": None}, "is_null": False}
    return {
        "class": "CAST",
        "type": "OPERATOR_CAST",
        "alias": "",
        "query_location": 0,
        "child": {**node, "alias": "", "value": {**text, "value": repr(node["value"]["value"])}},
        "cast_type": node["value"]["type"],
        "try_cast": False,
    }


def is_understood(connection: duckdb.DuckDBPyConnection, node: Node) -> bool:
    """Whether the tree becomes SQL that becomes the same tree."""
    return bool(_essence(tree_of(connection, sql_of(connection, node))) == _essence(node))


def _essence(node: Any) -> Any:
    """Without what is spelled in two ways: places, operators as functions, TRUE as a literal or a
    cast, VALUES alone or in a subquery."""
    if isinstance(node, list):
        return [_essence(each) for each in node]
    if not isinstance(node, dict):
        return node
    if node.get("alias") == "valueslist" and node["type"] == "SUBQUERY":
        return _essence({**node["subquery"]["node"]["from_table"], "alias": "valueslist"})
    if node.get("class") == "CAST" and node["cast_type"]["id"] == "BOOLEAN":
        truth = {"t": True, "f": False}.get(node["child"].get("value", {}).get("value"))
        return _essence(node["child"]) if truth is None else {"value": truth}
    if node.get("class") == "CONSTANT" and node["value"]["type"]["id"] == "BOOLEAN":
        return {"value": node["value"].get("value")}
    return {name: _essence(each) for name, each in node.items() if name not in _SPELLING}


_SPELLING = ("query_location", "is_operator")


def sql_of(connection: duckdb.DuckDBPyConnection, node: Node) -> str:
    """The SQL of a query's node."""
    statement = {"error": False, "statements": [{"node": own_form(node), "named_param_map": []}]}
    row = connection.execute("SELECT json_deserialize_sql($1)", [json.dumps(statement)]).fetchone()
    assert row is not None
    return str(row[0]).removesuffix(";")


def expression_sql(connection: duckdb.DuckDBPyConnection, node: Node) -> str:
    """The SQL of an expression."""
    select = tree_of(connection, "SELECT 1")
    select["select_list"] = [{**node, "alias": ""}]
    return sql_of(connection, select).removeprefix("SELECT ")


def with_values(
    connection: duckdb.DuckDBPyConnection, node: Node, values: Mapping[str, Value]
) -> Node:
    """With literals where the parameters stood."""

    def literal(each: Node) -> Node | None:
        if each["class"] != "PARAMETER":
            return None
        sql = _typed_literal(values[each["identifier"]])
        (found,) = tree_of(connection, f"SELECT {sql}")["select_list"]
        return dict(found)

    made: Node = replace_expressions(node, literal, deep=True) if values else node
    return made


def _typed_literal(value: Value) -> str:
    """A decimal stays one, whatever its digits."""
    if not isinstance(value, Decimal):
        return sql_literal(value)
    scale = max(-int(value.as_tuple().exponent), 0)
    width = max(value.adjusted() + 1, 1) + scale
    return f"CAST('{value:f}' AS DECIMAL({width}, {scale}))" if width <= 38 else f"{value:f}"


def constant(node: Node) -> tuple[Value] | None:
    """The value of a literal, in a tuple since it may be None; None if it is no plain literal."""
    if node["class"] != "CONSTANT":
        return None
    kind, value = node["value"]["type"], node["value"].get("value")
    if node["value"]["is_null"]:
        return (None,)
    if kind["id"] in (*_WHOLE, "VARCHAR", "BOOLEAN"):
        return (value,)
    if kind["id"] in ("DECIMAL", "HUGEINT"):
        return (_wide(kind, value),)
    return None


def _wide(kind: Node, value: Any) -> int | Decimal:
    number: int = value
    if isinstance(value, dict):
        number = (value["upper"] << 64) + value["lower"]
    if kind["id"] == "HUGEINT":
        return number
    return Decimal(number).scaleb(-kind["type_info"]["scale"])


def type_of(kind: Node) -> Column | None:
    """A type named in a tree; None if it is not a simple one."""
    import duckdb

    text = str(kind["id"])
    if info := kind["type_info"]:
        if text != "DECIMAL":
            return None
        text = f"DECIMAL({info['width']}, {info['scale']})"
    try:
        return from_duckdb_type("", duckdb.sqltype(text))
    except Exception:
        return None
