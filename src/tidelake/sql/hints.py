"""What the WHERE around a table says of that table alone, for reading fewer files of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tidelake.model.literal import Value
from tidelake.model.names import fold
from tidelake.model.predicate import And, Predicate
from tidelake.model.schema import Schema
from tidelake.plan.condition import references
from tidelake.plan.understand import understand
from tidelake.sql.text import Table
from tidelake.syntax.tree import Node


def hint(table: Table, schema: Schema, values: Mapping[str, Value]) -> Predicate | None:
    """Only what is understood: rows for which it is not true are not in the answer."""
    found = []
    for part in _conjuncts(table):
        own = _own(part, table, values)
        test = None if own is None else understand(own, schema)
        if test is not None:
            found.append(test)
    return And(tuple(found)) if found else None


def has_hint(table: Table) -> bool:
    return any(True for _ in _conjuncts(table))


def _conjuncts(table: Table) -> Iterator[Node]:
    select = table.select
    if select is None or not select.get("where_clause") or select.get("sample"):
        return
    if table.node.get("sample") or table.node.get("column_name_alias"):
        return
    where = select["where_clause"]
    yield from where["children"] if where["type"] == "CONJUNCTION_AND" else [where]


def _own(part: Node, table: Table, values: Mapping[str, Value]) -> Node | None:
    """A condition that names columns of this table only, without its name before them."""
    assert table.select is not None
    alone = table.select["from_table"]["type"] == "BASE_TABLE"
    for each in references(part):
        names = each["column_names"]
        qualified = len(names) == 2 and fold(names[0]) == fold(table.alias)
        if not qualified and not (alone and len(names) == 1):
            return None
    found: Node = _bare(part, values)
    return found


def _bare(node: Any, values: Mapping[str, Value]) -> Any:
    if isinstance(node, list):
        return [_bare(each, values) for each in node]
    if not isinstance(node, dict):
        return node
    if node.get("class") == "COLUMN_REF":
        return {**node, "column_names": node["column_names"][-1:]}
    if node.get("class") == "PARAMETER":
        return {**node, "class": "BOUND", "value": values[node["identifier"]]}
    return {name: _bare(value, values) for name, value in node.items()}
