"""Our SQL names its parameters `:name`; each driver wants them spelled its own way."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

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


def _respelled(sql: str, spell: Callable[[str], str]) -> str:
    return _TOKEN.sub(lambda m: spell(m.group(1)) if m.group(1) else m.group(), sql)


def insert_into(table: str, columns: Sequence[str]) -> str:
    """The beginning of an INSERT, up to its values."""
    return f"INSERT INTO {quote(table)} ({', '.join(map(quote, columns))}) VALUES"
