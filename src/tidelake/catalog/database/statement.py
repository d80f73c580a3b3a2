"""Our SQL names its parameters `:name`; each driver wants them spelled its own way."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

from tidelake.model.names import quote

_TOKEN = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|::|:(\w+)""")


@lru_cache(maxsize=512)
def dollar(sql: str) -> tuple[str, frozenset[str]]:
    """For DuckDB: `$name`, and which names there are, since it wants no others."""
    names = frozenset(match.group(1) for match in _TOKEN.finditer(sql) if match.group(1))
    return _respelled(sql, lambda name: f"${name}"), names


@lru_cache(maxsize=512)
def pyformat(sql: str) -> str:
    """For psycopg and PyMySQL: `%(name)s`, and every other percent sign doubled."""
    return _respelled(sql.replace("%", "%%"), lambda name: f"%({name})s")


class Marks(NamedTuple):
    """One statement twice, every parameter a mark of its own: `$1` as PREPARE has it, `%s` as
    psycopg has it; and whose values they stand for."""

    numbered: str
    plain: str
    names: tuple[str, ...]


@lru_cache(maxsize=512)
def marks(sql: str) -> Marks:
    names: list[str] = []

    def mark(name: str) -> str:
        names.append(name)
        return f"${len(names)}"

    doubled = sql.replace("%", "%%")
    return Marks(_respelled(doubled, mark), _respelled(doubled, lambda _: "%s"), tuple(names))


@lru_cache(maxsize=512)
def row_marks(table: str, columns: tuple[str, ...]) -> Marks:
    """The same for an INSERT of one row."""
    into = insert_into(table, columns).replace("%", "%%")
    numbered = ", ".join(f"${place}" for place in range(1, len(columns) + 1))
    return Marks(f"{into} ({numbered})", f"{into} ({', '.join(['%s'] * len(columns))})", columns)


def _respelled(sql: str, spell: Callable[[str], str]) -> str:
    return _TOKEN.sub(lambda m: spell(m.group(1)) if m.group(1) else m.group(), sql)


def insert_into(table: str, columns: Sequence[str]) -> str:
    """The beginning of an INSERT, up to its values."""
    return f"INSERT INTO {quote(table)} ({', '.join(map(quote, columns))}) VALUES"
