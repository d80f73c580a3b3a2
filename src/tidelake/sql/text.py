"""A query in DuckDB's SQL as its text: the tables, functions of the lake, moments and parameters in
it, with their places.

DuckDB's own parser says what is a table. All that is not one of these stays as it was written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from tidelake.errors import Invalid, Unsupported
from tidelake.model.literal import Value, sql_literal
from tidelake.model.names import fold
from tidelake.sql.calls import Call, calls, with_texts
from tidelake.sql.clauses import (
    AFTER_A_TABLE,
    PORTION,
    Finder,
    FoundClause,
    MomentClause,
    with_clause,
)
from tidelake.sql.parameters import SPELLED, parameters
from tidelake.sql.words import HINT
from tidelake.syntax import tree
from tidelake.syntax.tokens import Edit, Token, apply_edits, blank, tokens
from tidelake.syntax.tree import Node

_KEYWORDS = ("END", "ON", "TABLE", "TO")
"""Of the names of arguments."""
_NAMING = ("=>", ":=")
_SHOWN = {
    "SHOW TABLES": "SELECT name FROM tables() WHERE schema = 'main' ORDER BY name",
    "SHOW ALL TABLES": "FROM tables() ORDER BY ALL",
}
_LISTS = ("TABLES", "DATABASES", "SCHEMAS", "VARIABLES")
_SHOWS = ("DESCRIBE", "DESC", "SHOW", "SUMMARIZE")


@dataclass(slots=True)
class Table:
    """A table where a query names it. `select` is the query around it, if that reads it as it is;
    `before` is the word before it."""

    node: Node
    first: Token
    last: Token
    before: Token | None
    select: Node | None = None
    clauses: tuple[MomentClause, ...] = ()

    @property
    def name(self) -> str:
        return str(self.node["table_name"])

    @property
    def schema(self) -> str:
        return str(self.node["schema_name"])

    @property
    def alias(self) -> str:
        """What the rest of the query calls it."""
        return str(self.node["alias"] or self.name)

    def replaced(self, relation: str, alias: str) -> list[Edit]:
        """With another relation in its place, under the name that it had."""
        called = "" if self.node["alias"] else f" AS {alias}"
        said = self.before.word if self.before else ""
        begin = "FROM " if said in _SHOWS else ""
        edits = [Edit(self.first.start, self.last.end + 1, f"{begin}{relation}{called}")]
        if said == "TABLE" and self.before:
            edits.append(Edit(self.before.start, self.before.end + 1, "FROM"))
        return edits


@dataclass(frozen=True, slots=True)
class Text:
    """One query. `sql` is what DuckDB reads: its moments are blanks, and its parameters have
    names. `in_sides` are those within queries that are sides of point-in-time joins."""

    sql: str
    node: Node
    tables: Sequence[Table]
    found: Sequence[Token]
    marks: int = 0
    moments: Sequence[MomentClause] = field(default=())
    calls: Sequence[Call] = field(default=())
    in_sides: Sequence[str] = field(default=())

    @property
    def is_passage(self) -> bool:
        """Whether all of it is one table or one call of a function, whose rows it goes through
        once: nothing joins or filters them, which DuckDB would have the rows' source do."""
        node = self.node
        parts = ("where_clause", "qualify", "sample")
        return (
            len(self.calls) + len(self.tables) == 1
            and node["type"] == "SELECT_NODE"
            and node["from_table"]["type"] == ("TABLE_FUNCTION" if self.calls else "BASE_TABLE")
            and not node["from_table"].get("sample")
            and not any(node.get(part) for part in parts)
            and all(each["type"] == "ORDER_MODIFIER" for each in node["modifiers"])
            and not any(each.get("class") == "SUBQUERY" for each in tree.walk(node))
            and not node["cte_map"]["map"]
        )

    def parameter_names(self) -> list[str]:
        """Of every parameter, those in moments and in sides of joins too."""
        own = [token.text[1:] for token in self.found if token.kind == "parameter"]
        moments = [each for clause in self.moments for each in (clause.moment, clause.until)]
        timed = [n.name for each in moments if each is not None for n in parameters(each)]
        return [*own, *timed, *self.in_sides]

    def used(self, values: Mapping[str, Value]) -> dict[str, Any]:
        """The values that DuckDB is to bind."""
        names = {token.text[1:] for token in self._bound()}
        return {name: value for name, value in values.items() if name in names}

    def literals(self, values: Mapping[str, Value]) -> list[Edit]:
        """Its parameters as values."""
        return [
            Edit(token.start, token.end + 1, f"({sql_literal(values[token.text[1:]])})")
            for token in self._bound()
        ]

    def _bound(self) -> Iterator[Token]:
        """Parameters that are not given to functions of the lake: these have their values."""
        spans = [(call.first.start, call.last.end) for call in self.calls]
        for token in self.found:
            inside = any(start < token.start < end for start, end in spans)
            if token.kind == "parameter" and not inside:
                yield token


