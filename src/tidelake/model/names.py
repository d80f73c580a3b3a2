"""Names of tables, with SQL's quoting."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tidelake.errors import Invalid

DEFAULT_SCHEMA = "main"

_PART = re.compile(r'"(?:[^"]|"")*"|[^".\s][^".]*')


def quote(identifier: str) -> str:
    """An identifier as DuckDB and SQLite read it."""
    return '"' + identifier.replace('"', '""') + '"'


_FOLD = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}


def fold(name: str) -> str:
    """What two names have in common that are one name to DuckDB: it passes over the case of the
    letters A to Z, and of no others."""
    return name.lower() if name.isascii() else name.translate(_FOLD)


def text_literal(value: str) -> str:
    """A string as a standard SQL literal."""
    return "'" + value.replace("'", "''") + "'"


def split_dotted(text: str) -> tuple[str, ...]:
    """The names in `a.b` or `"odd name"."with.dots"`; empty if that is not what the text is."""
    parts: list[str] = []
    position = 0
    while match := _PART.match(text, position):
        part = match.group()
        quoted = part.startswith('"')
        parts.append(part[1:-1].replace('""', '"') if quoted else part.strip())
        position = match.end()
        if position == len(text):
            return tuple(parts) if all(parts) else ()
        if text[position] != ".":
            break
        position += 1
    return ()


def is_unicode(text: str) -> bool:
    """Whether a text has no lone surrogates, which cannot be written anywhere."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class TableName:
    """A schema and a table (or view) in it."""

    schema: str
    name: str

    @staticmethod
    def parse(text: str) -> TableName:
        """Read `t`, `s.t` or `"odd schema"."odd.table"`; without a schema it is in `main`."""
        parts = split_dotted(text) if isinstance(text, str) else ()
        if len(parts) not in (1, 2) or not is_unicode(text):
            raise Invalid(
                f"{text!r} is not a table name",
                hint='write table, schema.table, or quote odd names: "my schema"."my.table"',
            )
        return TableName(parts[0] if len(parts) == 2 else DEFAULT_SCHEMA, parts[-1])

    def __str__(self) -> str:
        return ".".join(
            p if re.fullmatch(r"\w+", p) else quote(p) for p in (self.schema, self.name)
        )
