"""On Spark, executors write data sets and clones, and hash what they wrote."""

from typing import TYPE_CHECKING, Any

import pytest

from tests.datasets.test_freeze import prices, rows_of
from tidelake.testing.place import Place

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def test_spark_freezes_what_duckdb_would(
    place: Place, spark: "SparkSession", tmp_path: Any
) -> None:
    text = "SELECT id, price FROM prices"
    with place.open() as lake:
        t = prices(lake)
        wanted = lake.freeze("here", text, as_of="2024-03-04", known_at=3)
        rows = rows_of(wanted)
    with place.open(engine="spark", spark=spark) as lake:
        t = lake.table("prices")
        made = [
            lake.freeze("there", text, as_of="2024-03-04", known_at=3),
            lake.freeze("scan", t.scan(["id", "price"], as_of="2024-03-04", known_at=3)),
        ]
        assert {each.fingerprint for each in made} == {wanted.fingerprint}
        assert sorted(map(tuple, made[0].to_spark().collect())) == rows
        assert made[1].export(tmp_path / "out").rows == len(rows)
        whole = t.clone("whole")
        assert rows_of(whole) == rows_of(t)
        state = t.clone("state", as_of="2024-03-04", known_at=3)
        assert [(row[0], row[2]) for row in rows_of(state)] == rows
        assert lake.verify(deep=True).ok
    with place.open() as lake:
        assert lake.verify(deep=True).ok
        assert rows_of(lake.frozen("there")) == rows
    with place.duck() as duck:
        for name in ("there", "scan"):
            assert sorted(duck.execute(f"FROM lake.frozen.{name}").fetchall()) == rows
