"""How each kind of database spells what differs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple, Protocol

from tidelake.catalog.database.walls import Walls
from tidelake.model.schema import Column

SMALL_INTEGERS = {"boolean", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"}


@dataclass(frozen=True, slots=True)
class StatisticsSql:
    """How a database compares the text of statistics; {v} is a column of them, {x} a literal.

    `odd_number` must be true for all text that `number` would misread, and on PostgreSQL,
    where misreading is an error, it is judged first.
    """

    number: str
    odd_number: str
    in_order: str
    hex_text: str
    odd_moment: str = "{v} NOT LIKE '{x}'"
    any_text: str = "%"
    any_character: str = "_"


NUMBER = "'^-?[0-9]{{1,60}}([.][0-9]{{1,60}})?([eE][+-]?[0-9]{{1,2}})?$'"
"""How a number looks, for `odd_number`."""


class InlineColumn(NamedTuple):
    """A column of a table for small writes, as it is to be read. It may be of any length if it
    `is_long`."""

    sql: str
    is_whole: bool = False
    is_long: bool = False


class Ask(Protocol):
    """A query in an open transaction."""

    def __call__(self, sql: str, **parameters: object) -> list[Any]: ...


class Dialect(Protocol):
    """The SQL of a database. What has no value here each must give; what `inline_…` says of the
    tables for small writes is DuckLake's way in a database with few types of its own."""

    types: Mapping[str, str]
    """Column types for our kinds (see `layout`)."""
    exists: str | None = None
    """Asks for a table :name, where that is how `has_table` finds it."""
    index_exists: str
    """Asks for an index :name."""
    every_column: str
    """Lists (table, column) of all that there are."""
    statistics: StatisticsSql
    instant: str = "{}"
    """Reads a column {} of moments, as a driver can."""
    clock: str | None = None
    """The server's own time, where all writers should go by one."""
    prefixed: str = "CAST({} AS VARCHAR) || {}"
    """A parameter and a text, as one text."""
    schema_exists: str | None = None
    """Asks for a schema :name, where an address can name one that the lake is in."""
    indexes_long_text: bool = False
    """Whether a text of any length can be in an index."""
    commits_create: bool = False
    """Whether CREATE commits at once, with all that came before it."""
    rekey: str | None = None
    """Gives a {table} one more {column} and a {key} with it, where that is one statement; elsewhere
    the table is made anew."""
    brief_wait: str | None = None
    """Has this transaction wait for locks no longer than a second, where it would wait long."""

    walls: Walls | None = None
    """What holds a role of the database to one tenant."""
    why_no_walls: str = "it has no users of its own"

    widest: int | None = None
    """How many columns a table for small writes takes, whatever is in them."""
    keeps_text_as_bytes: bool = False
    """Whether that is how DuckLake keeps text in such a table."""
    column_spellings: str | None = None
    """Asks for the columns of a table :name, where the case of the letters matters and DuckDB does
    not keep it."""

    def has_table(self, ask: Ask, name: str) -> bool:
        """Whether a table is there, at the moment that the transaction sees."""
        assert self.exists is not None
        return bool(ask(self.exists, name=name))

    def moment(self, at: datetime) -> object:
        """An instant as the database's column for it takes it."""
        if self.types["time"].startswith("TIMESTAMP"):
            return at
        return at.astimezone(UTC).isoformat(sep=" ").replace("+00:00", "+00")

    def can_name_column(self, _name: str) -> bool:
        """Whether a column of a table for small writes can have this name, and DuckDB finds it."""
        return True

    def inline_name(self, name: str) -> str:
        """A column's name as such a table spells it."""
        return name

    def inline_type(self, column: Column) -> str:
        """The type in which such a table keeps a column."""
        if column.type in SMALL_INTEGERS:
            return "BIGINT"
        return self.types["blob" if column.type == "blob" else "text"]

    def inline_value(self, column: Column, value: object) -> object:
        """Bytes or DuckDB's text, as that type takes it."""
        if column.type == "boolean":
            return value == "true"
        return int(str(value)) if column.type in SMALL_INTEGERS else value

    def inline_sql(self, _column: Column, name: str) -> str:
        """Reads a column as DuckDB's text, or as bytes. `name` is quoted."""
        return name

    def inline_column(self, column: Column, name: str) -> InlineColumn:
        """The same column where many values are read at once: text, or whole numbers."""
        return InlineColumn(self.inline_sql(column, name))

    def read_as(self, column: Column) -> Column:
        """A column with the types in which its values are read."""
        return column
