"""A lake read on a real cluster: a master and two workers, each a process of its own."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import duckdb

    from tests.servers.spark import SparkCluster

DuckFactory = Callable[[], "duckdb.DuckDBPyConnection"]

READ = """
import json, sys

from pyspark.sql import SparkSession

import tidelake

spark = SparkSession.builder.getOrCreate()
with tidelake.connect(sys.argv[1], read_only=True) as lake:
    answers = {}
    for name in lake.tables():
        rows = lake.table(name).scan(where="i >= 50").to_spark(spark)
        answers[name] = [rows.count(), rows.agg({"i": "sum"}).first()[0]]
    print(json.dumps(answers))
"""


@pytest.mark.slow
@pytest.mark.spark
def test_both_ways_of_reading_on_two_workers(
    tmp_path: Path, new_duck: DuckFactory, spark_cluster: "SparkCluster"
) -> None:
    """`native` is read by Spark itself, with deletes; `added` goes by Arrow."""
    connection = new_duck()
    connection.execute(
        f"ATTACH 'ducklake:sqlite:{tmp_path}/c.db' AS lake (DATA_PATH '{tmp_path}/data/')"
    )
    connection.execute("USE lake")
    for start in range(0, 4000, 1000):
        source = f"SELECT i, 'row ' || i AS s FROM range({start}, {start + 1000}) r(i)"
        connection.execute(f"COPY ({source}) TO '{tmp_path}/f{start}.parquet'")
        verb = "CREATE TABLE native AS" if start == 0 else "INSERT INTO native"
        connection.execute(f"{verb} {source}")
    connection.execute("DELETE FROM native WHERE i % 4 = 0")
    connection.execute("CREATE TABLE added (i BIGINT, s VARCHAR)")
    connection.execute(f"CALL ducklake_add_data_files('lake', 'added', '{tmp_path}/f*.parquet')")
    truth = {
        name: list(
            connection.execute(
                f"SELECT count(*), sum(i)::BIGINT FROM {name} WHERE i >= 50"
            ).fetchone()
            or ()
        )
        for name in ("native", "added")
    }
    connection.close()
    printed = spark_cluster.run_python(READ, f"sqlite:///{tmp_path}/c.db")
    answers = json.loads(printed.strip().splitlines()[-1])
    assert answers == {f"main.{name}": found for name, found in truth.items()}


WRITE = """
import sys

from pyspark.sql import SparkSession

import tidelake
from tidelake.engine.spark import executors
from tidelake.errors import Unsupported

spark = SparkSession.builder.getOrCreate()
with tidelake.connect(sys.argv[1], engine="spark", spark=spark) as lake:
    table = lake.create_table("t", "id BIGINT")
    here = executors.versions()
    executors.versions = lambda: {**here, "duckdb": "0.0"}
    try:
        table.append(spark.range(8))
    except Unsupported as error:
        print(error)
    executors.versions = lambda: here
    table.append(spark.range(8))
    print(table.count())
"""


@pytest.mark.slow
@pytest.mark.spark
def test_executors_are_asked_before_they_write(
    tmp_path: Path, spark_cluster: "SparkCluster"
) -> None:
    said = spark_cluster.run_python(WRITE, f"sqlite:///{tmp_path}/lake.db").splitlines()
    assert said[0].startswith("Spark's executors differ from the driver: duckdb ")
    assert said[0].endswith("pip install the same versions where the executors run works too)")
    assert said[1] == "8"
