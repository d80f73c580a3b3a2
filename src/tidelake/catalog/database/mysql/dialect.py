"""MySQL's SQL. DuckDB does not know it, so tables for small writes follow SQLite's."""

from __future__ import annotations

import re

from tidelake.catalog.database.dialect import NUMBER, Ask, Dialect, StatisticsSql
from tidelake.catalog.database.mysql.failures import MADE_LATER, NO_SUCH_TABLE, code_of

_NAME = re.compile(r"[\x01-\x7f]{0,63}[\x01-\x1f!-\x7f]")
"""Of other letters it passes over more than case."""
_TYPES = {
    "int": "BIGINT",
    "text": "LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
    "name": "VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
    "bool": "TINYINT",
    "time": "VARCHAR(40)",
    "uuid": "VARCHAR(36)",
    "blob": "LONGBLOB",
}


class MySQLDialect(Dialect):
    types = _TYPES
    index_exists = (
        "SELECT 1 FROM information_schema.statistics"
        " WHERE table_schema = DATABASE() AND index_name = :name"
    )
    every_column = (
        "SELECT table_name, column_name FROM information_schema.columns"
        " WHERE table_schema = DATABASE() ORDER BY table_name, ordinal_position"
    )
    statistics = StatisticsSql(
        number="CAST({v} AS DOUBLE)",
        odd_number=f"{{v}} NOT REGEXP {NUMBER}",
        in_order="CAST({v} AS BINARY)",
        hex_text="X'{x}'",
    )
    clock = "UTC_TIMESTAMP(6)"
    rekey = 'ALTER TABLE "{table}" ADD COLUMN {column}, DROP PRIMARY KEY, ADD PRIMARY KEY ({key})'
    prefixed = "CONCAT({}, {})"
    why_no_walls = "its grants are for whole tables, and hold nobody to some of their rows"
    commits_create = True
    widest = 180  # a row is 8,126 bytes, of which a text needs 41

    def has_table(self, ask: Ask, name: str) -> bool:
        """The table itself is asked, for the information schema also tells of one that was made
        after the moment that a transaction sees; at that moment it is not there."""
        try:
            ask(f'SELECT 1 FROM "{name}" LIMIT 1')
        except Exception as error:
            if code_of(error) in (NO_SUCH_TABLE, MADE_LATER):
                return False
            raise
        return True

    def can_name_column(self, name: str) -> bool:
        return bool(_NAME.fullmatch(name))
