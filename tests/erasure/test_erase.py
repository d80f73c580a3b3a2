"""Rows that are erased are nowhere any more; all others are what they were, at every snapshot."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tidelake
from tests.cases import every
from tests.erasure.census import Census, by_duckdb, by_tidelake, holds_mark, without_mark
from tests.erasure.search import MARK, traces
from tidelake.erasure.values import ErasureResult
from tidelake.errors import Denied, Invalid, NotFound, TidelakeError, Unsupported
from tidelake.testing.place import Place

WHERE = f"name = '{MARK}'"
KINDS = ["sqlite", "duckdb", "postgresql", "mariadb"]


def rows(*names: str, start: int = 0) -> list[dict[str, Any]]:
    return [{"id": start + n, "name": name} for n, name in enumerate(names)]


def written(lake: tidelake.Lake) -> None:
    """Appends, deletes, updates and a merge, some of which the catalog keeps."""
    t = lake.create_table("t", "id INTEGER, name VARCHAR")
    t.append(rows("a", MARK, "b"))
    t.append(rows("c", start=10))
    t.update({"id": "id + 100"}, where=WHERE)
    t.append(
        pa.table({"id": range(20, 60), "name": [MARK if n == 7 else f"n{n}" for n in range(40)]})
    )
    t.delete("id IN (21, 27, 30)")
    t.delete("id IN (22, 23)")
    t.merge(rows(MARK, "z", start=40), on="id")
    t.merge(rows("later", start=40), on="id")
    t.append(rows(MARK, "y", start=200))


def evolved(lake: tidelake.Lake) -> None:
    """Columns that were renamed, added, widened and dropped; nested values."""
    t = lake.create_table(
        "t", "id INTEGER, mail VARCHAR, gone VARCHAR, s STRUCT(x INTEGER, y VARCHAR)"
    )
    lake.set_option("data_inlining_row_limit", 2)
    t.append(
        [{"id": n, "mail": f"m{n}", "gone": f"g{n}", "s": {"x": n, "y": "q"}} for n in range(9)]
    )
    t.append([{"id": 50, "mail": MARK, "gone": "old", "s": None}])
    t.append(
        [{"id": 51 + n, "mail": MARK, "gone": "old", "s": {"x": 1, "y": MARK}} for n in range(4)]
    )
    t.evolve(rename={"mail": "name"})
    t.evolve(widen={"id": "BIGINT"}, add={"extra": "INTEGER"})
    t.append(
        [
            {"id": 60 + n, "name": MARK if n == 2 else "k", "gone": "g", "s": None, "extra": n}
            for n in range(5)
        ]
    )
    t.evolve(drop=["gone"])
    t.delete("id = 3")


def partitioned(lake: tidelake.Lake) -> None:
    t = lake.create_table("t", "id INTEGER, name VARCHAR", partition_by=["name"], sort_by=["id"])
    lake.set_option("data_inlining_row_limit", 0)
    t.append(rows("a", MARK, "b", "a", MARK))
    t.append(rows(MARK, start=10))
    t.delete("id = 1")
    t.evolve()


def compacted(lake: tidelake.Lake) -> None:
    """Files with rows and deletes of several snapshots."""
    t = lake.create_table("t", "id INTEGER, name VARCHAR")
    lake.set_option("data_inlining_row_limit", 0)
    for n in range(4):
        t.append(rows("a", MARK, "b", start=10 * n))
    t.delete("id IN (1, 12, 21)")
    t.compact()
    t.append(rows("c", MARK, start=100))
    t.delete("id = 100")
    t.compact()
    lake.set_option("data_inlining_row_limit", 10)
    t.append(rows(MARK, "in", start=300))
    t.delete("id IN (300, 2)")
    t.compact()
    t.append(rows("d", start=400))


STORIES = every(4, [written, evolved, compacted, partitioned])


def erased(lake: tidelake.Lake, **more: Any) -> ErasureResult:
    result = lake.erase("t", WHERE, reason="request 4711", **more)
    assert result.is_finished, result
    return result


def check_gone(place: Place, lake: tidelake.Lake, before: Census) -> None:
    """Nothing is left of the value, and the rest is as it was: for Tidelake, DuckDB and verify."""
    assert traces(place, lake) == []
    expected = without_mark(before)
    after = by_tidelake(lake, "t")
    assert {at: after[at] for at in before} == expected
    report = lake.verify(deep=True)
    assert report.ok, str(report)
    if place.ducklake is None:
        return
    if place.exclusive:
        lake.close()
    assert by_duckdb(place, "t", sorted(before)) == expected


@pytest.mark.parametrize("story", STORIES)
@pytest.mark.parametrize("place", KINDS, indirect=True)
def test_every_snapshot_is_as_it_was_without_them(
    place: Place, story: Callable[[tidelake.Lake], None]
) -> None:
    with place.open() as lake:
        story(lake)
        before = by_tidelake(lake, "t")
        assert holds_mark(before)
        assert traces(place, lake), "the search must find what is there"
        would = lake.erase("t", WHERE, dry_run=True)
        assert by_tidelake(lake, "t") == before
        done = erased(lake)
        assert (would.rows, would.newest, would.files, would.files_gone) == (
            done.rows,
            done.newest,
            done.files,
            done.files_gone,
        )
        now = before[max(before)]
        assert done.newest == len(now) - len(without_mark({0: now})[0])
        check_gone(place, lake, before)


@pytest.mark.slow
def test_what_duckdb_wrote_and_kept_up(place: Place) -> None:
    """Inlined rows and deletes of DuckDB's, its merges, flushes and rewrites, and hive folders."""
    with place.open() as lake:
        lake.create_table("u", "id INTEGER, name VARCHAR")
    with place.duck() as duck:
        duck.execute("USE lake")
        duck.execute("CREATE TABLE t (id INTEGER, name VARCHAR)")
        duck.execute("ALTER TABLE t SET PARTITIONED BY (name)")
        duck.execute(f"INSERT INTO t VALUES (1, 'a'), (2, '{MARK}')")
        duck.execute(f"INSERT INTO t SELECT n, if(n % 9 = 0, '{MARK}', 'b') FROM range(40) r(n)")
        duck.execute("DELETE FROM t WHERE id IN (9, 10, 11)")
        duck.execute("UPDATE t SET id = id + 1000 WHERE id = 18")
        duck.execute("CALL ducklake_flush_inlined_data('lake')")
        duck.execute("ALTER TABLE t RESET PARTITIONED BY")
        for n in range(3):
            duck.execute(
                f"INSERT INTO t SELECT {n} * 100 + n, if(n = 3, '{MARK}', 'c') FROM range(30) r(n)"
            )
        duck.execute("CALL ducklake_merge_adjacent_files('lake')")
        duck.execute("DELETE FROM t WHERE id % 2 = 0")
        duck.execute("CALL ducklake_rewrite_data_files('lake', delete_threshold => 0.01)")
        duck.execute(f"INSERT INTO t VALUES (5000, '{MARK}'), (5001, 'd')")
        duck.execute("DELETE FROM t WHERE id = 5000")
    with place.open() as lake:
        before = by_tidelake(lake, "t")
        assert any("name=" in each for each in traces(place, lake))
        erased(lake)
        check_gone(place, lake, before)
    with place.duck() as duck:
        duck.execute("CALL ducklake_merge_adjacent_files('lake')")
        duck.execute("INSERT INTO lake.t VALUES (1, 'after')")
        ((low, high),) = duck.execute("SELECT min(name), max(name) FROM lake.t").fetchall()
        assert (low, high) == ("a", "d")


