"""The kinds of databases that there are."""

from __future__ import annotations

from tidelake.catalog.database.backend import Backend
from tidelake.catalog.database.duckdb import DUCKDB
from tidelake.catalog.database.mysql import MYSQL
from tidelake.catalog.database.postgresql import POSTGRESQL
from tidelake.catalog.database.sqlite import SQLITE

BACKENDS: dict[str, Backend] = {
    backend.kind: backend for backend in (SQLITE, DUCKDB, POSTGRESQL, MYSQL)
}
DRIVERS = frozenset(driver for backend in BACKENDS.values() for driver in backend.drivers)
