"""Tables for what DuckLake has no place for, made when the first row comes to them.

A table that is not there is empty. Dropping them all leaves the lake whole. What a table looks
like is said where it is read and written, by `know`: the cells of an answer are checked at the
very bottom, where nobody knows who asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from tidelake.catalog import cells
from tidelake.catalog.database.database import Reader, Writer
from tidelake.catalog.layout import create_table, definitions_of
from tidelake.catalog.read.snapshots import as_instant


@dataclass(frozen=True, slots=True)
class OwnTable:
    """`columns` are spelled as in `layout`; a row without one of those that are `needed` says
    nothing. `index` is a name, and columns that rows are looked up by, too. `wall` says which rows
    are a tenant's, as `wall_policies` of PostgreSQL has it."""

    columns: str
    needed: str
    index: tuple[str, str] | None = None
    wall: str = ""


_KNOWN: dict[str, OwnTable] = {}


def know(tables: Mapping[str, OwnTable]) -> None:
    """What tables look like that are made later."""
    _KNOWN.update(tables)
    cells.know(
        {name: table.columns for name, table in tables.items()},
        {name: table.needed for name, table in tables.items()},
    )


def ensure(writer: Writer, name: str) -> None:
    """Make the table if it is not there. Call it before anything is written: MySQL commits
    what has been written until then."""
    if not writer.has_table(name):
        table = _KNOWN[name]
        writer.execute(create_table(name, writer.dialect.types, {name: table.columns}))
        if table.index is not None:
            index, columns = table.index
            writer.execute(f"CREATE INDEX {index} ON {name} ({columns})")
        if writer.dialect.walls is not None:
            writer.dialect.walls.around(writer, name, table.wall)


def layouts() -> dict[str, str]:
    """The columns of each, as `layout` spells them."""
    return {name: table.columns for name, table in _KNOWN.items()}


def walls() -> dict[str, str]:
    """Which rows of each table are a tenant's."""
    return {name: table.wall for name, table in _KNOWN.items()}


def ensure_all(writer: Writer) -> None:
    """Make all tables that are known, for those who may not make any."""
    for name in _KNOWN:
        ensure(writer, name)


def add_to_key(writer: Writer, name: str, column: str) -> None:
    """Give a table that was made without it a column of its key. All rows get its default."""
    layout, types = _KNOWN[name].columns, writer.dialect.types
    definitions = definitions_of(layout)
    (new,) = (each for each in definitions if each.column == column)
    if writer.dialect.rekey is not None:
        key = ", ".join(each.column for each in definitions if each.in_key)
        writer.execute(writer.dialect.rekey.format(table=name, column=new.sql(types), key=key))
        return
    others = ", ".join(f'"{each.column}"' for each in definitions if each != new)
    fresh = f"{name}_rekeyed"
    writer.execute(create_table(fresh, types, {fresh: layout}))
    writer.execute(f'INSERT INTO "{fresh}" ({others}) SELECT {others} FROM "{name}"')
    writer.execute(f'DROP TABLE "{name}"')
    writer.execute(f'ALTER TABLE "{fresh}" RENAME TO "{name}"')


def clock(reader: Reader) -> datetime:
    """The server's, so that all go by one; the computer's where the catalog is a file."""
    spelled = reader.dialect.clock
    row = reader.row(f"SELECT {spelled}") if spelled else None
    return as_instant(row[0]) if row else datetime.now(UTC)