def read(text: str) -> Text:
    """NotSelect for what DuckDB reads and does not show."""
    words = tokens(text)
    while words and words[-1].text == ";" and words[-1].kind == "sign":
        words.pop()
    if shown := _SHOWN.get(" ".join(word.word for word in words)):
        text, words = shown, tokens(shown)
    text, words = _describe(text, words)
    text, words = _quote_names(text[: words[-1].end + 1] if words else "", words)
    sql, marks = number_parameters(text, words)
    refuse_mixture(tokens(sql))
    sql, in_sides = with_texts(sql)
    words = tokens(sql)
    finder = Finder(sql, words)
    clauses = [(each, clause_of(each, finder, sql, words)) for each in finder.clauses()]
    spans = [(words[each.span[0]].start, words[each.span[1] - 1].end + 1) for each, _ in clauses]
    sql = apply_edits(sql, [blank(*span) for span in spans])
    words = tokens(sql)
    node = tree.select(sql)
    tables = list(_tables(node, sql, words))
    for (start, _), (_, clause) in zip(spans, clauses, strict=True):
        _attach(clause, start, tables, words)
    moments = [clause for _, clause in clauses]
    called = list(calls(node, sql, words))
    return Text(sql, node, _own(tables), words, marks, moments, called, in_sides)


def _describe(text: str, words: list[Token]) -> tuple[str, list[Token]]:
    """`SHOW t` as `DESC t`, which is the same: DuckDB 2 shows settings so too."""
    asked = [
        word
        for at, word in enumerate(words[:-1])
        if word.word == "SHOW"
        and (at == 0 or words[at - 1].text == "(")
        and (at + 2 == len(words) or words[at + 2].text == ")")
        and words[at + 1].word not in _LISTS
    ]
    for word in asked:
        text = f"{text[: word.start]}DESC{text[word.end + 1 :]}"
    return text, tokens(text[: words[-1].end + 1]) if asked else words


def _quote_names(text: str, words: list[Token]) -> tuple[str, list[Token]]:
    """`end => …` with the name in quotes: DuckDB takes it for a keyword."""
    named = [
        word
        for word, after in pairwise(words)
        if word.word in _KEYWORDS and after.text in ("=>", ":=")
    ]
    if not named:
        return text, words
    quoted = [Edit(word.start, word.end + 1, f'"{word.text}"') for word in named]
    text = apply_edits(text, quoted)
    return text, tokens(text)


def number_parameters(text: str, words: Sequence[Token]) -> tuple[str, int]:
    """The text with a number for every `?`, and how many they are."""
    marks = [token for token in words if token.text == "?" and token.kind == "parameter"]
    edits = [Edit(token.start, token.end + 1, f"${at}") for at, token in enumerate(marks, 1)]
    return apply_edits(text, edits), len(marks)


def refuse_mixture(words: Sequence[Token]) -> None:
    names = [token.text[1:] for token in words if token.kind == "parameter"]
    if len({name.isdigit() for name in names}) > 1:
        raise Invalid(
            "the statement mixes kinds of parameters",
            hint=f"use one of {SPELLED} throughout",
        )


def clause_of(
    found: FoundClause, finder: Finder, text: str, words: Sequence[Token]
) -> MomentClause:
    """A clause with the expressions of its moments."""

    def read(span: tuple[int, int]) -> Any:
        return _moment(text[words[span[0]].start : words[span[1] - 1].end + 1])

    moment = read(found.moment)
    until = None if found.until is None else read(found.until)
    return MomentClause(found.clock, found.kind, moment, finder.written(*found.span), until)


def _moment(written: str) -> Any:
    import sqlglot
    from sqlglot import exp

    try:
        return sqlglot.parse_one(written, read="duckdb", into=exp.Condition)
    except sqlglot.errors.SqlglotError:
        raise Invalid(f"cannot read the moment {written!r}", hint="… AS OF '2024-03-15'") from None


