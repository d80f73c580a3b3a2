"""Clocks that are wrong, and writers at work: nothing is lost, and times are kept in order."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

import tidelake
from tests.upkeep.histories import many
from tests.upkeep.names import named
from tidelake.catalog.commit import commit
from tidelake.errors import TidelakeWarning
from tidelake.session import clocks, leases
from tidelake.store.files import Store
from tidelake.store.markers import FOLDER
from tidelake.testing.faults import watch_database, watch_store
from tidelake.testing.place import Place
from tidelake.upkeep import cleanup
from tidelake.upkeep import expire as expiry

if TYPE_CHECKING:
    from tests.servers.s3 import S3Server

BOTH = pytest.mark.parametrize("place", ["sqlite", "duckdb", "postgresql"], indirect=True)
MODULES = (commit, cleanup, clocks, expiry)


class Clock(datetime):
    """This machine's, so far ahead."""

    ahead = timedelta()

    @classmethod
    def now(cls, tz: Any = None) -> Any:
        return datetime.now(tz) + cls.ahead


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Clock]]:
    for module in MODULES:
        monkeypatch.setattr(module, "datetime", Clock, raising=False)
    Clock.ahead = timedelta()
    yield Clock
    Clock.ahead = timedelta()


def table(lake: tidelake.Lake) -> tidelake.Table:
    t = lake.create_table("t", "i BIGINT, s VARCHAR")
    t.append(many(0, 20))
    return t


@BOTH
def test_a_clock_that_is_ahead_takes_no_file_of_an_open_transaction(
    place: Place, lake: tidelake.Lake, clock: type[Clock]
) -> None:
    t = table(lake)
    with lake.transaction() as tx:
        tx.table("t").append(many(100, 50))
        clock.ahead = timedelta(days=3)
        result = lake.cleanup()
        clock.ahead = timedelta()
    assert (result.files, [each.files for each in result.kept]) == (0, [1])
    assert len(t.to_arrow()) == 70


@BOTH
def test_a_writer_at_work_keeps_its_files_whatever_the_span(
    place: Place, lake: tidelake.Lake
) -> None:
    t = table(lake)
    with lake.transaction() as tx:
        tx.table("t").append(many(100, 50))
        old = list(place.data.rglob("*.parquet"))
        result = lake.cleanup("0 seconds")
        assert result.files == 0
        assert "writer is at work" in str(result)
        assert old == list(place.data.rglob("*.parquet"))
    assert len(t.to_arrow()) == 70
    assert lake.cleanup("0 seconds").files == 0
    assert at_work(place) == []


def at_work(place: Place) -> list[Path]:
    return list((place.data / "_tidelake").glob("writer-*"))


def test_what_a_writer_leaves_behind_is_swept_when_it_is_done(
    place: Place, lake: tidelake.Lake
) -> None:
    t = table(lake)
    left = place.data / "main" / "t" / named("left behind")
    for end in ("commit", "rollback"):
        tx = lake.transaction()
        tx.table("t").append(many(100, 50))
        assert len(at_work(place)) == 1
        left.write_bytes(b"x")
        assert lake.cleanup("0 seconds").files == 0
        getattr(tx, end)()
        assert lake.cleanup("0 seconds").orphans == 1
        assert at_work(place) == []
    t.append(many(200, 1))  # no file, no lease
    assert at_work(place) == []


def test_one_lease_serves_many_writes_and_goes_with_the_lake(place: Place) -> None:
    with place.open() as lake:
        t = table(lake)
        t.append(many(100, 50))
        (first,) = at_work(place)
        t.append(many(200, 50))
        assert at_work(place) == [first]
    assert at_work(place) == []


