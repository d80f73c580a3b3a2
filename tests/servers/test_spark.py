import os

import pytest

from tests.servers.process import listening_addresses

pytestmark = pytest.mark.spark

ON_THE_CLUSTER = """
import sys
import pandas
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
spark.range(100, numPartitions=4).write.parquet(sys.argv[1])
def double(batches):
    for batch in batches:
        yield pandas.DataFrame({"id": batch["id"] * 2})
rows = spark.read.parquet(sys.argv[1])
doubled = rows.mapInPandas(double, rows.schema)
print(spark.sparkContext.master, doubled.agg({"id": "sum"}).first()[0])
"""


def test_local_session_round_trip(spark, tmp_path):
    spark.range(100).write.parquet(f"{tmp_path}/t")
    assert spark.read.parquet(f"{tmp_path}/t").count() == 100
    assert spark.sql("SELECT current_timezone()").first()[0] == "UTC"


def test_local_session_runs_python_on_workers(spark):
    doubled = spark.range(10).mapInArrow(lambda batches: batches, "id LONG")
    assert sorted(row.id for row in doubled.collect()) == list(range(10))


@pytest.mark.slow
def test_connect_round_trip(spark_connect, tmp_path):
    from pyspark.sql import functions as F  # noqa: N812

    spark_connect.range(100).write.parquet(f"{tmp_path}/t")
    rows = spark_connect.read.parquet(f"{tmp_path}/t").where(F.col("id") < 10)
    assert rows.mapInArrow(lambda batches: batches, "id LONG").count() == 10
    assert type(spark_connect).__module__.startswith("pyspark.sql.connect")


def test_classic_functions_still_work_after_a_connect_test(spark, spark_connect_server):
    from pyspark.sql import functions as F  # noqa: N812

    assert spark.range(10).where(F.col("id") < 3).count() == 3
    assert spark_connect_server.session.range(3).count() == 3


def test_spark_listens_on_loopback_only(spark, spark_connect_server):
    assert listening_addresses(spark_connect_server.pid) == {"127.0.0.1"}
    assert listening_addresses(os.getpid()) == {"127.0.0.1"}


@pytest.mark.slow
def test_cluster_round_trip(spark_cluster, tmp_path):
    printed = spark_cluster.run_python(ON_THE_CLUSTER, f"{tmp_path}/t")
    assert printed.split() == [spark_cluster.master_url, "9900"]


@pytest.mark.slow
def test_cluster_listens_on_loopback_only(spark_cluster):
    assert set().union(*map(listening_addresses, spark_cluster.pids)) == {"127.0.0.1"}
