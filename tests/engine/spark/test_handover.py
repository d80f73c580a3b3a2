"""How rows get to our Python on Spark's executors, and what a task costs there."""

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tidelake
from tidelake.engine.local.engine import LocalEngine
from tidelake.engine.spark.handover import hand_over

pytestmark = pytest.mark.spark


def _sizes(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield pa.record_batch([pa.array([batch.num_rows])], names=["n"])


def _batches(frame: Any) -> list[int]:
    def run(rows: Any) -> list[int]:
        return [n for (n,) in rows.mapInArrow(_sizes, "n BIGINT").collect()]

    return hand_over(frame, run)


def test_rows_of_a_known_width_come_in_few_big_batches(spark: Any) -> None:
    rows = spark.range(0, 40_000, 1, 1)
    assert _batches(rows.toDF("c0")) == [32_768, 7_232]
    texts = _batches(rows.selectExpr("id AS c0", "concat('x', id) AS c1"))
    assert set(texts) == {4_096, 40_000 % 4_096}
    assert sum(_batches(rows.selectExpr("array(id) AS c0"))) == 40_000


def test_wide_rows_come_in_batches_that_spark_measures(spark: Any) -> None:
    wide = spark.range(0, 3_000, 1, 1).selectExpr(
        "id AS c0", "IF(id = 2999, NULL, repeat('x', 100000)) AS c1", "CAST('b' AS BINARY) AS c2"
    )
    sizes = _batches(wide)
    assert sum(sizes) == 3_000
    assert max(sizes) < 1_000  # 64 MB, where 4,096 rows would be 400


def test_a_table_takes_wide_rows(spark: Any, tmp_path: Path) -> None:
    rows = spark.range(0, 300, 1, 2).selectExpr("id", "repeat('x', 70000 + CAST(id AS INT)) AS v")
    url = f"sqlite:///{tmp_path}/lake.db"
    with tidelake.connect(url, data_path=f"{tmp_path}/data/", engine="spark") as lake:
        table = lake.create_table("t", "id BIGINT, v VARCHAR")
        assert table.append(rows).rows == 300
        found = lake.sql("SELECT count(*) AS n, sum(length(v)) AS w FROM t").to_arrow()
    assert found.to_pylist() == [{"n": 300, "w": 300 * 70_000 + 300 * 299 // 2}]
    assert sum(1 for _ in tmp_path.rglob("*.parquet")) >= 1


@pytest.mark.slow
def test_an_update_of_rows_of_megabytes(spark: Any, tmp_path: Path) -> None:
    """They are more than a task has memory for: 1.2 GB."""
    text = "repeat(md5(CAST(id AS STRING)), 94000)"
    rows = spark.range(0, 400, 1, 2).selectExpr("id", f"{text} AS v", "0 AS n")
    url = f"sqlite:///{tmp_path}/lake.db"
    with tidelake.connect(url, data_path=f"{tmp_path}/data/", engine="spark") as lake:
        table = lake.create_table("t", "id BIGINT, v VARCHAR, n INTEGER")
        assert table.append(rows).rows == 400
        assert table.update({"n": "1"}, where="id % 2 = 0").updated == 200
        assert table.delete("length(v) > 10 AND id % 100 = 5").deleted == 4
        assert not lake.cleanup(older_than="0 seconds", dry_run=True).orphans
    with tidelake.connect(url, data_path=f"{tmp_path}/data/") as lake:
        found = lake.sql(
            "SELECT count(*) AS n, sum(length(v)) AS w, sum(n) AS ones,"
            " bool_and(v[:32] = md5(id::VARCHAR)) AS same FROM t"
        ).to_arrow()
    told = {"n": 396, "w": 396 * 94_000 * 32, "ones": 200, "same": True}
    assert found.to_pylist() == [told]


def test_a_task_leaves_sparks_own_archives_closed(spark: Any, tmp_path: Path) -> None:
    """Those that come with Java's packages are on the path of every Python too."""
    package = tmp_path / "some_package-1.0.jar"
    with zipfile.ZipFile(package, "w") as written:
        written.writestr("of_a_package.py", "answer = 42")
    path = str(package)

    def ask(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import sys
        from zipimport import zipimporter

        from tidelake.engine.spark.worker import WORKER

        for _ in batches:
            sys.path.append(path)
            archives = [path, next(path for path in sys.path if path.endswith("pyspark.zip"))]
            sys.path_importer_cache.update({each: zipimporter(each) for each in archives})
            with WORKER.engine(LocalEngine()):
                pass
            left = any(each in sys.path_importer_cache for each in archives)
            from of_a_package import answer  # type: ignore[import-not-found]

            sys.path.remove(path)
            told = [pa.array([left]), pa.array([answer], pa.int32())]
            yield pa.record_batch(told, names=["left", "answer"])

    (found,) = spark.range(0, 1, 1, 1).mapInArrow(ask, "left BOOLEAN, answer INT").collect()
    assert (found.left, found.answer) == (False, 42)
