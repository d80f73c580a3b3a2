"""Catalogs in a DuckDB file."""

from tidelake.catalog.database.backend import Backend
from tidelake.catalog.database.duckdb.connections import DuckDBDatabase
from tidelake.catalog.database.duckdb.dialect import DuckDBDialect
from tidelake.catalog.database.duckdb.failures import failure_of

DUCKDB = Backend(
    kind="duckdb",
    schemes=("duckdb",),
    ducklake_words=("duckdb",),
    example="duckdb:///lake.duckdb",
    is_embedded=True,
    dialect=DuckDBDialect(),
    connect=DuckDBDatabase,
    failure_of=failure_of,
    drivers=("duckdb", "_duckdb"),
)
