"""How each kind of database spells what differs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime


@dataclass(frozen=True, slots=True)
class Dialect:
    """`types` maps our kinds (see `layout`) to column types; `exists` asks for a table :name
    and `index_exists` for an index, `every_column` lists (table, column) of all there are;
    `instant` reads a column `{}` of moments, as a driver can;
    `clock` is the server's own time, where all writers should go by one; a table for rows of
    the catalog takes `widest` columns, whatever is in them."""

    name: str
    types: Mapping[str, str]
    exists: str
    index_exists: str
    every_column: str
    instant: str = "{}"
    clock: str | None = None
    widest: int | None = None

    def moment(self, at: datetime) -> object:
        """An instant as the database's column for it takes it."""
        if self.types["time"].startswith("TIMESTAMP"):
            return at
        return at.astimezone(UTC).isoformat(sep=" ").replace("+00:00", "+00")


_NATIVE = {
    "int": "BIGINT",
    "text": "VARCHAR",
    "name": "VARCHAR",
    "bool": "BOOLEAN",
    "time": "TIMESTAMP WITH TIME ZONE",
    "uuid": "UUID",
    "blob": "BLOB",
}

DIALECTS = {
    "sqlite": Dialect(
        name="sqlite",
        types=dict.fromkeys(("int", "bool"), "BIGINT")
        | dict.fromkeys(("text", "name", "time", "uuid"), "VARCHAR")
        | {"blob": "BLOB"},
        exists="SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = :name",
        index_exists="SELECT 1 FROM sqlite_master WHERE type = 'index' AND name = :name",
        every_column="SELECT t.name, c.name FROM sqlite_master t JOIN pragma_table_info(t.name) c"
        " WHERE t.type = 'table' ORDER BY t.name, c.cid",
        widest=1_900,  # 2,000 in a table or a statement
    ),
    "duckdb": Dialect(
        name="duckdb",
        types=_NATIVE,
        exists="SELECT 1 FROM duckdb_tables() WHERE database_name = current_database()"
        " AND table_name = :name",
        index_exists="SELECT 1 FROM duckdb_indexes() WHERE database_name = current_database()"
        " AND index_name = :name",
        every_column="SELECT table_name, column_name FROM duckdb_columns()"
        " WHERE database_name = current_database() AND NOT internal"
        " ORDER BY table_name, column_index",
        instant="CAST({} AS VARCHAR)",
    ),
    "postgresql": Dialect(
        name="postgresql",
        types=_NATIVE | {"blob": "BYTEA"},
        exists="SELECT 1 FROM pg_tables WHERE schemaname = current_schema() AND tablename = :name",
        index_exists="SELECT 1 FROM pg_indexes"
        " WHERE schemaname = current_schema() AND indexname = :name",
        every_column="SELECT t.relname, c.attname FROM pg_attribute c"
        " JOIN pg_class t ON t.oid = c.attrelid"
        " WHERE t.relnamespace = CAST(current_schema() AS regnamespace) AND t.relkind = 'r'"
        " AND c.attnum > 0 AND NOT c.attisdropped ORDER BY t.relname, c.attnum",
        clock="clock_timestamp()",
        widest=300,  # a row is 8,160 bytes, of which a long decimal needs 24
    ),
    "mysql": Dialect(
        name="mysql",
        types={
            "int": "BIGINT",
            "text": "LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
            "name": "VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
            "bool": "TINYINT",
            "time": "VARCHAR(40)",
            "uuid": "VARCHAR(36)",
            "blob": "LONGBLOB",
        },
        exists="SELECT 1 FROM information_schema.tables"
        " WHERE table_schema = DATABASE() AND table_name = :name",
        index_exists="SELECT 1 FROM information_schema.statistics"
        " WHERE table_schema = DATABASE() AND index_name = :name",
        every_column="SELECT table_name, column_name FROM information_schema.columns"
        " WHERE table_schema = DATABASE() ORDER BY table_name, ordinal_position",
        clock="UTC_TIMESTAMP(6)",
        widest=180,  # a row is 8,126 bytes, of which a text needs 41
    ),
}
