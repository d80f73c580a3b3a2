"""Catalogs in an SQLite file. `connections` opens it; beside a DuckDB that brought an SQLite of its
own (`libraries`) it is opened in another process (`keeper`, and `keepers` on our side).
"""

from tidelake.catalog.database.backend import Backend
from tidelake.catalog.database.sqlite.connections import SQLiteDatabase
from tidelake.catalog.database.sqlite.dialect import SQLiteDialect
from tidelake.catalog.database.sqlite.failures import failure_of

SQLITE = Backend(
    kind="sqlite",
    schemes=("sqlite",),
    ducklake_words=("sqlite",),
    example="sqlite:///lake.db",
    is_embedded=True,
    dialect=SQLiteDialect(),
    connect=SQLiteDatabase,
    failure_of=failure_of,
    drivers=("sqlite3",),
)
