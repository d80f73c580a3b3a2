"""Many clients at once beside those who write, and a server that dies in the midst of them."""

import random
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import psutil
import pyarrow as pa
import pyarrow.flight as fl
import pytest
from adbc_driver_flightsql import dbapi

import tidelake
from tests.web.serving import info_of
from tests.web.test_serve import free_ports, said_by, start
from tidelake.testing.place import Place

CLIENTS, QUERIES = 50, 100
FEW_CLIENTS, FEW_QUERIES = 4, 3
MOST_BATCHES = 100
MOST_MEMORY = 1500 * 1024**2


def new_lake(place: Place) -> None:
    """Each commit of `t` adds a batch: ten rows of the same number."""
    with tidelake.connect(place.url, str(place.data)) as lake:
        lake.create_table("t", "batch BIGINT, n BIGINT")
        for batch in range(5):
            lake.table("t").append(rows_of_batch(batch))


def rows_of_batch(batch: int) -> pa.Table:
    return pa.table({"batch": [batch] * 10, "n": list(range(10))})


def ask(url: str, seed: int, queries: int) -> int:
    """All that a client sees is whole batches, and never fewer than before."""
    chance, seen = random.Random(seed), 0
    with fl.connect(url) as client:
        for _ in range(queries):
            if chance.random() < 0.5:
                sql = "SELECT count(*) AS n, count(DISTINCT batch) AS b, sum(n) AS s FROM t"
                (row,) = read(client, sql).to_pylist()
            else:
                found = read(client, "SELECT * FROM t")
                batches = set(found["batch"].to_pylist())
                row = {"n": len(found), "b": len(batches), "s": sum(found["n"].to_pylist())}
            assert row["n"] == 10 * row["b"], row
            assert row["s"] == 45 * row["b"], row
            assert row["b"] >= seen, row
            seen = row["b"]
    return queries


def read(client: fl.FlightClient, sql: str) -> pa.Table:
    tickets = [each.ticket for each in info_of(client, sql).endpoints]
    return pa.concat_tables(client.do_get(each).read_all() for each in tickets)


def write(url: str, first: int, over: Event, acknowledged: list[int]) -> None:
    """Ingest batch after batch, until it is over, there are many, or the server is gone."""
    batch = first
    while not over.is_set() and batch < first + MOST_BATCHES:
        try:
            with dbapi.connect(url, autocommit=True) as connection, connection.cursor() as cursor:
                cursor.adbc_ingest("t", rows_of_batch(batch), mode="append")
            acknowledged.append(batch)
        except Exception:
            if over.is_set():
                return
            raise
        batch += 1


def memory_of(pid: int) -> int:
    return psutil.Process(pid).memory_info().rss


@pytest.mark.slow
@pytest.mark.parametrize(
    ("clients", "queries"),
    [(FEW_CLIENTS, FEW_QUERIES), pytest.param(CLIENTS, QUERIES, marks=pytest.mark.slow)],
)
def test_many_clients_beside_writers_see_nothing_wrong(tmp_path: Path, clients, queries):
    place = Place.at("sqlite", tmp_path)
    new_lake(place)
    port, flight = free_ports(2)
    server = start(place, "--port", str(port), "--flight-port", str(flight))
    over, acknowledged = Event(), []
    try:
        url = said_by(server)["flight"]
        with ThreadPoolExecutor(clients + 2) as pool:
            writers = [
                pool.submit(write, url, first, over, acknowledged)
                for first in (1_000_000, 2_000_000)
            ]
            readers = [pool.submit(ask, url, seed, queries) for seed in range(clients)]
            done = sum(reader.result() for reader in readers)
            over.set()
            for writer in writers:
                writer.result()
        assert done == clients * queries
        assert memory_of(server.pid) < MOST_MEMORY
        server.send_signal(signal.SIGTERM)
        assert server.wait(60) == 0
    finally:
        over.set()
        server.kill()
        server.wait()
    check_batches(place, acknowledged)


def check_batches(place: Place, acknowledged: list[int]) -> None:
    """Every batch that was acknowledged is there once, and each is whole."""
    with tidelake.connect(place.url) as lake:
        found = lake.sql("SELECT batch, count(*) AS n FROM t GROUP BY 1").to_arrow().to_pylist()
        assert lake.verify().ok
    sizes = {row["batch"]: row["n"] for row in found}
    assert set(sizes.values()) == {10}
    assert set(acknowledged) <= set(sizes)
    assert len(acknowledged) == len(set(acknowledged)) > 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_server_that_is_killed_loses_no_commit(tmp_path: Path, seed):
    place = Place.at("sqlite", tmp_path)
    new_lake(place)
    port, flight = free_ports(2)
    server = start(place, "--port", str(port), "--flight-port", str(flight))
    over, acknowledged = Event(), []
    try:
        url = said_by(server)["flight"]
        with ThreadPoolExecutor(12) as pool:
            writers = [
                pool.submit(write, url, first, over, acknowledged)
                for first in (1_000_000, 2_000_000)
            ]
            readers = [pool.submit(ask, url, n, 1000) for n in range(8)]
            while len(acknowledged) < 5:
                time.sleep(0.05)
            time.sleep(random.Random(seed).random())
            over.set()
            server.kill()
            for reader in readers:
                with pytest.raises((fl.FlightUnavailableError, pa.ArrowException)) as caught:
                    reader.result()
                assert "Traceback" not in str(caught.value)
            for writer in writers:
                writer.result()
    finally:
        server.kill()
        server.wait()
    assert no_process_is_left(place)
    check_batches(place, acknowledged)


def no_process_is_left(place: Place) -> bool:
    """Cells end when the process is gone that they worked for."""
    for _ in range(100):
        cells = [
            each
            for each in psutil.process_iter(["cmdline", "cwd"])
            if "tidelake.engine.cell.child" in (each.info["cmdline"] or [])
            and each.info["cwd"] == str(place.folder)
        ]
        if not cells:
            return True
        time.sleep(0.1)
    return False