def test_what_was_made_of_the_table_goes_too(place: Place, tmp_path: Path) -> None:
    """Rollups, coverage, fingerprints, a mirror with its history, scheduled files and tags."""
    with place.open() as lake:
        lake.set_option("data_inlining_row_limit", 0)
        t = lake.create_table(
            "t",
            "id INTEGER, name VARCHAR, ts TIMESTAMP",
            key=["id"],
            event_time="ts",
            entity=["name"],
            bucket="1h",
        )
        for n in range(3):
            t.append(
                [
                    {
                        "id": k,
                        "name": MARK if k == 2 else f"n{k}",
                        "ts": f"2024-01-0{n + 1}T0{k}:00:00",
                    }
                    for k in range(5)
                ]
            )
            lake.tag(f"day {n}")
        t.rollup("2024-01-02")
        t.compact()
        t.delete(f"name = '{MARK}' AND ts < '2024-01-02'")
        t.rollup("2024-01-03")
        t.drop_rollups()
        t.rollup("2024-01-03T12:00:00")
        mirror = lake.mirror("t", history=True)
        lake.verify(fingerprint=True)
        t.append([{"id": 9, "name": MARK, "ts": "2024-02-01"}])
        t.coverage(entity=MARK)
        before = by_tidelake(lake, "t")
        kinds = {each.rpartition(".")[2] for each in traces(place, lake)}
        assert {"rollup", "json", "parquet"} <= kinds
        result = erased(lake, author="kim")
        assert result.rollups >= 1
        assert result.mirrors == 1
        assert result.unneeded_files >= 1
        assert lake.verify(fingerprint=True).ok
        assert mirror.diff().status == "ok"
        assert mirror.status.status == "active"
        assert t.rollups() == []
        assert [row[2:4] for row in by_tidelake(lake, "t")[lake.tags()[0].snapshot_id]] == [
            row[2:4] for row in without_mark(before)[lake.tags()[0].snapshot_id]
        ]
        check_gone(place, lake, before)
        t.append([{"id": 10, "name": "n", "ts": "2024-02-02"}])
        assert mirror.diff().status == "ok"


