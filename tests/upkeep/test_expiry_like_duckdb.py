"""Expiry leaves the catalog as DuckDB's own leaves it, row by row."""

import shutil
import sqlite3
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pytest

import tidelake
from tests.upkeep.histories import by_duckdb, by_tidelake
from tidelake.testing.agreement import Rows, assert_same, rows
from tidelake.testing.duck import duck_connection
from tidelake.testing.oracle import Oracle
from tidelake.testing.place import Place

Catalog = dict[str, list[tuple[Any, ...]]]


@pytest.fixture
def busy(place: Place, lake: tidelake.Lake, duck: duckdb.DuckDBPyConnection) -> Place:
    by_tidelake(lake, place.folder / "found")
    by_duckdb(duck, place.folder / "found")
    return place


@pytest.mark.parametrize("seeds", [range(2), pytest.param(range(2, 40), marks=pytest.mark.slow)])
def test_the_same_goes_and_the_same_stays(busy: Place, seeds: range) -> None:
    """Whichever snapshots remain. We also take out rows in the catalog that nobody can see, which
    DuckDB leaves there for ever."""
    with busy.open() as lake:
        ids = [each.snapshot_id for each in lake.snapshots()]
    for seed in seeds:
        kept = [*Random(seed).sample(ids, [0, 1, 2, 4, 12][seed % 5]), ids[-1]]
        if seed == 1:
            kept = ids[len(ids) * 3 // 4 :]
        ours, gone = expired_by_us(busy, kept)
        theirs = expired_by_duckdb(busy, gone)
        assert sorted(gone) == sorted(set(ids) - set(kept))
        assert ours.keys() == theirs.keys()
        for name in ours:
            assert ours[name] == without_the_invisible(name, theirs), (seed, name)


def expired_by_us(place: Place, kept: list[int]) -> tuple[Catalog, tuple[int, ...]]:
    path = copied(place, "ours")
    with tidelake.connect(f"sqlite:///{path}") as lake:
        for each in kept:
            lake.tag(f"kept-{each}", each)
        would = lake.expire(keep_last=1, dry_run=True)
        done = lake.expire(keep_last=1)
        assert (done.snapshots, done.files, done.bytes) == (
            would.snapshots,
            would.files,
            would.bytes,
        )
        assert (done.tables, done.rows) == (would.tables, would.rows)
        again = lake.expire(keep_last=1)
        assert (again.snapshots, again.files, again.tables, again.rows) == ((), 0, (), 0)
    return dump(path), done.snapshots


def expired_by_duckdb(place: Place, snapshots: tuple[int, ...]) -> Catalog:
    path = copied(place, "theirs")
    with duck_connection() as duck:
        duck.execute(f"ATTACH 'ducklake:sqlite:{path}' AS lake")
        duck.execute(f"CALL ducklake_expire_snapshots('lake', versions => {list(snapshots)})")
        duck.execute("DETACH lake")
    return dump(path)


def copied(place: Place, name: str) -> Path:
    path = place.folder / f"{name}.db"
    path.unlink(missing_ok=True)
    shutil.copy(place.folder / "lake.db", path)
    return path


def dump(path: Path) -> Catalog:
    connection = sqlite3.connect(path)
    names = connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'ducklake_%'"
    ).fetchall()
    found = {n: sorted(connection.execute(f'SELECT * FROM "{n}"'), key=repr) for (n,) in names}
    connection.close()
    schedule = "ducklake_files_scheduled_for_deletion"
    found[schedule] = [row[:3] for row in found[schedule]]
    return found


def without_the_invisible(name: str, catalog: Catalog) -> list[tuple[Any, ...]]:
    """What we take out, and DuckDB does not; and files that are not the lake's own, which only
    DuckDB schedules for deletion."""
    rows = catalog[name]
    if name == "ducklake_files_scheduled_for_deletion":
        return [row for row in rows if row[2]]
    if name.startswith("ducklake_inlined_data_") and name != "ducklake_inlined_data_tables":
        ids = [row[0] for row in catalog["ducklake_snapshot"]]
        return [row for row in rows if row[2] is None or any(row[1] <= n < row[2] for n in ids)]
    if name.startswith("ducklake_inlined_delete_"):
        files = {row[0] for row in catalog["ducklake_data_file"]}
        return [row for row in rows if row[0] in files]
    return rows


@pytest.mark.parametrize("place", ["sqlite", "duckdb", "postgresql", "mariadb"], indirect=True)
def test_every_snapshot_that_remains_reads_the_same(
    place: Place, lake: tidelake.Lake, oracle: Oracle, request: pytest.FixtureRequest
) -> None:
    by_tidelake(lake, place.folder / "found")
    if place.kind in ("sqlite", "postgresql"):
        by_duckdb(request.getfixturevalue("duck"), place.folder / "found")
    ids = [each.snapshot_id for each in lake.snapshots()]
    before = {each: everything(lake, each) for each in [*ids[::7], ids[-1]]}
    for number, kept in enumerate([ids[::7], ids[-1:]]):
        for tag in lake.tags():
            lake.untag(tag.name)
        for each in kept:
            lake.tag(f"round {number} keeps {each}", each)
        lake.expire(keep_last=1)
        lake.cleanup("0 seconds")
        there = sorted({*kept, ids[-1]})
        assert [each.snapshot_id for each in lake.snapshots()] == there
        assert {each: everything(lake, each) for each in there} == {n: before[n] for n in there}
    if place.kind in ("sqlite", "postgresql"):
        assert_same(place, oracle, lake)
    lake.table("r").append([{"a": 1000, "b": "goes on"}])
    assert lake.table("r").count() == len(before[ids[-1]]["main.r"]) + 1


def everything(lake: tidelake.Lake, snapshot_id: int) -> dict[str, Rows]:
    pinned = lake.known_at(snapshot_id)
    return {name: rows(pinned.table(name)) for name in pinned.tables()}
