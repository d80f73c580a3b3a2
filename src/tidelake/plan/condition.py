"""What the text of a condition may hold, the columns it may name, and the parts that it has.

DuckDB's own parser says what the text means. Parts that are understood become Predicate nodes;
the others stay as the caller wrote them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tidelake.errors import Invalid, NotFound
from tidelake.model.names import fold
from tidelake.model.predicate import And, Not, Opaque, Or, Predicate
from tidelake.model.schema import ROW_ID, ROW_SNAPSHOT, Column, Schema
from tidelake.plan.understand import understand
from tidelake.syntax import tree
from tidelake.syntax.harmless import refuse_harmful_calls
from tidelake.syntax.tokens import Token, depths, tokens, without_comments
from tidelake.syntax.tree import Node

VIRTUAL = (ROW_ID, ROW_SNAPSHOT)
"""Names that every table answers to beside its columns."""

WITHOUT_BRACKETS = frozenset(
    f"current_{name}" for name in ("catalog", "date", "role", "schema", "time", "timestamp", "user")
) | {"localtime", "localtimestamp", "session_user", "user"}
"""Functions that DuckDB calls without brackets, where there is no such column."""

_SCHEMAS = ("", "main", "pg_catalog", "system")
_JOINED: dict[str, tuple[str, type[And | Or]]] = {
    "CONJUNCTION_AND": ("AND", And),
    "CONJUNCTION_OR": ("OR", Or),
}


def parse(text: str, schema: Schema) -> Predicate:
    """One DuckDB condition as a Predicate; Invalid if it is anything else."""
    written = without_comments(text).rstrip("; \n\t")
    if not written:
        raise Invalid("the condition is empty", hint='leave where out, or write one: "x > 5"')
    whole = tree.expression(written)
    refuse_more_than_a_row(whole, f"the condition {text!r}")
    return _read(written, whole, schema)


def column_name(name: str, schema: Schema) -> str:
    """The name as the schema spells it; Invalid if there is no such column."""
    try:
        return schema.column(name).name
    except NotFound:
        if fold(name) in VIRTUAL:
            return fold(name)
    raise Invalid(
        f"the condition names {name!r}, which is not a column",
        hint=f"the columns are: {', '.join(schema.names)}",
    )


def find_column(name: str, schema: Schema) -> Column | None:
    """The column, or None for the virtual ones."""
    try:
        return schema.column(name)
    except NotFound:
        return None


def refuse_more_than_a_row(node: Node, what: str) -> None:
    """Invalid if it looks at anything but the columns of one row; Denied if it could look beyond
    the lake."""
    refuse_harmful_calls(node, what)
    for each in tree.walk(node):
        if held := _more_than_a_row(each):
            raise Invalid(f"{what} holds {held}", hint=_OF_A_ROW + _ELSEWHERE.get(held, ""))


_OF_A_ROW = "a condition can only look at the columns of one row"
_ELSEWHERE = {
    "a subquery": "; SELECT and MERGE INTO t USING (SELECT …) AS s ON t.id = s.id"
    " can look at other tables",
}
_REFUSED = {
    "WINDOW": "a window function",
    "PARAMETER": "a parameter",
    "STAR": "a star",
    "POSITIONAL_REFERENCE": "a position",
    "DEFAULT": "DEFAULT",
}


def _more_than_a_row(node: Node) -> str | None:
    kind = node.get("class")
    if kind == "SUBQUERY":
        return None if _is_of_a_list(node) else "a subquery"
    if kind == "FUNCTION" and node["function_name"].lower() in tree.aggregates():
        return f"an aggregate: {node['function_name']}"
    return _REFUSED.get(str(kind))


def _is_of_a_list(node: Node) -> bool:
    """`x = ANY(list)`, which looks like a subquery to the parser."""
    inner = node["subquery"]["node"]
    chosen = inner.get("select_list") or [{}]
    return (
        inner.get("from_table", {}).get("type") == "EMPTY"
        and len(chosen) == 1
        and chosen[0].get("function_name") == "unnest"
    )


def references(node: object, bound: frozenset[str] = frozenset()) -> Iterator[Node]:
    """The columns that an expression names, without the variables of its lambdas."""
    if isinstance(node, list):
        for each in node:
            yield from references(each, bound)
    elif isinstance(node, dict):
        if node.get("class") == "COLUMN_REF":
            if fold(node["column_names"][0]) not in bound:
                yield node
            return
        if (names := _before_a_dot(node)) and fold(names[0]) not in bound:
            yield {**node, "class": "COLUMN_REF", "column_names": names}
        for name, value in node.items():
            below = value
            if name == "children" and str(node.get("function_name")).lower() in tree.lambdas():
                below, taken = value[:1], value[1:]
                for each in taken:
                    is_lambda = each["class"] == "LAMBDA"
                    yield from _of_lambda(each, bound) if is_lambda else references(each, bound)
            yield from references(below, bound)


def _before_a_dot(node: Node) -> list[str]:
    """The column in `s.upper()`, which the parser takes for the schema of a function."""
    if node.get("class") != "FUNCTION" or node["schema"].lower() in _SCHEMAS:
        return []
    return [name for name in (node["catalog"], node["schema"]) if name]


def _of_lambda(node: Node, bound: frozenset[str]) -> Iterator[Node]:
    """Elsewhere than in functions that take a lambda, its arrow is JSON's."""
    lhs = node["lhs"]
    listed = lhs["children"] if lhs["class"] == "FUNCTION" else [lhs]
    names = {fold(name) for each in listed for name in each.get("column_names", ())}
    return references(node["expr"], bound | names)


