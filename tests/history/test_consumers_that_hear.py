"""On PostgreSQL whoever waits for something new is told of commits, and looks at once."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from queue import Empty, Queue
from typing import Any

import psycopg
import pytest

import tidelake
from tests.servers.postgres import PostgresServer
from tidelake.errors import Invalid, Unavailable
from tidelake.testing.place import Place

LONG = 100_000.0
"""Nobody who has to wait for it comes to an end in time."""
LISTENERS = (
    "SELECT state FROM pg_stat_activity"
    " WHERE query LIKE 'LISTEN%%' AND datname = current_database()"
)

NO_ANSWER = 99
"""What a child process ends with if it found nothing out."""


@pytest.fixture
def place(new_place: Callable[[str], Place]) -> Place:
    return new_place("postgresql").tuned(unheard_s=LONG)


@pytest.fixture
def lake(place: Place) -> Iterator[tidelake.Lake]:
    with place.open() as lake:
        lake.create_table("t", {"i": "int64"})
        lake.create_table("u", {"i": "int64"})
        yield lake


def asked(place: Place, sql: str) -> list[Any]:
    with psycopg.connect(place.url, autocommit=True) as connection:
        return connection.execute(sql).fetchall()


def polling(lake: tidelake.Lake, answers: "Queue[Any]", **wishes: Any) -> None:
    """Polls in a thread that nobody waits for, with a lease that does not end it."""

    def run() -> None:
        try:
            with lake.consumer(lease_seconds=10 * LONG, **wishes) as consumer:
                answers.put("here")
                batch = consumer.poll(timeout=LONG)
                assert batch is not None
                answers.put(batch.tables)
        except BaseException as error:
            answers.put(error)

    threading.Thread(target=run, daemon=True).start()
    assert answers.get(timeout=60) == "here"


def test_a_commit_wakes_all_who_wait(lake: tidelake.Lake, place: Place) -> None:
    """More of them than there are connections, which others can still use."""
    answers: Queue[Any] = Queue()
    for number in range(25):
        polling(lake, answers, name=f"c{number}", start="now", tables=["t"])
    listening(place)
    lake.table("u").append([{"i": 1}])
    lake.tag("nothing that anybody waits for")
    with suppress(RuntimeError), lake.transaction() as tx:
        tx.table("t").append([{"i": 1}])
        raise RuntimeError
    assert lake.table("t").count() == 0
    with pytest.raises(Empty):
        answers.get(timeout=0.3)
    assert [row[0] for row in asked(place, LISTENERS)] == ["idle"]
    with place.open() as other:
        other.table("t").append([{"i": 2}])
    assert [answers.get(timeout=60) for _ in range(25)] == [("main.t",)] * 25
    lake.close()
    until(lambda: not asked(place, LISTENERS))


def test_again_and_again(lake: tidelake.Lake, place: Place) -> None:
    """What is committed between a look and the wait after it is heard all the same."""
    got: Queue[Any] = Queue()

    def follow() -> None:
        consumer = lake.consumer("c", start="now", lease_seconds=10 * LONG)
        got.put("here")
        with suppress(Invalid):
            while batch := consumer.poll(timeout=LONG):
                for snapshot in batch.snapshots:
                    got.put(snapshot.snapshot_id)
                consumer.commit()

    threading.Thread(target=follow, daemon=True).start()
    assert got.get(timeout=60) == "here"
    with place.open() as other:
        for _ in range(20):
            done = other.table("t").append([{"i": 1}])
            assert got.get(timeout=60) == done.snapshot_id
        lake.close()
        other.table("t").append([{"i": 1}])


def test_lakes_beside_each_other(place: Place) -> None:
    """A lake in another schema of the database is another one."""
    url = place.url
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA beside")
    with (
        place.open() as one,
        tidelake.connect(f"{url}?schema=beside", data_path=f"{place.folder}/beside/") as other,
        tidelake.connect(f"{url}?schema=public", data_path=f"{place.data}/") as same,
    ):
        one.create_table("t", {"i": "int64"})
        ear = one.session.database.connections.ear
        assert ear is not None
        mark = ear.mark()
        assert mark is not None
        other.create_table("t", {"i": "int64"})
        ear.wait(mark, 0.2)
        assert ear.mark() == mark
        same.table("t").append([{"i": 1}])
        ear.wait(mark, LONG)
        assert ear.mark() != mark


def test_a_server_that_comes_back(tmp_path: Path) -> None:
    """Who waits meanwhile waits on, and hears again."""
    server = PostgresServer(synchronous_commit="on")
    try:
        place = Place.at("postgresql", tmp_path / "back", server).tuned(unheard_s=LONG)
        again = place.open()
        again.create_table("t", {"i": "int64"})
        answers: Queue[Any] = Queue()
        polling(again, answers, name="c", start="now")
        listening(place)
        server.crash()
        listening(place)
        with place.open() as other:
            other.table("t").append([{"i": 2}])
        assert answers.get(timeout=60) == ("main.t",)
        until_works(again.close)
    finally:
        server.stop()


def test_a_server_that_stays_away(tmp_path: Path) -> None:
    server = PostgresServer()
    place = Place.at("postgresql", tmp_path / "gone", server)
    with place.open() as again:
        again.create_table("t", {"i": "int64"})
        consumer = again.consumer("c", start="now")
        server.stop()
        with pytest.raises(Unavailable):
            consumer.poll(timeout=0.5)
        with pytest.raises(Unavailable):
            consumer.poll()


def test_who_may_not_listen_looks_by_itself(place: Place, lake: tidelake.Lake) -> None:
    """A role with as many connections as it may have gets no other to listen on; and nobody may
    call pg_notify."""
    asked_for = ("CREATE ROLE few LOGIN CONNECTION LIMIT 1", "GRANT ALL ON SCHEMA public TO few")
    with psycopg.connect(place.url, autocommit=True) as connection:
        for sql in (*asked_for, "GRANT ALL ON ALL TABLES IN SCHEMA public TO few"):
            connection.execute(sql)
        connection.execute("REVOKE EXECUTE ON FUNCTION pg_notify(text, text) FROM PUBLIC")
    poor = Place("postgresql", place.url.replace("postgres@", "few@"), place.folder)
    with poor.tuned(pool_size=1, pool_more=0, unheard_s=LONG).open() as few:
        answers: Queue[Any] = Queue()
        polling(few, answers, name="c", start="now")
        time.sleep(0.1)
        few.table("t").append([{"i": 1}])
        assert answers.get(timeout=60) == ("main.t",)


def test_what_duckdb_commits_is_found(place: Place, lake: tidelake.Lake) -> None:
    with place.tuned(unheard_s=0.05).open() as again, place.duck() as duck:
        answers: Queue[Any] = Queue()
        polling(again, answers, name="c", start="now")
        listening(place)
        duck.execute("INSERT INTO lake.t VALUES (1)")
        assert answers.get(timeout=60) == ("main.t",)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_process_hears_by_itself(place: Place, lake: tidelake.Lake) -> None:
    ear = lake.session.database.connections.ear
    assert ear is not None
    mark = ear.mark()
    assert mark is not None
    child = os.fork()
    if child == 0:
        listeners = NO_ANSWER
        try:
            if ear.mark() is not None:
                listeners = len(asked(place, LISTENERS))
        finally:
            os._exit(listeners)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2
    lake.table("t").append([{"i": 1}])
    ear.wait(mark, LONG)


def listening(place: Place) -> None:
    """Waits until somebody listens."""
    until_works(lambda: until(lambda: bool(asked(place, LISTENERS))))


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def until_works(call: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            call()
        except (psycopg.OperationalError, Unavailable):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        else:
            return
