"""Whether Tidelake and DuckDB read the same from a lake. Differences come back as sentences."""

from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from typing import Any

import duckdb
import pyarrow as pa

import tidelake
from tidelake.errors import Unsupported
from tidelake.model.names import TableName
from tidelake.testing import canonical
from tidelake.testing.oracle import (
    TIMETZ,
    VARIANT,
    Name,
    Oracle,
    Row,
    SnapshotTruth,
    TableTruth,
    Truth,
    exact_arrow,
    qualified_name,
)
from tidelake.testing.place import Place

Rows = list[dict[str, Any]]


def assert_same(
    place: Place, oracle: Oracle, lake: tidelake.Lake | None = None, *, most: int | None = None
) -> None:
    """Tidelake and DuckDB read the same, at every snapshot: names, columns, rows, row ids. With
    `most` at so many snapshots, the first and the newest.

    Without a lake one is opened; a DuckDB catalog must be closed then.
    """
    truth = oracle.read(place, most)
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
        theirs = exact_arrow(
            duck.sql(f"SELECT * FROM lake.{qualified_name((name.schema, name.name))}")
        )
        assert table.schema.names == theirs.column_names
        assert canonical.rows(table.to_arrow()) == canonical.rows(theirs), name
        assert table.count() == theirs.num_rows


def differences(lake: tidelake.Lake, truth: Truth, chance: Random) -> list[str]:
    """Everything that differs, at every snapshot; empty if the lake reads as DuckDB reads it."""
    found = _tried("snapshots()", partial(_commits, lake, truth))
    probed = {truth.latest.snapshot_id, chance.choice(truth.snapshots).snapshot_id}
    for snapshot in truth.snapshots:
        before = f"snapshot {snapshot.snapshot_id}"
        past = lake.known_at(snapshot.snapshot_id)
        found += _tried(before, partial(_names, past, snapshot))
        for name, table in snapshot.tables.items():
            handle = past.table(qualified_name(name))
            where = f"{before} {qualified_name(name)}"
            found += _tried(where, partial(_table, handle, table))
            if snapshot.snapshot_id in probed:
                found += _tried(where, partial(_projection, handle, table, chance))
    for name, rows in truth.lineage.items():
        check = partial(_lineage, lake, name, truth.latest.tables[name], rows)
        found += _tried(f"lineage of {qualified_name(name)}", check)
    return found


def _tried(where: str, check: Callable[[], list[str]]) -> list[str]:
    try:
        return [f"{where}: {difference}" for difference in check()]
    except Exception as error:  # a crash is a difference like any other
        return [f"{where}: raised {type(error).__name__}: {str(error)[:400]}"]


def _commits(lake: tidelake.Lake, truth: Truth) -> list[str]:
    got = [
        (s.snapshot_id, s.time, s.author, s.message, ",".join(s.changes) or None)
        for s in lake.snapshots()
    ]
    return _unequal("commits", truth.commits, got)


def _names(lake: tidelake.Lake, snapshot: SnapshotTruth) -> list[str]:
    return [
        *_unequal("schemas", sorted(snapshot.schemas), sorted(lake.schemas())),
        *_unequal("tables", sorted(snapshot.tables), sorted(map(_parsed, lake.tables()))),
        *_unequal("views", sorted(snapshot.views), sorted(map(_parsed, lake.views()))),
    ]


def _parsed(text: str) -> Name:
    name = TableName.parse(text)
    return name.schema, name.name


def _table(table: tidelake.Table, truth: TableTruth) -> list[str]:
    return [
        *_unequal("schema names", truth.columns, table.schema.names),
        *_unequal("count()", len(truth.rows), table.count()),
        *_read(table.scan(), truth),
    ]


def _projection(table: tidelake.Table, truth: TableTruth, chance: Random) -> list[str]:
    """A random choice of columns in a random order."""
    wanted = chance.sample(truth.columns, chance.randint(1, len(truth.columns)))
    return [f"columns {wanted}: {d}" for d in _read(table.scan(wanted), project(truth, wanted))]


def _lineage(lake: tidelake.Lake, name: Name, truth: TableTruth, rows: list[Row]) -> list[str]:
    truth = TableTruth(
        ["rowid", "snapshot_id", *truth.columns],
        ["BIGINT", "BIGINT", *truth.duckdb_types],
        ["int64", "int64", *truth.types],
        rows,
    )
    scan = lake.table(qualified_name(name)).scan(truth.columns)
    return _read(scan, truth)


def project(truth: TableTruth, wanted: Sequence[str]) -> TableTruth:
    places = [truth.columns.index(name) for name in wanted]
    return TableTruth(
        [truth.columns[p] for p in places],
        [truth.duckdb_types[p] for p in places],
        [truth.types[p] for p in places],
        sorted((tuple(row[p] for p in places) for row in truth.rows), key=repr),
    )


def _read(scan: tidelake.Scan, truth: TableTruth) -> list[str]:
    """The scan's Arrow table; a zoned time, which Arrow cannot hold, must be refused by name."""
    if zoned := truth.columns_of_type(TIMETZ):
        return _refused(scan, zoned) + _rows(exact_arrow(scan.to_duckdb()), truth)
    arrow = scan.to_arrow()
    if not truth.columns_of_type(VARIANT):
        return _rows(arrow, truth)
    return [
        *_unequal("columns", truth.columns, arrow.column_names),
        *_unequal("number of rows", len(truth.rows), arrow.num_rows),
        *_rows(exact_arrow(scan.to_duckdb()), truth),
    ]


def _refused(scan: tidelake.Scan, columns: list[str]) -> list[str]:
    try:
        scan.to_arrow()
    except Unsupported as error:
        return [] if any(repr(name) in str(error) for name in columns) else [f"unclear: {error}"]
    return [f"to_arrow() did not refuse {columns}"]


def _rows(arrow: pa.Table, truth: TableTruth) -> list[str]:
    kinds = [canonical.type_name(kind) for kind in arrow.schema.types]
    return [
        *_unequal("columns", truth.columns, arrow.column_names),
        *_unequal("types", truth.types, kinds),
        *row_differences(truth.rows, canonical.rows(arrow)),
    ]


def row_differences(expected: list[Row], got: list[Row]) -> list[str]:
    if expected == got:
        return []
    missing, extra = _without(expected, got), _without(got, expected)
    return [
        f"rows: {len(expected)} expected, {len(got)} got;"
        f" missing {missing[:3]}; not expected {extra[:3]}"
    ]


def _without(rows: list[Row], others: list[Row]) -> list[Row]:
    left = list(map(repr, others))
    found = []
    for row in rows:
        if repr(row) in left:
            left.remove(repr(row))
        else:
            found.append(row)
    return found


def _unequal(what: str, expected: Any, got: Any) -> list[str]:
    return [] if expected == got else [f"{what}: expected {expected}, got {got}"]


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