def _attach(
    clause: MomentClause, start: int, tables: Sequence[Table], words: Sequence[Token]
) -> None:
    if clause.clock == PORTION:
        raise Invalid(
            f"{clause.written} changes nothing in a query",
            hint="it is for UPDATE and DELETE; a query has FOR VALID_TIME FROM … TO …",
        )
    before = [table for table in tables if table.last.end < start]
    table = max(before, key=lambda table: table.last.end, default=None)
    between = [word for word in words if table and table.last.end < word.start < start]
    if table is None or not _is_alias(table, between):
        raise Invalid(f"{clause.written} follows no table", hint=AFTER_A_TABLE)
    if table.select is _CTE:
        raise Invalid(
            f"{table.name}, a name of the query's own, cannot be asked for {clause.written}",
            hint=AFTER_A_TABLE,
        )
    table.clauses = with_clause(table.name, table.clauses, clause)


def _is_alias(table: Table, between: Sequence[Token]) -> bool:
    rest = list(between[1:] if between and between[0].word == "AS" else between)
    if not rest:
        return True
    if rest[0].text != table.node["alias"]:
        return False
    listed = [token.text for token in rest[1:]]
    return not listed or (listed[0] == "(" and listed[-1] == ")" and "(" not in listed[1:])


_CTE: Node = {"type": "CTE"}


def _own(tables: Sequence[Table]) -> list[Table]:
    return [table for table in tables if table.select is not _CTE]


def _tables(node: Node, text: str, words: Sequence[Token]) -> Iterator[Table]:
    starts = {token.start: at for at, token in enumerate(words)}
    for found, select in _references(node, frozenset(), None):
        place = tree.place(found, text)
        first = _after_word(found, words) if place is None else starts.get(place)
        parts = [found[part] for part in ("catalog_name", "schema_name", "table_name")]
        last = None if first is None else first + 2 * (len([p for p in parts if p]) - 1)
        if first is None or last is None or last >= len(words):
            raise Unsupported(f"cannot tell where {found['table_name']} stands", hint=HINT)
        before = words[first - 1] if first else None
        yield Table(found, words[first], words[last], before, select)


def _after_word(found: Node, words: Sequence[Token]) -> int | None:
    """Where a table stands of which DuckDB 2 does not say it, as in DESCRIBE, if there is but one
    place where it can."""
    name = found["catalog_name"] or found["schema_name"] or found["table_name"]
    places = [
        at
        for at, (before, word) in enumerate(pairwise(words), start=1)
        if before.word in ("TABLE", *_SHOWS) and word.text == name
    ]
    return places[0] if len(places) == 1 else None


def _references(
    node: object, ctes: frozenset[str], select: Node | None
) -> Iterator[tuple[Node, Node | None]]:
    """All tables, each with the query that reads it as it is; for the query's own names that is
    `_CTE`."""
    if isinstance(node, list):
        for each in node:
            yield from _references(each, ctes, None)
    if not isinstance(node, dict):
        return
    kind = node.get("type")
    if kind == "SHOW_REF" and not node.get("query"):
        raise Unsupported(
            "this SHOW is not supported",
            hint="SHOW TABLES; of one schema: SELECT name FROM tables() WHERE schema = 'sales'",
        )
    if kind == "BASE_TABLE":
        named = not node["schema_name"] and fold(node["table_name"]) in ctes
        yield node, _CTE if named else select
        return
    for name, value in node.items():
        if name == "cte_map":
            for key, inner in _in_sight(value["map"], ctes):
                yield from _references(inner, key, None)
    ctes |= {fold(entry["key"]) for entry in (node.get("cte_map") or {}).get("map", ())}
    for name, value in node.items():
        if name == "from_table":
            yield from _references(value, ctes, node if _is_plain(value) else None)
        elif name != "cte_map":
            yield from _references(value, ctes, select if kind == "JOIN" else None)


def _in_sight(
    entries: Sequence[Node], ctes: frozenset[str]
) -> Iterator[tuple[frozenset[str], Node]]:
    """A CTE sees those before it, and itself if it is recursive."""
    for entry in entries:
        name, query = fold(entry["key"]), entry["value"]
        recursive = query["query"]["node"]["type"] == "RECURSIVE_CTE_NODE"
        yield (ctes | {name} if recursive else ctes), query
        ctes |= {name}


def _is_plain(source: Node) -> bool:
    """Whether no join could bring back, or match with others, rows that a WHERE drops."""
    if source["type"] != "JOIN":
        return True
    inner = source["join_type"] == "INNER"
    plain = source["ref_type"] in ("REGULAR", "NATURAL", "CROSS")
    return inner and plain and _is_plain(source["left"]) and _is_plain(source["right"])
