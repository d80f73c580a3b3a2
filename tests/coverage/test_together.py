"""Readers and housekeepers at once: no answer is ever wrong, whatever has just been merged, looked
at, expired or found out anew by others."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from multiprocessing import get_context
from pathlib import Path
from random import Random

import pytest

import tidelake
from tests.coverage.oracle import by_catalog, by_rows
from tidelake.errors import Conflict, NotFound
from tidelake.testing.duck import duck_connection
from tidelake.testing.place import Place

NOON = datetime(2024, 3, 1, 12)


def write(url: str, data: str, seed: int, seconds: float) -> None:
    """Change the table and keep house, all the time."""
    chance, end = Random(seed), time.monotonic() + seconds
    with tidelake.connect(url, data) as lake:
        t = lake.table("t")
        while time.monotonic() < end:
            count, first = chance.choice((3, 30)), chance.randrange(2000)
            moments = [NOON + timedelta(minutes=first + n) for n in range(count)]
            try:
                t.append([{"k": f"k{n % 4}", "ts": ts, "v": first} for n, ts in enumerate(moments)])
                chance.choice(
                    [
                        lambda: t.delete(f"v % 5 = {chance.randrange(5)}"),
                        lambda: t.update({"k": "'k9'"}, where=f"v % 9 = {chance.randrange(9)}"),
                        t.compact,
                        t.recompute_coverage,
                        lambda: lake.expire(keep_last=5),
                    ]
                )()
            except Conflict:
                continue


def read(url: str, until: threading.Event, seed: int, *, read_only: bool) -> int:
    """Ask about the present and the past, with what was remembered from before."""
    chance, asked = Random(seed), 0
    with tidelake.connect(url, read_only=read_only) as lake:
        while not until.is_set():
            at = chance.choice(lake.snapshots()[-4:]).snapshot_id
            try:
                then = lake.table("t").known_at(at)
                wanted = by_rows(then)
                assert by_catalog(then) == wanted, f"at snapshot {at}"
                assert by_catalog(then) == wanted, f"at snapshot {at}, asked again"
            except NotFound:
                continue
            asked += 1
    return asked


def at_once(place: Place, seconds: float, writers: int) -> None:
    data = str(place.folder / "data")
    with tidelake.connect(place.url, data) as lake:
        shape = "k VARCHAR, ts TIMESTAMP, v INTEGER"
        lake.create_table("t", shape, entity="k", event_time="ts", bucket="5m")
    context, until = get_context("spawn"), threading.Event()
    busy = [
        context.Process(target=write, args=(place.url, data, seed, seconds))
        for seed in range(writers)
    ]
    for process in busy:
        process.start()
    with ThreadPoolExecutor(2) as pool:
        answers = [
            pool.submit(read, place.url, until, seed, read_only=bool(seed)) for seed in range(2)
        ]
        for process in busy:
            process.join()
        until.set()
    assert [process.exitcode for process in busy] == [0] * writers
    assert all(answer.result() > 0 for answer in answers)
    with tidelake.connect(place.url) as lake:
        wrong = [p for p in lake.verify(deep=True).problems if p.check == "coverage"]
        assert wrong == []


@pytest.mark.slow
def test_readers_and_a_housekeeper(place: Place) -> None:
    at_once(place, 2.0, 1)


@pytest.mark.slow
@pytest.mark.parametrize("place", ["sqlite", "postgresql", "mariadb"], indirect=True)
def test_readers_and_housekeepers(place: Place) -> None:
    at_once(place, 20.0, 2)


def test_several_threads_ask_one_lake(lake: tidelake.Lake) -> None:
    t = lake.create_table("t", "k VARCHAR, ts TIMESTAMP", entity="k", event_time="ts", bucket="1m")
    for n in range(4):
        t.append([{"k": f"k{i}", "ts": NOON + timedelta(minutes=n)} for i in range(20)])
    t.set_coverage("1s", entity="k")
    t.delete("k = 'k7'")
    wanted = by_rows(t)
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda _: by_catalog(lake.table("t")), range(24)))
    assert found == [wanted] * 24


def test_an_encrypted_lake(tmp_path: Path) -> None:
    """Only DuckDB writes there, and what it writes is looked at as elsewhere."""
    with duck_connection() as duck:
        attached = f"ATTACH 'ducklake:sqlite:{tmp_path}/lake.db' AS lake"
        duck.execute(f"{attached} (DATA_PATH '{tmp_path}/data/', ENCRYPTED)")
        duck.execute("USE lake")
        duck.execute("CREATE TABLE t (k VARCHAR, ts TIMESTAMP)")
        rows = "SELECT 'k' || (i % 3), TIMESTAMP '{}' + INTERVAL 1 MINUTE * i FROM range(100) r(i)"
        duck.execute(f"INSERT INTO t {rows.format('2024-01-01')}")
        with tidelake.connect(f"sqlite:///{tmp_path}/lake.db") as lake:
            t = lake.table("t")
            t.set_coverage("1m", entity="k", event_time="ts")
            duck.execute("DELETE FROM t WHERE ts < TIMESTAMP '2024-01-01 00:10:00'")
            assert t.coverage().covered == 90
            duck.execute(f"INSERT INTO t {rows.format('2024-01-02')}")
            duck.execute("CALL ducklake_merge_adjacent_files('lake')")
            for snapshot in t.snapshots()[-3:]:
                then = t.known_at(snapshot.snapshot_id)
                assert by_catalog(then) == by_rows(then)
            assert t.coverage(entity="k1").covered == 63
            assert lake.verify(deep=True).ok
