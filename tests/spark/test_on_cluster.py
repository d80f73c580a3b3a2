"""The data source on a real cluster, with speculation: a master and two workers."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tidelake.testing.place import Place

if TYPE_CHECKING:
    from tests.servers.spark import SparkCluster

WORK = """
import json, sys

from pyspark.sql import SparkSession

import tidelake.spark

url, folder = sys.argv[1:]
spark = SparkSession.builder.config("spark.speculation", "true").getOrCreate()
tidelake.spark.register(spark)

def frame(name):
    return spark.read.format("tidelake").option("catalog", url).load(name)

def writer(rows, mode):
    return rows.write.format("tidelake").mode(mode).option("catalog", url)

numbers = spark.range(0, 4000, 1, 8).selectExpr("id", "concat('row ', id) AS s")
writer(numbers, "append").save("t")
writer(frame("t").where("id % 2 = 0"), "append").save("copy")
writer(numbers.where("id >= 3000"), "overwrite").option("overwriteWhere", "id >= 3000").save("copy")
sink = spark.readStream.format("tidelake").option("catalog", url).load("copy").writeStream
sink = sink.format("tidelake").option("catalog", url).option("checkpointLocation", folder)
sink.trigger(availableNow=True).start("streamed").awaitTermination()
print(json.dumps([frame(name).count() for name in ("t", "copy", "streamed")]))
"""


@pytest.mark.slow
@pytest.mark.spark
def test_on_two_workers(place: Place, tmp_path: Path, spark_cluster: "SparkCluster") -> None:
    with place.open() as lake:
        for name in ("t", "copy", "streamed"):
            lake.create_table(name, {"id": "BIGINT", "s": "VARCHAR"})
    printed = spark_cluster.run_python(WORK, place.url, f"{tmp_path}/checkpoint", seconds=400)
    assert json.loads(printed.strip().splitlines()[-1]) == [4000, 2500, 2500]
    wanted = [*range(0, 3000, 2), *range(3000, 4000)]
    with place.duck() as connection:
        for name in ("copy", "streamed"):
            found = connection.execute(f"SELECT id FROM lake.{name} ORDER BY id").fetchall()
            assert [row[0] for row in found] == wanted
    with place.open() as lake:
        assert lake.verify(deep=True).ok
