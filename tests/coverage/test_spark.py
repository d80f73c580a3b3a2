"""Coverage on Spark: executors say what the files cover that they write, and look at others."""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

import tidelake
from tests.cases import every
from tests.coverage.oracle import by_catalog, by_rows
from tidelake.coverage import records as coverage
from tidelake.coverage.layouts import Scope
from tidelake.coverage.values.series import Series
from tidelake.testing.place import Place

if TYPE_CHECKING:
    import duckdb
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

NOON = datetime(2024, 3, 1, 12)
SHAPE = "k VARCHAR, d DATE, ts TIMESTAMPTZ, v INTEGER"


def frame(spark: "SparkSession", count: int = 200) -> Any:
    """Rows in several tasks."""
    return spark.range(0, count, 1, 4).selectExpr(
        "concat('k', id % 3) AS k",
        "date_add(date'2024-03-01', cast(id % 2 as int)) AS d",
        "timestamp_seconds(1709294400 + id * 90) AS ts",
        "cast(id as int) AS v",
    )


def create(lake: tidelake.Lake, **given: Any) -> tidelake.Table:
    return lake.create_table("t", SHAPE, entity=["k", "d"], event_time="ts", bucket="1m", **given)


def unknown(lake: tidelake.Lake, table: tidelake.Table) -> dict[int, int]:
    """Files of which nothing is kept yet."""
    scope = Scope(table.info.id, Series.of(table.info, 0).number)
    with lake.session.reading() as reader:
        return coverage.unknown(
            reader, scope, coverage.visible_files(reader, table.info.id, 1 << 40)
        )


@pytest.mark.parametrize("parted", every(2, [["k", "day(ts)"], []]))
def test_files_bring_it_in_their_commit(
    parted: list[str], place: Place, lake: tidelake.Lake, spark: "SparkSession"
) -> None:
    t = create(lake, partition_by=parted)
    with place.open(engine="spark", spark=spark) as distributed:
        distributed.table("t").append(frame(spark))
    assert len(t.files()) >= 2
    assert unknown(lake, t) == {}
    with lake.session.reading() as reader:
        rows = reader.rows(
            "SELECT sum(bucket_count), count(DISTINCT data_file_id) FROM tidelake_coverage"
        )
    assert tuple(rows[0]) == (200, len(t.files()))
    assert by_catalog(t) == by_rows(t)
    assert t.coverage().covered == 200


def test_executors_look_at_the_files_of_others(
    place: Place, lake: tidelake.Lake, spark: "SparkSession", duck: "duckdb.DuckDBPyConnection"
) -> None:
    t = create(lake)
    minute = "TIMESTAMPTZ '2024-03-01 12:00:00+00' + INTERVAL 1 MINUTE"
    duck.execute(
        f"INSERT INTO t SELECT 'a', DATE '0044-03-15', {minute} * i, i FROM range(50) r(i)"
    )
    duck.execute(
        f"INSERT INTO t SELECT NULL, DATE '2024-03-01', {minute} * -i, i FROM range(50) r(i)"
    )
    duck.execute("INSERT INTO t VALUES ('few', NULL, TIMESTAMPTZ '1969-12-31 23:59:59.5+00', 1)")
    duck.execute("DELETE FROM t WHERE v % 7 = 3")
    with place.open(engine="spark", spark=spark) as distributed:
        s = distributed.table("t")
        assert len(unknown(lake, t)) == 2
        wanted = by_rows(t)
        assert by_catalog(s) == wanted
        assert unknown(lake, t) == {}
        assert by_catalog(t) == wanted
        before = lake.snapshots()[-2].snapshot_id
        assert by_catalog(s.known_at(before)) == by_rows(t.known_at(before))


@pytest.mark.slow
def test_transactions_and_upkeep(place: Place, lake: tidelake.Lake, spark: "SparkSession") -> None:
    t = create(lake)
    with place.open(engine="spark", spark=spark) as distributed:
        s = distributed.table("t")
        s.append(frame(spark, 100))
        with distributed.transaction() as tx:
            mine = tx.table("t")
            mine.append(frame(spark))
            mine.delete("v > 40")
            mine.update({"k": "'other'"}, where="v % 2 = 0")
            inside = by_catalog(mine)
            assert sum(map(len, inside.values())) == 41
        assert by_catalog(s) == by_rows(t) == inside
        s.compact()
        assert unknown(lake, t) == {}
        assert by_catalog(s) == by_rows(t)
        assert s.recompute_coverage() >= 1
        assert lake.verify(deep=True).ok


@pytest.mark.slow
def test_through_spark_connect(
    place: Place, lake: tidelake.Lake, spark_connect: "SparkSession"
) -> None:
    t = create(lake)
    t.append([{"k": "a", "d": None, "ts": NOON + timedelta(minutes=n), "v": n} for n in range(30)])
    with place.open(engine="spark", spark=spark_connect) as distributed:
        s = distributed.table("t")
        s.append(frame(spark_connect))
        assert unknown(lake, t) == {}
        s.delete("v % 3 = 0")
        assert by_catalog(s) == by_rows(t)
        s.compact()
        assert by_catalog(t) == by_rows(t)
