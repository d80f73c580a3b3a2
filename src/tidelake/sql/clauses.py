"""The moments that tables of a statement are asked for: `FOR VALID_TIME AS OF …` and its kin.

They are taken out of the words of the statement before it is parsed, and given to the tables that
they follow afterwards: so they may stand before the alias or behind it, in any order and in any
dialect, and the parser only ever sees what it knows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidelake.errors import Invalid, Unsupported
from tidelake.syntax.tokens import Token

if TYPE_CHECKING:
    from sqlglot import exp

_WORD = re.compile(r"[^\W\d]\w*")
_NAMED = {
    "VALID_TIME": ("valid time", "time"),
    "SYSTEM_TIME": ("system time", "any"),
    "TIMESTAMP": ("system time", "any"),
    "SYSTEM_VERSION": ("system time", "version"),
    "VERSION": ("system time", "version"),
}
_UNITS = {"YEAR", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND"}
_BARE = {"CURRENT_TIMESTAMP", "CURRENT_DATE"}
_AFTER_COLUMNS = {
    *("FROM", "WHERE", "GROUP", "HAVING", "WINDOW", "QUALIFY", "ORDER", "LIMIT", "OFFSET"),
    *("UNION", "EXCEPT", "INTERSECT", "USING"),
}
PORTION = "portion"
"""The clock of a clause that says for which times something is changed."""
AFTER_A_TABLE = "write it right behind a table of the lake, before or after its alias"


@dataclass(frozen=True, slots=True)
class MomentClause:
    """One moment as it was written: on which clock, what it may be (a time, a version, or any of
    both), and its expression. A range, which is `from`, `between` or `all`, has two."""

    clock: str
    kind: str
    moment: exp.Expr
    written: str
    until: exp.Expr | None = None


@dataclass(frozen=True, slots=True)
class FoundClause:
    """A clause among the words of a statement: which of them, and those of its moment."""

    clock: str
    kind: str
    span: tuple[int, int]
    moment: tuple[int, int]
    until: tuple[int, int] | None = None


class Finder:
    """Goes through the words of a statement; quoted ones are never taken for keywords."""

    def __init__(self, text: str, tokens: Sequence[Token]) -> None:
        self._text = text
        self._tokens = tokens
        self._words = [self._word(token) for token in tokens]

    def clauses(self) -> Iterator[FoundClause]:
        place = 0
        while place < len(self._words):
            found = self._clause(place)
            if found is not None:
                yield found
            place = place + 1 if found is None else found.span[1]

    def written(self, start: int, end: int) -> str:
        return self._text[self._tokens[start].start : self._tokens[end - 1].end + 1]

    def _word(self, token: Token) -> str:
        """In capitals; empty for what is in quotes."""
        written = self._text[token.start : token.end + 1]
        return " ".join(written.upper().split()) if written == token.text else ""

    def _at(self, place: int) -> str:
        return self._words[place] if 0 <= place < len(self._words) else ""

    def _take(self, place: int, *words: str) -> int | None:
        """The place behind these words if they stand at a place."""
        left = " ".join(words)
        while left:
            word = self._at(place)
            if not word or not f"{left} ".startswith(f"{word} "):
                return None
            left = left[len(word) + 1 :]
            place += 1
        return place

    def _clause(self, place: int) -> FoundClause | None:
        if portion := self._take(place, "FOR", "PORTION", "OF"):
            return self._portion(place, portion)
        if self._take(place, "AT", "("):
            return self._in_brackets(place)
        name = place + 1 if self._at(place) == "FOR" else place
        if self._at(name) not in _NAMED or (name == place and not self._follows_a_name(place)):
            return None
        clock, kind = _NAMED[self._at(name)]
        start = self._take(name, self._at(name), "AS", "OF")
        if start is None:
            return self._range(place, name)
        if name == place and not self._starts_a_moment(start):
            return None
        end = self._moment(start)
        return FoundClause(clock, kind, (place, end), (start, end))

    def _in_brackets(self, place: int) -> FoundClause | None:
        for kind in ("VERSION", "TIMESTAMP"):
            start = self._take(place, "AT", "(", kind, "=>")
            if start is not None:
                end = self._moment(start)
                if self._at(end) != ")":
                    raise Invalid(
                        f"cannot read {self.written(place, min(end + 1, len(self._tokens)))!r}",
                        hint="write AT (VERSION => n) or AT (TIMESTAMP => t)",
                    )
                return FoundClause("system time", _NAMED[kind][1], (place, end + 1), (start, end))
        return None

    def _range(self, place: int, name: int) -> FoundClause | None:
        """`FOR VALID_TIME FROM a TO b`, `BETWEEN a AND b` or `ALL`; so for SYSTEM_TIME."""
        word, after = self._at(name), self._at(name + 1)
        if name == place or after in ("IN", ","):
            return None
        if after not in ("FROM", "BETWEEN", "ALL", "CONTAINED"):
            raise Invalid(f"FOR {word} must be followed by AS OF", hint=f"FOR {word} AS OF '…'")
        if word not in ("VALID_TIME", "SYSTEM_TIME") or after == "CONTAINED":
            raise Unsupported(
                f"FOR {word} {after} is not supported",
                hint="FOR VALID_TIME or FOR SYSTEM_TIME, and FROM … TO …, BETWEEN … AND … or ALL",
            )
        clock = _NAMED[word][0]
        if after == "ALL":
            return FoundClause(clock, "all", (place, name + 2), (name + 1, name + 2))
        first, last = self._bounds(f"FOR {word}", name + 1, "TO" if after == "FROM" else "AND")
        return FoundClause(clock, after.lower(), (place, last[1]), first, last)

    def _bounds(self, what: str, place: int, joint: str) -> tuple[tuple[int, int], tuple[int, int]]:
        """The words of two moments, from the word before the first of them on."""
        middle = self._moment(place + 1)
        if self._at(middle) != joint:
            raise Invalid(
                f"{what} {self._at(place)} has no {joint}",
                hint=f"{what} {self._at(place)} '2024-01-01' {joint} '2025-01-01'",
            )
        return (place + 1, middle), (middle + 1, self._moment(middle + 1))

    def _portion(self, place: int, name: int) -> FoundClause:
        """`FOR PORTION OF VALID_TIME FROM a TO b`."""
        if self._take(name, "VALID_TIME", "FROM") is None:
            raise Unsupported(
                f"FOR PORTION OF {self._at(name)} {self._at(name + 1)} is not supported",
                hint="FOR PORTION OF VALID_TIME FROM … TO …; what the lake knew never changes",
            )
        first, last = self._bounds("FOR PORTION OF VALID_TIME", name + 1, "TO")
        return FoundClause(PORTION, "from", (place, last[1]), first, last)

    def _follows_a_name(self, place: int) -> bool:
        """Whether what stands before could be the end of a table, its alias or its clause."""
        if place == 0:
            return False
        before = self._text[self._tokens[place - 1].start : self._tokens[place - 1].end + 1]
        plain = self._at(place - 1) not in ("SELECT", "DISTINCT", "ALL", ",", ".", "(")
        plain |= any(self._take(place - 2, name, "ALL") == place for name in _NAMED)
        return plain and bool(re.fullmatch(r"[\w)'\"`\]]", before[-1]))

    def _starts_a_moment(self, place: int) -> bool:
        """Whether it can be told from `version AS of` in a list of columns."""
        word = self._at(place)
        after = self._tokens[place + 1] if place + 1 < len(self._tokens) else None
        if not word or not _WORD.fullmatch(word):
            return place < len(self._tokens) and word not in (",", ")", ";")
        quoted = after is not None and self._text[after.start] == "'"
        called = self._at(place + 1) == "(" and word not in _AFTER_COLUMNS
        return quoted or called or word in _BARE

    def _moment(self, place: int) -> int:
        """The place behind an expression of a moment."""
        place = self._operand(place)
        while self._at(place) in ("+", "-"):
            place = self._operand(place + 1)
        return place

    def _operand(self, place: int) -> int:
        while self._at(place) in ("-", "+"):
            place += 1
        if place >= len(self._tokens):
            raise Invalid("the SQL ends where a moment should stand", hint="… AS OF '2024-03-15'")
        word = self._at(place)
        if word == "(":
            place = self._closing(place)
        elif word in (":", "$"):
            place += 2
        elif word == "INTERVAL":
            place = self._operand(place + 1)
            place += self._at(place).removesuffix("S") in _UNITS
        elif _WORD.fullmatch(word):
            place = self._named(place)
        else:
            place += 1
        return self._converted(place)

    def _named(self, place: int) -> int:
        """A function, or a type before a text."""
        zoned = self._take(place + 1, "WITH", "TIME", "ZONE")
        after = zoned or place + 1
        if self._at(after) == "(":
            return self._closing(after)
        quoted = after < len(self._tokens) and self._text[self._tokens[after].start] == "'"
        return after + 1 if quoted else after

    def _converted(self, place: int) -> int:
        while True:
            if self._at(place) == "::":
                place += 2
                place = self._take(place, "WITH", "TIME", "ZONE") or place
                place = self._closing(place) if self._at(place) == "(" else place
            elif zone := self._take(place, "AT", "TIME", "ZONE"):
                place = zone + 1
            else:
                return place

    def _closing(self, place: int) -> int:
        depth = 0
        for at in range(place, len(self._words)):
            depth += (self._words[at] == "(") - (self._words[at] == ")")
            if depth == 0:
                return at + 1
        raise Invalid("a parenthesis is not closed", hint="close it")


def with_clause(
    name: str, known: Sequence[MomentClause], clause: MomentClause
) -> tuple[MomentClause, ...]:
    """One more moment for a table; Invalid if it has one of that clock."""
    if any(other.clock == clause.clock for other in known):
        raise Invalid(
            f"{name} is asked for two moments of {clause.clock}:"
            f" {' and '.join(each.written for each in (*known, clause))}",
            hint="name one valid time and one system time at most",
        )
    return (*known, clause)
