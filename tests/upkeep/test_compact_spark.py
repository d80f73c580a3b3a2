"""Compaction on Spark: the executors read and write, and every snapshot stays what it was."""

from typing import TYPE_CHECKING

import pytest

import tidelake
from tests.upkeep.compaction import kinds, many
from tests.upkeep.unchanged import nothing_changes
from tidelake.errors import Corrupt
from tidelake.testing import canonical
from tidelake.testing.place import Place

if TYPE_CHECKING:
    import duckdb
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.mark.slow
def test_all_of_it_on_spark(
    place: Place, lake: tidelake.Lake, duck: "duckdb.DuckDBPyConnection", spark: "SparkSession"
) -> None:
    t = lake.create_table(
        "t", "a BIGINT, b VARCHAR, h HUGEINT, s STRUCT(x INTEGER)", partition_by=["bucket(2, a)"]
    )
    for first in (0, 50, 100):
        t.append(many(first))
    t.append([{"a": n, "b": "few", "h": 7, "s": {"x": n}} for n in range(3)])
    t.delete("a % 3 = 1 AND a < 50")
    t.delete("a = 60")
    with place.open(engine="spark", spark=spark) as distributed, nothing_changes(lake, duck):
        result = distributed.table("t").compact()
    assert set(kinds(result)) == {"flush", "flush_deletes", "rewrite", "merge"}
    assert len(t.files()) == 2
    assert t.compact(dry_run=True).actions == ()
    scans = [
        lake.known_at(s.snapshot_id).table("t").scan(["a", "b", "rowid"])
        for s in lake.snapshots()[2:]
    ]
    for scan in scans:
        assert canonical.rows(scan.to_spark(spark).toArrow()) == canonical.rows(scan.to_arrow())


def test_a_task_that_fails_says_why(
    place: Place, lake: tidelake.Lake, spark: "SparkSession"
) -> None:
    t = lake.create_table("t", "a BIGINT, b VARCHAR")
    t.append(many(0))
    t.append(many(50))
    (place.data / "main" / "t").joinpath(t.files()[0].path).write_bytes(b"PAR1 no more")
    before = lake.snapshots()
    with place.open(engine="spark", spark=spark) as distributed, pytest.raises(Corrupt):
        distributed.table("t").compact()
    assert lake.snapshots() == before
