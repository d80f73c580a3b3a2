"""SQLite's SQL. It takes any value for any column, and has few types."""

from __future__ import annotations

from tidelake.catalog.database.dialect import Dialect, StatisticsSql


class SQLiteDialect(Dialect):
    types = (
        dict.fromkeys(("int", "bool"), "BIGINT")
        | dict.fromkeys(("text", "name", "time", "uuid"), "VARCHAR")
        | {"blob": "BLOB"}
    )
    exists = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = :name"
    index_exists = "SELECT 1 FROM sqlite_master WHERE type = 'index' AND name = :name"
    every_column = (
        "SELECT t.name, c.name FROM sqlite_master t JOIN pragma_table_info(t.name) c"
        " WHERE t.type = 'table' ORDER BY t.name, c.cid"
    )
    statistics = StatisticsSql(
        number="CAST({v} AS REAL)",
        # The cast stops at the first odd character; words give zero.
        odd_number="CAST({v} AS REAL) = 0 AND ({v} NOT GLOB '*[0-9]' OR {v} GLOB '*[^-0-9.eE]*')",
        in_order="{v}",
        hex_text="CAST(X'{x}' AS TEXT)",
        odd_moment="{v} NOT GLOB '{x}'",
        any_text="*",
        any_character="?",
    )
    indexes_long_text = True
    widest = 1_900  # 2,000 in a table or a statement
