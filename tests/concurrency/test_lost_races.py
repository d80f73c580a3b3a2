"""DuckDB, which does not take our lock, commits between our look at the lake and our commit."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from urllib.parse import urlsplit

import psycopg
import pytest

from tests.concurrency import audit
from tests.concurrency.crowd import together
from tests.concurrency.workers import append_attempts, append_one_by_one
from tidelake.errors import Conflict
from tidelake.model.change import WriteResult
from tidelake.model.names import TableName
from tidelake.session.drafting import DraftSession
from tidelake.session.replay import write
from tidelake.testing.faults import Proxy
from tidelake.testing.place import Place
from tidelake.write import rows as writes

_ENGLISH = b"duplicate key value violates unique constraint"
_FIRSTS = range(100, 140, 10)
_POLISH = "powtórzony klucz narusza więzy unikatowe".encode().ljust(len(_ENGLISH))


@pytest.fixture
def place(new_place: Callable[[str], Place]) -> Place:
    place = new_place("postgresql")
    with place.open() as lake:
        lake.create_table("t", "n BIGINT, who VARCHAR").append(rows(0, 30))
    return place


def rows(first: int, last: int) -> list[dict[str, object]]:
    return [{"n": number, "who": "us"} for number in range(first, last)]


def numbers(place: Place) -> list[int]:
    with place.open() as lake:
        return sorted(lake.table("t").to_arrow()["n"].to_pylist())


def by_duck(place: Place, sql: str) -> None:
    with place.duck() as duck:
        duck.execute(sql)


class Polish:
    """Puts the server's best known words of a lost race into another language, at their length."""

    said = 0

    def __call__(self, data: bytes) -> bytes:
        self.said += _ENGLISH in data
        return data.replace(_ENGLISH, _POLISH)


@contextmanager
def wire(place: Place, translate: Callable[[bytes], bytes]) -> Iterator[Proxy]:
    with Proxy(urlsplit(place.url).port or 0, lambda: 0, translate) as proxy:
        yield proxy


def test_duckdb_takes_our_ids(place: Place) -> None:
    """The snapshot's and the files': both are given anew. The server says so in Polish, which is
    as good, since nobody reads it."""
    polish = Polish()
    with wire(place, polish) as proxy, proxy.through(place).open() as lake:
        table = lake.table("t")
        table.append(rows(30, 31))
        proxy.meanwhile = partial(
            by_duck, place, "INSERT INTO lake.t SELECT range, 'duck' FROM range(100, 150)"
        )
        result = table.append(rows(31, 60))
    assert (result.attempts, result.duplicate) == (2, False)
    assert polish.said == 1
    assert numbers(place) == [*range(60), *range(100, 150)]
    audit.check(place, "t")


def test_duckdb_deletes_what_we_delete(place: Place) -> None:
    """An autocommitted write is done again on top of it; a transaction says Conflict."""
    by_duck(place, "DELETE FROM lake.t WHERE n = 29")  # what keeps such deletes is there now
    with wire(place, Polish()) as proxy, proxy.through(place).open() as lake:
        proxy.meanwhile = partial(by_duck, place, "DELETE FROM lake.t WHERE n < 5")
        assert lake.table("t").delete("n < 10").deleted == 5
        proxy.meanwhile = partial(by_duck, place, "DELETE FROM lake.t WHERE n = 10")
        with pytest.raises(Conflict, match=r"main\.t"), lake.transaction() as tx:
            tx.table("t").delete("n BETWEEN 10 AND 12")
    assert numbers(place) == list(range(11, 29))
    audit.check(place, "t")


@pytest.mark.slow
def test_duckdb_overtakes_us_inside_the_lock(place: Place) -> None:
    """Again and again, also where the write was put so that nobody could: it is done once more,
    and what the earlier attempts wrote is gone."""
    rivals = iter(range(6))

    def delete(tx: DraftSession) -> WriteResult:
        result = writes.delete(tx, TableName("main", "t"), "n BETWEEN 3 AND 10")
        for rival in rivals:
            by_duck(place, f"DELETE FROM lake.t WHERE n = {rival}")
            break
        return result

    with place.open() as lake:
        lake.set_option("data_inlining_row_limit", 0)
        result = write(lake.session, delete)
    assert (result.attempts, result.deleted) == (7, 5)
    assert numbers(place) == list(range(11, 30))
    audit.check(place, "t")


def test_what_landed_while_we_waited_for_the_lock(place: Place) -> None:
    """Our transaction is older than DuckDB's commit, and must see it all the same."""
    deleted: list[int] = []

    def delete() -> None:
        with place.open() as lake:
            deleted.append(lake.table("t").delete("n < 10").deleted)

    with psycopg.connect(place.url) as holder:
        holder.execute("SELECT pg_advisory_xact_lock(1952738411, hashtext(current_schema()))")
        waiting = threading.Thread(target=delete)
        waiting.start()
        _until_somebody_waits(holder)
        by_duck(place, "DELETE FROM lake.t WHERE n < 5")
    waiting.join(60)
    assert deleted == [5]
    assert numbers(place) == list(range(10, 30))
    audit.check(place, "t")


def _until_somebody_waits(connection: psycopg.Connection) -> None:
    query = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    while connection.execute(query).fetchall() == [(0,)]:
        pass


@pytest.mark.slow
@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
def test_a_database_that_defaults_to_stricter_isolation(place: Place, level: str) -> None:
    name = urlsplit(place.url).path.strip("/")
    with psycopg.connect(place.url, autocommit=True) as connection:
        connection.execute(f"ALTER DATABASE {name} SET default_transaction_isolation = '{level}'")
    jobs = [partial(append_one_by_one, place, range(first, first + 10)) for first in _FIRSTS]
    together(*jobs)
    assert numbers(place) == [*range(30), *range(100, 140)]
    audit.check(place, "t")


def test_the_log_of_the_server_is_quiet(place: Place) -> None:
    """Appends of ours alone lose no race: the lock lets them wait instead."""
    jobs = [partial(append_attempts, place, range(first, first + 10)) for first in _FIRSTS]
    assert together(*jobs) == [10] * 4
