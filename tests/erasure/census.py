"""All rows of a table at all snapshots, with their ids, by Tidelake and by DuckDB."""

from typing import Any

import tidelake
from tests.erasure.search import MARK
from tidelake.errors import NotFound
from tidelake.testing import canonical
from tidelake.testing.duck import duck_connection
from tidelake.testing.oracle import exact_arrow
from tidelake.testing.place import Place

Census = dict[int, list[tuple[Any, ...]]]
_LINEAGE = ["rowid", "snapshot_id"]


def by_tidelake(lake: tidelake.Lake, name: str) -> Census:
    found = {}
    for snapshot in lake.snapshots():
        try:
            table = lake.known_at(snapshot.snapshot_id).table(name)
        except NotFound:
            continue
        rows = table.scan([*_LINEAGE, *table.schema.names]).to_arrow()
        found[snapshot.snapshot_id] = canonical.rows(rows)
    return found


def by_duckdb(place: Place, name: str, snapshots: list[int]) -> Census:
    """Requires: the lake is closed, where only one can have it open."""
    with duck_connection() as duck:
        duck.execute("SET arrow_lossless_conversion = true")
        duck.execute(f"ATTACH '{place.ducklake}' AS lake (READ_ONLY)")
        return {
            at: canonical.rows(
                exact_arrow(
                    duck.sql(f"SELECT rowid, snapshot_id, * FROM lake.{name} AT (VERSION => {at})")
                )
            )
            for at in snapshots
        }


def without_mark(census: Census) -> Census:
    return {
        at: [row for row in rows if not any(MARK in str(value) for value in row)]
        for at, rows in census.items()
    }


def holds_mark(census: Census) -> bool:
    return census != without_mark(census)
