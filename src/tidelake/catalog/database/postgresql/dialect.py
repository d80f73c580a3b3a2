"""PostgreSQL's SQL. DuckDB keeps text in it as bytes, and other values in types of its own."""

from __future__ import annotations

import re
from functools import lru_cache

from tidelake import duck
from tidelake.catalog.database.dialect import (
    NUMBER,
    SMALL_INTEGERS,
    Dialect,
    InlineColumn,
    StatisticsSql,
)
from tidelake.catalog.database.postgresql.walls import PostgreSQLWalls
from tidelake.model.schema import Column

_NAME_BYTES = 63
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_AS_BYTES = ("varchar", "json", "blob")
_INLINE = {
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
} | dict.fromkeys(_AS_BYTES, "BYTEA")
_TYPES = {
    "int": "BIGINT",
    "text": "VARCHAR",
    "name": "VARCHAR",
    "bool": "BOOLEAN",
    "time": "TIMESTAMP WITH TIME ZONE",
    "uuid": "UUID",
    "blob": "BYTEA",
}


class PostgreSQLDialect(Dialect):
    types = _TYPES
    exists = "SELECT 1 FROM pg_tables WHERE schemaname = current_schema() AND tablename = :name"
    index_exists = (
        "SELECT 1 FROM pg_indexes WHERE schemaname = current_schema() AND indexname = :name"
    )
    every_column = (
        "SELECT t.relname, c.attname FROM pg_attribute c"
        " JOIN pg_class t ON t.oid = c.attrelid"
        " JOIN pg_namespace n ON n.oid = t.relnamespace"
        " WHERE n.nspname = current_schema() AND t.relkind = 'r'"
        " AND c.attnum > 0 AND NOT c.attisdropped ORDER BY t.relname, c.attnum"
    )
    statistics = StatisticsSql(
        number="CAST({v} AS double precision)",
        odd_number=f"{{v}} !~ {NUMBER}",
        in_order='({v}) COLLATE "C"',
        hex_text="convert_from(decode('{x}', 'hex'), 'UTF8')",
    )
    clock = "clock_timestamp()"
    rekey = (
        'ALTER TABLE "{table}" ADD COLUMN {column}, DROP CONSTRAINT "{table}_pkey",'
        " ADD PRIMARY KEY ({key})"
    )
    schema_exists = "SELECT 1 FROM pg_namespace WHERE nspname = :name"
    brief_wait = "SET LOCAL lock_timeout = '1s'"
    widest = 300  # a row is 8,160 bytes, of which a long decimal needs 24
    walls = PostgreSQLWalls()
    keeps_text_as_bytes = True
    column_spellings = (
        "SELECT column_name FROM information_schema.columns"
        " WHERE table_schema = current_schema() AND table_name = :name"
    )

    def can_name_column(self, name: str) -> bool:
        return len(name.encode()) <= _NAME_BYTES and "%" not in name

    def inline_name(self, name: str) -> str:
        """DuckDB leaves plain names unquoted, so that their capitals are lost; it would not find
        ours if we kept them."""
        folds = _PLAIN.fullmatch(name) and not _is_keyword(name)
        return name.lower() if folds else name

    def inline_type(self, column: Column) -> str:
        if column.type.startswith("decimal"):
            return column.duckdb_type
        return _INLINE.get(column.type, "VARCHAR")

    def inline_value(self, column: Column, value: object) -> object:
        return value.encode() if column.type in _AS_BYTES and isinstance(value, str) else value

    def inline_sql(self, column: Column, name: str) -> str:
        return name if column.type in _AS_BYTES else f"CAST({name} AS VARCHAR)"

    def inline_column(self, column: Column, name: str) -> InlineColumn:
        if column.type in SMALL_INTEGERS - {"boolean"}:
            return InlineColumn(name, is_whole=True)
        is_long = self.inline_type(column) in ("BYTEA", "VARCHAR")
        return InlineColumn(self.inline_sql(column, name), is_long=is_long)


def _is_keyword(name: str) -> bool:
    return name != name.lower() and name.lower() in _keywords()


@lru_cache(maxsize=1)
def _keywords() -> frozenset[str]:
    """Words that DuckDB quotes."""
    with duck.open_duckdb() as connection:
        rows = connection.execute(
            "SELECT keyword_name FROM duckdb_keywords() WHERE keyword_category <> 'unreserved'"
        ).fetchall()
    return frozenset(row[0] for row in rows)
