"""What Tab offers: commands, tables, columns, tags, and the words of SQL."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from tidelake.cli.shell.names import Names
from tidelake.errors import TidelakeError
from tidelake.model.names import fold, quote
from tidelake.sql.calls import FUNCTIONS

_KEYWORDS = (
    *("SELECT", "FROM", "WHERE", "GROUP BY", "HAVING", "QUALIFY", "ORDER BY", "LIMIT", "OFFSET"),
    *("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN", "ASOF JOIN", "ON", "USING"),
    *("UNION ALL", "EXCEPT", "INTERSECT", "WITH", "RECURSIVE", "AS", "DISTINCT", "VALUES"),
    *("AND", "OR", "NOT", "NULL", "IS", "IN", "LIKE", "ILIKE", "BETWEEN", "EXISTS", "CASE"),
    *("WHEN", "THEN", "ELSE", "END", "CAST", "INTERVAL", "TRUE", "FALSE", "ASC", "DESC"),
    *("INSERT INTO", "UPDATE", "SET", "DELETE FROM", "MERGE INTO", "MATCHED", "CREATE TABLE"),
    *("CREATE VIEW", "CREATE SCHEMA", "OR REPLACE", "IF EXISTS", "IF NOT EXISTS", "DROP TABLE"),
    *("DROP VIEW", "DROP SCHEMA", "ALTER TABLE", "ADD COLUMN", "DROP COLUMN", "RENAME TO"),
    *("COMMENT ON", "SHOW TABLES", "DESCRIBE", "SUMMARIZE", "EXPLAIN", "CALL", "OVER"),
    *("PARTITION BY", "FOR VALID_TIME AS OF", "FOR SYSTEM_TIME AS OF", "VERSION AS OF"),
    *("TIMESTAMP AS OF", "FOR PORTION OF VALID_TIME"),
)
_WORD = re.compile(r"\\?[\w.\"]*$")
_PLAIN = re.compile(r"\w+")
_OF_TABLES = ("\\describe", "\\tables")
_OF_TAGS = ("\\known_at",)
_BEFORE_TABLES = frozenset({"FROM", "JOIN", "INTO", "UPDATE", "TABLE", "DESCRIBE", "SUMMARIZE"})


class LakeCompleter(Completer):
    """Requires: the names may be asked from another thread."""

    def __init__(self, names: Names, commands: Callable[[], Iterable[str]]) -> None:
        self._names = names
        self._commands = commands

    def get_completions(self, document: Document, _: CompleteEvent) -> Iterator[Completion]:
        before = document.text_before_cursor
        word = _word_at_end(before)
        try:
            offered = list(self._offers(before, document.text, word))
        except TidelakeError:  # the lake does not answer: there is nothing to offer
            return
        for text in offered:
            yield Completion(text, start_position=-len(word))

    def _offers(self, before: str, text: str, word: str) -> Iterator[str]:
        if before.lstrip().startswith("\\"):
            yield from self._after_backslash(before.lstrip(), word)
            return
        said = before[: len(before) - len(word)].split()
        if said and said[-1].upper() in _BEFORE_TABLES:
            yield from _that(word, self._names.relations())
            yield from _that(word, sorted(FUNCTIONS))
            return
        found = {
            **dict.fromkeys(map(_spelled, self._names.columns(text))),
            **dict.fromkeys(self._names.relations()),
        }
        yield from _that(word, found)
        if before[: len(before) - len(word)].rstrip().upper().endswith("AS OF"):
            yield from (f"'{tag}'" for tag in _that(word, self._names.tags()))
        if word:
            yield from (
                each if word[0].isupper() else each.lower() for each in _that(word, _KEYWORDS)
            )

    def _after_backslash(self, before: str, word: str) -> Iterator[str]:
        command, space, _ = before.partition(" ")
        if not space:
            yield from (name for name in self._commands() if name.startswith(command))
        elif command in _OF_TABLES:
            yield from _that(word, self._names.relations())
        elif command in _OF_TAGS:
            yield from _that(word, self._names.tags())


def _word_at_end(text: str) -> str:
    found = _WORD.search(text)
    return found[0] if found else ""


def _that(begun: str, names: Iterable[str]) -> Iterator[str]:
    return (name for name in names if fold(name).startswith(fold(begun)))


def _spelled(column: str) -> str:
    return column if _PLAIN.fullmatch(column) else quote(column)
