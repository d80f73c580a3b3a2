"""Summaries of many files at a time change how fast a plan is made, never the plan."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import tidelake
from tests.cases import every
from tidelake.catalog.read import zones
from tidelake.testing.faults import watch_database

if TYPE_CHECKING:
    import duckdb

DuckFactory = Callable[[], "duckdb.DuckDBPyConnection"]

CONDITIONS = [
    "i = 17",
    "i BETWEEN 40 AND 60",
    "i > 150 OR i < 5",
    "i IN (3, 99, 1000)",
    "NOT i < 190",
    "f > 1e6",
    "f < -50",
    "f = 'nan'",
    "s = 'k7'",
    "s LIKE 'k1%'",
    "s IS NULL",
    "s IS NOT NULL AND i = 120",
    "ts >= '2024-01-03' AND ts < '2024-01-04'",
    "ts IS NULL",
    "late = 5",
    "late IS NULL AND i > 180",
    "i + 1 = 18",
    "i = 10000",
]


@pytest.fixture(params=every(3, ["sqlite", "duckdb", "postgresql"]))
def address(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, str]:
    """The lake's address for us and for DuckDB."""
    if request.param == "postgresql":
        server = request.getfixturevalue("postgres_server")
        url = server.new_database()
        return url, f"postgres:{server.duckdb_dsn(url.rsplit('/', 1)[1])}"
    path = f"{tmp_path}/c.db"
    return f"{request.param}:///{path}", f"sqlite:{path}" if request.param == "sqlite" else path


def run(duck: DuckFactory, address: str, folder: Path, statements: list[str]) -> None:
    connection = duck()
    connection.execute(f"ATTACH 'ducklake:{address}' AS lake (DATA_PATH '{folder}/data/')")
    connection.execute("USE lake")
    for statement in statements:
        connection.execute(statement)
    connection.execute("USE memory")
    connection.execute("DETACH lake")
    connection.close()


def insert(step: int, *, late: bool = False) -> str:
    start = step * 5
    values = (
        "i, CASE WHEN i % 31 = 0 THEN 'nan'::DOUBLE WHEN i % 13 = 0 THEN NULL ELSE i - 60.5 END,"
        " CASE WHEN i % 11 = 0 THEN NULL ELSE 'k' || i % 20 END,"
        " TIMESTAMP '2024-01-01' + INTERVAL (i) HOUR"
    )
    rows = f"range({start}, {start + 5}) r(i)"
    return f"INSERT INTO t SELECT {values}{', i' if late else ''} FROM {rows}"


def plans(lake: tidelake.Lake) -> dict[str, tuple[list[int], int]]:
    found = {}
    for where in CONDITIONS:
        if "late" not in where or "late" in lake.table("t").schema.names:
            scan = lake.table("t").scan(where=where)
            found[where] = ([file.id for file in scan.files()], scan.to_arrow().num_rows)
    return found


@pytest.mark.slow
def test_plans_are_the_same_with_and_without(
    address: tuple[str, str], tmp_path: Path, new_duck: DuckFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zones, "WIDTH", 4)
    ours, theirs = address
    steps = list(range(40))
    random.Random(5).shuffle(steps)
    run(new_duck, theirs, tmp_path, ["CALL lake.set_option('data_inlining_row_limit', 0)"])
    run(
        new_duck,
        theirs,
        tmp_path,
        ["CREATE TABLE t (i INTEGER, f DOUBLE, s VARCHAR, ts TIMESTAMP)"],
    )
    run(new_duck, theirs, tmp_path, [insert(step) for step in [*range(10), *steps[:15]]])
    with tidelake.connect(ours) as lake:
        before = plans(lake)
        lake.reindex()
    with tidelake.connect(ours, read_only=True) as lake:
        assert plans(lake) == before
    more = ["ALTER TABLE t ADD COLUMN late INTEGER", *(insert(s, late=True) for s in steps[15:30])]
    more += ["DELETE FROM t WHERE i % 9 = 0", "CALL lake.merge_adjacent_files()"]
    more += [insert(step, late=True) for step in steps[30:]]
    run(new_duck, theirs, tmp_path, more)
    with tidelake.connect(ours, read_only=True) as lake:
        summarised_in_part = plans(lake)
    with tidelake.connect(ours) as lake:
        lake.reindex()
    with tidelake.connect(ours) as lake:
        summarised = plans(lake)
        with lake.session.database.writing() as writer:
            writer.execute("DROP TABLE tidelake_zone")
    with tidelake.connect(ours, read_only=True) as lake:
        assert plans(lake) == summarised == summarised_in_part
        assert len(summarised["i = 10000"][0]) == 0


def test_zones_are_really_skipped(
    tmp_path: Path, new_duck: DuckFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zones, "WIDTH", 4)
    statements = ["CALL lake.set_option('data_inlining_row_limit', 0)"]
    statements += ["CREATE TABLE t (i INTEGER, f DOUBLE, s VARCHAR, ts TIMESTAMP)"]
    run(new_duck, f"sqlite:{tmp_path}/c.db", tmp_path, [*statements, *map(insert, range(40))])
    with tidelake.connect(f"sqlite:///{tmp_path}/c.db") as lake:
        lake.reindex()
        with lake.session.reading() as reader:
            schema = lake.table("t").schema
            runs = zones.ZoneMap(1).candidates(reader, tidelake.col("i") == 17, schema)
            everything = zones.ZoneMap(1).candidates(reader, tidelake.col("i") >= 0, schema)
    assert runs == ((0, 3), (40, None))
    assert everything == ((0, 39), (40, None))


def test_zones_are_read_once_and_stay_true_as_files_come_and_go(
    tmp_path: Path, new_duck: DuckFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zones, "WIDTH", 4)
    statements = ["CALL lake.set_option('data_inlining_row_limit', 0)"]
    statements += ["CREATE TABLE t (i INTEGER, f DOUBLE, s VARCHAR, ts TIMESTAMP)"]
    run(new_duck, f"sqlite:{tmp_path}/c.db", tmp_path, [*statements, *map(insert, range(40))])
    asked: list[str] = []
    with tidelake.connect(f"sqlite:///{tmp_path}/c.db") as lake:
        lake.reindex()
        table = lake.table("t")
        table.scan(where="i = 17").files()
        with watch_database(lake, lambda what, text: what == "ask" and asked.append(text)):
            assert len(table.scan(where="i = 18").files()) == 1
        assert asked
        assert not [sql for sql in asked if zones.TABLE in sql]
        before = table.scan(where="i = 19").to_arrow().num_rows
        table.append([{"i": 19, "f": 1.0, "s": "new", "ts": None}])
        assert table.scan(where="i = 19").to_arrow().num_rows == before + 1
        table.delete("i < 19")
        assert table.scan(where="i = 18").to_arrow().num_rows == 0
        assert table.scan(where="i = 19").to_arrow().num_rows == before + 1


def test_scattered_zones_become_few_runs() -> None:
    runs = zones._runs(range(0, 1000, 2))
    assert len(runs) <= zones._MOST_RUNS
    assert all(
        any(first <= zone * zones.WIDTH <= (last or 0) for first, last in runs)
        for zone in range(0, 1000, 2)
    )
