"""Functions of the lake's own where a table can stand: `FROM history('t', key => 'ACME')`.

DuckDB's parser says what is called; what stands between the brackets is read as it was written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from tidelake.engine.export import as_dicts
from tidelake.errors import Invalid, TidelakeError, Unsupported
from tidelake.model.literal import Value
from tidelake.model.names import fold, quote, text_literal
from tidelake.syntax import tree
from tidelake.syntax.harmless import refuse_harm
from tidelake.syntax.tokens import Edit, Token, apply_edits, depths, tokens
from tidelake.syntax.tree import Node

if TYPE_CHECKING:
    from tidelake.engine.local.engine import LocalEngine

FUNCTIONS = frozenset(
    {
        "across_tenants",
        "asof_join",
        "changes",
        "changes_of_belief",
        "complete_through",
        "coverage",
        "diff",
        "gaps",
        "history",
        "last_complete_window",
        "missing",
        "snapshots",
        "table_files",
        "tables",
        "tags",
    }
)
_PLAIN = ("VARCHAR", "INTEGER", "BIGINT")
_BEFORE = ("(", ",", "[", ":", "=>", ":=")
_QUERIES = ("SELECT", "WITH", "FROM", "VALUES")
_CONSTANT = "give values, or bind them as parameters"


@dataclass(frozen=True, slots=True)
class Argument:
    """What is given to a function, by name or, without one, by its place."""

    name: str
    node: Node
    written: str


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a function, from its name to the closing bracket."""

    name: str
    alias: str
    first: Token
    last: Token
    arguments: tuple[Argument, ...]

    def replaced(self, relation: str) -> Edit:
        """With another relation in its place, under the name that it had."""
        called = "" if self.alias else f" AS {quote(self.name)}"
        return Edit(self.first.start, self.last.end + 1, f"{relation}{called}")

    def values(
        self, local: LocalEngine, given: Mapping[str, Value]
    ) -> tuple[list[Any], dict[str, Any]]:
        """The values of its arguments, by place and by name."""
        found = [_known(each, given) for each in self.arguments]
        open_ = [place for place, value in enumerate(found) if value is _UNKNOWN]
        if open_:
            answers = self._computed(local, [self.arguments[place] for place in open_], given)
            found = [
                answers[open_.index(place)] if value is _UNKNOWN else value
                for place, value in enumerate(found)
            ]
        pairs = list(zip(self.arguments, found, strict=True))
        names = [fold(each.name) for each in self.arguments if each.name]
        if twice := next((each for each in names if names.count(each) > 1), None):
            raise Invalid(f"{self.name}() is given {twice} twice", hint="give it once")
        return (
            [value for each, value in pairs if not each.name],
            {fold(each.name): value for each, value in pairs if each.name},
        )

    def _computed(
        self, local: LocalEngine, arguments: Sequence[Argument], given: Mapping[str, Value]
    ) -> list[Any]:
        for each in arguments:
            refuse_harm(each.node, f"{self.name}()")
            if any(n.get("class") in ("COLUMN_REF", "SUBQUERY") for n in tree.walk(each.node)):
                raise Unsupported(
                    f"{self.name}() is given {each.written}, which looks at rows", hint=_CONSTANT
                )
        chosen = ", ".join(f"({each.written}) AS a{n}" for n, each in enumerate(arguments))
        names = {
            node["identifier"]
            for each in arguments
            for node in tree.walk(each.node)
            if node.get("class") == "PARAMETER"
        }
        used = {name: value for name, value in given.items() if name in names}
        try:
            (row,) = as_dicts(local.query(f"SELECT {chosen}", {}, used).to_arrow())
        except TidelakeError as error:
            raise Invalid(f"{self.name}(): {error.message}", hint=_CONSTANT) from error
        return [_in_python(value) for value in row.values()]