def test_a_mirror_shows_its_history_anew(place: Place) -> None:
    from tests.delta.readers import Readers

    with place.open() as lake, Readers() as readers:
        t = lake.create_table("t", "id INTEGER, name VARCHAR")
        lake.mirror("t")
        t.append(rows("a", MARK))
        t.append(rows("b", start=10))
        t.delete("id = 0")
        old = lake.mirrored("t").state.delta_id
        erased(lake)
        state = lake.mirrored("t").state
        assert state.delta_id != old
        known = [
            sorted(row[0] for row in rows)
            for version in range(state.version + 1)
            for _, rows in [next(iter(readers.read(state.root, version).values()))]
        ]
        assert known[-1] == [10]
        assert [0, 10] in known
        assert traces(place, lake) == []


@pytest.mark.slow
def test_a_mirror_that_was_stopped_is_not_begun_again(place: Place) -> None:
    with place.open() as lake:
        t = lake.create_table("t", "id INTEGER, name VARCHAR")
        lake.mirror("t").stop()
        t.append(rows("a", MARK))
        lake.mirror("t").stop()
        erased(lake)
        assert lake.mirrors() == []
        assert traces(place, lake) == []
        lake.mirror("t")
        assert lake.mirrored("t").diff().status == "ok"


@pytest.mark.slow
def test_files_that_are_not_the_lakes_are_named(place: Place, tmp_path: Path) -> None:
    theirs = tmp_path / "theirs.parquet"
    pq.write_table(pa.table({"id": pa.array([1, 2], pa.int32()), "name": ["a", MARK]}), theirs)
    with place.open() as lake:
        t = lake.create_table("t", "id INTEGER, name VARCHAR")
        t.add_files([str(theirs)])
        before = by_tidelake(lake, "t")
        result = erased(lake)
        assert result.foreign == (str(theirs),)
        assert theirs.exists()
        check_gone(place, lake, before)
        assert lake.cleanup("0 seconds").files == 0


def test_files_that_nobody_committed(place: Place) -> None:
    """A crashed writer's file goes; one of DuckDB's that is young stays, and is told."""
    with place.open() as lake:
        t = lake.create_table("t", "id INTEGER, name VARCHAR")
        lake.set_option("data_inlining_row_limit", 0)
        t.append(rows("a", "b"))
        folder = Path(t.info.path)
        source = next(folder.glob("*.parquet"))
        for name, mark in (
            ("-00000000.parquet", MARK),
            ("-00000001.parquet", "x"),
            (".parquet", MARK),
        ):
            copy = folder / f"ducklake-01a1ec22-dd97-773e-8dd5-34ee904e4{len(name):03d}{name}"
            table = pq.read_table(source).set_column(
                1, pq.read_schema(source).field(1), [[mark, "b"]]
            )
            pq.write_table(table, copy)
        result = erased(lake)
        assert (result.rows, result.unneeded_files, result.snapshot_id) == (0, 1, None)
        assert [len(each.paths) for each in result.left] == [1]
        assert "DuckDB" in result.left[0].reason
        assert len(list(folder.glob("*.parquet"))) == 3


