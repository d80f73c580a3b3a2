"""A process that is forked from one with a lake open has connections, locks and a DuckDB of its
own, and does nothing to those of its parent."""

import gc
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

import tidelake
from tests.lake.forked import in_child, started
from tidelake.catalog.database.duckdb import connections as duckdb_file
from tidelake.engine.declare import ddl as definition
from tidelake.errors import Invalid, Unavailable
from tidelake.store.files import Store

if TYPE_CHECKING:
    from tests.servers.s3 import S3Server

pytestmark = pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")

Open = Callable[[str], tidelake.Lake]


@pytest.fixture
def new_lake(request: pytest.FixtureRequest, tmp_path: Path) -> Open:
    def make(kind: str) -> tidelake.Lake:
        if kind in ("sqlite", "duckdb"):
            return tidelake.connect(f"{kind}:///{tmp_path}/lake.db")
        server: Any = request.getfixturevalue(f"{kind}_server")
        return tidelake.connect(server.new_database(), f"{tmp_path}/files/")

    return make


def rows(table: tidelake.Table) -> list[int]:
    return sorted(table.to_arrow()["a"].to_pylist())


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgres", "mariadb"])
def test_children_and_parent_go_on_side_by_side(new_lake: Open, kind: str) -> None:
    """Children used to share the socket, and got each other's answers."""
    with new_lake(kind) as lake:
        tables = [lake.create_table(f"t{n}", "a INT") for n in range(3)]
        for number, table in enumerate(tables):
            table.append([{"a": number}])
            assert rows(table) == [number]

        def work(number: int) -> list[list[int]]:
            found = []
            for step in range(1, 4):
                tables[number].append([{"a": step * 10 + number}])
                found.append(rows(lake.table(f"t{number}")))
            return found

        answers = [started(lambda number=number: work(number)) for number in (0, 1)]
        mine = work(2)
        for number, found in enumerate([*(answer() for answer in answers), mine]):
            expected = [number, *(step * 10 + number for step in range(1, 4))]
            assert found == [expected[: length + 2] for length in range(3)]
            assert rows(tables[number]) == expected
        assert lake.verify().ok


def test_garbage_of_the_parent_is_not_collected_in_the_child(new_lake: Open) -> None:
    """A DuckDB whose threads are gone ends the process when it is closed."""
    with new_lake("sqlite") as lake:
        table = lake.create_table("t", "a INT")
        table.append([{"a": number} for number in range(1000)])
        gc.disable()
        try:
            ring: list[Any] = [duckdb.connect(config={"threads": 4})]
            ring[0].execute("SELECT sum(range) FROM range(10_000_000)").fetchall()
            ring.append(ring)
            del ring
            assert in_child(lambda: (gc.collect(), len(rows(table)))[1]) == 1000
        finally:
            gc.enable()


def test_a_duckdb_file_has_one_process(new_lake: Open) -> None:
    """The child would see what DuckDB knew of the file, without a lock."""
    with new_lake("duckdb") as lake:
        table = lake.create_table("t", "a INT")
        table.append([{"a": 1}])
        with pytest.raises(Unavailable, match="was open when this process was forked"):
            in_child(lambda: rows(table))
        with pytest.raises(Unavailable, match="was open when this process was forked"):
            in_child(lambda: tidelake.connect(lake.url).tables())
        table.append([{"a": 2}])
        assert rows(table) == [1, 2]
    assert in_child(lambda: rows(tidelake.connect(lake.url).table("t"))) == [1, 2]


@pytest.mark.slow
def test_a_larger_query(new_lake: Open) -> None:
    """DuckDB's threads are not there in the child."""
    with new_lake("sqlite") as lake:
        lake.create_table("t", "a INT, b VARCHAR")
        lake.sql("INSERT INTO t SELECT range, range % 100 FROM range(300000)")

        def groups() -> int:
            found = lake.sql("SELECT b, sum(a) FROM t GROUP BY b ORDER BY b").to_arrow()
            return int(found.num_rows)

        assert groups() == 100
        assert [in_child(groups) for _ in range(2)] == [100, 100]
        assert in_child(lambda: in_child(groups)) == 100


