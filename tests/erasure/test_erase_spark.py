"""On Spark, tasks of the executors look at files, write them and prove it."""

from typing import TYPE_CHECKING

import pytest

from tests.erasure.census import by_duckdb, by_tidelake, without_mark
from tests.erasure.search import MARK, traces
from tests.erasure.test_erase import WHERE, compacted, evolved
from tidelake.testing import canonical
from tidelake.testing.place import Place

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    import tidelake

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.mark.parametrize("story", [evolved, compacted])
def test_spark_erases(
    place: Place, spark: "SparkSession", story: "Callable[[tidelake.Lake], None]"
) -> None:
    with place.open() as lake:
        story(lake)
        before = by_tidelake(lake, "t")
    with place.open(engine="spark", spark=spark) as lake:
        result = lake.erase("t", WHERE, reason="r")
        assert result.is_finished
        for at, rows in without_mark(before).items():
            table = lake.known_at(at).table("t")
            found = table.scan(["rowid", "snapshot_id", *table.schema.names]).to_arrow()
            assert canonical.rows(found) == rows
    with place.open() as lake:
        assert traces(place, lake) == []
        assert lake.verify(deep=True).ok
    assert by_duckdb(place, "t", sorted(before)) == without_mark(before)
    assert MARK not in str(by_duckdb(place, "t", sorted(before)))
