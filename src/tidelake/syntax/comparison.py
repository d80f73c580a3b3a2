"""Comparisons of columns with literals, joined by AND: the tree that DuckDB's parser makes of them.

Most conditions are such. DuckDB takes 8 ms to open when a process reads its first one, and half a
millisecond for each that is new. What is not certainly one of these is left to DuckDB.
"""

from __future__ import annotations

import re
from typing import Any

from tidelake.syntax.keywords import KEYWORDS

_TEST = re.compile(
    r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)[ \t\n]*(?P<operator><=|>=|<>|!=|==|=|<|>)"
    r"(?:[ \t\n]*(?:(?P<kind>DATE|TIMESTAMP|TIMESTAMPTZ)[ \t\n]*)?(?P<text>'[^'\0]*')"
    r"|(?:[ \t\n]*|[ \t\n]+(?P<minus>-))(?P<whole>[0-9]+)(?:\.(?P<rest>[0-9]+))?)",
    re.IGNORECASE,
)
_AND = re.compile(r"[ \t\n]+(?P<and>AND)[ \t\n]+", re.IGNORECASE)
_OPERATORS = {
    "=": "COMPARE_EQUAL",
    "==": "COMPARE_EQUAL",
    "<>": "COMPARE_NOTEQUAL",
    "!=": "COMPARE_NOTEQUAL",
    "<": "COMPARE_LESSTHAN",
    "<=": "COMPARE_LESSTHANOREQUALTO",
    ">": "COMPARE_GREATERTHAN",
    ">=": "COMPARE_GREATERTHANOREQUALTO",
}
_KINDS = {
    "DATE": "DATE",
    "TIMESTAMP": "TIMESTAMP",
    "TIMESTAMPTZ": "TIMESTAMP WITH TIME ZONE",
}
_NOWHERE = 2**64 - 1
_MOST_DIGITS = 18
_MOST_INTEGER = 2**31 - 1


def comparisons(text: str) -> dict[str, Any] | None:
    """The tree of all of the text; None if it is, or may be, anything else."""
    tests: list[dict[str, Any]] = []
    joined: int | None = None
    at = 0
    while text.isascii() and (found := _TEST.match(text, at)):
        test = _comparison(found)
        if test is None:
            return None
        tests.append(test)
        if (end := found.end()) == len(text):
            return test if joined is None else _all(tests, joined)
        following = _AND.match(text, end)
        if following is None:
            return None
        joined = following.start("and") if joined is None else joined
        at = following.end()
    return None


def _all(tests: list[dict[str, Any]], at: int) -> dict[str, Any]:
    return _node("CONJUNCTION", "CONJUNCTION_AND", at, children=tests)


def _comparison(found: re.Match[str]) -> dict[str, Any] | None:
    name = found["name"]
    held = _text(found["text"]) if found["text"] else _number(found)
    if held is None or name.lower() in KEYWORDS:
        return None
    at = next(found.start(part) for part in ("text", "minus", "whole") if found[part])
    left = _node("COLUMN_REF", "COLUMN_REF", found.start("name"), column_names=[name])
    right = _node("CONSTANT", "VALUE_CONSTANT", at, value=held)
    if found["kind"]:
        right = _cast(right, _KINDS[found["kind"].upper()])
    kind = _OPERATORS[found["operator"]]
    return _node("COMPARISON", kind, found.start("operator"), left=left, right=right)


def _cast(child: dict[str, Any], kind: str) -> dict[str, Any]:
    to = {"id": kind, "type_info": None}
    return _node("CAST", "OPERATOR_CAST", _NOWHERE, child=child, cast_type=to, try_cast=False)


def _node(kind: str, which: str, at: int, **more: Any) -> dict[str, Any]:
    return {"class": kind, "type": which, "alias": "", "query_location": at, **more}


def _text(written: str) -> dict[str, Any]:
    return _value("VARCHAR", None, written[1:-1])


def _number(found: re.Match[str]) -> dict[str, Any] | None:
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


def _value(kind: str, info: dict[str, Any] | None, value: object) -> dict[str, Any]:
    return {"type": {"id": kind, "type_info": info}, "is_null": False, "value": value}
