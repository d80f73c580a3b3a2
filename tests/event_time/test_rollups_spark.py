"""Rollups that Spark makes and reads: the same files, and the same answers."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

import tidelake
from tests.event_time.rolled_up import fact, month, state, used
from tests.event_time.test_valid_to import facts_table, lasting
from tidelake.engine.spark.state_tasks import is_small
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


@pytest.mark.slow
def test_facts_that_end(lake: tidelake.Lake, on_spark: tidelake.Lake) -> None:
    """What holds again is kept too, by one task and by several."""
    here = facts_table(lake)
    for start in range(1, 9):
        here.append([lasting(name, start, end, start) for name in "abc" for end in (start + 2, 12)])
        here.append([lasting("d", start, 20 - start, start)])
    days = [f"2024-03-{day:02d}" for day in (4, 6, 9, 12, 15)]
    answers = [state(here, day) for day in days]
    there = on_spark.table("t")
    made = there.rollup(as_of="2024-03-06")
    assert [state(here, day) for day in days] == answers
    assert [state(there, day) for day in days] == answers
    assert [used(there, day) is None for day in days] == [True, False, False, False, False]
    assert lake.verify(deep=True).ok
    here.drop_rollups()
    assert here.rollup(as_of="2024-03-06").rows == made.rows


@pytest.mark.slow
def test_many_facts_that_end(tmp_path: Path, spark: Any) -> None:
    """Of so many bytes that several tasks look for what lasts, and Spark chooses of theirs."""
    url, data = f"sqlite:///{tmp_path}/lake.db", f"{tmp_path}/data"
    with tidelake.connect(url, data) as lake:
        ddl = "id INTEGER, ts TIMESTAMP, until TIMESTAMP, v DOUBLE"
        here = lake.create_table("facts", ddl, key="id", event_time="ts", valid_to="until")
        for seed in range(3):
            here.append(
                duckdb.sql(
                    "SELECT CAST(i % 5000 AS INTEGER) AS id, TIMESTAMP '2024-03-12' + to_seconds("
                    f"hash(i, {seed}) % 86400) AS ts, ts + to_seconds(CASE WHEN hash(i, {seed}, 2)"
                    f" % 999 > 0 THEN hash(i, {seed}, 3) % 86400 END) AS until,"
                    f" hash(i, {seed}, 1) / 3.0 AS v FROM range(2000000) AS r(i)"
                ).to_arrow_table()
            )
        days = ["2024-03-12T20:00:00", "2024-03-13T02:00:00", "2024-03-14"]
        answers = [state(here, day) for day in days]
        with tidelake.connect(url, data, engine="spark", spark=spark) as other:
            there = other.table("facts")
            assert not is_small(there.as_of(days[0]).scan().plan())
            made = there.rollup(as_of=days[0])
            assert [state(there, day) for day in days] == answers
        assert [used(here, day) for day in days] == ["2024-03-12"] * 3
        assert [state(here, day) for day in days] == answers
        assert made.rows > len(answers[0])
        assert lake.verify(deep=True).ok
