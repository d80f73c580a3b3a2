"""How each kind of database spells what differs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime


@dataclass(frozen=True, slots=True)
class Dialect:
    """`types` maps our kinds (see `layout`) to column types; `exists` asks for a table :name
    and `index_exists` for an index; `instant` reads a column `{}` of moments, as a driver can;
    `clock` is the server's own time, where all writers should go by one."""

    name: str
    types: Mapping[str, str]
    exists: str
    index_exists: str
    instant: str = "{}"
    clock: str | None = None

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
}

DIALECTS = {
    "sqlite": Dialect(
        name="sqlite",
        types=dict.fromkeys(("int", "bool"), "BIGINT")
        | dict.fromkeys(("text", "name", "time", "uuid"), "VARCHAR"),
        exists="SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = :name",
        index_exists="SELECT 1 FROM sqlite_master WHERE type = 'index' AND name = :name",
    ),
    "duckdb": Dialect(
        name="duckdb",
        types=_NATIVE,
        exists="SELECT 1 FROM duckdb_tables() WHERE database_name = current_database()"
        " AND table_name = :name",
        index_exists="SELECT 1 FROM duckdb_indexes() WHERE database_name = current_database()"
        " AND index_name = :name",
        instant="CAST({} AS VARCHAR)",
    ),
    "postgresql": Dialect(
        name="postgresql",
        types=_NATIVE,
        exists="SELECT 1 FROM pg_tables WHERE schemaname = current_schema() AND tablename = :name",
        index_exists="SELECT 1 FROM pg_indexes"
        " WHERE schemaname = current_schema() AND indexname = :name",
        clock="clock_timestamp()",
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
        },
        exists="SELECT 1 FROM information_schema.tables"
        " WHERE table_schema = DATABASE() AND table_name = :name",
        index_exists="SELECT 1 FROM information_schema.statistics"
        " WHERE table_schema = DATABASE() AND index_name = :name",
        clock="UTC_TIMESTAMP(6)",
    ),
}
