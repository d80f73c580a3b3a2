"""What DuckDB's own parser makes of a text.

Nodes are dictionaries, as `json_serialize_sql` of DuckDB 1.5 gives them. No other parser agrees
with DuckDB on all precedences, casts and operators, so what is concluded from SQL is concluded
from these. Those of the plainest conditions are made without it, in `comparison.py`, and are the
same.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from functools import cache, lru_cache
from threading import Lock
from typing import TYPE_CHECKING, Any

from tidelake import duck
from tidelake.errors import Invalid, TidelakeError, Unsupported
from tidelake.model.names import text_literal
from tidelake.syntax import tree_forms
from tidelake.syntax.comparison import comparisons

if TYPE_CHECKING:
    import duckdb

Node = dict[str, Any]

_PLACE = "query_location"
_NOWHERE = 2**64 - 1
_ONE = "write one condition or expression in DuckDB's SQL, such as x > 5 AND y = 'a'"


_OTHERS = {
    "OPTIMIZE": "CALL compact('t') merges files",
    "RESTORE": "CALL rollback('t', 3) brings a snapshot back",
    "SHOW": "SHOW TABLES and DESCRIBE t tell what there is",
    "DESCRIBE": "DESCRIBE t tells the columns, FROM snapshots('t') the history",
    "ANALYZE": "statistics are kept with every write",
}
"""Statements of other systems."""


class NotSelect(Unsupported):
    """DuckDB can read it, and it is something else than a query that its parser would show."""


def select(text: str) -> Node:
    """The tree of one query. Raises what DuckDB says if it cannot read it, NotSelect if it can
    and does not show it."""
    ((found,),) = _parsed([text], "cannot read the SQL", _in_duckdb(text))
    node: Node = found["node"]
    return node


def _in_duckdb(text: str) -> str:
    """What statements of other systems are called here."""
    first = (text.split(None, 1) or [""])[0].upper()
    said = "write one query in DuckDB's SQL"
    return f"{said}; {_OTHERS[first]}" if first in _OTHERS else said


def expression(text: str) -> Node:
    """The tree of one expression; Invalid, in DuckDB's words, if it is anything else."""
    return _expression(text)


@lru_cache(maxsize=1024)
def _expression(text: str) -> Node:
    return comparisons(text) or by_duckdb(text)


def by_duckdb(text: str) -> Node:
    """The same, with nothing found out beforehand."""
    doing = f"cannot read {text!r}"
    ways = [f"SELECT {open_}{text}\n{close}" for open_, close in _WAYS]
    bare, bracketed = map(_single, _parsed(ways, doing, _ONE))
    if bare is None or bracketed is None or plain(bare) != plain(bracketed):
        raise Invalid(f"{doing}: it is not one expression", hint=_ONE)
    found: Node = move_node(bare, -len("SELECT "))
    return found


_WAYS = (("", ""), ("(", ")"))


def _single(found: list[Node]) -> Node | None:
    """The one thing that a SELECT without anything else selects."""
    node = found[0]["node"]
    chosen = node.get("select_list") or []
    other = {
        name: value
        for name, value in node.items()
        if value and name not in ("type", "select_list", "from_table", "aggregate_handling")
    }
    alone = len(found) == 1 and len(chosen) == 1 and not chosen[0].get("alias")
    empty = node.get("from_table", {}).get("type") == "EMPTY" and not _is_said(other)
    return chosen[0] if alone and empty else None


def _is_said(value: Any) -> bool:
    """Whether a part of a query says anything."""
    if isinstance(value, dict):
        return any(_is_said(each) for each in value.values())
    if isinstance(value, list):
        return any(_is_said(each) for each in value)
    return bool(value)


def plain(node: Any) -> Any:
    """The node without where it stood."""
    if isinstance(node, dict):
        return {name: plain(value) for name, value in node.items() if name != _PLACE}
    return [plain(each) for each in node] if isinstance(node, list) else node


def move_node(node: Any, by: int) -> Any:
    """The node as if its text had begun elsewhere."""
    if isinstance(node, dict):
        return {
            name: value + by if name == _PLACE and value != _NOWHERE else move_node(value, by)
            for name, value in node.items()
        }
    return [move_node(each, by) for each in node] if isinstance(node, list) else node


def place(node: Node, text: str) -> int | None:
    """Where in the text the node began; DuckDB counts bytes."""
    at = node.get(_PLACE, _NOWHERE)
    if at == _NOWHERE:
        return None
    return int(at) if text.isascii() else len(text.encode()[:at].decode(errors="replace"))


def walk(node: Any) -> Iterator[Node]:
    """All nodes, each before those below it."""
    if isinstance(node, dict):
        if "class" in node or "type" in node:
            yield node
        for value in node.values():
            yield from walk(value)
    elif isinstance(node, list):
        for each in node:
            yield from walk(each)


def inside(node: Any) -> Iterator[Node]:
    """An expression and all below it, not those of its subqueries."""
    if isinstance(node, list):
        for each in node:
            yield from inside(each)
    elif isinstance(node, dict):
        if "class" in node:
            yield node
        for name, each in node.items():
            if name != "subquery":
                yield from inside(each)


