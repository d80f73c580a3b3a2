"""What a statement that writes is for: its verb, and the name that it writes to."""

from __future__ import annotations

from tidelake.errors import TidelakeError
from tidelake.model.terms import Purpose
from tidelake.sql.words import Words
from tidelake.sql.writes import WriteStatement

_KINDS = ("TABLE", "VIEW", "SCHEMA")
_BETWEEN = ("INTO", "FROM", "ON", "IF", "NOT", "EXISTS", "OR", "REPLACE")


def purpose_of(text: str) -> Purpose:
    """Where the name cannot be told, the statement itself stands for it."""
    statement = WriteStatement.of(text)
    verb = statement.verb()
    defines = statement.found[0].word in ("CREATE", "DROP", "ALTER", "COMMENT")
    start = 0 if verb is None or defines else verb.start
    words = Words(statement.sql[start:])
    doing = [words.next]
    words.take(words.next)
    while words.next in (*_BETWEEN, *_KINDS):
        doing += [words.next] if words.next in _KINDS else []
        words.take(words.next)
    try:
        name = words.parts()[-1] if "SCHEMA" in doing else str(words.table())
    except TidelakeError:
        name = " ".join(token.text for token in statement.found)
    return Purpose(" ".join(doing).lower(), (name,))
