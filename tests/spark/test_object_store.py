"""A lake in an object store: options of the store travel, and so do checkpoints there."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import tidelake
from tests.spark.caller import Sink, Stream, read, spark_type, write
from tidelake.store.files import Store

if TYPE_CHECKING:
    from tests.servers.s3 import S3Server


@pytest.mark.slow
def test_reads_writes_and_streams(s3_server: "S3Server", tmp_path: Path) -> None:
    root, url = f"s3://{s3_server.new_bucket()}", f"sqlite:///{tmp_path}/lake.db"
    store = Store(s3_server.storage_options)
    store.write(f"{root}/checkpoint/metadata", json.dumps({"id": "q"}).encode())
    rows = pa.table({"id": pa.array([1, 2], pa.int64())})
    with tidelake.connect(
        url, data_path=f"{root}/lake/", storage_options=s3_server.storage_options
    ) as lake:
        lake.create_table("t", {"id": "BIGINT"})
        storage = {f"storage.{key}": value for key, value in s3_server.storage_options.items()}
        options = {"catalog": url, "path": "t", **storage}
        write(rows, **options)
        write(rows, mergeOn="id", **options)
        checkpoint = f"s3a://{root.removeprefix('s3://')}/checkpoint"
        sink = Sink(spark_type(rows), checkpointLocation=checkpoint, **options)
        for _ in range(2):
            sink.commit(0, sink.write(rows))
        assert sorted(read(**options)["id"].to_pylist()) == [1, 1, 2, 2]
        assert [len(batch) for batch in Stream(**options).batches()] == [4]
        assert lake.verify(deep=True).ok
        assert not lake.cleanup(older_than="1 hour").orphans
