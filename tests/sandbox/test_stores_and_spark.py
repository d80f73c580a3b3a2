"""A sandbox around files in an object store, and one on Spark."""

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import tidelake
from tidelake.errors import Denied, NotFound, TidelakeError
from tidelake.store.files import Store
from tidelake.testing.place import Place

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.servers.s3 import S3Server


def test_other_keys_of_a_bucket_are_out_of_reach(s3_server: "S3Server", tmp_path: Path) -> None:
    bucket, options = s3_server.new_bucket(), s3_server.storage_options
    url = f"sqlite:///{tmp_path / 'lake.db'}"
    with tidelake.connect(url, f"s3://{bucket}/lake", storage_options=options) as lake:
        lake.create_table("t", "id BIGINT").append(pa.table({"id": range(1000)}))
    Store(options).write(f"s3://{bucket}/lake2/secret.csv", b"a\nmarked-7b1f\n")
    with tidelake.connect(url, storage_options=options, sandbox=True) as lake:
        assert lake.sql("SELECT sum(id) AS n FROM t").to_arrow()["n"].to_pylist() == [499_500]
        lake.table("t").append(pa.table({"id": range(1000, 2000)}))
        assert lake.table("t").scan(where="id >= 1000").count() == 1000
        for path in (f"s3://{bucket}/lake2/secret.csv", f"s3://{bucket}/lake/../lake2/secret.csv"):
            with pytest.raises(TidelakeError) as caught:
                lake.session.local.query(f"FROM read_text('{path}')", {}).to_arrow()
            assert "marked-7b1f" not in str(caught.value)
            with pytest.raises(Denied):
                lake.session.store.read(path)


@pytest.mark.spark
def test_on_spark_the_same_is_refused(place: Place, spark: "SparkSession") -> None:
    with place.open() as lake:
        lake.create_table("t", "id BIGINT, s VARCHAR").append(
            pa.table({"id": range(1000), "s": ["a"] * 1000})
        )
    with tidelake.connect(place.url, sandbox=True, engine="spark", spark=spark) as lake:
        found = lake.sql("SELECT sum(id) AS n, max(upper(s)) AS u FROM t WHERE id % 2 = 0")
        assert found.to_arrow().to_pylist() == [{"n": 249_500, "u": "A"}]
        for text in (
            "SELECT * FROM read_text('/etc/passwd')",
            "SELECT reflect('java.lang.System', 'getenv', 'HOME')",
            "SELECT java_method('java.lang.System', 'getenv', 'HOME')",
            "SELECT input_file_name() FROM t",
            "SELECT * FROM text.`/etc/passwd`",
            "SELECT * FROM parquet.`/etc`",
            "SELECT current_setting('memory_limit')",
        ):
            with pytest.raises((Denied, NotFound, TidelakeError)) as caught:
                lake.sql(text).to_arrow()
            assert "root:" not in str(caught.value)
        with pytest.raises(TidelakeError):
            lake.table("t").scan(
                where="reflect('java.lang.System', 'getenv', 'HOME') = 'x'"
            ).count()
        lake.sql("INSERT INTO t SELECT id + 1000, s FROM t")
        assert lake.table("t").count() == 2000
