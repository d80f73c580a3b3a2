"""What is kept of files goes when they go, whoever takes them out; nothing stays for ever."""

import subprocess
import sys
from datetime import datetime, timedelta

import duckdb
import pytest

import tidelake
from tests.coverage.oracle import by_catalog, by_rows
from tidelake.coverage import records as coverage
from tidelake.testing.place import Place

NOON = datetime(2024, 3, 1, 12)
SHAPE = "k VARCHAR, ts TIMESTAMP, v INTEGER"


def rows(first: int, count: int) -> list[dict[str, object]]:
    return [
        {"k": f"k{n % 3}", "ts": NOON + timedelta(minutes=n), "v": n}
        for n in range(first, first + count)
    ]


def new_series(lake: tidelake.Lake, name: str = "t") -> tidelake.Table:
    return lake.create_table(name, SHAPE, entity="k", event_time="ts", bucket="1m")


def kept(lake: tidelake.Lake, name: str = "tidelake_coverage_file") -> list[int]:
    """The files of which something is kept."""
    with lake.session.reading() as reader:
        sql = f"SELECT DISTINCT data_file_id FROM {name} ORDER BY data_file_id"
        return [row[0] for row in reader.rows(sql)]


def files(lake: tidelake.Lake) -> list[int]:
    with lake.session.reading() as reader:
        sql = "SELECT data_file_id FROM ducklake_data_file ORDER BY data_file_id"
        return [row[0] for row in reader.rows(sql)]


def assert_true_everywhere(table: tidelake.Table) -> None:
    for snapshot in table.snapshots():
        then = table.known_at(snapshot.snapshot_id)
        assert by_catalog(then) == by_rows(then)


@pytest.mark.parametrize("place", ["sqlite", "postgresql", "mariadb", "duckdb"], indirect=True)
def test_files_that_are_merged_take_it_along(lake: tidelake.Lake) -> None:
    t = new_series(lake)
    for n in range(4):
        t.append(rows(n * 20, 20))
    t.compact()
    assert kept(lake) == kept(lake, "tidelake_coverage") == files(lake)
    assert len(files(lake)) == 1
    assert_true_everywhere(t)


def test_what_only_the_past_had_goes_with_it(lake: tidelake.Lake) -> None:
    t = new_series(lake)
    for n in range(3):
        t.append(rows(n * 20, 20))
    t.delete("v = 7")
    t.compact()
    t.coverage()
    assert_true_everywhere(t)

    def past() -> int:
        with lake.session.reading() as reader:
            sql = "SELECT count(*) FROM tidelake_coverage WHERE end_snapshot IS NOT NULL"
            return int(reader.rows(sql)[0][0])

    assert past() > 0
    lake.expire(keep_last=1)
    assert past() == 0
    assert t.coverage().covered == 59
    assert lake.verify(deep=True).ok


def test_tables_take_it_along(lake: tidelake.Lake) -> None:
    for name in ("t", "u"):
        new_series(lake, name).append(rows(0, 30))
    lake.rename("u", "w")
    lake.drop("t")
    lake.expire(keep_last=1)
    assert kept(lake) == kept(lake, "tidelake_coverage") == files(lake)
    assert lake.table("w").coverage().covered == 30


def test_settings_that_no_snapshot_has_any_more(lake: tidelake.Lake) -> None:
    t = new_series(lake)
    t.append(rows(0, 30))
    t.set_coverage("1h", entity="k")
    assert t.coverage().covered == 3
    t.set_coverage(None)
    lake.expire(keep_last=2)
    with lake.session.reading() as reader:
        assert len(coverage.scopes(reader, t.info.id)) == 1
    lake.expire(keep_last=1)
    assert kept(lake) == kept(lake, "tidelake_coverage") == []
    t.set_coverage("1m", entity="k", event_time="ts")
    assert t.coverage().covered == 30


@pytest.mark.parametrize("how", ["expire", "compact"])
def test_files_that_duckdb_has_merged_or_expired(
    how: str, lake: tidelake.Lake, duck: duckdb.DuckDBPyConnection
) -> None:
    t = new_series(lake)
    for n in range(3):
        t.append(rows(n * 20, 20))
    duck.execute("CALL ducklake_merge_adjacent_files('lake')")
    assert t.coverage().covered == 60
    assert lake.verify(deep=True).ok
    assert set(kept(lake)) > set(files(lake))
    if how == "expire":
        lake.expire(keep_last=100)
    else:
        t.compact()
    assert kept(lake) == kept(lake, "tidelake_coverage") == files(lake)
    assert_true_everywhere(t)


