"""Files in an object store, into a lake that is there too."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

import tidelake
from tidelake.store.files import Store

if TYPE_CHECKING:
    from tests.servers.s3 import S3Server


def test_files_in_an_object_store(s3_server: S3Server, tmp_path: Path) -> None:
    root = f"s3://{s3_server.new_bucket()}"
    store = Store(s3_server.storage_options)
    store.write(f"{root}/in/a.csv", b"id,v\n1,x\nbad,\n")
    store.write(f"{root}/in/deep/b.csv.gz", gzip.compress(b"id,v\n2,y\n1,2,3\n"))
    store.write(f"{root}/in/c.jsonl", b'{"id": 3, "v": "z"}\nbroken\n')
    store.write(f"{root}/in/_hidden/d.csv", b"id,v\n9,x\n")
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"id": [4], "v": ["p"]}), sink)
    store.write(f"{root}/in/d.parquet", sink.getvalue().to_pybytes())
    with tidelake.connect(
        f"sqlite:///{tmp_path}/lake.db",
        data_path=f"{root}/lake/",
        storage_options=s3_server.storage_options,
    ) as lake:
        one = tidelake.ingest(lake, "t", f"{root}/in/*.csv")
        assert (one.files, one.rows) == (1, 1 + 1)  # DuckDB takes `id` for text: "bad" is one
        lake.create_table("u", "id BIGINT, v VARCHAR")
        done = tidelake.ingest(lake, "u", [f"{root}/in/", f"{root}/in/**/*.gz"])
        assert (done.files, done.rows, done.bad_records) == (4, 4, 3)
        assert tidelake.ingest(lake, "u", f"{root}/in/").known == 4
        assert sorted(lake.table("u").to_arrow()["id"].to_pylist()) == [1, 2, 3, 4]
        found = lake.table("u_quarantine").to_arrow().to_pylist()
        assert {(row["file"].rpartition("/")[2], row["line"], row["raw"]) for row in found} == {
            ("a.csv", 3, "bad,"),
            ("b.csv.gz", 3, "1,2,3"),
            ("c.jsonl", 2, "broken"),
        }
        store.write(f"{root}/in/a.csv", b"id,v\n1,x\n7,y\n")
        assert tidelake.ingest(lake, "u", f"{root}/in/a.csv", changed="again").rows == 2
