"""Lakes made by DuckDB, and what DuckDB itself reads from them at every snapshot."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa

from tests.read import canonical
from tests.read.scripts.script import Script
from tidelake.testing.duck import duck_connection

if TYPE_CHECKING:
    from tests.servers.postgres import PostgresServer

Row = tuple[Any, ...]
Name = tuple[str, str]

VARIANT = "VARIANT"
TIMETZ = "TIME WITH TIME ZONE"
TEXT_ONLY = (VARIANT, TIMETZ)


@dataclass(frozen=True)
class MadeLake:
    """A lake on disk: `url` is how Tidelake opens it, `ducklake` what DuckDB attaches."""

    script: Script
    url: str
    ducklake: str
    data: Path


@dataclass(frozen=True)
class TableTruth:
    """A table at one snapshot. Columns of `TEXT_ONLY` types hold DuckDB's text of the value,
    a variant's with its type before it."""

    columns: list[str]
    duckdb_types: list[str]
    types: list[str]
    rows: list[Row]

    def columns_of_type(self, word: str) -> list[str]:
        """The columns whose type is, or holds somewhere inside, the one named."""
        pairs = zip(self.columns, self.duckdb_types, strict=True)
        return [name for name, kind in pairs if word in kind]


@dataclass(frozen=True)
class SnapshotTruth:
    snapshot_id: int
    schemas: set[str]
    views: set[Name]
    tables: dict[Name, TableTruth]


@dataclass(frozen=True)
class Truth:
    """`lineage` has (rowid, snapshot_id) before each row of each table at the latest snapshot;
    `commits` are (id, time, author, message, changes)."""

    snapshots: list[SnapshotTruth]
    commits: list[Row]
    lineage: dict[Name, list[Row]] = field(default_factory=dict)

    @property
    def latest(self) -> SnapshotTruth:
        return self.snapshots[-1]


class Oracle:
    """One DuckDB that makes lakes and reads them back."""

    def __init__(self) -> None:
        self._duck = duck_connection()
        self._duck.execute("SET arrow_lossless_conversion = true")
        self._duck.execute("SET threads = 1")  # twice as fast on lakes as small as these

    def close(self) -> None:
        self._duck.close()

    def make(
        self,
        script: Script,
        folder: Path,
        *,
        catalog: str = "sqlite",
        limit: int = 0,
        postgres: "PostgresServer | None" = None,
        tolerant: bool = False,
    ) -> MadeLake:
        """Run a script. A tolerant run leaves out the statements that DuckDB refuses."""
        lake = _place(script, folder, catalog, postgres)
        files = folder / "files"
        files.mkdir()
        if script.prepare:
            script.prepare(files)
        text = _filled(script.sql, files, lake.data)
        options = f"DATA_PATH '{lake.data}/', DATA_INLINING_ROW_LIMIT {limit}{script.attach}"
        with self._attached(lake, options):
            for statement in self._duck.extract_statements(text):
                self._run(statement, tolerant)
        if script.after:
            self._edit(lake, _filled(script.after, files, lake.data))
        return lake

    def read(self, lake: MadeLake) -> Truth:
        with self._attached(lake, "READ_ONLY"):
            commits = self._commits()
            snapshots = list(self._snapshots([commit[0] for commit in commits]))
            lineage = {
                name: self._lineage(name, table) for name, table in snapshots[-1].tables.items()
            }
        return Truth(snapshots, commits, lineage)

    def _run(self, statement: duckdb.Statement, tolerant: bool) -> None:
        try:
            self._duck.execute(statement)
        except (duckdb.InternalException, duckdb.FatalException):
            raise
        except duckdb.Error:
            if not tolerant:
                raise
            self._roll_back()

    def _roll_back(self) -> None:
        with suppress(duckdb.TransactionException):
            self._duck.execute("ROLLBACK")

    @contextmanager
    def _attached(self, lake: MadeLake, options: str) -> Iterator[None]:
        self._duck.execute(f"ATTACH '{lake.ducklake}' AS lake ({options})")
        self._duck.execute("USE lake")
        try:
            yield
        finally:
            self._roll_back()
            self._duck.execute("SET TimeZone = 'UTC'")
            self._duck.execute("USE memory")
            self._duck.execute("DETACH lake")

    def _edit(self, lake: MadeLake, statements: str) -> None:
        kind, _, where = lake.ducklake.removeprefix("ducklake:").partition(":")
        self._duck.execute(f"ATTACH '{where or kind}' AS meta (TYPE {kind if where else 'duckdb'})")
        self._duck.execute(statements)
        self._duck.execute("DETACH meta")

    def _commits(self) -> list[Row]:
        return self._duck.execute(
            """SELECT snapshot_id, snapshot_time::TIMESTAMPTZ, author, commit_message, changes_made
            FROM __ducklake_metadata_lake.ducklake_snapshot
            LEFT JOIN __ducklake_metadata_lake.ducklake_snapshot_changes USING (snapshot_id)
            ORDER BY snapshot_id"""
        ).fetchall()

    def _snapshots(self, ids: list[int]) -> Iterator[SnapshotTruth]:
        schemas, tables, views = (self._versions(what) for what in ("schema", "table", "view"))
        for number in ids:
            names = dict(_visible(schemas, number))
            yield SnapshotTruth(
                number,
                set(names.values()),
                {(names[schema], name) for schema, name in _visible(views, number)},
                {
                    (names[schema], name): self._table((names[schema], name), number)
                    for schema, name in _visible(tables, number)
                },
            )

    def _versions(self, what: str) -> list[Row]:
        return self._duck.execute(
            f"SELECT begin_snapshot, end_snapshot, schema_id, {what}_name "
            f"FROM __ducklake_metadata_lake.ducklake_{what}"
        ).fetchall()

    def _table(self, name: Name, snapshot_id: int) -> TableTruth:
        source = f"{qualified(name)} AT (VERSION => {snapshot_id})"
        relation = self._duck.sql(f"SELECT * FROM lake.{source}")
        arrow = exact_arrow(relation)
        kinds = [str(kind) for kind in relation.types]
        names = [canonical.type_name(kind) for kind in arrow.schema.types]
        return TableTruth(list(relation.columns), kinds, names, canonical.rows(arrow))

    def _lineage(self, name: Name, table: TableTruth) -> list[Row]:
        relation = self._duck.sql(f"SELECT rowid, snapshot_id, * FROM lake.{qualified(name)}")
        return canonical.rows(exact_arrow(relation))


