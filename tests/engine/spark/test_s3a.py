"""With hadoop-aws on its class path, Spark reads a lake in an object store by itself."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import duckdb

    from tests.servers.s3 import S3Server

DuckFactory = Callable[[], "duckdb.DuckDBPyConnection"]

READ = """
import json, os, sys
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession

import tidelake

catalog, options = sys.argv[1], json.loads(sys.argv[2])
jars = Path(pyspark.__file__).parent / "jars"
(hadoop,) = jars.glob("hadoop-client-api-*.jar")
version = hadoop.stem.removeprefix("hadoop-client-api-")
settings = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.jars.packages": f"org.apache.hadoop:hadoop-aws:{version}",
    "spark.hadoop.fs.s3a.endpoint": options["endpoint"],
    "spark.hadoop.fs.s3a.endpoint.region": options["region"],
    "spark.hadoop.fs.s3a.access.key": options["access_key_id"],
    "spark.hadoop.fs.s3a.secret.key": options["secret_access_key"],
    "spark.hadoop.fs.s3a.path.style.access": "true",
    "spark.hadoop.fs.s3a.connection.ssl.enabled": "false",
}
builder = SparkSession.builder.master("local[2]")
for name, value in settings.items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
with tidelake.connect(catalog, read_only=True, storage_options=options) as lake:
    frame = lake.table("t").scan(where="i >= 5").to_spark(spark)
    print(json.dumps({
        "files": sorted({name.split(":")[0] for name in frame.inputFiles()}),
        "rows": sorted(row.i for row in frame.select("i").toLocalIterator()),
    }))
"""


@pytest.mark.jvm
@pytest.mark.spark
def test_spark_reads_the_store_itself(
    tmp_path: Path, new_duck: DuckFactory, s3_server: "S3Server"
) -> None:
    bucket = s3_server.new_bucket()
    connection = new_duck()
    connection.execute(s3_server.duckdb_secret)
    connection.execute(
        f"ATTACH 'ducklake:sqlite:{tmp_path}/c.db' AS lake (DATA_PATH 's3://{bucket}/lake/')"
    )
    connection.execute("CALL lake.set_option('data_inlining_row_limit', 0)")
    connection.execute("CREATE TABLE lake.t AS SELECT range AS i FROM range(100)")
    connection.execute("DELETE FROM lake.t WHERE i % 2 = 0")
    connection.close()
    ran = subprocess.run(
        [
            sys.executable,
            "-c",
            READ,
            f"sqlite:///{tmp_path}/c.db",
            json.dumps(s3_server.storage_options),
        ],
        capture_output=True,
        text=True,
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable},
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    answer = json.loads(ran.stdout.strip().splitlines()[-1])
    assert answer["rows"] == list(range(5, 100, 2))
    assert answer["files"] == ["s3a"]
