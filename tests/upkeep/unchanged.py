"""What any snapshot shows, so that it can be held against what it shows later."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import duckdb

import tidelake
from tidelake.model.names import TableName
from tidelake.testing import canonical
from tidelake.testing.oracle import exact_arrow, qualified_name

Shown = dict[tuple[Any, ...], Any]


@contextmanager
def nothing_changes(
    lake: tidelake.Lake, duck: duckdb.DuckDBPyConnection | None = None, *, feed: bool = True
) -> Iterator[None]:
    """Whatever the body does, every snapshot that there was reads as before: rows, row ids and
    row snapshots by us, rows, row ids and counts by DuckDB, and what that says of changes."""
    ids = [snapshot.snapshot_id for snapshot in lake.snapshots()]
    before = shown(lake, ids), shown_by_duckdb(duck, lake, ids, feed=feed)
    yield
    after = shown(lake, ids), shown_by_duckdb(duck, lake, ids, feed=feed)
    for old, new in zip(before, after, strict=True):
        assert old.keys() == new.keys()
        for key, value in old.items():
            assert new[key] == value, key


def shown(lake: tidelake.Lake, ids: list[int]) -> Shown:
    found = {}
    for at in ids:
        then = lake.known_at(at)
        for name in then.tables():
            table = then.table(name)
            scan = table.scan([*table.schema.names, *_lineage(table)])
            found[at, name] = canonical.rows(scan.to_arrow())
            found[at, name, "count"] = table.count()
    return found


def _lineage(table: tidelake.Table) -> list[str]:
    taken = {name.casefold() for name in table.schema.names}
    return [name for name in ("rowid", "snapshot_id") if name not in taken]


def shown_by_duckdb(
    duck: duckdb.DuckDBPyConnection | None, lake: tidelake.Lake, ids: list[int], *, feed: bool
) -> Shown:
    found: Shown = {}
    for at in ids if duck is not None else ():
        assert duck is not None
        for text in lake.known_at(at).tables():
            name = TableName.parse(text)
            source = f"lake.{qualified_name((name.schema, name.name))} AT (VERSION => {at})"
            rows = exact_arrow(duck.sql(f"SELECT *, rowid AS _id FROM {source}"))
            found[at, text] = canonical.rows(rows)
            found[at, text, "count"] = duck.sql(f"SELECT count(*) FROM {source}").fetchall()
            if feed and at == ids[-1]:
                found[at, text, "feed"] = _feed(duck, name, ids)
    return found


def _feed(duck: duckdb.DuckDBPyConnection, name: TableName, ids: list[int]) -> Any:
    within = f"{ids[1]}, {ids[-1]}"
    call = f"ducklake_table_changes('lake', '{name.schema}', '{name.name}', {within})"
    return sorted(map(repr, duck.sql(f"FROM {call}").fetchall()))
