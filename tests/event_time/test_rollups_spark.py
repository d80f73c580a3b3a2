"""Rollups that Spark makes and reads: the same files, and the same answers."""

from collections.abc import Iterator
from typing import Any

import pytest

import tidelake
from tests.event_time.rolled_up import fact, month, state, used
from tidelake.testing.place import Place

pytestmark = pytest.mark.spark


@pytest.fixture
def on_spark(place: Place, lake: tidelake.Lake, spark: Any) -> Iterator[tidelake.Lake]:
    with place.open(engine="spark", spark=spark) as opened:
        yield opened


def test_made_and_read_on_spark(lake: tidelake.Lake, on_spark: tidelake.Lake) -> None:
    here = lake.create_table(
        "facts",
        "id INTEGER, ts TIMESTAMP, v INTEGER, gone BOOLEAN",
        key=["id"],
        event_time="ts",
        tombstone="gone",
    )
    for number in (1, 2, 3):
        here.append(month(number))
    here.append([fact(1, "2024-02-20", None, gone=True)])
    there = on_spark.table("facts")
    made = there.rollup(as_of="2024-03-01")
    assert (made.rows, all(file.path.endswith(".rollup") for file in made.files)) == (20, True)
    here.append([fact(1, "2024-02-10", 7), fact(2, "2024-02-25", 8)])
    here.evolve(add="venue VARCHAR DEFAULT 'X'", rename={"v": "value"}, widen={"v": "BIGINT"})
    here.compact()
    days = ["2024-02-15", "2024-03-01", "2024-03-15"]
    answers = [state(here, day) for day in days]
    assert [used(there, day) for day in days] == [None, "2024-03-01", "2024-03-01"]
    assert [state(there, day) for day in days] == answers
    assert lake.verify(deep=True).ok
    here.drop_rollups()
    assert [state(here, day) for day in days] == answers
    assert [state(there, day) for day in days] == answers
