"""Tests of columns against literals, joined by AND: the tree that DuckDB's parser makes of them.

Most conditions are such. DuckDB takes 8 ms to open when a process reads its first one, and half a
millisecond for each that is new. What is not certainly one of these is left to DuckDB.
"""

from __future__ import annotations

import re
from typing import Any

from tidelake.syntax.keywords import KEYWORDS

_NAME = r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
_TEXT = r"(?:(?P<kind>DATE|TIMESTAMP|TIMESTAMPTZ)[ \t\n]*)?(?P<text>'[^'\0]*')"
_DIGITS = r"(?P<whole>[0-9]+)(?:\.(?P<rest>[0-9]+))?"
_COMPARED = re.compile(
    rf"{_NAME}[ \t\n]*(?P<sign><=|>=|<>|!=|==|=|<|>)"
    rf"(?:[ \t\n]*{_TEXT}|(?:[ \t\n]*|[ \t\n]+(?P<minus>-)){_DIGITS})",
    re.IGNORECASE,
)
_LISTED = re.compile(rf"{_NAME}[ \t\n]+(?P<sign>IN|NOT[ \t\n]+IN)[ \t\n]*\(", re.IGNORECASE)
_ITEM = re.compile(
    rf"[ \t\n]*(?:{_TEXT}|(?P<minus>-)?{_DIGITS})[ \t\n]*(?P<after>[,)])", re.IGNORECASE
)
_NULL = re.compile(rf"{_NAME}[ \t\n]+(?P<sign>IS[ \t\n]+(?:NOT[ \t\n]+)?NULL)", re.IGNORECASE)
_AND = re.compile(r"[ \t\n]+(?P<and>AND)[ \t\n]+", re.IGNORECASE)
_SIGNS = {
    "=": "COMPARE_EQUAL",
    "==": "COMPARE_EQUAL",
    "<>": "COMPARE_NOTEQUAL",
    "!=": "COMPARE_NOTEQUAL",
    "<": "COMPARE_LESSTHAN",
    "<=": "COMPARE_LESSTHANOREQUALTO",
    ">": "COMPARE_GREATERTHAN",
    ">=": "COMPARE_GREATERTHANOREQUALTO",
    "IN": "COMPARE_IN",
    "NOT IN": "COMPARE_NOT_IN",
    "IS NULL": "OPERATOR_IS_NULL",
    "IS NOT NULL": "OPERATOR_IS_NOT_NULL",
}
_KINDS = {
    "DATE": "DATE",
    "TIMESTAMP": "TIMESTAMP",
    "TIMESTAMPTZ": "TIMESTAMP WITH TIME ZONE",
}
_NOWHERE = 2**64 - 1
_MOST_DIGITS = 18
_MOST_INTEGER = 2**31 - 1

Node = dict[str, Any]


def comparisons(text: str) -> Node | None:
    """The tree of all of the text; None if it is, or may be, anything else."""
    tests: list[Node] = []
    joined: int | None = None
    at = 0
    while text.isascii() and (found := _test(text, at)):
        test, end = found
        tests.append(test)
        if end == len(text):
            return test if joined is None else _all(tests, joined)
        following = _AND.match(text, end)
        if following is None:
            return None
        joined = following.start("and") if joined is None else joined
        at = following.end()
    return None


def _test(text: str, at: int) -> tuple[Node, int] | None:
    """A test that begins there, and where it ends."""
    if found := _COMPARED.match(text, at):
        return _compared(found)
    if found := _NULL.match(text, at):
        return _about(found, [], found.end())
    if found := _LISTED.match(text, at):
        return _listed(found)
    return None


def _compared(found: re.Match[str]) -> tuple[Node, int] | None:
    left, right = _column(found), _literal(found)
    if left is None or right is None:
        return None
    at = found.start("sign")
    return _node("COMPARISON", _SIGNS[found["sign"]], at, left=left, right=right), found.end()


def _listed(found: re.Match[str]) -> tuple[Node, int] | None:
    items: list[Node] = []
    end = found.end()
    while item := _ITEM.match(found.string, end):
        literal = _literal(item)
        if literal is None:
            return None
        items.append(literal)
        end = item.end()
        if item["after"] == ")":
            return _about(found, items, end)
    return None


def _about(found: re.Match[str], others: list[Node], end: int) -> tuple[Node, int] | None:
    column = _column(found)
    if column is None:
        return None
    kind = _SIGNS[" ".join(found["sign"].upper().split())]
    return _node("OPERATOR", kind, found.start("sign"), children=[column, *others]), end


def _column(found: re.Match[str]) -> Node | None:
    name = found["name"]
    if name.lower() in KEYWORDS:
        return None
    return _node("COLUMN_REF", "COLUMN_REF", found.start("name"), column_names=[name])


def _literal(found: re.Match[str]) -> Node | None:
    if found["text"] is None:
        at = found.start("minus" if found["minus"] else "whole")
        held = _number(found)
        return None if held is None else _constant(at, held)
    constant = _constant(found.start("text"), _value("VARCHAR", None, found["text"][1:-1]))
    if found["kind"] is None:
        return constant
    to = {"id": _KINDS[found["kind"].upper()], "type_info": None}
    return _node("CAST", "OPERATOR_CAST", _NOWHERE, child=constant, cast_type=to, try_cast=False)


def _number(found: re.Match[str]) -> Node | None:
    whole, rest = found["whole"], found["rest"] or ""
    digits = whole + rest
    if len(digits) > _MOST_DIGITS:
        return None
    size = int(digits)
    value = -size if found["minus"] else size
    if not rest:
        return _value("INTEGER" if size <= _MOST_INTEGER else "BIGINT", None, value)
    info = {
        "type": "DECIMAL_TYPE_INFO",
        "alias": "",
        "extension_info": None,
        "width": len(digits),
        "scale": len(rest),
    }
    return _value("DECIMAL", info, value)


def _value(kind: str, info: Node | None, value: object) -> Node:
    return {"type": {"id": kind, "type_info": info}, "is_null": False, "value": value}


def _constant(at: int, value: Node) -> Node:
    return _node("CONSTANT", "VALUE_CONSTANT", at, value=value)


def _all(tests: list[Node], at: int) -> Node:
    return _node("CONJUNCTION", "CONJUNCTION_AND", at, children=tests)


def _node(kind: str, which: str, at: int, **more: Any) -> Node:
    return {"class": kind, "type": which, "alias": "", "query_location": at, **more}
