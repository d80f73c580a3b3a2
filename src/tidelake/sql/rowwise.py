"""Queries that can be answered part by part: they choose rows and columns of one table, and look at
each row by itself. And those that ask for all of it."""

from __future__ import annotations

from collections.abc import Mapping

from tidelake.plan.scan import ScanPlan
from tidelake.syntax.tree import Node

_CHOICES = {"COLUMN_REF", "CONSTANT", "STAR"}
_CONDITIONS = {
    "BETWEEN",
    "CAST",
    "COLUMN_REF",
    "COMPARISON",
    "CONJUNCTION",
    "CONSTANT",
    "OPERATOR",
    "PARAMETER",
}
"""Classes of DuckDB's expressions. Functions are not among them: some count, and some are slow."""
_STAR = {"class", "type", "query_location"}
_SAID = {"type", "select_list", "from_table", "where_clause", "aggregate_handling", "cte_map"}


def is_rowwise(node: Node, tables: Mapping[str, object]) -> bool:
    """Whether the answer over some files, and that over the others, are together the answer."""
    (plan,) = tables.values() if len(tables) == 1 else (None,)
    source = node.get("from_table") or {}
    return (
        isinstance(plan, ScanPlan)
        and node.get("type") == "SELECT_NODE"
        and node.get("aggregate_handling") == "STANDARD_HANDLING"
        and not any(value for name, value in node.items() if name not in _SAID)
        and not node["cte_map"]["map"]
        and source.get("type") == "BASE_TABLE"
        and not (source.get("sample") or source.get("column_name_alias"))
        and all(_is_choice(each) for each in node["select_list"])
        and _is_simple(node.get("where_clause"))
    )


def is_whole(node: Node) -> bool:
    """Whether the answer is the one relation that it reads, as it is."""
    source, chosen = node.get("from_table") or {}, node.get("select_list") or []
    return (
        node.get("type") == "SELECT_NODE"
        and node.get("aggregate_handling") == "STANDARD_HANDLING"
        and not any(value for name, value in node.items() if name not in _SAID)
        and not node.get("where_clause")
        and not node["cte_map"]["map"]
        and source.get("type") in ("BASE_TABLE", "TABLE_FUNCTION")
        and source.get("with_ordinality") in (None, "WITHOUT_ORDINALITY")
        and not (source.get("sample") or source.get("column_name_alias"))
        and len(chosen) == 1
        and chosen[0].get("class") == "STAR"
        and not any(value for name, value in chosen[0].items() if name not in _STAR)
    )


def _is_choice(node: Node) -> bool:
    """A column, or all of them as they are."""
    if node.get("class") == "STAR":
        said = ("exclude_list", "replace_list", "expr", "columns", "rename_list")
        return not any(node.get(name) for name in said)
    return node.get("class") in _CHOICES


def _is_simple(node: object) -> bool:
    if isinstance(node, list):
        return all(map(_is_simple, node))
    if not isinstance(node, dict):
        return True
    known = "class" not in node or node["class"] in _CONDITIONS
    return known and all(map(_is_simple, node.values()))
