"""Files that go, files that stay, and why; here and in an object store."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest

import tidelake
from tests.upkeep.histories import foreign, many
from tests.upkeep.names import named
from tidelake.errors import Denied, Invalid
from tidelake.store.files import Store
from tidelake.testing.agreement import past, rows
from tidelake.testing.faults import Meanwhile, watch_database, watch_store
from tidelake.testing.place import Place

if TYPE_CHECKING:
    from tests.servers.s3 import S3Server

SCHEDULE = "ducklake_files_scheduled_for_deletion"


def grown(lake: tidelake.Lake, count: int = 3) -> tidelake.Table:
    t = lake.create_table("t", "i BIGINT, s VARCHAR", partition_by=["s"])
    for number in range(count):
        t.overwrite([{"i": n, "s": "a/b c=%é"} for n in range(number, number + 20)])
    return t


def orphan(place: Place, name: str, *, days: float = 3) -> Path:
    path = place.data / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * 10)
    moment = datetime.now(UTC).timestamp() - days * 86_400
    os.utime(path, (moment, moment))
    return path


def aged(place: Place, days: float) -> None:
    """All that has been scheduled, was so long ago."""
    moment = (datetime.now(UTC) - timedelta(days=days)).isoformat(sep=" ")
    place.catalog(f"UPDATE {SCHEDULE} SET schedule_start = ?", moment)


def test_only_what_has_been_scheduled_long_enough(place: Place, lake: tidelake.Lake) -> None:
    grown(lake)
    lake.expire(keep_last=1)
    early = lake.cleanup()
    assert (early.files, early.scheduled, early.orphans) == (0, 0, 0)
    assert [(each.files, "recently" in each.reason) for each in early.kept] == [(2, True)]
    assert len(place.files()) == 3
    aged(place, 3)
    would = lake.cleanup(dry_run=True)
    assert len(place.files()) == 3
    done = lake.cleanup()
    assert (would.files, would.bytes, would.paths) == (done.files, done.bytes, done.paths)
    assert (done.files, done.scheduled, done.bytes > 0) == (2, 2, True)
    assert len(place.files()) == 1
    assert place.catalog(f"SELECT count(*) FROM {SCHEDULE}") == [(0,)]
    assert lake.cleanup().files == 0
    assert lake.table("t").count() == 20


def test_the_lake_says_how_long(place: Place, lake: tidelake.Lake) -> None:
    grown(lake)
    lake.expire(keep_last=1)
    aged(place, 1)
    assert lake.cleanup(dry_run=True).files == 0
    assert lake.cleanup("12 hours", dry_run=True).files == 2
    lake.set_option("delete_older_than", "12 hours")
    assert lake.cleanup(dry_run=True).files == 2
    assert lake.cleanup("2 days", dry_run=True).files == 0


def test_orphans(place: Place, lake: tidelake.Lake) -> None:
    grown(lake, 1)
    gone = [
        orphan(place, f"main/t/{named('1')}"),
        orphan(place, f"main/t/s=1/{named('2', 'puffin')}"),
        orphan(place, f"main/no table/{named('3').replace('.', '-delete.')}"),
        orphan(place, f"main/t/{named('4').replace('.', '-0123abcd.')}"),
    ]
    young = orphan(place, f"main/t/{named('5')}", days=1)
    elsewhere = [orphan(place, f"{folder}{named('6')}") for folder in ("", "main/", "x/main/t/")]
    others = [
        orphan(place, "main/t/part-0.parquet"),
        orphan(place, f"main/t/{named('6')}.crc"),
        orphan(place, "main/t/ducklake-1.parquet"),
        orphan(place, "main/t/_delta_log/0.json"),
        orphan(place, f"main/t/my{named('7')}"),
    ]
    assert lake.cleanup(orphans=False).files == 0
    result = lake.cleanup()
    assert (result.files, result.orphans, result.bytes) == (4, 4, 40)
    assert result.paths == tuple(sorted(map(str, gone)))
    kept = {each.reason.partition(":")[0]: each.files for each in result.kept}
    assert kept == {
        "in no snapshot, but young": 1,
        "in no snapshot, but where this lake has no tables": 3,
    }
    assert not any(path.exists() for path in gone)
    assert all(path.exists() for path in [young, *elsewhere, *others])
    assert lake.table("t").count() == 20


def test_a_writer_in_flight_loses_nothing(place: Place, lake: tidelake.Lake) -> None:
    """Its files are there, and no snapshot has them yet."""
    grown(lake, 1)
    with lake.transaction() as tx:
        tx.table("t").append(many(100, 30))
        with place.open() as other:
            assert other.cleanup().files == 0
            assert other.cleanup("1 hour").files == 0
    assert lake.table("t").count() == 50


def test_what_is_committed_while_the_files_are_listed_is_no_orphan(
    place: Place, lake: tidelake.Lake
) -> None:
    t = grown(lake, 1)
    commit = Meanwhile("walk", lambda: t.append(many(100, 30)), to=lake.data_path)
    with watch_store(lake, commit):
        assert lake.cleanup("0 seconds").files == 0
    assert commit.happened
    assert t.count() == 50


def test_what_comes_into_use_meanwhile_stays(place: Place, lake: tidelake.Lake) -> None:
    """After the catalog has been looked at, and before it is asked what came since."""
    path = orphan(place, f"main/t/{named('found')}")
    duckdb.sql("SELECT 7::BIGINT AS a").write_parquet(str(path))
    t = lake.create_table("t", "a BIGINT")
    with place.open() as other:
        said: list[str] = []

        def register(what: str, sql: str) -> None:
            if what == "read" and any(SCHEDULE in each for each in said):
                said.clear()
                other.table("t").add_files(str(path))
            said.append(sql)

        with watch_database(lake, register):
            result = lake.cleanup("0 seconds")
    assert (result.files, result.kept[0].files) == (0, 1)
    assert rows(t) == [{"a": 7}]


def test_a_scheduled_file_that_is_in_use_stays(place: Place, lake: tidelake.Lake) -> None:
    """As when DuckDB expired one of two tables that the file was registered for."""
    path = foreign(place.folder / "found" / "x.parquet")
    link = place.folder / "linked"
    link.symlink_to(place.folder / "found")
    lake.create_table("t", "a BIGINT, b VARCHAR").add_files(f"{link}/x.parquet")
    for number, name in enumerate([path, f"{link}/x.parquet"]):
        place.catalog(
            f"INSERT INTO {SCHEDULE} VALUES (?, ?, 0, '2020-01-01 00:00:00+00')", number, name
        )
    result = lake.cleanup()
    assert (result.files, [each.files for each in result.kept]) == (0, [2])
    assert "another name" in str(result)
    assert rows(lake.table("t")) == [{"a": 7, "b": "f"}]


def test_what_is_gone_already_is_no_matter(place: Place, lake: tidelake.Lake) -> None:
    grown(lake)
    lake.expire(keep_last=1)
    aged(place, 3)
    Path(lake.cleanup(dry_run=True).paths[0]).unlink()
    result = lake.cleanup()
    assert (result.files, result.missing) == (1, 1)
    assert place.catalog(f"SELECT count(*) FROM {SCHEDULE}") == [(0,)]


def test_bad_wishes(place: Place, lake: tidelake.Lake) -> None:
    grown(lake, 1)
    with place.refuses(Invalid, "soon"):
        lake.cleanup("soon")
    with place.refuses(Invalid, "delete_older_than"):
        lake.set_option("delete_older_than", "2024-01-01")
    with place.refuses(Denied):
        lake.known_at(1).cleanup()


def test_duckdb_cleans_up_what_we_expired(
    place: Place, lake: tidelake.Lake, duck: duckdb.DuckDBPyConnection
) -> None:
    grown(lake)
    lake.expire(keep_last=1)
    duck.execute("CALL ducklake_cleanup_old_files('lake', cleanup_all => true)")
    assert len(place.files()) == 1
    assert place.catalog(f"SELECT count(*) FROM {SCHEDULE}") == [(0,)]
    assert duck.execute("SELECT count(*) FROM t").fetchall() == [(20,)]


def test_we_clean_up_what_duckdb_expired(
    place: Place, lake: tidelake.Lake, duck: duckdb.DuckDBPyConnection
) -> None:
    grown(lake)
    duck.execute("CALL ducklake_expire_snapshots('lake', older_than => now())")
    assert lake.cleanup("0 seconds").files == 2
    assert len(place.files()) == 1


@pytest.mark.slow
def test_in_an_object_store(s3_server: "S3Server", tmp_path: Path) -> None:
    root = f"s3://{s3_server.new_bucket()}/some lake/"
    store = Store(s3_server.storage_options)
    lake = tidelake.connect(
        f"sqlite:///{tmp_path}/lake.db", root, storage_options=s3_server.storage_options
    )
    with lake:
        grown(lake)
        lake.table("t").delete("i = 5")
        before = past(lake)
        store.write(f"{root}main/t/{named('orphan')}", b"x" * 10)
        store.write(f"{root}main/t/other.parquet", b"x" * 10)
        there = {each.uri for each in store.walk(f"{root}main/")}
        assert lake.cleanup().files == 0
        kept = lake.cleanup("0 seconds", dry_run=True)
        assert (kept.orphans, kept.bytes) == (1, 10)
        lake.expire(keep_last=1)
        would = lake.cleanup("0 seconds", dry_run=True)
        assert {each.uri for each in store.walk(f"{root}main/")} == there
        plain = lake.cleanup("0 seconds", orphans=False)
        assert (plain.scheduled, plain.bytes) == (would.scheduled, would.bytes - 10)
        assert lake.cleanup("0 seconds").orphans == 1
        assert would.files == plain.files + 1
        assert {each.uri for each in store.walk(f"{root}main/")} == there - set(would.paths)
        last = max(before)
        assert past(lake) == {last: before[last]}