def test_a_table_that_duckdb_has_dropped_and_expired(
    lake: tidelake.Lake, duck: duckdb.DuckDBPyConnection
) -> None:
    new_series(lake).append(rows(0, 30))
    duck.execute("DROP TABLE t")
    ids = [snapshot.snapshot_id for snapshot in lake.snapshots()][:-1]
    duck.execute(f"CALL ducklake_expire_snapshots('lake', versions => {ids})")
    assert lake.verify(deep=True).ok
    lake.expire(keep_last=1)
    assert kept(lake) == kept(lake, "tidelake_coverage") == []


KILLED = """
import os, signal, sys
from datetime import datetime, timedelta
import tidelake
from tidelake.testing.faults import watch_database

lake = tidelake.connect(sys.argv[1], sys.argv[2])
t = lake.table("t")

noon = datetime(2024, 3, 2, 12)
rows = [{"k": "k", "ts": noon + timedelta(minutes=n), "v": n} for n in range(50)]
said = []

def tell(what, table):
    said.append(table)
    if what == sys.argv[4] and "ducklake_snapshot" in said:
        os.kill(os.getpid(), signal.SIGKILL)

with watch_database(lake, tell):
    t.append(rows) if sys.argv[3] == "append" else t.compact()
"""


@pytest.mark.slow
@pytest.mark.parametrize("what", ["append", "compact"])
def test_a_process_is_killed(what: str, lake: tidelake.Lake, place: Place) -> None:
    """Between the file and the commit, and between that of compaction and what follows it."""
    t = new_series(lake)
    for n in range(3):
        t.append(rows(n * 20, 20))
    before = files(lake)
    moment = "commit" if what == "append" else "done"
    command = [sys.executable, "-c", KILLED, place.url, str(lake.data_path), what, moment]
    assert subprocess.run(command, check=False, capture_output=True).returncode == -9
    assert (files(lake) == before) == (what == "append")
    assert set(kept(lake)) <= set(files(lake))
    with tidelake.connect(place.url, read_only=True) as reader:
        assert reader.table("t").coverage().covered == 60
    assert_true_everywhere(t)
    assert kept(lake) == files(lake)
    assert lake.verify(deep=True).ok


def test_entity_and_clock_are_wider_for_a_while(lake: tidelake.Lake) -> None:
    """Rows that compaction has put into files are there with their deletes. Who reads them by the
    narrow type, when they have been deleted, must not decide what they covered."""
    t = lake.create_table("t", "k INTEGER, n INTEGER", entity="k", event_time="n", bucket=10)
    t.append([{"k": 1, "n": n * 10} for n in range(5)])
    narrow = lake.snapshots()[-1].snapshot_id
    t.evolve(widen={"n": "BIGINT", "k": "BIGINT"})
    t.append([{"k": 1 << 40, "n": 1 << 40}, {"k": 1, "n": 1 << 40}])
    wide = lake.snapshots()[-1].snapshot_id
    back = t.rollback(to=narrow).snapshot_id
    t.compact()
    with lake.session.database.writing() as writer:
        coverage.forget_tables(writer, [t.info.id])
    assert t.known_at(back).coverage().covered == 5
    assert t.known_at(wide).coverage().covered == 7
    assert_true_everywhere(t)


@pytest.mark.parametrize("kind", ["DATE", "INTEGER"])
def test_columns_that_become_what_no_series_can_have(
    kind: str, lake: tidelake.Lake, duck: duckdb.DuckDBPyConnection
) -> None:
    """We refuse that; after DuckDB has done it, nothing is covered and everything else works."""
    wider = {"DATE": "TIMESTAMP", "INTEGER": "DOUBLE"}[kind]
    value = {"DATE": "2024-01-01", "INTEGER": "7"}[kind]
    t = lake.create_table("t", f"k {kind}, ts TIMESTAMP", entity="k", event_time="ts", bucket="1h")
    lake.sql(f"INSERT INTO t VALUES ('{value}', TIMESTAMP '{NOON}')")
    with pytest.raises(tidelake.errors.Invalid, match="coverage is kept by it"):
        t.evolve(widen={"k": wider})
    assert t.coverage().covered == 1
    before = lake.snapshots()[-1].snapshot_id
    duck.execute(f"ALTER TABLE t ALTER k TYPE {wider}")
    t.append([{"k": NOON if kind == "DATE" else 1.5, "ts": NOON}])
    t.compact()
    with pytest.raises(tidelake.errors.Invalid, match="another type"):
        t.coverage()
    assert t.known_at(before).coverage().covered == 1
    t.set_coverage("1h")
    assert t.coverage().covered == 1
    assert not [p for p in lake.verify(deep=True).problems if p.check == "coverage"]
