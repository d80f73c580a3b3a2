"""An SQLite catalog that another process keeps open answers, and fails, as one that is open here.
That is how it is opened once DuckDB's own SQLite library is in the process."""

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from enum import IntEnum
from pathlib import Path

import pytest

import tidelake
from tidelake.catalog.database.address import parse_url
from tidelake.catalog.database.database import Database
from tidelake.catalog.database.sqlite import connections as sqlite
from tidelake.catalog.database.sqlite import keepers
from tidelake.errors import Corrupt, Denied, Invalid, TidelakeError, Unavailable
from tidelake.model.tuning import Tuning
from tidelake.testing.faults import Meanwhile, watch_database

Here = Callable[[bool], None]


@pytest.fixture(params=["here", "kept"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Whether DuckDB's library is in the process, as far as the catalog knows."""
    monkeypatch.setattr(sqlite, "has_duckdb_sqlite", lambda: request.param == "kept")
    way: str = request.param
    return way


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Here:
    """Lets the library come."""

    def set_to(there: bool) -> None:
        monkeypatch.setattr(sqlite, "has_duckdb_sqlite", lambda: there)

    set_to(False)
    return set_to


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    tuning = Tuning(busy_timeout_s=0.05)
    found = Database(parse_url(f"sqlite:///{tmp_path}/c.db"), tuning=tuning)
    with found.writing() as writer:
        writer.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b, c)")
    yield found
    found.close()


class Number(IntEnum):
    SEVEN = 7


class Word(str):
    pass


def test_values_come_back_as_they_went(way: str, database: Database) -> None:
    values = [None, True, -(2**63), 2**63 - 1, 1.5, float("inf"), "", "é\x00€", b"", b"\xff\x00"]
    with database.writing() as writer:
        writer.insert_values("t", ["a", "b"], list(enumerate(values)))
        writer.insert_values("t", ["a", "b", "c"], [[100, Number.SEVEN, Word("seven")]])
        writer.execute("INSERT INTO t VALUES (:a, :b, NULL)", a=101, b=bytearray(b"x"))
    with database.reading() as reader:
        found = [row[0] for row in reader.rows("SELECT b FROM t WHERE a < 100 ORDER BY a")]
        assert found == values
        assert reader.rows("SELECT b, c FROM t WHERE a = :a", a=100) == [(7, "seven")]
        assert reader.row("SELECT b FROM t WHERE a = 101") == (b"x",)


def test_what_fails_leaves_no_trace_and_the_next_goes_on(way: str, database: Database) -> None:
    def fail() -> None:
        with database.writing() as writer:
            writer.insert_values("t", ["a"], [[1]])
            assert writer.row("SELECT count(*) FROM t") == (1,)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with database.reading() as reader:
        assert reader.row("SELECT count(*) FROM t") == (0,)


def constraint(database: Database) -> None:
    with database.writing() as writer:
        writer.insert_values("t", ["a"], [[1], [1]])


def full(database: Database) -> None:
    with database.writing() as writer:
        writer.rows("PRAGMA max_page_count = 3")
        writer.insert_values("t", ["b"], [["x" * 100_000]])


def damaged(database: Database) -> None:
    path = database.url.path
    assert path is not None
    database.close()
    data = path.read_bytes()
    path.write_bytes(data[:4096] + b"\xff" * (len(data) - 4096))
    with database.reading() as reader:
        reader.rows("SELECT * FROM t")


def no_database(database: Database) -> None:
    database.close()
    path = database.url.path
    assert path is not None
    path.write_text("this is no database, " * 100)
    with database.reading() as reader:
        reader.rows("SELECT * FROM t")


def busy(database: Database) -> None:
    other = sqlite3.connect(str(database.url.path), isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with database.writing() as writer:
        writer.insert_values("t", ["a"], [[1]])


def not_to_be_written(database: Database) -> None:
    again = Database(database.url, read_only=True)
    try:
        with again.reading() as reader:
            reader.rows("INSERT INTO t (a) VALUES (1) RETURNING a")
    finally:
        again.close()


def not_there(database: Database) -> None:
    database.close()
    path = database.url.path
    assert path is not None
    path.unlink()
    path.mkdir()
    with database.reading() as reader:
        reader.rows("SELECT 1")


FAILURES: dict[Callable[[Database], None], type[TidelakeError]] = {
    constraint: Unavailable,
    busy: Unavailable,
    full: Unavailable,
    damaged: Corrupt,
    no_database: Invalid,
    not_to_be_written: Denied,
    not_there: Unavailable,
}


@pytest.mark.parametrize("failure", FAILURES, ids=lambda failure: failure.__name__)
def test_errors_are_the_same(
    way: str,
    database: Database,
    failure: Callable[[Database], None],
) -> None:
    with pytest.raises(TidelakeError) as caught:
        failure(database)
    assert type(caught.value) is FAILURES[failure]
    assert getattr(caught.value, "passing", False) is (failure in (constraint, busy))
    assert "unexpected" not in str(caught.value)


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_library_that_comes_during_a_write(
    tmp_path: Path, library: Here, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """Before the commit it is undone and done again; after it, it is found by its mark."""
    with tidelake.connect(f"sqlite:///{tmp_path}/c.db") as lake:
        table = lake.create_table("t", "a INT")
        kept = file_handles(tmp_path / "c.db")
        checks = iter([moment == "before", True])

        def there() -> bool:
            if next(checks, True):
                library(True)
                return True
            return False

        come = Meanwhile("commit", lambda: monkeypatch.setattr(sqlite, "has_duckdb_sqlite", there))
        with watch_database(lake, come):
            result = table.append([{"a": 1}])
        assert (result.attempts, result.duplicate) == (2, moment == "after")
        assert table.to_arrow().to_pylist() == [{"a": 1}]
        assert file_handles(tmp_path / "c.db") == kept
    assert file_handles(tmp_path / "c.db") == kept


def test_what_was_open_before_is_not_closed(tmp_path: Path, library: Here) -> None:
    """Closing it would drop the locks of the other library."""
    path = tmp_path / "c.db"
    lakes = [tidelake.connect(f"sqlite:///{path}") for _ in range(2)]
    lakes[0].create_table("t", "a INT").append([{"a": 1}])
    assert file_handles(path) == 2
    library(True)
    lakes[0].close()
    assert lakes.pop().table("t").count() == 1
    lakes.clear()
    assert file_handles(path) == 2


def file_handles(path: Path) -> int:
    """How often this process has the file open."""
    links = [f"/proc/self/fd/{number}" for number in os.listdir("/proc/self/fd")]  # noqa: PTH208
    return sum(os.path.realpath(link) == str(path) for link in links if os.path.lexists(link))


def test_a_keeper_that_is_killed(tmp_path: Path, library: Here) -> None:
    library(True)
    with tidelake.connect(f"sqlite:///{tmp_path}/c.db") as lake:
        table = lake.create_table("t", "a INT")
        with lake.session.database.reading() as reader:
            process = reader._session._keeper._process  # type: ignore[attr-defined]
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        table.append([{"a": 1}])
        assert table.to_arrow().to_pylist() == [{"a": 1}]


def test_an_interrupt_in_the_middle(
    tmp_path: Path, library: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The transaction is undone before the interrupt goes on, and the next has another keeper."""
    library(True)
    with tidelake.connect(f"sqlite:///{tmp_path}/c.db") as lake:
        table = lake.create_table("t", "a INT")
        receive = keepers.receive

        def interrupted(source: object) -> None:
            monkeypatch.setattr(keepers, "receive", receive)
            raise KeyboardInterrupt

        def write() -> None:
            with lake.session.database.writing() as writer:
                writer.execute("DELETE FROM ducklake_snapshot")
                monkeypatch.setattr(keepers, "receive", interrupted)
                writer.rows("SELECT 1")

        with pytest.raises(KeyboardInterrupt):
            write()
        assert table.append([{"a": 1}]).attempts == 1
        assert table.count() == 1


KILLED = """
import os, sys
from tidelake.catalog.database.sqlite import connections as sqlite
from tidelake.catalog.database.database import Database
from tidelake.catalog.database.address import parse_url
sqlite.has_duckdb_sqlite = lambda: True
database = Database(parse_url(sys.argv[1]))
with database.writing() as writer:
    writer.execute("PRAGMA cache_size = 1")
    writer.execute("DELETE FROM t")
    writer.insert_values("t", ["a", "b"], [[number, "x" * 1000] for number in range(1000)])
    writer.rows("SELECT 1")
    os.kill(os.getpid(), 9)
"""


def test_a_parent_that_is_killed(database: Database) -> None:
    """What it was at is undone, by its keeper or by whoever comes next."""
    with database.writing() as writer:
        writer.insert_values("t", ["a"], [[-1]])
    found = subprocess.run([sys.executable, "-c", KILLED, str(database.url)], check=False)
    assert found.returncode == -signal.SIGKILL
    with database.writing() as writer:
        assert writer.rows("SELECT a FROM t") == [(-1,)]


NOTICED = """
import duckdb, pyarrow, sqlite3
from tidelake.catalog.database.sqlite.libraries import has_duckdb_sqlite
from tidelake.testing import duck
connection = duck.duck_connection(extensions=["ducklake"])
before = has_duckdb_sqlite(), has_duckdb_sqlite()
connection.load_extension(str(duck.extension_file("sqlite_scanner")))
print(before, has_duckdb_sqlite(), has_duckdb_sqlite())
"""


def test_the_library_is_noticed() -> None:
    found = subprocess.run([sys.executable, "-c", NOTICED], capture_output=True, text=True)
    assert found.stdout == "(False, False) True True\n", found.stderr