def replace_expressions(
    node: Any, change: Callable[[Node], Node | None], *, deep: bool = False
) -> Any:
    """A copy in which `change` has put other expressions; what it puts is not looked into, nor
    are subqueries unless it goes `deep`."""
    if isinstance(node, list):
        return [replace_expressions(each, change, deep=deep) for each in node]
    if not isinstance(node, dict):
        return node
    if "class" in node and (other := change(node)) is not None:
        return {**other, "alias": other.get("alias") or node.get("alias", "")}
    return {
        name: each
        if name == "subquery" and not deep
        else replace_expressions(each, change, deep=deep)
        for name, each in node.items()
    }


def reference(name: str) -> Node:
    """A column by its name alone."""
    return {
        "class": "COLUMN_REF",
        "type": "COLUMN_REF",
        "alias": "",
        "query_location": 0,
        "column_names": [name],
    }


def unpack(answer: str) -> Node:
    """What `json_serialize_sql` said, in the one form whatever DuckDB said it. DuckDB 2 says
    nothing of bits, which older versions do not write so."""
    if not answer:
        raise Unsupported(
            "the SQL holds a literal that DuckDB does not show, such as b'101'",
            hint="write a cast of a text: '101'::BIT",
        )
    found: Node = json.loads(answer)
    return tree_forms.older_form(found, types) if duck.has_new_trees() else found


@cache
def types() -> Mapping[str, str]:
    """All names of DuckDB's own types, in small letters, and which type each stands for."""
    return dict(
        _asked(
            "SELECT DISTINCT lower(type_name), logical_type FROM duckdb_types()"
            " WHERE database_name = 'system' AND type_name != 'JSON'"
        )
    )


@cache
def aggregates() -> frozenset[str]:
    """Functions over many rows, under names that no function of one row has."""
    rows = _asked(
        "SELECT lower(function_name) FROM duckdb_functions() GROUP BY ALL"
        " HAVING bool_and(function_type = 'aggregate')"
    )
    return frozenset(name for (name,) in rows)


@cache
def functions() -> frozenset[str]:
    """All that DuckDB has."""
    rows = _asked("SELECT DISTINCT lower(function_name) FROM duckdb_functions()")
    return frozenset(name for (name,) in rows)


@cache
def lambdas() -> frozenset[str]:
    """Functions that take a lambda."""
    rows = _asked(
        "SELECT DISTINCT lower(function_name) FROM duckdb_functions()"
        " WHERE list_contains(parameter_types, 'LAMBDA')"
    )
    return frozenset(name for (name,) in rows)


def _parsed(texts: list[str], doing: str, hint: str) -> list[list[Node]]:
    """The statements of each text; all are read at once."""
    if not all(text.isascii() or _is_unicode(text) for text in texts):
        raise Invalid(f"{doing[:80]}…: it holds lone surrogates", hint="leave them out")
    try:
        (answers,) = _serialized(texts)
        found = [unpack(answer) for answer in answers]
    except RecursionError:
        raise Invalid(f"{doing}: it is nested too deeply", hint="write it in parts") from None
    return [_statements(each, doing, hint) for each in found]


def _serialized(texts: list[str]) -> list[Any]:
    """As literals, which have no zero bytes. Parameters would have DuckDB import pandas, if there
    is one, and a new process wait for that."""
    if any("\0" in text for text in texts):
        said, values = [f"${place}" for place in range(1, len(texts) + 1)], texts
    else:
        said, values = [text_literal(text) for text in texts], []
    return _asked(f"SELECT {', '.join(map(_SERIALIZED.format, said))}", *values)


def _statements(found: Node, doing: str, hint: str) -> list[Node]:
    if found["error"]:
        raise _told(doing, found, hint)
    if not found["statements"]:
        raise Invalid(f"{doing}: there is nothing to read", hint=hint)
    statements: list[Node] = found["statements"]
    return statements


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= letter <= "\udfff" for letter in text)


_SERIALIZED = (
    "json_serialize_sql({}, skip_null := false, skip_empty := false, skip_default := false)"
)


def _told(doing: str, found: Node, hint: str) -> TidelakeError:
    said = str(found["error_message"]).split("\n")[0]
    if "Only SELECT statements" in said:
        return NotSelect(f"{doing}: it is not a query", hint=hint)
    if "storage version" in said:
        return Unsupported(f"{doing}: {said}", hint="write it in words that DuckDB 1.5 has too")
    return Invalid(f"{doing}: {said}", hint=hint)


class _Parser:
    """A DuckDB of this process that never sees any data."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self.lock = Lock()
        self.connection: duckdb.DuckDBPyConnection = duck.open_duckdb()
        self.connection.execute("SET threads = 1; PRAGMA disable_optimizer")  # half of the time


_parsers: list[_Parser] = []


def _asked(sql: str, *values: str) -> list[Any]:
    if not _parsers or _parsers[-1].process != os.getpid():  # a child must not use its parent's
        _parsers[:] = [_Parser()]
    parser = _parsers[-1]
    with parser.lock:
        return parser.connection.execute(sql, list(values) or None).fetchall()
