"""Lakes and all that is read from them can be copied and sent to other processes: what goes is how
to open them again."""

import copy
import pickle
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import tidelake
from tests.concurrency.crowd import together
from tidelake import col
from tidelake.errors import Denied, Invalid, Unavailable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.servers.postgres import PostgresServer

Copy = Callable[[Any], Any]
COPIES: list[Copy] = [lambda thing: pickle.loads(pickle.dumps(thing)), copy.deepcopy, copy.copy]


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[tidelake.Lake]:
    with tidelake.connect(f"sqlite:///{tmp_path}/lake.db") as lake:
        fill(lake)
        yield lake


def fill(lake: tidelake.Lake) -> None:
    table = lake.create_table("t", "k INT, ts TIMESTAMP, v INT", key="k", event_time="ts")
    for day in (1, 2, 3):
        table.append([{"k": 1, "ts": datetime(2024, 1, day), "v": day}])


def values(thing: Any) -> list[int]:
    return sorted(thing.to_arrow()["v"].to_pylist())


@pytest.mark.parametrize("copied", COPIES, ids=["pickle", "deepcopy", "copy"])
def test_copies_read_the_same(lake: tidelake.Lake, copied: Copy) -> None:
    table, at = lake.table("t"), lake.snapshots()[2].snapshot_id
    for thing, expected in {
        table: [1, 2, 3],
        table.known_at(at): [1],
        table.as_of("2024-01-02"): [2],
        table.scan(where="v > 1"): [2, 3],
        table.scan(columns=["v"], where=col("v") < 3): [1, 2],
        table.known_at(at).scan(): [1],
        lake.known_at(at).table("t"): [1],
        lake.sql("SELECT v FROM t WHERE v <> ?", [2]): [1, 3],
        lake.sql("SELECT v FROM t", known_at=at): [1],
        table.changes(since=at): [2, 3],
        table.history({"k": 1}): [1, 1, 2, 2, 3],
    }.items():
        again = copied(thing)
        assert values(again) == expected
        assert repr(again) == repr(thing)


def test_a_copy_stays_pinned(lake: tidelake.Lake) -> None:
    at = lake.snapshots()[2].snapshot_id
    table, pinned, query = (
        copy.deepcopy(each)
        for each in (lake.table("t"), lake.known_at(at), lake.sql("SELECT v FROM t"))
    )
    lake.table("t").append([{"k": 1, "ts": datetime(2024, 1, 4), "v": 4}])
    assert values(table) == [1, 2, 3, 4]
    assert values(pinned.table("t")) == [1]
    assert values(query) == [1, 2, 3, 4]
    with pytest.raises(Denied, match="pinned"):
        pinned.create_schema("s")


def test_a_copy_has_its_own_connections(lake: tidelake.Lake) -> None:
    again = copy.deepcopy(lake)
    again.close()
    assert values(lake.table("t")) == [1, 2, 3]


def test_read_only_stays_so(lake: tidelake.Lake) -> None:
    with (
        tidelake.connect(lake.url, read_only=True) as seen,
        copy.deepcopy(seen) as again,
        pytest.raises(Denied, match="read-only"),
    ):
        again.create_schema("s")


def test_what_is_needed_to_open_goes_along_and_is_not_shown(tmp_path: Path) -> None:
    secret = {"aws_secret_access_key": "hidden"}
    with tidelake.connect(f"sqlite:///{tmp_path}/lake.db", storage_options=secret) as lake:
        again = pickle.loads(pickle.dumps(lake))
        assert again.session.local.options == secret
        assert "hidden" not in repr(lake) + repr(again) + repr(again.session.local)


def test_what_stays_here(lake: tidelake.Lake) -> None:
    with lake.transaction() as tx:
        for thing in (tx, tx.table("t"), tx.table("t").scan()):
            with pytest.raises(Invalid, match="stays in the process that opened it"):
                pickle.dumps(thing)
    with lake.consumer("c") as consumer, pytest.raises(Invalid, match="held by one"):
        copy.deepcopy(consumer)
    closed = copy.deepcopy(lake)
    closed.close()
    with pytest.raises(Invalid, match="has been closed"):
        pickle.dumps(closed)


def write(table: tidelake.Table, value: int) -> list[int]:
    table.append([{"k": 1, "ts": datetime(2024, 2, 1), "v": value}])
    return values(table)


@pytest.mark.slow
def test_another_process_writes(lake: tidelake.Lake) -> None:
    table = lake.table("t")
    found = together(partial(write, table, 10), partial(values, table.known_at(2)))
    assert found == [[1, 2, 3, 10], [1]]
    assert values(table) == [1, 2, 3, 10]


@pytest.mark.slow
def test_another_process_on_postgres(postgres_server: "PostgresServer", tmp_path: Path) -> None:
    with tidelake.connect(postgres_server.new_database(), f"{tmp_path}/files/") as lake:
        fill(lake)
        assert together(partial(write, lake.table("t"), 10)) == [[1, 2, 3, 10]]
        assert values(lake.table("t")) == [1, 2, 3, 10]


def refused(table: tidelake.Table) -> str:
    with pytest.raises(Unavailable) as caught:
        table.to_arrow()
    return str(caught.value)


def test_a_duckdb_file_has_one_process(tmp_path: Path) -> None:
    with tidelake.connect(f"duckdb:///{tmp_path}/lake.db") as lake:
        fill(lake)
        (said,) = together(partial(refused, lake.table("t")))
    assert "one process at a time" in said


@pytest.mark.slow
@pytest.mark.spark
def test_in_a_closure_on_spark(lake: tidelake.Lake, spark: "SparkSession") -> None:
    """Where there is no session, a lake that was opened for Spark is read all the same."""
    with tidelake.connect(lake.url, engine="spark", spark=spark) as sparkling:
        for opened in (lake, sparkling):
            table = opened.table("t")
            pinned = table.known_at(2)

            def read(part: Any, table: Any = table, pinned: Any = pinned) -> Any:
                for number in part:
                    yield number, values(table), values(pinned)

            found = spark.sparkContext.parallelize(range(2), 2).mapPartitions(read).collect()
            assert sorted(found) == [(0, [1, 2, 3], [1]), (1, [1, 2, 3], [1])]
        table = sparkling.table("t")

        def append(part: Any, table: Any = table) -> None:
            for number in part:
                write(table, 10 + number)

        spark.sparkContext.parallelize(range(2), 2).foreachPartition(append)
        assert values(lake.table("t")) == [1, 2, 3, 10, 11]
        again = copy.deepcopy(sparkling)
        assert (again.engine, values(again.table("t"))) == ("spark", [1, 2, 3, 10, 11])


@pytest.mark.slow
@pytest.mark.spark
def test_spark_sql_where_there_is_no_session(lake: tidelake.Lake, spark: "SparkSession") -> None:
    with tidelake.connect(lake.url, engine="spark", spark=spark) as sparkling:
        query = sparkling.sql("SELECT v FROM t")
        assert values(copy.deepcopy(query)) == [1, 2, 3]

        def read(_: Any, query: Any = query) -> Any:
            yield query.to_arrow()["v"].to_pylist()

        (there,) = spark.sparkContext.parallelize([0], 1).mapPartitions(read).collect()
    assert sorted(there) == [1, 2, 3]
