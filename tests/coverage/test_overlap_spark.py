"""Appends to buckets that are covered already, on Spark: rows stay on the executors."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

import tidelake
from tests.coverage.deliveries import (
    POLICIES,
    as_arrow,
    as_dicts,
    delivered,
    make,
    minutes,
    ordered,
    rows_of,
)
from tidelake.errors import Overlap

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

FIRST = [*minutes("a", range(30)), *minutes(None, range(10, 20))]
SECOND = [*minutes("a", range(20, 50), 1), *minutes(None, [0, 12], 1), *minutes("b", [5], 1)]


@pytest.fixture
def lake(tmp_path: Path, spark: "SparkSession") -> Iterator[tidelake.Lake]:
    url = f"sqlite:///{tmp_path}/lake.db"
    with tidelake.connect(url, f"{tmp_path}/data", engine="spark", spark=spark) as lake:
        yield lake


def stray(lake: tidelake.Lake, tmp_path: Path) -> set[str]:
    with lake.session.database.reading() as reader:
        rows = reader.rows("SELECT path FROM ducklake_data_file")
        rows += reader.rows("SELECT path FROM ducklake_delete_file")
    known = {Path(row[0]).name for row in rows}
    return {p.name for p in (tmp_path / "data").rglob("*.parquet")} - known


@pytest.mark.parametrize("policy", POLICIES)
def test_frames(lake: tidelake.Lake, spark: "SparkSession", tmp_path: Path, policy: str) -> None:
    table = make(lake, policy, partition_by="s")
    table.append(spark.createDataFrame(as_arrow(FIRST)).repartition(2))
    coming = spark.createDataFrame(as_arrow(SECOND)).repartition(2)
    wanted = delivered(policy, FIRST, SECOND)
    with lake.transaction() as tx:
        mine = tx.table(policy)
        if wanted is None:
            with pytest.raises(Overlap) as caught:
                mine.append(coming)
            assert caught.value.count == 11
            wanted = [*FIRST, *minutes("z", [1])]
            mine.append(as_dicts(minutes("z", [1])))
        else:
            done = mine.append(coming)
            kept = len(FIRST) - done.deleted
            assert (done.inserted, kept) == (len(wanted) - kept, len(FIRST) - done.deleted)
            if policy == "skip":
                assert mine.append(coming).inserted == 0
        assert rows_of(mine) == ordered(wanted)
    assert rows_of(table) == ordered(wanted)
    assert not stray(lake, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["skip", "replace"])
def test_data_of_this_process_and_files(lake: tidelake.Lake, tmp_path: Path, policy: str) -> None:
    """Rows that are to be replaced are looked for by Spark, wherever the new ones come from."""
    table = make(lake, policy)
    there = []
    for number, rows in enumerate((FIRST, SECOND, minutes("b", range(4, 7), 2))):
        if number == 1:
            pq.write_table(as_arrow(rows), f"{tmp_path}/delivery.parquet")
            table.add_files(f"{tmp_path}/delivery.parquet")
        else:
            table.append(as_arrow(rows))
        there = delivered(policy, there, rows) or []
        assert rows_of(table) == ordered(there)


@pytest.mark.slow
def test_types(lake: tidelake.Lake, spark: "SparkSession") -> None:
    """Each bucket of the first month is there, in types that Spark has under other names."""
    table = lake.create_table(
        "t",
        "e UUID, n UBIGINT, d DATE, ts TIMESTAMPTZ, v INTEGER",
        event_time="ts",
        entity=["e", "n", "d"],
        bucket="1mo",
        overlap="skip",
    )
    frame = spark.sql(
        "SELECT if(id % 2 = 0, '00000000-0000-0000-0000-00000000000a', NULL) AS e,"
        " CAST(18446744073709551615 AS DECIMAL(20)) AS n, DATE '0001-01-01' AS d,"
        " TIMESTAMP '1969-11-30 00:00:00Z' + make_interval(0, 0, 0, CAST(id AS INT)) AS ts,"
        " CAST(id AS INT) AS v FROM range(100)"
    )
    assert table.append(frame.where("v < 20")).inserted == 20
    assert table.append(frame).inserted == 100 - 32
    table.set_coverage("1mo", entity=["e", "n", "d"], overlap="replace")
    done = table.append(frame.where("v >= 32"))
    assert (done.inserted, done.deleted) == (68, 68)
    assert sorted(table.to_arrow()["v"].to_pylist()) == [*range(20), *range(32, 100)]
