"""Writers wait for a lock that is held, for a server that comes back, and not for ever."""

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

from tests.concurrency import audit
from tests.concurrency.crowd import together
from tests.concurrency.workers import append_few_and_many
from tests.servers.postgres import PostgresServer
from tidelake.errors import TidelakeWarning, Unavailable
from tidelake.testing.place import Place


@pytest.fixture
def sqlite(new_place: Callable[[str], Place]) -> Place:
    place = new_place("sqlite")
    with place.open() as lake:
        lake.create_table("t", "n BIGINT")
    return place


class Holder:
    """Somebody who has the SQLite file to himself for a while."""

    def __init__(self, place: Place) -> None:
        path = place.url.removeprefix("sqlite:///")
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._connection.execute("BEGIN EXCLUSIVE")
        self.gone = threading.Event()

    def let_go(self) -> None:
        self.gone.set()
        self._connection.execute("COMMIT")
        self._connection.close()


def test_a_lock_that_is_held_for_a_while(sqlite: Place) -> None:
    with sqlite.open() as lake:
        table = lake.table("t")
        table.append([{"n": 1}])
        holder = Holder(sqlite)
        threading.Timer(0.5, holder.let_go).start()
        table.append([{"n": 2}])
        assert holder.gone.is_set()
        assert sorted(table.to_arrow()["n"].to_pylist()) == [1, 2]
    audit.check(sqlite, "t")


def test_a_lock_that_outlasts_the_database_s_own_patience(sqlite: Place) -> None:
    with sqlite.tuned(busy_timeout_s=0.05).open() as lake:
        table = lake.table("t")
        table.append([{"n": 1}])
        holder = Holder(sqlite)
        threading.Timer(2.0, holder.let_go).start()
        result = table.append([{"n": 2}])
        assert result.attempts > 2
        assert not result.duplicate
        table.update({"n": "n + 1"})
        assert sorted(table.to_arrow()["n"].to_pylist()) == [2, 3]
    audit.check(sqlite, "t")


def test_a_lock_that_is_never_freed(sqlite: Place) -> None:
    with sqlite.tuned(busy_timeout_s=0.05, patience_s=0.3).open() as lake:
        table = lake.table("t")
        table.append([{"n": 1}])
        holder = Holder(sqlite)
        for data in ([{"n": 2}], [{"n": number} for number in range(50)]):
            with pytest.raises(Unavailable, match="locked") as caught:
                table.append(data)
            assert "another process" in (caught.value.hint or "")
        with pytest.raises(Unavailable, match="locked"):
            table.update({"n": "n + 1"})
        holder.let_go()
        assert table.to_arrow()["n"].to_pylist() == [1]
    audit.check(sqlite, "t")


_LOCKS = {
    "postgresql": "SELECT pg_advisory_lock(1952738411, hashtext(current_schema()))",
    "mariadb": "SELECT GET_LOCK(CONCAT('tidelake.', MD5(DATABASE())), 0)",
}


@pytest.mark.parametrize("kind", _LOCKS)
def test_a_writer_that_stopped_with_the_lake_s_lock(
    new_place: Callable[[str], Place], kind: str
) -> None:
    """Others wait for it, but not for ever; readers do not wait at all."""
    place = new_place(kind).tuned(lock_wait_s=1, patience_s=0.3)
    with place.open() as lake, place.open() as other:
        table = lake.create_table("t", "n BIGINT")
        with other.session.database.reading() as reader:
            reader.rows(_LOCKS[kind])
            with pytest.raises(Unavailable, match=r"locked|busy") as caught:
                table.append([{"n": 1}])
            assert caught.value.hint
            assert table.count() == 0
        other.close()
        table.append([{"n": 2}])
        assert table.to_arrow()["n"].to_pylist() == [2]
    audit.check(place, "t")


@pytest.fixture
def durable(tmp_path: Path) -> Iterator[tuple[PostgresServer, Place]]:
    """A server that has written down what it acknowledges."""
    postgres = PostgresServer(synchronous_commit="on")
    yield postgres, Place.at("postgresql", tmp_path / "lake", postgres)
    postgres.stop()


@pytest.mark.slow
def test_the_server_crashes_again_and_again(durable: tuple[PostgresServer, Place]) -> None:
    postgres, place = durable
    with place.open() as lake:
        lake.create_table("t", "n BIGINT")
    jobs = [partial(append_few_and_many, place, who, 3.0) for who in range(3)]
    with ThreadPoolExecutor() as pool:
        writing = pool.submit(together, *jobs)
        while not writing.done():
            time.sleep(0.7)
            postgres.crash()
    with place.open() as lake:
        found = lake.table("t").to_arrow()["n"].to_pylist()
    assert sorted(found) == sorted(n for numbers in writing.result() for n in numbers)
    audit.check(place, "t")


@pytest.mark.parametrize("kind", ["sqlite", "postgresql", "mariadb"])
def test_a_clock_that_goes_backwards(new_place: Callable[[str], Place], kind: str) -> None:
    """Time does not: a commit is never older than the one before."""
    place = new_place(kind)
    ahead = (datetime.now(UTC) + timedelta(days=3)).replace(microsecond=123456)
    with place.open() as lake:
        table = lake.create_table("t", "n BIGINT")
        with lake.session.database.writing() as writer:
            writer.execute(
                "UPDATE ducklake_snapshot SET snapshot_time = :time WHERE snapshot_id = 1",
                time=writer.dialect.moment(ahead),
            )
        with pytest.warns(TidelakeWarning, match="days from now"):
            results = [table.append([{"n": n}]) for n in range(2)]
        times = [snapshot.time for snapshot in lake.snapshots()]
        assert times[1:] == [ahead] * 3
        assert table.known_at(ahead).count() == 2
        assert table.known_at(results[0].snapshot_id or 0).count() == 1
    audit.check(place, "t")
