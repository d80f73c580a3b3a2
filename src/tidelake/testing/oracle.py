"""What DuckDB itself reads from a lake, at every snapshot: the truth for reads of ours."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import duckdb
import pyarrow as pa

from tidelake.testing import canonical
from tidelake.testing.duck import duck_connection
from tidelake.testing.place import Place

Row = tuple[Any, ...]
Name = tuple[str, str]

VARIANT = "VARIANT"
TIMETZ = "TIME WITH TIME ZONE"
TEXT_ONLY = (VARIANT, TIMETZ)


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
    """All that is there by name at one snapshot."""

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

    def run(self, place: Place, sql: str, *, options: str = "", tolerant: bool = False) -> None:
        """Statements by DuckDB, inside the lake attached as `lake`, with more options of ATTACH.

        A tolerant run leaves out the statements that DuckDB refuses.
        """
        with self._attached(place, f"DATA_PATH '{place.data}/'{options}"):
            for statement in self._duck.extract_statements(sql):
                self._execute(statement, tolerant)

    def edit(self, place: Place, sql: str) -> None:
        """Statements on the catalog itself, attached as `meta`."""
        kind, _, where = _attached_as(place).removeprefix("ducklake:").partition(":")
        self._duck.execute(f"ATTACH '{where or kind}' AS meta (TYPE {kind if where else 'duckdb'})")
        self._duck.execute(sql)
        self._duck.execute("DETACH meta")

    def read(self, place: Place, most: int | None = None) -> Truth:
        """All that DuckDB reads from the lake, or of so many snapshots, the first and the newest;
        a DuckDB catalog must be closed meanwhile."""
        with self._attached(place, "READ_ONLY"):
            commits = self._commits()
            ids = [commit[0] for commit in commits]
            if most is not None and len(ids) > most:
                ids = [ids[0], *ids[1 - most :]]
            snapshots = list(self._snapshots(ids))
            lineage = {name: self._lineage(name) for name in snapshots[-1].tables}
        return Truth(snapshots, commits, lineage)

    def _execute(self, statement: duckdb.Statement, tolerant: bool) -> None:
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
    def _attached(self, place: Place, options: str) -> Iterator[None]:
        self._duck.execute(f"ATTACH '{_attached_as(place)}' AS lake ({options})")
        self._duck.execute("USE lake")
        try:
            yield
        finally:
            self._roll_back()
            self._duck.execute("SET TimeZone = 'UTC'")
            self._duck.execute("USE memory")
            self._duck.execute("DETACH lake")

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
        source = f"{qualified_name(name)} AT (VERSION => {snapshot_id})"
        relation = self._duck.sql(f"SELECT * FROM lake.{source}")
        arrow = exact_arrow(relation)
        kinds = [str(kind) for kind in relation.types]
        names = [canonical.type_name(kind) for kind in arrow.schema.types]
        return TableTruth(list(relation.columns), kinds, names, canonical.rows(arrow))

    def _lineage(self, name: Name) -> list[Row]:
        relation = self._duck.sql(f"SELECT rowid, snapshot_id, * FROM lake.{qualified_name(name)}")
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


def qualified_name(name: Name) -> str:
    return ".".join(quote(part) for part in name)


def _visible(versions: list[Row], snapshot_id: int) -> list[tuple[int, str]]:
    """The (schema id, name) of the rows that exist at a snapshot."""
    return [
        (schema, name)
        for begin, end, schema, name in versions
        if begin <= snapshot_id and (end is None or snapshot_id < end)
    ]


def _attached_as(place: Place) -> str:
    assert place.ducklake is not None, f"DuckDB cannot use a catalog of {place.kind}"
    return place.ducklake
