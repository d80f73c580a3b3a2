"""Where a lake of a test is, what lies there, and what DuckDB says of it."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pytest

import tidelake
from tests.read import canonical
from tests.read.compare import differences
from tests.read.oracle import MadeLake, Oracle, exact_arrow, qualified
from tests.read.scripts.script import Script
from tidelake.errors import Invalid, TidelakeError
from tidelake.model.names import TableName

Rows = list[dict[str, Any]]


def lying(folder: Path) -> list[Path]:
    """All files below a folder, but for those that say whose it is."""
    found = (path for path in folder.rglob("*") if path.is_file())
    return [path for path in found if path.parent.name != "_tidelake"]


@dataclass(frozen=True)
class Place:
    """`folder` holds everything that the lake may write, and nothing else."""

    kind: str
    url: str
    ducklake: str
    folder: Path

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def open(self, **options: Any) -> tidelake.Lake:
        return tidelake.connect(self.url, f"{self.data}/", **options)

    def files(self) -> set[str]:
        """Every file there is, but for the catalog's own, and the mark of the data path."""
        found = (p for p in lying(self.folder) if p.parent != self.folder)
        return {str(path.relative_to(self.folder)) for path in found}

    def state(self) -> tuple[set[str], list[str]]:
        """All files, and all that an SQLite catalog holds."""
        if self.kind != "sqlite" or not (self.folder / "lake.db").exists():
            return self.files(), []
        with sqlite3.connect(self.folder / "lake.db") as catalog:
            return self.files(), list(catalog.iterdump())

    def catalog(self, sql: str, *values: object) -> list[Any]:
        """Rows of an SQLite catalog; or a change of it."""
        connection = sqlite3.connect(self.folder / "lake.db")
        try:
            with connection:
                return connection.execute(sql, values).fetchall()
        finally:
            connection.close()

    def unknown_files(self) -> set[str]:
        """Files under the data path that an SQLite catalog says nothing of."""
        known = self.catalog("SELECT path FROM ducklake_data_file")
        known += self.catalog("SELECT path FROM ducklake_delete_file")
        known += self.catalog("SELECT path FROM ducklake_files_scheduled_for_deletion")
        names = {Path(row[0]).name for row in known}
        return {str(path) for path in lying(self.data) if path.name not in names}

    @contextmanager
    def refuses(
        self, kind: type[TidelakeError] = Invalid, match: str = "", *, hint: bool = True
    ) -> Iterator[None]:
        """The body must raise this, and leave the lake exactly as it was."""
        before = self.state()
        with pytest.raises(TidelakeError) as caught:
            yield
        assert isinstance(caught.value, kind), caught.value
        assert match in str(caught.value), caught.value
        assert caught.value.hint or not hint, f"no hint: {caught.value}"
        files, catalog = self.state()
        assert files == before[0]
        assert catalog == before[1]


def assert_same(place: Place, oracle: Oracle, lake: tidelake.Lake | None = None) -> None:
    """Tidelake and DuckDB read the same, at every snapshot: names, columns, rows, row ids.

    Without a lake one is opened; a DuckDB catalog must be closed then.
    """
    truth = oracle.read(MadeLake(Script("", ""), place.url, place.ducklake, place.data))
    if lake is None:
        with place.open() as lake:
            found = differences(lake, truth, Random(1))
    else:
        found = differences(lake, truth, Random(1))
    assert not found, "\n".join(found)


def assert_same_now(lake: tidelake.Lake, duck: duckdb.DuckDBPyConnection) -> None:
    """The same for the newest snapshot alone, and without opening anything."""
    found = duck.execute(
        "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = 'lake'"
    ).fetchall()
    names = [TableName.parse(name) for name in lake.tables()]
    assert sorted((n.schema, n.name) for n in names) == sorted(found)
    for name in names:
        table = lake.table(str(name))
        theirs = exact_arrow(duck.sql(f"SELECT * FROM lake.{qualified((name.schema, name.name))}"))
        assert table.schema.names == theirs.column_names
        assert canonical.rows(table.to_arrow()) == canonical.rows(theirs), name
        assert table.count() == theirs.num_rows


def past(lake: tidelake.Lake) -> dict[int, dict[str, Any]]:
    """Everything readable at every snapshot, for comparing with what it is later."""
    return {
        snapshot.snapshot_id: {
            name: _shown(lake.known_at(snapshot.snapshot_id).table(name))
            for name in lake.known_at(snapshot.snapshot_id).tables()
        }
        for snapshot in lake.snapshots()
    }


def _shown(table: tidelake.Table) -> tuple[Any, ...]:
    rows = table.scan().to_arrow()
    return rows.column_names, [str(t) for t in rows.schema.types], canonical.rows(rows)


def rows(table: Any, *by: str) -> Rows:
    """The rows of a table, scan or query as dicts, sorted by columns, else by their text."""
    found: Rows = table.to_arrow().to_pylist()
    return sorted(found, key=(lambda r: [r[n] for n in by]) if by else repr)
