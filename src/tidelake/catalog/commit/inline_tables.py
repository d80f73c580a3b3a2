"""The tables in which DuckLake keeps small writes, as each database declares them.

A table has one for each version of its columns, made together with that version, or later when
the first small write comes. DuckDB reads and writes them too, so names and types are its own;
for MySQL, which it does not know, they follow SQLite's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from tidelake.catalog.commit.entries import Entries
from tidelake.catalog.database.database import Reader
from tidelake.catalog.database.dialect import Dialect
from tidelake.catalog.read.tables import columns_of_version
from tidelake.model.names import fold, quote
from tidelake.model.schema import Column
from tidelake.model.table import TableInfo

_OWN_NAMES = {"row_id", "begin_snapshot", "end_snapshot"}
_SHOWN_AS_IT_IS = re.compile(r"[ !#-&(-\[\]-~]*")
"""Bytes that DuckDB shows as characters."""


def can_inline(dialect: Dialect, columns: Iterable[Column]) -> bool:
    """Whether the catalog can keep rows of these columns exactly, and DuckDB finds them."""
    listed = list(columns)
    fits = dialect.widest is None or len(listed) <= dialect.widest
    return fits and all(_can_inline(dialect, column) for column in listed)


def _can_inline(dialect: Dialect, column: Column) -> bool:
    name = fold(column.name)
    if name in _OWN_NAMES or name.startswith("_ducklake_internal_"):
        return False
    if any(below.type in ("variant", "geometry") for below in column.walk()):
        return False
    return dialect.can_name_column(column.name)


def can_flush(dialect: Dialect, table: TableInfo, rows: Iterable[Sequence[object]]) -> bool:
    """Whether DuckDB, when it moves these rows to files, tells those that have been deleted by
    then. Where text is kept as bytes, DuckDB takes the way in which it shows bytes for the
    partition's value."""
    if not dialect.keeps_text_as_bytes or table.partitioning is None:
        return True
    keys = {key.column_id for key in table.partitioning.keys}
    texts = [
        place
        for place, column in enumerate(table.schema)
        if column.type in ("varchar", "json") and column.id in keys
    ]
    return all(
        value is None or (isinstance(value, str) and _SHOWN_AS_IT_IS.fullmatch(value) is not None)
        for row in rows
        for value in (row[place] for place in texts)
    )


def create(entries: Entries, dialect: Dialect, table_id: int, columns: Sequence[Column]) -> str:
    """Have the table for the current version of the columns made; its name."""
    version = entries.numbers.schema_version
    name = f"ducklake_inlined_data_{table_id}_{version}"
    if dialect.commits_create:  # one that a broken-off commit left behind is rubbish
        entries.create(f'DROP TABLE IF EXISTS "{name}"')
    entries.create(create_sql(dialect, name, columns))
    entries.add(
        "ducklake_inlined_data_tables",
        table_id=table_id,
        table_name=name,
        schema_version=version,
    )
    entries.inline_tables[table_id] = name
    return name


def create_sql(dialect: Dialect, name: str, columns: Sequence[Column]) -> str:
    """Makes such a table."""
    kinds = [f"{quote(dialect.inline_name(c.name))} {dialect.inline_type(c)}" for c in columns]
    system = ["row_id BIGINT", "begin_snapshot BIGINT", "end_snapshot BIGINT"]
    return f'CREATE TABLE "{name}" ({", ".join(system + kinds)})'


def newest(reader: Reader, table_id: int, columns: Sequence[Column]) -> str | None:
    """The table that small writes of these columns go to; None if there is none yet."""
    row = reader.row(
        "SELECT table_name, schema_version FROM ducklake_inlined_data_tables"
        " WHERE table_id = :id ORDER BY schema_version DESC LIMIT 1",
        id=table_id,
    )
    if row is None:
        return None
    declared = columns_of_version(reader, table_id, row[1])
    same = [c.name for c in declared] == [c.name for c in columns] and [
        c.duckdb_type for c in declared
    ] == [c.duckdb_type for c in columns]
    return str(row[0]) if same else None


def names(reader: Reader, table_id: int) -> list[str]:
    rows = reader.rows(
        "SELECT table_name FROM ducklake_inlined_data_tables WHERE table_id = :id", id=table_id
    )
    return [row[0] for row in rows]


def deletes_name(table_id: int) -> str:
    return f"ducklake_inlined_delete_{table_id}"


def create_deletes(entries: Entries, table_id: int) -> None:
    """Have the table made in which deletes from files are kept."""
    entries.create(create_deletes_sql(table_id))


def create_deletes_sql(table_id: int) -> str:
    columns = "file_id BIGINT, row_id BIGINT, begin_snapshot BIGINT"
    return f'CREATE TABLE "{deletes_name(table_id)}" ({columns})'
