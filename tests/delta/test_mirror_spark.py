"""A lake on Spark: what its executors wrote is read back from the log."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import tidelake
from tests.delta.agreement import assert_agree
from tests.delta.readers import Readers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.spark
def test_a_table_that_spark_writes(tmp_path: Path, spark: "SparkSession", readers: Readers) -> None:
    url, data = f"sqlite:///{tmp_path}/lake.db", str(tmp_path / "data")
    with tidelake.connect(url, data, engine="spark", spark=spark) as lake:
        table = lake.create_table("t", "k INTEGER, s VARCHAR")
        lake.mirror("t")
        frame = spark.range(100).selectExpr("CAST(id AS INT) AS k", "CAST(id AS STRING) AS s")
        table.append(frame)
        table.delete("k % 3 = 0")
        table.evolve(widen={"k": "BIGINT"}, rename={"s": "word"})
        table.update({"word": "'x'"}, where="k < 10")
        table.compact()
        assert assert_agree(lake, "t", readers) >= 5