def _in_python(value: Any) -> Any:
    """A value as Python's methods take it: an interval is a span, as long as it can be one."""
    if isinstance(value, Mapping):
        return {name: _in_python(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_in_python(each) for each in value]
    if not hasattr(value, "nanoseconds") or not hasattr(value, "months"):
        return value
    shorter = timedelta(days=value.days, microseconds=value.nanoseconds // 1000)
    if value.months and shorter:
        return value
    return f"{value.months}mo" if value.months else shorter


_UNKNOWN = object()


def _known(argument: Argument, given: Mapping[str, Value]) -> object:
    """The value of what need not be computed."""
    node = argument.node
    if node.get("class") == "PARAMETER":
        return given[node["identifier"]]
    if node.get("class") == "CONSTANT" and node["value"]["type"]["id"] in _PLAIN:
        return None if node["value"]["is_null"] else node["value"]["value"]
    return _UNKNOWN


def with_texts(sql: str) -> tuple[str, list[str]]:
    """The same query, in which sides of point-in-time joins that are queries in brackets are
    texts, and the names of the parameters in these. DuckDB lets a function have one such argument
    at most, and no moments in it."""
    words, edits, at = tokens(sql), list[Edit](), 0
    while at < len(words) - 1:
        if words[at].word == "ASOF_JOIN" and words[at + 1].text == "(":
            stop = at + _length(words[at + 1 :])
            edits += _queries(sql, words[at + 1 : stop + 1])
            at = stop
        at += 1
    spans = [(edit.start, edit.stop) for edit in edits]
    within = [token for token in words if any(s < token.start < e for s, e in spans)]
    names = [token.text[1:] for token in within if token.kind == "parameter"]
    return (apply_edits(sql, edits), names) if edits else (sql, [])


def _queries(sql: str, words: Sequence[Token]) -> Iterator[Edit]:
    """Queries in brackets, where a value could stand, each as a text."""
    at = 1
    while at < len(words) - 1:
        begins = words[at].kind == "sign" and words[at].text == "("
        if begins and words[at - 1].text in _BEFORE and words[at + 1].word in _QUERIES:
            stop = at + _length(words[at:]) - 1
            first, last = words[at], words[stop]
            yield Edit(first.start, last.end + 1, text_literal(sql[first.start + 1 : last.end]))
            at = stop
        at += 1


def _length(words: Sequence[Token]) -> int:
    """How many words there are up to the end of the bracket that the first one opens."""
    for place, (token, depth) in enumerate(depths(words), start=1):
        if depth == 1 and token.kind == "sign" and token.text == ")":
            return place
    return len(words)


def calls(
    node: Node, sql: str, words: Sequence[Token], known: frozenset[str] = FUNCTIONS
) -> Iterator[Call]:
    """All calls of the lake's functions in a query."""
    starts = {token.start: at for at, token in enumerate(words)}
    for each in tree.walk(node):
        if each.get("type") != "TABLE_FUNCTION":
            continue
        function = each["function"]
        name = fold(str(function.get("function_name", "")))
        if name not in known or function["schema"] or function["catalog"]:
            continue
        place = tree.place(function, sql)
        first = starts.get(-1 if place is None else place)
        if first is None:
            raise Unsupported(f"cannot tell where {name}() stands", hint="write it in one piece")
        yield _call(name, each, words[first:], sql)


def _call(name: str, node: Node, words: Sequence[Token], sql: str) -> Call:
    within: list[list[Token]] = [[]]
    last = words[1]
    for token, depth in depths(words[1:]):
        last = token
        if depth == 1 and token.text == ")":
            break
        if depth == 1 and token.text == ",":
            within.append([])
        elif not (depth == 1 and token.text == "("):
            within[-1].append(token)
    parts = [part for part in within if part]
    children = node["function"]["children"]
    arguments = tuple(
        _argument(child, part, sql) for child, part in zip(children, parts, strict=True)
    )
    return Call(name, str(node["alias"]), words[0], last, arguments)


def _argument(node: Node, words: Sequence[Token], sql: str) -> Argument:
    named = len(words) > 2 and words[1].text in ("=>", ":=")
    start = words[2 if named else 0]
    written = sql[start.start : words[-1].end + 1]
    return Argument(words[0].text if named else "", node, written)
