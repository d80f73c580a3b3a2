"""Columns as DuckLake records them: numbered for ever, nested by parenthood."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidelake.drawing.amounts import quantity
from tidelake.drawing.drawable import Drawable
from tidelake.drawing.sheet import Sheet
from tidelake.errors import NotFound
from tidelake.model.names import fold, quote
from tidelake.model.nearest import near_names
from tidelake.model.reflexes import OF_SCHEMAS, Guessable
from tidelake.model.types import DUCKDB_NAMES

ROW_ID = "rowid"
ROW_SNAPSHOT = "snapshot_id"
ROW_FILE = "_tidelake_file"
ROW_POSITION = "_tidelake_position"
ROW_NUMBER = "_tidelake_row"
ROW_BEGAN = "_tidelake_began"
ROW_ENDED = "_tidelake_ended"
LINEAGE = (ROW_ID, ROW_SNAPSHOT, ROW_FILE, ROW_POSITION, ROW_NUMBER, ROW_BEGAN, ROW_ENDED)
"""What a scan can say of every row besides its columns: its id, the snapshot that wrote it, where
it lies (a data file and a position in it, or for a row in the catalog no file and its id), its id
and its snapshot once more, for tables with columns of those names, and when its file ended."""

ROW_ID_FIELD = 2147483540
ROW_SNAPSHOT_FIELD = 2147483539

_CONDITION = re.compile(r"[<>=]")
_EXPRESSION = re.compile(r"\(.*\)|\s(?:as|AS)\s")
NESTED = frozenset({"struct", "list", "map"})


@dataclass(frozen=True, slots=True)
class Column:
    """A column or nested field; `type` is DuckLake's own word for it.

    Children: of a struct its fields, of a list its `element`, of a map its `key` and `value`.
    `initial_default` stands in for the column in files written before it existed. `default` is
    the plain text of a literal, or with `default_is_expression` DuckDB's SQL.
    """

    id: int
    name: str
    type: str
    nullable: bool = True
    children: tuple[Column, ...] = ()
    initial_default: str | None = None
    default: str | None = None
    comment: str | None = None
    default_is_expression: bool = False

    @property
    def is_nested(self) -> bool:
        return self.type in NESTED

    def leaves(self) -> Iterator[Column]:
        """This column and everything below it that holds values of its own."""
        if not self.children:
            yield self
        for child in self.children:
            yield from child.leaves()

    def walk(self) -> Iterator[Column]:
        """This column and all its descendants, parents first."""
        yield self
        for child in self.children:
            yield from child.walk()

    @property
    def duckdb_type(self) -> str:
        """The type as DuckDB spells it, nested types included."""
        if self.type == "struct":
            fields = ", ".join(f"{quote(c.name)} {c.duckdb_type}" for c in self.children)
            return f"STRUCT({fields})"
        if self.type == "list":
            return f"{self.children[0].duckdb_type}[]"
        if self.type == "map":
            key, value = self.children
            return f"MAP({key.duckdb_type}, {value.duckdb_type})"
        return DUCKDB_NAMES.get(self.type, self.type.upper())


@dataclass(frozen=True, slots=True)
class Schema(Guessable, Drawable):
    """The columns of a table at one snapshot, in order."""

    _reflexes = ("schema", OF_SCHEMAS)

    columns: tuple[Column, ...]

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __contains__(self, wanted: object) -> bool:
        """A column, or the name of one."""
        if isinstance(wanted, str):
            return fold(wanted) in (fold(name) for name in self.names)
        return wanted in self.columns

    if not TYPE_CHECKING:

        def __getitem__(self, wanted: object) -> object:
            """For those who think of a dict."""
            told = f".column({wanted!r})" if isinstance(wanted, str) else ".columns"
            raise TypeError(f"a Schema has no [ ] (hint: schema{told})")

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]

    def column(self, name: str) -> Column:
        """The column of that name; as in SQL, case does not matter unless two differ only in it."""
        if not isinstance(name, str):
            raise NotFound(f"{name!r} names no column", hint=f"there are: {', '.join(self.names)}")
        folded = fold(name)
        same = [c for c in self.columns if fold(c.name) == folded]
        exact = [c for c in same if c.name == name]
        if found := (exact or same):
            return found[0]
        raise NotFound(f"no column {name!r}", hint=self._meant(name))

    def _meant(self, name: str) -> str:
        parts = [part.strip() for part in name.split(",")]
        if len(parts) > 1 and all(part in self for part in parts):
            return f"several columns are a list: {parts!r}"
        hint = f"there are: {near_names(name, self.names)}"
        if name.strip() == "*":
            hint += "; all of them are read where none are named"
        elif _CONDITION.search(name):
            hint += "; a condition goes into where="
        elif _EXPRESSION.search(name):
            hint += '; lake.sql("SELECT …") computes'
        return hint

    def __str__(self) -> str:
        return "\n".join(
            f"{c.name}: {c.duckdb_type}{'' if c.nullable else ' not null'}" for c in self.columns
        )

    def _sheet(self) -> Sheet:
        rows = [(c.name, c.duckdb_type, "" if c.nullable else "not null") for c in self.columns]
        return Sheet.of(quantity(len(rows), "column")).with_grid(("column", "type", ""), rows)
