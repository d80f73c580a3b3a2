"""The words of one SQL statement, taken from the front.

Definitions are read so and not from a tree: their columns, types and queries go on as they were
written, to those who understand them.
"""

from __future__ import annotations

import re

from tidelake.errors import Invalid, Unsupported
from tidelake.model.names import DEFAULT_SCHEMA, TableName, quote
from tidelake.syntax.tokens import Token, tokens

HINT = (
    "lake.sql() runs one SELECT, INSERT, UPDATE, DELETE or MERGE, or one CREATE, DROP, ALTER or"
    " COMMENT of schemas, tables and views"
)
_WORD = re.compile(r"[^\W\d]\w*")


_TRANSACTION = ("BEGIN", "START", "COMMIT", "END", "ROLLBACK", "ABORT")
_WRITES = ("INSERT", "UPDATE", "DELETE", "MERGE")
_INSTEAD = {
    **dict.fromkeys(_TRANSACTION, "with lake.transaction() as tx: tx.sql(…)"),
    "TRUNCATE": "DELETE FROM the table",
    "VACUUM": "CALL compact('t'), then CALL expire('7 days') and CALL cleanup()",
    "USE": "write the schema before the table: analytics.prices",
    "COPY": "lake.sql(…) with to_arrow(), to_pandas() or to_batches(), and write those",
}


def not_supported(text: str) -> Unsupported:
    """For a statement that should have been a query."""
    words = [token.word for token in tokens(text)]
    if "PIVOT" in words:
        return Unsupported(
            "PIVOT must name the values that become columns", hint="PIVOT t ON x IN (1, 2) USING …"
        )
    first = words[0] if words else ""
    if first in _WRITES:
        return Unsupported(f"{first} is not a query", hint="write a SELECT")
    return Unsupported(f"{first} is not supported", hint=_INSTEAD.get(first, HINT))


class Words:
    def __init__(self, text: str) -> None:
        found = tokens(text)
        while found and found[-1].word == ";":
            found.pop()
        if not found:
            raise Invalid("there is no SQL to run", hint=HINT)
        if any(token.word == ";" for token in found):
            raise Invalid(
                "several statements at once",
                hint=f"{HINT}; for more of them, call it"
                " again, in one lake.transaction() if they belong together",
            )
        self._text = text
        self._tokens = found
        self._place = 0
        if found[0].kind == "command":
            raise self.unknown()

    @property
    def next(self) -> str:
        """The next word in capitals; empty at the end, and for what is in quotes."""
        token = self._token()
        return "" if token is None else token.word

    @property
    def after(self) -> str:
        """The word behind the next one, likewise."""
        place = self._place + 1
        return self._tokens[place].word if place < len(self._tokens) else ""

    def take(self, *words: str) -> bool:
        """Whether these come next; if so they are taken."""
        start, left = self._place, list(words)
        while left:
            next_ = self.next.split()  # the tokenizer may see one where a reader sees two
            if not next_ or left[: len(next_)] != next_:
                self._place = start
                return False
            left = left[len(next_) :]
            self._place += 1
        return True

    def expect(self, *words: str) -> None:
        if not self.take(*words):
            raise self.strange(f"expected {' '.join(words)}")

    def parts(self) -> tuple[str, ...]:
        """A name and what it is qualified by."""
        found = [self._name()]
        while self.take("."):
            found.append(self._name())
        return tuple(found)

    def path(self) -> str:
        """A column, or a field inside one, as `evolve` names it."""
        return ".".join(quote(part) for part in self.parts())

    def table(self) -> TableName:
        *schema, name = self.parts()
        return TableName(schema[-1] if schema else DEFAULT_SCHEMA, name)

    def string(self) -> str | None:
        """A text in quotes, or NULL."""
        if self.take("NULL"):
            return None
        token = self._token()
        if token is None or token.kind != "text":
            raise self.strange("expected a text in quotes, or NULL")
        self._place += 1
        return token.text

    def listed(self) -> list[str]:
        """The items of a list in parentheses, each as it was written."""
        self.expect("(")
        items, depth, start = [], 1, self._place
        while depth:
            if self._token() is None:
                raise self.strange("expected a closing parenthesis")
            depth += (self.next in ("(", "[", "{")) - (self.next in (")", "]", "}"))
            if depth == 0 or (depth == 1 and self.next == ","):
                items.append(self._between(start, self._place))
                start = self._place + 1
            self._place += 1
        return items

    def rest(self) -> str:
        """All that follows, as it was written."""
        start, self._place = self._place, len(self._tokens)
        if start == self._place:
            raise self.strange("expected more")
        return self._between(start, self._place)

    def end(self) -> None:
        if self._token() is not None:
            raise self.strange("expected the end")

    def strange(self, what: str) -> Unsupported:
        token = self._token()
        where = "at the end" if token is None else f"at {self._written(token)!r}"
        return Unsupported(f"cannot read the SQL {where}: {what}", hint=HINT)

    def unknown(self) -> Unsupported:
        start = " ".join(self._written(token).upper() for token in self._tokens[:3])
        return Unsupported(f"{start} … is not supported", hint=HINT)

    def _token(self) -> Token | None:
        return self._tokens[self._place] if self._place < len(self._tokens) else None

    def _name(self) -> str:
        token = self._token()
        if token is None or not (
            token.kind == "name" or (token.kind != "text" and _WORD.fullmatch(token.text))
        ):
            raise self.strange("expected a name")
        self._place += 1
        return token.text

    def _between(self, start: int, end: int) -> str:
        if start == end:
            raise self.strange("something is left out")
        return self._text[self._tokens[start].start : self._tokens[end - 1].end + 1]

    def _written(self, token: Token) -> str:
        return self._text[token.start : token.end + 1]
