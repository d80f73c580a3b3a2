"""What earlier systems of this kind get wrong: those that take the newest file for the newest
fact, begin from a snapshot of state that late rows do not reach, or have one clock only."""

from collections.abc import Iterator
from datetime import datetime
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import tidelake
from tidelake.testing.place import Place

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[tidelake.Lake]:
    with Place.at("sqlite", tmp_path).open() as lake:
        lake.set_option("data_inlining_row_limit", 0)  # one file for each write
        yield lake


@pytest.fixture
def facts(lake: tidelake.Lake) -> tidelake.Table:
    return lake.create_table(
        "facts",
        "k VARCHAR, ts DATE, v INT, gone BOOLEAN",
        key="k",
        event_time="ts",
        tombstone="gone",
    )


def day(number: int) -> str:
    return f"2024-03-{number:02d}"


def fact(k: str, number: int, v: int | None, gone: bool | None = None) -> dict[str, Any]:
    return {"k": k, "ts": day(number), "v": v, "gone": gone}


def state(table: tidelake.Table, number: int) -> dict[str, int | None]:
    return {row["k"]: row["v"] for row in table.as_of(day(number)).to_arrow().to_pylist()}


def test_a_late_delta_that_overlaps_an_earlier_one(facts: tidelake.Table) -> None:
    """Of files that cover the 2nd to the 6th and, later, the 3rd to the 5th, the second one was
    taken to be newer in all it says."""
    facts.append([fact("A", 2, 20), fact("A", 6, 60)])
    facts.append([fact("A", 3, 30), fact("A", 4, 40), fact("B", 5, 55)])
    assert state(facts, 7) == {"A": 60, "B": 55}
    assert state(facts, 5) == {"A": 40, "B": 55}
    assert state(facts, 2) == {"A": 20}
    assert state(facts.known_at(2), 5) == {"A": 20}


def test_a_gap_between_segments(facts: tidelake.Table) -> None:
    """Nothing happened from the 6th to the 20th; what had happened before was forgotten."""
    facts.append([fact("A", 1, 1), fact("B", 1, 1)])
    facts.append([fact("A", 5, 5)])
    facts.append([fact("A", 20, 20)])
    assert state(facts, 12) == {"A": 5, "B": 1}
    assert state(facts, 19) == {"A": 5, "B": 1}
    assert state(facts, 20) == {"A": 20, "B": 1}


def test_a_moment_at_which_one_segment_ends_and_another_begins(facts: tidelake.Table) -> None:
    facts.append([fact("A", 1, 1), fact("A", 10, 10)])
    facts.append([fact("B", 10, 10), fact("A", 12, 12)])
    assert state(facts, 10) == {"A": 10, "B": 10}


@pytest.mark.parametrize("rolled_up", [False, True])
def test_late_rows_after_a_snapshot_of_the_state(facts: tidelake.Table, rolled_up: bool) -> None:
    """Every base that was taken after a late row's time was wrong from then on."""
    facts.append([fact("A", 1, 1), fact("B", 8, 8), fact("C", 2, 2), fact("C", 4, 4, True)])
    if rolled_up:
        facts.rollup(as_of=day(10))
    before = facts.snapshots()[-1].snapshot_id
    facts.append([fact("A", 5, 5), fact("B", 5, 5), fact("C", 3, 3), fact("D", 9, 9)])
    assert facts.scan(as_of=day(12)).explain().rollup is not None or not rolled_up
    assert state(facts, 12) == {"A": 5, "B": 8, "D": 9}
    assert state(facts, 10) == {"A": 5, "B": 8, "D": 9}
    assert state(facts, 6) == {"A": 5, "B": 5}
    assert state(facts, 3) == {"A": 1, "C": 3}
    assert state(facts.known_at(before), 12) == {"A": 1, "B": 8}
    facts.append([fact("C", 6, 6)])
    assert state(facts, 12)["C"] == 6


def test_rows_in_any_order_inside_files(lake: tidelake.Lake) -> None:
    """They had to be sorted, newest first, and nobody saw to it."""
    rows = [fact("A", 1, 1), fact("A", 3, 3), fact("A", 5, 5)]
    for number, order in enumerate(permutations(rows)):
        t = lake.create_table(
            f"t{number}", "k VARCHAR, ts DATE, v INT, gone BOOLEAN", key="k", event_time="ts"
        )
        t.append([fact("B", 2, 2), *order])
        assert state(t, 2) == {"A": 1, "B": 2}
        assert state(t, 4) == {"A": 3, "B": 2}
        assert state(t, 6) == {"A": 5, "B": 2}


def test_a_null_is_a_value(facts: tidelake.Table) -> None:
    """The last fact says that nothing is known, and no older value shines through."""
    facts.append([fact("A", 1, 1), fact("B", 1, None)])
    facts.append([fact("A", 2, None)])
    assert state(facts, 1) == {"A": 1, "B": None}
    assert state(facts, 2) == {"A": None, "B": None}
    assert facts.scan(where="v IS NULL", as_of=day(2)).count() == 2
    assert facts.scan(where="v IS NOT NULL", as_of=day(2)).count() == 0


def test_tombstones(facts: tidelake.Table) -> None:
    facts.append([fact("A", 1, 1), fact("A", 5, None, True), fact("B", 1, 1, False)])
    assert state(facts, 4) == {"A": 1, "B": 1}
    assert state(facts, 5) == {"B": 1}
    facts.append([fact("A", 3, 3)])  # late: it had been so, and is over
    assert state(facts, 4) == {"A": 3, "B": 1}
    assert state(facts, 9) == {"B": 1}
    facts.append([fact("A", 7, 7)])  # it is there again
    assert state(facts, 6) == {"B": 1}
    assert state(facts, 7) == {"A": 7, "B": 1}
    facts.append([fact("A", 5, 50, False)])  # it had never gone
    assert state(facts, 6) == {"A": 50, "B": 1}


def test_the_beginning_of_time_is_a_moment_like_others(facts: tidelake.Table) -> None:
    """Zero was taken for "no moment given", and answered with what is current."""
    facts.append([{"k": "A", "ts": "1969-12-31", "v": 1}, {"k": "A", "ts": "1970-01-02", "v": 2}])
    assert facts.scan(as_of=datetime(1970, 1, 1)).to_arrow()["v"].to_pylist() == [1]
    assert facts.as_of("1969-12-30").count() == 0


def test_a_past_that_was_taken_back_does_not_answer(facts: tidelake.Table) -> None:
    """The newest snapshot by the clock won, also one on a branch that had been given up."""
    facts.append([fact("A", 1, 1)])
    good = facts.snapshots()[-1].snapshot_id
    facts.append([fact("A", 2, 666)])
    bad = facts.snapshots()[-1].snapshot_id
    facts.rollback(to=good)
    assert state(facts, 9) == {"A": 1}
    assert state(facts.known_at(bad), 9) == {"A": 666}


@pytest.mark.slow
@pytest.mark.spark
def test_all_of_it_on_spark(facts: tidelake.Table, spark: "SparkSession") -> None:
    facts.append([fact("A", 2, 20), fact("A", 6, 60), fact("N", 1, 1), fact("E", 1, 1)])
    facts.append([fact("A", 3, 30), fact("A", 4, 40), fact("N", 2, None), fact("E", 4, 4, True)])
    facts.append([fact("E", 3, 3)])
    found = {n: facts.as_of(day(n)).to_spark(spark).collect() for n in (3, 9)}
    assert {row.k: row.v for row in found[3]} == {"A": 30, "N": None, "E": 3}
    assert {row.k: row.v for row in found[9]} == {"A": 60, "N": None}
