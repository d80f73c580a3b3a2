"""The door to the catalog's database: transactions, and errors in our own words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from threading import RLock
from typing import TYPE_CHECKING, Any

from tidelake.catalog.dialects import DIALECTS, Dialect, open_engine
from tidelake.catalog.failures import translated
from tidelake.catalog.url import CatalogUrl
from tidelake.errors import Denied, NotFound

if TYPE_CHECKING:
    from sqlalchemy import Connection

Row = Any

# A DuckDB file belongs to one process, and two writers in it would abort each other.
_DUCKDB_WRITERS: defaultdict[CatalogUrl, RLock] = defaultdict(RLock)


class Reader:
    """One transaction on the catalog that sees a single moment of it."""

    def __init__(self, connection: Connection, dialect: Dialect) -> None:
        self._connection = connection
        self.dialect = dialect

    def rows(self, sql: str, **parameters: object) -> list[Row]:
        from sqlalchemy import text

        return list(self._connection.execute(text(sql), parameters))

    def row(self, sql: str, **parameters: object) -> Row | None:
        return next(iter(self.rows(sql, **parameters)), None)

    def has_table(self, name: str) -> bool:
        return self.row(self.dialect.exists, name=name) is not None


class Writer(Reader):
    """One transaction that may change the catalog."""

    def execute(self, sql: str, **parameters: object) -> None:
        from sqlalchemy import text

        self._connection.execute(text(sql), parameters)

    def insert(self, table: str, rows: list[dict[str, object]]) -> None:
        from sqlalchemy import text

        if rows:
            names = ", ".join(f'"{name}"' for name in rows[0])
            values = ", ".join(f":{name}" for name in rows[0])
            sql = f'INSERT INTO "{table}" ({names}) VALUES ({values})'
            self._connection.execute(text(sql), rows)


class Database:
    """A catalog database. Connections are pooled; `close` gives them all back."""

    def __init__(self, url: CatalogUrl, *, read_only: bool = False) -> None:
        self.url = url
        self.dialect = DIALECTS[url.kind]
        self.read_only = read_only
        if url.path is not None and not url.path.exists():
            self._check_creatable()
        self._engine = open_engine(url, read_only=read_only)

    def _check_creatable(self) -> None:
        path = self.url.path
        assert path is not None
        if self.read_only:
            raise NotFound(f"there is no catalog at {self.url}", hint="check the path")
        if not path.parent.is_dir():
            raise NotFound(
                f"the folder {path.parent} does not exist", hint=f"mkdir -p {path.parent}"
            )

    @contextmanager
    def reading(self) -> Iterator[Reader]:
        """A transaction in which every query sees the same moment."""
        with translated(self.url), self._engine.connect() as connection, connection.begin():
            if self.dialect.begin_read:
                connection.exec_driver_sql(self.dialect.begin_read)
            yield Reader(connection, self.dialect)

    @contextmanager
    def writing(self) -> Iterator[Writer]:
        """A transaction that commits at the end, or leaves no trace if the body raises."""
        if self.read_only:
            raise Denied(f"{self.url} was opened read-only", hint="connect without read_only=True")
        alone = _DUCKDB_WRITERS[self.url] if self.url.kind == "duckdb" else nullcontext()
        with alone, translated(self.url), self._engine.connect() as connection:
            if self.dialect.write_isolation:
                connection.execution_options(isolation_level=self.dialect.write_isolation)
            with connection.begin():
                if self.dialect.begin_write:
                    connection.exec_driver_sql(self.dialect.begin_write)
                try:
                    yield Writer(connection, self.dialect)
                finally:
                    if self.dialect.end_write:
                        connection.exec_driver_sql(self.dialect.end_write)

    def close(self) -> None:
        self._engine.dispose()
