"""The order of writes in a transaction that runs on Spark."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import tidelake

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOON = "2024-03-12 12:00:00"


@pytest.mark.spark
def test_a_write_that_is_changed_in_its_transaction_keeps_its_turn(
    tmp_path: Path, spark: "SparkSession"
) -> None:
    url = f"sqlite:///{tmp_path}/lake.db"
    with tidelake.connect(url, f"{tmp_path}/data", engine="spark", spark=spark) as lake:
        lake.create_table("facts", "k VARCHAR, ts TIMESTAMP, v INT", key="k", event_time="ts")
        rows = [("A", 0), *((f"other {n}", 0) for n in range(50))]
        frame = spark.createDataFrame(rows, "k string, v int").selectExpr(
            "k", f"timestamp_ntz '{NOON}' AS ts", "v"
        )
        with lake.transaction() as tx:
            t = tx.table("facts")
            t.append(frame)
            t.append(frame.selectExpr("k", "ts", "v + 1 AS v"))
            t.update({"v": "v + 10"}, where="v = 0")
            found = {row.v for row in t.as_of(NOON).to_spark(spark).collect()}
        assert found == {1}
        after = lake.table("facts").as_of(NOON).to_spark(spark).collect()
        assert [row.v for row in after] == [1] * 51
