"""Catalogs in a PostgreSQL database, or in one of its schemas."""

from tidelake.catalog.database.backend import Backend
from tidelake.catalog.database.postgresql.connections import PostgreSQLDatabase
from tidelake.catalog.database.postgresql.dialect import PostgreSQLDialect
from tidelake.catalog.database.postgresql.failures import failure_of

POSTGRESQL = Backend(
    kind="postgresql",
    schemes=("postgresql", "postgres", "postgresql+psycopg"),
    ducklake_words=("postgres", "postgresql"),
    example="postgresql://user@host/db",
    is_embedded=False,
    dialect=PostgreSQLDialect(),
    connect=PostgreSQLDatabase,
    failure_of=failure_of,
    drivers=("sqlalchemy", "psycopg"),
)