def test_free_pages_of_the_catalog_are_cleared(place: Place) -> None:
    """SQLite leaves what was deleted in pages that it will use again, unless it was told not to."""
    with place.open() as lake:
        lake.create_table("t", "id INTEGER, name VARCHAR").append(rows("a"))
    with closing(sqlite3.connect(place.catalog_file)) as catalog:
        catalog.execute("PRAGMA secure_delete = OFF")
        catalog.execute("CREATE TABLE passing (value TEXT)")
        catalog.executemany("INSERT INTO passing VALUES (?)", [(MARK * 99,)] * 99)
        catalog.commit()
        catalog.execute("DROP TABLE passing")
        catalog.commit()
    with place.open() as lake:
        assert traces(place, lake) == ["catalog file"]
        erased(lake)
        assert traces(place, lake) == []


@pytest.mark.slow
def test_it_can_be_done_again_and_finds_nothing(place: Place) -> None:
    with place.open() as lake:
        written(lake)
        first = erased(lake)
        before = by_tidelake(lake, "t")
        again = erased(lake)
        assert (again.rows, again.snapshot_id) == (0, None)
        assert by_tidelake(lake, "t") == before
        assert [each.rows for each in lake.erasures()] == [first.rows, 0]


@pytest.mark.slow
def test_everything_can_be_erased(place: Place) -> None:
    with place.open() as lake:
        written(lake)
        lake.erase("t", "true", reason="all of it")
        assert all(not found for found in by_tidelake(lake, "t").values())
        assert lake.verify(deep=True).ok
        lake.table("t").append(rows("new"))
        assert lake.table("t").count() == 1
    with place.duck() as duck:
        assert duck.execute("SELECT count(*), min(name), max(name) FROM lake.t").fetchall() == [
            (1, "new", "new")
        ]


@pytest.mark.slow
def test_a_rowid_can_be_named(place: Place) -> None:
    with place.open() as lake:
        written(lake)
        lake.erase("t", "rowid = 0", reason="one row")
        assert all(row[0] != 0 for found in by_tidelake(lake, "t").values() for row in found)


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ({"where": None, "reason": "r"}, Invalid),
        ({"where": "nothing = 1", "reason": "r"}, TidelakeError),
        ({"where": "id = ", "reason": "r"}, Invalid),
        ({"where": "id = 1; DROP TABLE t", "reason": "r"}, TidelakeError),
        ({"where": 7, "reason": "r"}, Invalid),
        ({"where": "id = 1"}, Invalid),
        ({"where": "id = 1", "reason": "  "}, Invalid),
        ({"where": "id = 1", "reason": 7}, Invalid),
        ({"where": "id = 1", "reason": "r", "author": ""}, Invalid),
        ({"name": "u", "where": "id = 1", "reason": "r"}, NotFound),
    ],
)
def test_nonsense_changes_nothing(place: Place, given: dict[str, Any], kind: type) -> None:
    with place.open() as lake:
        lake.create_table("t", "id INTEGER, name VARCHAR").append(rows("a"))
        with place.refuses(kind):
            lake.erase(**{"name": "t", **given})


def test_who_may_not_write_may_count(place: Place) -> None:
    with place.open() as lake:
        written(lake)
    with place.open(read_only=True) as lake, place.refuses(Denied):
        assert lake.erase("t", WHERE, dry_run=True).rows
        lake.erase("t", WHERE, reason="r")
    with place.open() as lake, place.refuses(Denied):
        lake.known_at(2).erase("t", WHERE, reason="r")


def test_an_encrypted_lake_is_refused(place: Place) -> None:
    place.folder.mkdir(exist_ok=True)
    from tidelake.testing.duck import duck_connection

    with duck_connection() as duck:
        duck.execute(f"ATTACH '{place.ducklake}' AS lake (DATA_PATH '{place.data}/', ENCRYPTED)")
        duck.execute("CREATE TABLE lake.t AS SELECT 1 AS id, 'a' AS name")
    with place.open() as lake, place.refuses(Unsupported, "encrypted"):
        lake.erase("t", WHERE, reason="r")