def exact_arrow(relation: duckdb.DuckDBPyRelation) -> pa.Table:
    """The rows as Arrow; what Arrow cannot carry (variants, zoned times) as DuckDB's text."""
    pairs = zip(relation.columns, relation.types, strict=True)
    columns = [f"{_carried(quote(name), str(kind))} AS {quote(name)}" for name, kind in pairs]
    return relation.project(", ".join(columns)).to_arrow_table()


def _carried(column: str, kind: str) -> str:
    if kind == VARIANT:
        return f"concat(variant_typeof({column}), ' ', CAST({column} AS VARCHAR))"
    return f"CAST({column} AS VARCHAR)" if any(word in kind for word in TEXT_ONLY) else column


def quote(identifier: str) -> str:
    return '"' + identifier.replace('"', '""') + '"'


def qualified(name: Name) -> str:
    return ".".join(quote(part) for part in name)


def _visible(versions: list[Row], snapshot_id: int) -> list[tuple[int, str]]:
    """The (schema id, name) of the rows that exist at a snapshot."""
    return [
        (schema, name)
        for begin, end, schema, name in versions
        if begin <= snapshot_id and (end is None or snapshot_id < end)
    ]


def _filled(text: str, files: Path, data: Path) -> str:
    return text.replace("$FILES", str(files)).replace("$DATA", str(data))


def _place(
    script: Script, folder: Path, catalog: str, postgres: "PostgresServer | None"
) -> MadeLake:
    data = folder / "data"
    if catalog == "sqlite":
        path = folder / "catalog.db"
        return MadeLake(script, f"sqlite:///{path}", f"ducklake:sqlite:{path}", data)
    if catalog == "duckdb":
        path = folder / "catalog.duckdb"
        return MadeLake(script, f"duckdb:///{path}", f"ducklake:{path}", data)
    assert postgres is not None
    url = postgres.new_database()
    dsn = postgres.duckdb_dsn(url.rpartition("/")[2])
    return MadeLake(script, url, f"ducklake:postgres:{dsn}", data)
