"""One statement, from text to a tree whose tables know the moments they are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidelake.errors import Invalid, Unsupported
from tidelake.session.sql_clauses import Clause, Finder, Found, attach, clauses_of
from tidelake.session.sql_words import HINT

if TYPE_CHECKING:
    from sqlglot import exp
    from sqlglot.tokenizer_core import Token


SPELLED = "?, $1 or $name"
"""How parameters are written."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement and how many of its parameters are written as `?`: those are numbered from 1 in
    the order of the text."""

    text: str
    tree: exp.Expr
    marks: int = 0

    def parameter_names(self) -> list[str]:
        """Of every parameter, as often as it stands there."""
        from sqlglot import exp

        nodes = list(parameters(self.tree))
        for node in nodes:
            if not isinstance(node, exp.Placeholder) or not node.name:
                raise Invalid(f"{node.sql('duckdb')} is not a parameter", hint=f"write {SPELLED}")
        return [node.name for node in nodes]


def parameters(tree: exp.Expr) -> Iterator[exp.Expr]:
    """Every parameter below, those in moments of tables too."""
    from sqlglot import exp

    for node in tree.walk():
        if isinstance(node, exp.Placeholder | exp.Parameter):
            yield node
        elif isinstance(node, exp.Table):
            for clause in clauses_of(node):
                yield from parameters(clause.moment)


def parsed(text: str) -> Statement:
    import sqlglot
    from sqlglot.dialects.dialect import Dialect

    speech = Dialect.get_or_raise("duckdb")
    try:
        tokens = list(_whole(speech.tokenize(text)))
        finder = Finder(text, tokens)
        found = list(finder.clauses())
        numbered, marks = _numbered(tokens)
        clauses = [_clause(each, finder, numbered, text, speech) for each in found]
        rest = [place for place in range(len(tokens)) if not _is_inside(place, found)]
        kept = [token for place in rest for token in numbered[place]]
        trees = [tree for tree in speech.parser().parse(kept, text) if tree is not None]
    except sqlglot.errors.SqlglotError as error:
        reason = str(error).split("\n")[0]
        raise Invalid(f"cannot read the SQL: {reason}", hint=HINT) from error
    if len(trees) != 1:
        raise Invalid(f"{len(trees)} statements in one query", hint=HINT)
    starts = [tokens[each.span[0]].start for each in found]
    attach(trees[0], [tokens[place] for place in rest], clauses, starts)
    return Statement(text, trees[0], marks)


def query_of(tree: exp.Expr) -> exp.Expr:
    from sqlglot import exp

    if not isinstance(tree, exp.Query | exp.Values):
        raise Unsupported(f"{tree.key.upper()} is not a query", hint=HINT)
    return tree


def _whole(tokens: Sequence[Token]) -> Iterator[Token]:
    """The tokens, with `?::` as a parameter and a cast, which it is in DuckDB."""
    from sqlglot.tokenizer_core import Token, TokenType

    for token in tokens:
        if token.token_type is TokenType.QDCOLON:
            line, col, start = token.line, token.col, token.start
            yield Token(TokenType.PLACEHOLDER, "?", line, col, start, start)
            yield Token(TokenType.DCOLON, "::", line, col, start + 1, token.end)
        else:
            yield token


def _numbered(tokens: Sequence[Token]) -> tuple[list[list[Token]], int]:
    """For each token what the parser is to see: `?` gets its number. And how many they are."""
    from sqlglot.tokenizer_core import Token, TokenType

    marks = 0
    found = []
    for token in tokens:
        if token.token_type is TokenType.PLACEHOLDER:
            marks += 1
            at = (token.line, token.col, token.start, token.end)
            found.append(
                [
                    Token(TokenType.PARAMETER, "?", *at),
                    Token(TokenType.NUMBER, str(marks), *at),
                ]
            )
        else:
            found.append([token])
    return found, marks


def _clause(
    found: Found, finder: Finder, tokens: Sequence[Sequence[Token]], text: str, speech: object
) -> Clause:
    from sqlglot import exp

    start, end = found.moment
    own = [token for group in tokens[start:end] for token in group]
    (moment,) = speech.parser().parse_into(exp.Condition, own, text)  # type: ignore[attr-defined]
    return Clause(found.clock, found.kind, moment, finder.written(*found.span))


def _is_inside(place: int, found: Sequence[Found]) -> bool:
    return any(start <= place < end for start, end in (each.span for each in found))
