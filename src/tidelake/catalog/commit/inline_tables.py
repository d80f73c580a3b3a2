"""The tables in which DuckLake keeps small writes, as each database declares them.

A table has one for each version of its columns, made together with that version, or later when
the first small write comes. DuckDB reads and writes them too, so names and types are its own;
for MySQL, which it does not know, they follow SQLite's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from tidelake import duck
from tidelake.catalog.commit.entries import Entries
from tidelake.catalog.database.database import Reader
from tidelake.catalog.database.dialects import Dialect
from tidelake.catalog.read.tables import columns_of_version
from tidelake.model.names import fold, quote
from tidelake.model.schema import Column
from tidelake.model.table import TableInfo

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_OWN_NAMES = {"row_id", "begin_snapshot", "end_snapshot"}
_POSTGRES_NAME_BYTES = 63
_MYSQL_NAME = re.compile(r"[\x01-\x7f]{0,63}[\x01-\x1f!-\x7f]")
"""Of other letters it passes over more than case."""
_SHOWN_AS_IT_IS = re.compile(r"[ !#-&(-\[\]-~]*")
"""Bytes that DuckDB shows as characters."""
_SMALL_INTEGERS = {"boolean", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"}

_POSTGRES = {
    "boolean": "BOOLEAN",
    "int8": "SMALLINT",
    "int16": "SMALLINT",
    "int32": "INTEGER",
    "int64": "BIGINT",
    "uint8": "INTEGER",
    "uint16": "INTEGER",
    "uint32": "BIGINT",
    "float32": "REAL",
    "float64": "DOUBLE PRECISION",
    "time": "TIME",
    "timetz": "TIMETZ",
    "interval": "INTERVAL",
    "uuid": "UUID",
    "varchar": "BYTEA",
    "json": "BYTEA",
    "blob": "BYTEA",
}


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
    if dialect.name == "postgresql":
        return len(column.name.encode()) <= _POSTGRES_NAME_BYTES and "%" not in column.name
    if dialect.name == "mysql":
        return bool(_MYSQL_NAME.fullmatch(column.name))
    return True


def can_flush(dialect: Dialect, table: TableInfo, rows: Iterable[Sequence[object]]) -> bool:
    """Whether DuckDB, when it moves these rows to files, tells those that have been deleted by
    then. PostgreSQL keeps text as bytes, and DuckDB takes the way in which it shows bytes for
    the partition's value."""
    if dialect.name != "postgresql" or table.partitioning is None:
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
    kinds = [f"{stored_name(dialect, c.name)} {column_type(dialect, c)}" for c in columns]
    system = ["row_id BIGINT", "begin_snapshot BIGINT", "end_snapshot BIGINT"]
    if dialect.name == "mysql":
        # CREATE commits there at once: one that a broken-off commit left behind is rubbish.
        entries.create(f'DROP TABLE IF EXISTS "{name}"')
    entries.create(f'CREATE TABLE "{name}" ({", ".join(system + kinds)})')
    entries.add(
        "ducklake_inlined_data_tables",
        table_id=table_id,
        table_name=name,
        schema_version=version,
    )
    entries.inline_tables[table_id] = name
    return name


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
    columns = "file_id BIGINT, row_id BIGINT, begin_snapshot BIGINT"
    entries.create(f'CREATE TABLE "{deletes_name(table_id)}" ({columns})')


def stored_name(dialect: Dialect, name: str) -> str:
    """A column's name in DDL. On PostgreSQL DuckDB leaves plain names unquoted, so that their
    capitals are lost; it would not find ours if we kept them."""
    return quote(stored_spelling(dialect, name))


def stored_spelling(dialect: Dialect, name: str) -> str:
    folds = dialect.name == "postgresql" and _PLAIN.fullmatch(name) and not _is_keyword(name)
    return name.lower() if folds else name


def _is_keyword(name: str) -> bool:
    return name != name.lower() and name.lower() in _keywords()


@lru_cache(maxsize=1)
def _keywords() -> frozenset[str]:
    """Words that DuckDB quotes."""
    with duck.opened() as connection:
        rows = connection.execute(
            "SELECT keyword_name FROM duckdb_keywords() WHERE keyword_category <> 'unreserved'"
        ).fetchall()
    return frozenset(row[0] for row in rows)


def column_type(dialect: Dialect, column: Column) -> str:
    if dialect.name == "duckdb":
        return column.duckdb_type
    if dialect.name == "postgresql":
        if column.type.startswith("decimal"):
            return column.duckdb_type
        return _POSTGRES.get(column.type, "VARCHAR")
    if column.type in _SMALL_INTEGERS:
        return "BIGINT"
    if column.type == "blob":
        return "BLOB" if dialect.name == "sqlite" else "LONGBLOB"
    return dialect.types["text"]


def stored_value(dialect: Dialect, column: Column, value: object) -> object:
    """None, bytes or DuckDB's text, as the database's column takes it."""
    if value is None:
        return None
    if dialect.name == "postgresql" and column.type in ("varchar", "json", "blob"):
        return value.encode() if isinstance(value, str) else value
    if dialect.name in ("sqlite", "mysql"):
        if column.type == "boolean":
            return value == "true"
        if column.type in _SMALL_INTEGERS:
            return int(str(value))
    return value
