"""Whether Tidelake and DuckDB read the same from a lake, and what a lake holds."""

from random import Random
from typing import Any

import duckdb

import tidelake
from tests.read import canonical
from tests.read.compare import differences
from tests.read.oracle import MadeLake, Oracle, exact_arrow, qualified
from tests.read.scripts.script import Script
from tidelake.model.names import TableName
from tidelake.testing.place import Place

Rows = list[dict[str, Any]]


def assert_same(place: Place, oracle: Oracle, lake: tidelake.Lake | None = None) -> None:
    """Tidelake and DuckDB read the same, at every snapshot: names, columns, rows, row ids.

    Without a lake one is opened; a DuckDB catalog must be closed then.
    """
    assert place.ducklake is not None
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
