"""A lake whose files are in an object store."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import tidelake
from tests.upkeep.unchanged import nothing_changes
from tidelake.errors import Denied, TidelakeError

if TYPE_CHECKING:
    import duckdb

    from tests.servers.s3 import S3Server

DuckFactory = Callable[[], "duckdb.DuckDBPyConnection"]


@pytest.fixture
def lake_url(tmp_path: Path, new_duck: DuckFactory, s3_server: "S3Server") -> str:
    """A lake in a bucket, with deletes of both formats and partition folders."""
    bucket = s3_server.new_bucket()
    connection = new_duck()
    connection.execute(s3_server.duckdb_secret)
    connection.execute(
        f"ATTACH 'ducklake:sqlite:{tmp_path}/c.db' AS lake (DATA_PATH 's3://{bucket}/lake/')"
    )
    connection.execute("USE lake")
    connection.execute("CREATE TABLE t (k VARCHAR, i INTEGER)")
    connection.execute("ALTER TABLE t SET PARTITIONED BY (k)")
    connection.execute("INSERT INTO t SELECT 'a/b ' || i % 3, i FROM range(300) r(i)")
    connection.execute("CALL lake.set_option('data_inlining_row_limit', 0)")
    connection.execute("DELETE FROM t WHERE i < 10")
    connection.execute("CREATE TABLE u AS SELECT range AS i FROM range(100)")
    connection.execute("CALL lake.set_option('write_deletion_vectors', true)")
    connection.execute("DELETE FROM u WHERE i % 2 = 0")
    connection.close()
    return f"sqlite:///{tmp_path}/c.db"


def test_reading_with_credentials(lake_url: str, s3_server: "S3Server") -> None:
    options = s3_server.storage_options
    with tidelake.connect(lake_url, read_only=True, storage_options=options) as lake:
        assert lake.data_path.startswith("s3://")
        assert lake.table("t").count() == 290
        found = lake.table("t").to_arrow().sort_by("i")
        assert found.column("i").to_pylist() == list(range(10, 300))
        assert lake.table("t").known_at(3).count() == 300
        scan = lake.table("t").scan(where="k = 'a/b 1'")
        assert len(scan.files()) == 1
        assert scan.to_arrow().num_rows == 97
        odd = lake.table("u").to_arrow().column("i").to_pylist()
        assert sorted(odd) == list(range(1, 100, 2))


def test_rolling_up(lake_url: str, s3_server: "S3Server") -> None:
    with tidelake.connect(lake_url, storage_options=s3_server.storage_options) as lake:
        t = lake.create_table("f", "id INTEGER, ts TIMESTAMP", key="id", event_time="ts")
        t.append([{"id": n % 20, "ts": f"2024-01-{n % 28 + 1:02d}"} for n in range(100)])
        before = t.as_of("2024-02-02").to_arrow().sort_by("id")
        made = t.rollup(as_of="2024-02-01")
        assert made.files[0].path.startswith("s3://")
        scan = t.scan(as_of="2024-02-02")
        assert scan.explain().rollup is not None
        assert scan.to_arrow().sort_by("id") == before
        lake.session.local.store.delete([made.files[0].path])
        assert scan.explain().rollup is None
        assert scan.to_arrow().sort_by("id") == before
        t.rollup(as_of="2024-02-01")
        t.drop_rollups()
        assert lake.cleanup(older_than="0 seconds").files == 1


@pytest.mark.slow
def test_compacting(lake_url: str, s3_server: "S3Server") -> None:
    with tidelake.connect(lake_url, storage_options=s3_server.storage_options) as lake:
        for _ in range(2):
            lake.table("t").append([{"k": "a/b 1", "i": n} for n in range(1000, 1030)])
        with nothing_changes(lake):
            result = lake.compact()
        assert {action.kind for action in result.actions} == {"rewrite", "merge"}
        assert [file.rows for file in lake.table("u").files()] == [50]
        assert len(lake.table("t").files()) == 3


@pytest.mark.slow
@pytest.mark.spark
def test_reading_on_spark_without_its_own_file_system(
    lake_url: str, s3_server: "S3Server", spark: object
) -> None:
    options = s3_server.storage_options
    with tidelake.connect(lake_url, read_only=True, storage_options=options) as lake:
        found = lake.table("t").scan(where="i < 20").to_spark(spark).toArrow()
        assert sorted(found.column("i").to_pylist()) == list(range(10, 20))


@pytest.mark.slow
def test_wrong_credentials(lake_url: str, s3_server: "S3Server") -> None:
    options = {**s3_server.storage_options, "secret_access_key": "wrong"}
    with tidelake.connect(lake_url, read_only=True, storage_options=options) as lake:
        with pytest.raises(Denied, match="storage_options"):
            lake.table("t").to_arrow()
        with pytest.raises(Denied):
            lake.table("u").to_arrow()


def test_an_unreachable_store(lake_url: str, s3_server: "S3Server") -> None:
    options = {**s3_server.storage_options, "endpoint": "http://127.0.0.1:1"}
    with (
        tidelake.connect(lake_url, read_only=True, storage_options=options) as lake,
        pytest.raises(TidelakeError, match=r"endpoint|store|reach"),
    ):
        lake.table("t").to_arrow()
