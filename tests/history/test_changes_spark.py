"""The change feed on Spark, compared with the local engine's."""

from random import Random
from typing import Any

import duckdb
import pytest

import tidelake
from tests.history.feed import check_law, events, snapshot_ids
from tests.history.growth import MERGE, REWRITE, grown, numbers, written
from tidelake.testing.place import Place

pytestmark = pytest.mark.spark
Duck = duckdb.DuckDBPyConnection


def by_spark(place: Place, spark: Any, since: int | None, **options: Any) -> list[Any]:
    with place.open(engine="spark", spark=spark) as lake:
        return events(lake.table("t").changes(since, **options))


def test_as_the_local_engine_tells_them(
    place: Place, lake: tidelake.Lake, duck: Duck, spark: Any
) -> None:
    written(lake)
    duck.execute(MERGE)
    duck.execute(REWRITE)
    first = snapshot_ids(lake)[0]
    assert by_spark(place, spark, None) == check_law(lake, None, snapshot_ids(lake)[-1])
    some = lake.table("t").changes(first + 3, columns=["v"], where="change_type = 'delete'")
    found = by_spark(place, spark, first + 3, columns=["v"], where="change_type = 'delete'")
    assert found == events(some)
    frame = lake.table("t").changes(first).to_spark(spark)
    assert frame.columns[:4] == ["snapshot_id", "snapshot_time", "rowid", "change_type"]
    assert frame.count() == lake.table("t").changes(first).count()


@pytest.mark.slow
def test_expired_snapshots_in_between(
    place: Place, lake: tidelake.Lake, duck: Duck, spark: Any
) -> None:
    t = lake.create_table("t", "id BIGINT, v VARCHAR, x DOUBLE, l STRUCT(a INTEGER[], b VARCHAR)")
    t.append(numbers(0, 40))
    t.update({"x": "0.0", "l": "{'a': [1, NULL], 'b': 'b'}"}, where="id >= 20")
    t.delete("id < 15 OR id > 38")
    duck.execute(REWRITE)
    rewrite = lake.snapshots()[-1].snapshot_id
    assert "rewrite_delete:1" in lake.snapshots()[-1].changes
    t.update({"x": "'-0.0'::DOUBLE"}, where="id < 38")
    duck.execute(f"CALL ducklake_expire_snapshots('lake', versions => [{rewrite}])")
    found = by_spark(place, spark, rewrite - 1)
    assert found == check_law(lake, rewrite - 1, rewrite + 1)
    assert {at for at, *_ in found} == {rewrite + 1}
    assert len(found) == 46


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(500, 506))
def test_random_histories(
    place: Place, lake: tidelake.Lake, duck: Duck, spark: Any, seed: int
) -> None:
    print(grown(lake, duck, Random(seed), 20))
    ids = snapshot_ids(lake)
    for since in (None, ids[0], ids[len(ids) // 2]):
        assert by_spark(place, spark, since) == check_law(lake, since, ids[-1])