def is_called(reference: Node) -> bool:
    """Whether, without a column of its name, it is a function that needs no brackets."""
    names = reference["column_names"]
    return len(names) == 1 and fold(names[0]) in WITHOUT_BRACKETS


def _names(node: Node, schema: Schema) -> frozenset[str]:
    found = set()
    for each in references(node):
        name = each["column_names"][0]
        if find_column(name, schema) is not None or not is_called(each):
            found.add(column_name(name, schema))
    return frozenset(found)


def _read(text: str, node: Node, schema: Schema) -> Predicate:
    """Requires: the node is what DuckDB reads in the text."""
    found = _unwrapped(text, node)
    if node["type"] in _JOINED:
        word, kind = _JOINED[node["type"]]
        parts = [(part, tree.expression(part)) for part in _split(found, word)]
        if len(parts) > 1 and _flat(node["type"], [each for _, each in parts]) == tree.plain(
            node["children"]
        ):
            return kind(tuple(_read(part, each, schema) for part, each in parts))
    elif node["type"] == "OPERATOR_NOT" and (rest := _behind_not(found)) is not None:
        inner = tree.expression(rest)
        if [tree.plain(inner)] == tree.plain(node["children"]):
            return Not(_read(rest, inner, schema))
    names = _names(node, schema)
    test = understand(node, schema)
    return Opaque(found, names) if test is None else test


def _flat(kind: str, nodes: Sequence[Node]) -> list[Node]:
    """What DuckDB makes of such parts: those of the same kind become one."""
    groups = (each["children"] if each["type"] == kind else [each] for each in nodes)
    return [tree.plain(each) for group in groups for each in group]


def _unwrapped(text: str, node: Node) -> str:
    """Without the brackets around all of it, which DuckDB does not see."""
    found = tokens(text)
    while len(found) > 2 and found[0].text == "(" and found[-1].text == ")":
        inner = text[found[0].end + 1 : found[-1].start].strip()
        if any(depth == 0 for _, depth in list(depths(found))[:-1]) or not _is(inner, node):
            break
        text, found = inner, tokens(inner)
    return text


def _is(text: str, node: Node) -> bool:
    try:
        return bool(tree.plain(tree.expression(text)) == tree.plain(node))
    except Invalid:
        return False


def _split(text: str, word: str) -> list[str]:
    """The parts between this word where no bracket stands around it."""
    found = [token for token, depth in depths(tokens(text)) if depth == 0]
    edges = [token for token in _joining(found) if token.word == word]
    starts = [0, *(edge.end + 1 for edge in edges)]
    stops = [*(edge.start for edge in edges), len(text)]
    return [text[start:stop].strip() for start, stop in zip(starts, stops, strict=True)]


def _joining(found: Sequence[Token]) -> Iterator[Token]:
    """All words but the AND that belongs to a BETWEEN."""
    between = 0
    for token in found:
        between += token.word == "BETWEEN"
        if token.word == "AND" and between:
            between -= 1
        else:
            yield token


def _behind_not(text: str) -> str | None:
    first = tokens(text)[0]
    return text[first.end + 1 :].strip() if first.word == "NOT" else None
