"""States that DuckDB finds on Spark's executors, at once or task by task."""

from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest

import tidelake
from tests.event_time.rolled_up import fact
from tidelake.engine.spark.state_tasks import is_small, read_candidates
from tidelake.plan.as_of import AsOfPlan

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
EVENING = "2024-03-12 20:00:00"


def test_what_tasks_leave_to_choose_from(lake: tidelake.Lake, spark: "SparkSession") -> None:
    """Rows of files and rows of the catalog are gone through by different tasks: both bring what
    they take for the winner, and a tombstone is one."""
    t = lake.create_table(
        "facts",
        "id INTEGER, ts TIMESTAMP, v INTEGER, gone BOOLEAN",
        key="id",
        event_time="ts",
        tombstone="gone",
    )
    lake.set_option("data_inlining_row_limit", 0)
    t.append([fact(1, "2024-03-12", 1), fact(2, "2024-03-12", 2), fact(3, "2024-03-11", 3)])
    lake.set_option("data_inlining_row_limit", 10)
    t.append([fact(1, "2024-03-12", 11), fact(2, "2024-03-11", 22)])
    t.append([fact(3, "2024-03-12", None, gone=True)])
    plan = t.as_of(EVENING).scan().plan()
    assert isinstance(plan, AsOfPlan)
    rows = read_candidates(spark, lake.session.local, plan).collect()
    found = {(row.id, row.v) for row in rows}
    assert len(rows) == len(found) == 6
    assert {(1, 11), (2, 2), (3, None)} <= found


@pytest.mark.slow
def test_a_state_of_many_bytes(tmp_path: Path, spark: "SparkSession") -> None:
    """Of so many that several tasks look for winners, and Spark chooses of theirs."""
    url, data = f"sqlite:///{tmp_path}/lake.db", f"{tmp_path}/data"
    with tidelake.connect(url, data) as lake:
        ddl = "id INTEGER, ts TIMESTAMP, v DOUBLE, gone BOOLEAN"
        t = lake.create_table("facts", ddl, key="id", event_time="ts", tombstone="gone")
        for seed in range(3):
            t.append(
                duckdb.sql(
                    "SELECT CAST(i % 5000 AS INTEGER) AS id, TIMESTAMP '2024-03-12' + to_seconds("
                    f"hash(i, {seed}) % 86400) AS ts, hash(i, {seed}, 1) / 3.0 AS v,"
                    f" hash(i, {seed}, 2) % 7 = 0 AS gone FROM range(2000000) AS r(i)"
                ).to_arrow_table()
            )
        t.append([{"id": 7, "ts": EVENING, "v": 7.0, "gone": False}])
        t.delete("v < 1e18")
        at = t.as_of(EVENING)
        here = {tuple(row.values()) for row in at.to_arrow().to_pylist()}
        with tidelake.connect(url, data, engine="spark", spark=spark) as other:
            there = other.table("facts").as_of(EVENING)
            plan = there.scan().plan()
            assert isinstance(plan, AsOfPlan)
            assert not is_small(plan)
            assert {tuple(row) for row in there.to_spark().collect()} == here
            few = there.scan(["id"], where="v > 3e18").to_arrow()["id"].to_pylist()
    assert sorted(few) == sorted(row[0] for row in here if row[2] > 3e18)