def test_locks_that_another_thread_holds(new_lake: Open) -> None:
    with new_lake("sqlite") as lake:
        table = lake.create_table("t", "a INT")
        table.append([{"a": 1}])
        held, over = threading.Event(), threading.Event()

        def hold() -> None:
            with (
                lake.session.local._opening,
                definition._DECLARER.busy,
                duckdb_file._FILES.opening,
                lake.session.database.writing() as writer,
            ):
                writer.execute("UPDATE ducklake_metadata SET value = value")
                writer.rows("SELECT 1")
                held.set()
                over.wait()

        thread = threading.Thread(target=hold)
        thread.start()
        assert held.wait(60)

        def child() -> tuple[list[int], str, int]:
            options = lake.create_table("u", "a INT DEFAULT 3").info.schema.columns
            table.append([{"a": 2}])
            return rows(table), str(options[0].default), len(lake.tables())

        answer = started(child)
        over.set()
        thread.join()
        assert answer() == ([1, 2], "3", 2)
        assert rows(table) == [1, 2]


def test_a_transaction_stays_with_its_parent(new_lake: Open, tmp_path: Path) -> None:
    """Its end in the child neither commits nor removes the files that were written for it."""
    with new_lake("sqlite") as lake:
        lake.set_option("data_inlining_row_limit", 0)
        lake.create_table("t", "a INT")

        def leave(tx: Any) -> None:
            with tx:
                raise ZeroDivisionError

        with lake.transaction() as tx:
            tx.table("t").append([{"a": 1}])
            with pytest.raises(ZeroDivisionError):
                in_child(lambda: leave(tx))
            with pytest.raises(Invalid, match="stays in the process"):
                in_child(tx.commit)
            with pytest.raises(Invalid, match="stays in the process"):
                in_child(lambda: tx.table("t").append([{"a": 2}]))
        assert rows(lake.table("t")) == [1]


def test_a_consumer_stays_with_its_parent(new_lake: Open) -> None:
    with new_lake("sqlite") as lake, lake.consumer("c") as consumer:
        in_child(consumer.close)
        assert consumer.poll() is not None
        consumer.commit()


ENDS = """
import os, sys, tidelake
lake = tidelake.connect(sys.argv[1])
table = lake.table("t")
table.append([{"a": 1}]); table.to_arrow()
if os.fork() == 0:
    if not sys.argv[1].startswith("duckdb"):
        table.append([{"a": 2}]); table.to_arrow()
    del lake, table
    sys.exit(0)
_, status = os.wait()
table.append([{"a": 3}])
print(status, sorted(table.to_arrow()["a"].to_pylist()))
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "duckdb", "postgres"])
def test_a_child_that_ends_leaves_the_parent_alone(
    new_lake: Open, kind: str, tmp_path: Path
) -> None:
    """With its interpreter end all things that it had from its parent."""
    with new_lake(kind) as lake:
        lake.create_table("t", "a INT")
        url = str(lake.session.database.url.url or lake.url)
    run = subprocess.run(
        [sys.executable, "-c", ENDS, url], capture_output=True, text=True, timeout=120
    )
    expected = [1, 3] if kind == "duckdb" else [1, 2, 3]
    assert run.stdout == f"0 {expected}\n", run.stderr
    assert run.stderr == ""


def test_multiprocessing_by_fork(new_lake: Open) -> None:
    import multiprocessing

    with new_lake("sqlite") as lake:
        table = lake.create_table("t", "a INT")
        table.append([{"a": 1}])
        with multiprocessing.get_context("fork").Pool(2) as pool:
            assert pool.map(rows, [table] * 4) == [[1]] * 4
        assert rows(table) == [1]


@pytest.mark.slow
def test_an_object_store(s3_server: "S3Server", tmp_path: Path) -> None:
    """The library that reaches it has threads too, and would wait for them."""
    bucket = s3_server.new_bucket()
    options = s3_server.storage_options
    with tidelake.connect(
        f"sqlite:///{tmp_path}/lake.db", f"s3://{bucket}/lake/", storage_options=options
    ) as lake:
        lake.set_option("data_inlining_row_limit", 0)
        table = lake.create_table("t", "a INT")
        table.append([{"a": 1}])
        note = f"s3://{bucket}/note"
        Store(options).write(note, b"hello")
        with pytest.raises(Unavailable, match="forked"):
            in_child(lambda: Store(options).read(note))
        in_child(lambda: table.append([{"a": 2}]) and None)
        assert in_child(lambda: rows(table)) == [1, 2]
