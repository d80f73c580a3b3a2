"""The words of a text in DuckDB's SQL, each with its place, so that some can be replaced and all
others stay as they were written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

_SPACE = re.compile(r"\s+")
_LINE_COMMENT = re.compile(r"--[^\n\r]*")
_BLOCK_EDGE = re.compile(r"/\*|\*/")
_DOLLAR = re.compile(r"\$(?:[^\W\d]\w*)?\$")
_KINDS = (
    ("text", re.compile(r"[eE]'(?:[^'\\]|\\.|'')*'|'(?:[^']|'')*'", re.DOTALL)),
    ("name", re.compile(r'"(?:[^"]|"")*"', re.DOTALL)),
    ("parameter", re.compile(r"\$\w+|\?\d*")),
    ("number", re.compile(r"(?:\d[\d_]*(?:\.(?!\.)[\d_]*)?|\.\d[\d_]*)(?:[eE][+-]?\d+)?")),
    ("word", re.compile(r"[^\W\d][\w$]*")),
    ("sign", re.compile(r"::|=>|:=|.", re.DOTALL)),
)
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")


@dataclass(frozen=True, slots=True)
class Token:
    """`kind` is text, name (in quotes), parameter, number, word or sign; `text` is what it stands
    for, without quotes. It reaches from `start` to `end`, both included."""

    kind: str
    text: str
    start: int
    end: int

    @property
    def word(self) -> str:
        """In capitals; empty for what is in quotes."""
        return "" if self.kind in ("text", "name") else self.text.upper()


@dataclass(frozen=True, slots=True)
class Edit:
    """What is to stand from `start` to before `stop`."""

    start: int
    stop: int
    text: str


def tokens(text: str) -> list[Token]:
    """Without spaces and comments. What DuckDB could not read is cut somehow: it will say so."""
    return [token for token in _pieces(text) if token.kind != "comment"]


def without_comments(text: str) -> str:
    """The same with a space for every comment, and without spaces around it."""
    comments = [t for t in _pieces(text) if t.kind == "comment"]
    return apply_edits(text, [Edit(t.start, t.end + 1, " ") for t in comments]).strip()


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """The text with some places written anew; they must not overlap."""
    parts, at = [], 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.stop)):
        parts += [text[at : edit.start], edit.text]
        at = edit.stop
    return "".join([*parts, text[at:]])


def blank(start: int, stop: int) -> Edit:
    """Spaces of the same length, so that all other places stay where they are."""
    return Edit(start, stop, " " * (stop - start))


def depths(found: Sequence[Token]) -> Iterator[tuple[Token, int]]:
    """Each token and how many brackets, or CASEs, stand around it; those themselves count as
    inside."""
    depth = 0
    for token in found:
        opens = token.text in _OPENING if token.kind == "sign" else token.word == "CASE"
        closes = token.text in _CLOSING if token.kind == "sign" else token.word == "END"
        depth += opens
        yield token, depth
        depth -= closes


def _pieces(text: str) -> Iterator[Token]:
    at = 0
    while at < len(text):
        if space := _SPACE.match(text, at):
            at = space.end()
            continue
        token = _piece(text, at)
        yield token
        at = token.end + 1


def _piece(text: str, at: int) -> Token:
    if comment := _LINE_COMMENT.match(text, at):
        return Token("comment", "", at, comment.end() - 1)
    if text.startswith("/*", at):
        return Token("comment", "", at, _end_of_block(text, at) - 1)
    if dollar := _DOLLAR.match(text, at):
        end = text.find(dollar[0], dollar.end())
        stop = len(text) if end < 0 else end + len(dollar[0])
        return Token("text", text[dollar.end() : max(end, dollar.end())], at, stop - 1)
    for kind, pattern in _KINDS:
        if found := pattern.match(text, at):
            return Token(kind, _meaning(kind, found[0]), at, found.end() - 1)
    raise AssertionError("a sign is any character")


def _meaning(kind: str, written: str) -> str:
    if kind == "name":
        return written[1:-1].replace('""', '"')
    if kind == "text":
        return written.lstrip("eE")[1:-1].replace("''", "'")
    return written


def _end_of_block(text: str, at: int) -> int:
    """Behind a comment in /* */, which may hold others."""
    depth = 0
    for edge in _BLOCK_EDGE.finditer(text, at):
        depth += 1 if edge[0] == "/*" else -1
        if depth == 0:
            return edge.end()
    return len(text)