def test_a_writer_that_was_killed_counts_for_nothing_after_a_while(
    place: Place, lake: tidelake.Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    table(lake)
    tx = lake.transaction()
    tx.table("t").append(many(100, 50))
    (lease,) = at_work(place)
    then = (datetime.now(UTC) - leases.LIFE).timestamp() - 1
    with monkeypatch.context() as patched:
        patched.setattr(leases, "_LEASES", leases.Leases())
        os.utime(lease, (then, then))
        assert lake.cleanup("0 seconds").orphans == 1
        assert at_work(place) == []
    tx.rollback()


def _note(beaten: threading.Event, what: str, uri: str) -> None:
    if what in ("put", "write") and FOLDER in uri:
        beaten.set()


def test_a_long_transaction_goes_on_saying_so(
    place: Place, lake: tidelake.Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its lease is as young as its last beat, and covers all since its beginning."""
    table(lake)
    beaten = threading.Event()
    monkeypatch.setattr(leases, "_LEASES", leases.Leases(beat_s=0.01))
    beat = partial(_note, beaten)
    with watch_store(lake, beat), lake.transaction() as tx:
        tx.table("t").append(many(100, 50))
        beaten.clear()
        assert beaten.wait(300)
        lease = tx.session.work._lease
        assert lease is not None
        lease._at_work[tx.session.work] -= 1000
        lease.beat()
        found = leases.look(Store(), [f"{place.data}/"], datetime.now(UTC))
        assert found.since is not None
        assert datetime.now(UTC) - found.since > timedelta(seconds=1000)


def test_compaction_and_rollups_say_so_too(place: Place, lake: tidelake.Lake) -> None:
    t = table(lake)
    t.append(many(100, 50))
    facts = lake.create_table("f", "k BIGINT, ts TIMESTAMP", key=["k"], event_time="ts")
    facts.append([{"k": n, "ts": datetime(2024, 1, 1)} for n in range(50)])
    seen: dict[str, int] = {}

    def look(what: str, table: str) -> None:
        if what == "insert":
            seen.setdefault(table, len(at_work(place)))

    for work in (t.compact, partial(facts.rollup, as_of="2024-02-01")):
        leases.settle(f"{place.data}/")
        assert at_work(place) == []
        with watch_database(lake, look):
            work()
    assert (seen["ducklake_snapshot"], seen["tidelake_rollup"]) == (1, 1)


def test_in_an_object_store(s3_server: "S3Server", tmp_path: Path, clock: type[Clock]) -> None:
    options = s3_server.storage_options
    root = f"s3://{s3_server.new_bucket()}/lake/"
    with tidelake.connect(f"sqlite:///{tmp_path}/lake.db", root, storage_options=options) as lake:
        t = table(lake)
        with lake.transaction() as tx:
            tx.table("t").append(many(100, 50))
            assert lake.cleanup("0 seconds").files == 0
            clock.ahead = timedelta(days=3)
            assert lake.cleanup().files == 0
            clock.ahead = timedelta()
        assert len(t.to_arrow()) == 70
        lake.cleanup()
        assert [each.uri for each in Store(options).walk(f"{root}_tidelake/writer")] == []


@BOTH
def test_a_commit_by_a_clock_that_is_ahead_has_the_right_time(
    place: Place, lake: tidelake.Lake, clock: type[Clock]
) -> None:
    t = table(lake)
    clock.ahead = timedelta(days=365 * 30)
    if place.kind == "postgresql":
        t.append(many(100, 1))
    else:
        with pytest.warns(TidelakeWarning, match="clock of this machine"):
            t.append(many(100, 1))
    clock.ahead = timedelta()
    t.append(many(200, 1))
    assert t.known_at(datetime.now(UTC) + timedelta(hours=1)).count() == 22
    times = [each.time for each in lake.snapshots()]
    assert times == sorted(times)
    assert times[-1] <= datetime.now(UTC)


@BOTH
def test_expiry_goes_by_the_right_clock(
    place: Place, lake: tidelake.Lake, clock: type[Clock]
) -> None:
    table(lake)
    clock.ahead = timedelta(days=365)
    assert lake.expire(older_than="7 days").snapshots == ()
    assert lake.expire(older_than="7 days", dry_run=True).snapshots == ()


def test_a_snapshot_in_the_future_is_told_of(place: Place, lake: tidelake.Lake) -> None:
    """As DuckDB makes one on a machine whose clock is wrong."""
    t = table(lake)
    place.catalog(
        "UPDATE ducklake_snapshot SET snapshot_time = '2199-01-01 00:00:00+00'"
        " WHERE snapshot_id = 2"
    )
    with pytest.warns(TidelakeWarning, match="2199"):
        t.append(many(100, 1))
    times = [each.time for each in lake.snapshots()]
    assert times == sorted(times)
    assert t.known_at("2199-01-01").count() == 21


def test_a_long_pause_is_told_of(place: Place, lake: tidelake.Lake) -> None:
    """Or the clock is wrong, and nobody is there to say so."""
    t = table(lake)
    place.catalog("UPDATE ducklake_snapshot SET snapshot_time = '2020-01-01 00:00:00+00'")
    with pytest.warns(TidelakeWarning, match="days have passed since the last commit"):
        t.append(many(100, 1))


def test_a_writer_of_this_machine_that_was_killed_counts_for_nothing_at_once(
    place: Place, lake: tidelake.Lake
) -> None:
    table(lake)
    done = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True
    )
    place.data.joinpath("_tidelake", f"writer-{uuid4()}").write_text(
        f"100 {leases._machine()} {int(done.stdout)}"
    )
    (place.data / "main" / "t" / named("left behind")).write_bytes(b"x")
    assert lake.cleanup("0 seconds").orphans == 1
    assert at_work(place) == []
