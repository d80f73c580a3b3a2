"""Just enough of an SQLAlchemy dialect to keep a catalog in a DuckDB file."""

from __future__ import annotations

from typing import Any

from sqlalchemy.engine.default import DefaultDialect


class _Connection:
    """A DBAPI connection whose cursors share one transaction, as SQLAlchemy expects.

    DuckDB's own `cursor()` opens a second connection with a transaction of its own.
    """

    def __init__(self, raw: Any) -> None:
        self.raw = raw
        self.in_transaction = False

    def cursor(self) -> _Cursor:
        return _Cursor(self)

    def begin(self) -> None:
        if not self.in_transaction:
            self.raw.execute("BEGIN TRANSACTION")
            self.in_transaction = True

    def commit(self) -> None:
        if self.in_transaction:
            self.in_transaction = False
            self.raw.execute("COMMIT")

    def rollback(self) -> None:
        if self.in_transaction:
            self.in_transaction = False
            self.raw.execute("ROLLBACK")

    def close(self) -> None:
        self.raw.close()


class _Cursor:
    def __init__(self, connection: _Connection) -> None:
        self._connection = connection
        self._rows: list[Any] = []
        self.description: Any = None
        self.rowcount = -1

    def execute(self, sql: str, parameters: Any = ()) -> None:
        raw = self._connection.raw
        self._connection.begin()
        raw.execute(sql, list(parameters) or None)
        self.description = raw.description
        self._rows = raw.fetchall() if raw.description else []

    def executemany(self, sql: str, rows: Any) -> None:
        self._connection.begin()
        self._connection.raw.executemany(sql, [list(row) for row in rows])

    def fetchall(self) -> list[Any]:
        rows, self._rows = self._rows, []
        return rows

    def fetchone(self) -> Any:
        return self._rows.pop(0) if self._rows else None

    def fetchmany(self, size: int = 1) -> list[Any]:
        rows, self._rows = self._rows[:size], self._rows[size:]
        return rows

    def close(self) -> None:
        self._rows = []


class DuckDBDialect(DefaultDialect):
    name = "duckdb"
    driver = "duckdb"
    default_paramstyle = "qmark"
    supports_statement_cache = True
    supports_native_boolean = True

    @classmethod
    def import_dbapi(cls) -> Any:
        import duckdb

        return duckdb

    def connect(self, *arguments: Any, **options: Any) -> Any:
        import duckdb

        connection = duckdb.connect(*arguments, **options)
        connection.execute("SET TimeZone = 'UTC'")
        return _Connection(connection)

    def create_connect_args(self, url: Any) -> Any:
        return [url.database], {}

    def initialize(self, connection: Any) -> None:
        """Nothing to ask: there is one version of one server."""
