"""Facts that say themselves until when they hold: behind their end, what was before holds again."""

from datetime import datetime
from random import Random
from typing import Any

import pytest

import tidelake
from tests.event_time.grid import around, rows
from tests.event_time.growth import day, fact
from tests.event_time.lived import counted, known, lived, valid
from tidelake.errors import Invalid
from tidelake.testing.place import Place

COLUMNS = ("name", "v", "gone", "ts", "until")
MOMENTS = around(day(n) for n in range(1, 15, 2))


def facts_table(lake: tidelake.Lake, **more: Any) -> tidelake.Table:
    columns = "name VARCHAR, v INTEGER, gone BOOLEAN, ts TIMESTAMP, until TIMESTAMP"
    return lake.create_table(
        "t", columns, key="name", event_time="ts", tombstone="gone", valid_to="until", **more
    )


def lasting(name: str, start: int, end: int | None, v: int, **more: Any) -> dict[str, Any]:
    return fact(name, start, v, until=None if end is None else day(end), **more)


def values(t: tidelake.Table, *days: float) -> list[Any]:
    return [sorted(row["v"] for row in rows(t.as_of(datetime(2024, 3, int(d))))) for d in days]


def test_an_end_of_its_own(lake: tidelake.Lake) -> None:
    t = facts_table(lake)
    t.put(lasting("a", 1, None, 1))
    t.put(lasting("a", 5, 8, 2))
    assert values(t, 4, 5, 7, 8) == [[1], [2], [2], [1]]
    t.put(lasting("a", 6, 7, 3))
    assert values(t, 5, 6, 7, 8) == [[2], [3], [2], [1]]
    t.put(lasting("a", 10, 12, 0, gone=True))
    assert values(t, 9, 10, 11, 12) == [[1], [], [], [1]]
    t.put(lasting("b", 3, 4, 9))
    assert values(t, 2, 3, 4) == [[1], [1, 9], [1]]
    assert "valid_to" in str(t.tags)


def test_a_late_fact_never_beats_a_newer_event(lake: tidelake.Lake) -> None:
    """Of two that hold, the one that began later is the answer, whenever it came."""
    t = facts_table(lake)
    t.put(lasting("a", 5, 8, 2))
    t.put(lasting("a", 1, 9, 1))
    assert values(t, 4, 5, 7, 8, 9) == [[1], [2], [2], [1], []]
    t.put(lasting("a", 5, 6, 3))  # of the same time: a correction, for as long as it holds
    assert values(t, 5, 6, 7) == [[3], [2], [2]]


def grow(t: tidelake.Table, chance: Random, steps: int) -> None:
    t.put([lasting("a", 1, None, 0), lasting("b", 2, 9, 0)])
    for step in range(steps):
        kind = chance.choice(["put", "put", "put", "files", "delete", "update", "compact"])
        start = chance.randint(1, 12)
        facts = [
            lasting(
                chance.choice("abc"),
                start,
                chance.choice([None, start, start + 1, start + 3, start + 6]),
                step,
                gone=chance.random() < 0.2,
            )
            for _ in range(3)
        ]
        if kind == "put":
            t.put(facts[0])
        elif kind == "files":
            t.append(facts * 5)
        elif kind == "delete":
            t.delete(f"v % 5 = {step % 5}")
        elif kind == "update":
            t.update({"until": "ts + INTERVAL 2 DAY"}, f"v % 3 = {step % 3}")
        else:
            t.compact()


@pytest.mark.parametrize(
    ("seed", "steps"),
    [(1, 4), *(pytest.param(n, 30, marks=pytest.mark.slow) for n in range(2, 12))],
)
def test_every_answer_of_both_times(lake: tidelake.Lake, seed: int, steps: int) -> None:
    t = facts_table(lake)
    chance = Random(seed)
    grow(t, chance, steps)
    past = lived(t, COLUMNS)
    told = rows(t.between().versions())
    held = rows(t.between())
    keys = {name: rows(t.history(name)) for name in "abc"}
    for then in past:
        for moment in MOMENTS:
            wanted = counted(then.held(moment, "until"), COLUMNS)
            assert counted(valid(known(told, then), moment), COLUMNS) == wanted
            by_key = [row for each in keys.values() for row in valid(known(each, then), moment)]
            assert counted(by_key, COLUMNS) == wanted
        moment = chance.choice(MOMENTS)
        wanted = counted(then.held(moment, "until"), COLUMNS)
        then_known = t.known_at(then.snapshot_id)
        assert counted(rows(then_known.as_of(moment)), COLUMNS) == wanted
        assert counted(valid(rows(then_known.between()), moment), COLUMNS) == wanted
        answers = rows(t.as_of(moment).versions())
        assert counted(known(answers, then), COLUMNS) == wanted
    for moment in MOMENTS:
        wanted = counted(past[-1].held(moment, "until"), COLUMNS)
        assert counted(valid(held, moment), COLUMNS) == wanted


def test_periods_are_as_long_as_they_can_be(lake: tidelake.Lake) -> None:
    t = facts_table(lake)
    t.put([lasting("a", 1, 9, 1), lasting("a", 3, 3, 2), lasting("a", 4, 6, 3)])
    found = [(row["v"], row["valid_from"].day, row["valid_to"].day) for row in rows(t.between())]
    assert found == [(1, 1, 4), (3, 4, 6), (1, 6, 9)]
    some = rows(t.between("2024-03-05", "2024-03-06"))
    assert [row["v"] for row in some] == [3]
    assert [row["v"] for row in rows(t.history("a"))] == [1, 3, 1]


def test_changes_of_belief(lake: tidelake.Lake) -> None:
    t = facts_table(lake)
    t.put([lasting("a", 1, 9, 1), lasting("b", 1, 3, 1)])
    lake.tag("before")
    t.update({"until": "TIMESTAMP '2024-03-05'"}, "name = 'a'")
    found = rows(t.as_of("2024-03-06").changes_of_belief("before"))
    assert [(row["name"], row["change"]) for row in found] == [("a", "vanished")]
    assert rows(t.as_of("2024-03-04").changes_of_belief("before"))[0]["change"] == "changed"


def test_declaring_it(lake: tidelake.Lake) -> None:
    t = lake.create_table("t", "name VARCHAR, ts DATE, until DATE, other TIMESTAMP")
    t.append([{"name": "a", "ts": "2024-01-01", "until": "2024-02-01"}])
    for wrong in ("other", "ts", "name", "nothing"):
        with pytest.raises(tidelake.errors.TidelakeError) as told:
            t.set_event_time("ts", key="name", valid_to=wrong)
        assert told.value.hint
    with pytest.raises(Invalid, match="valid_to needs"):
        t.set_event_time(None, key="name", valid_to="until")
    t.set_event_time("ts", key="name")
    t.rollup(as_of="2024-01-15")
    t.set_event_time("ts", key="name", valid_to="until")
    assert t.as_of("2024-02-01").count() == 0
    assert t.as_of("2024-01-31").count() == 1
    t.evolve(rename={"until": "ended"})
    assert t.as_of("2024-02-01").count() == 0
    assert t.scan(as_of="2024-02-01").explain().rollup is None
    with pytest.raises(Invalid):
        t.evolve(drop="ended")
    t.set_event_time("ts", key="name")
    assert t.as_of("2024-02-01").count() == 1


def used(t: tidelake.Table, moment: datetime) -> bool:
    return t.scan(as_of=moment).explain().rollup is not None


def test_a_rollup_keeps_what_holds_again(lake: tidelake.Lake) -> None:
    """Of facts that others beat, those that outlast them."""
    t = facts_table(lake)
    t.put([lasting("a", 1, None, 1), lasting("a", 2, 9, 2), lasting("a", 3, 5, 3)])
    t.put([lasting("a", 1, 4, 4), lasting("a", 3, 4, 5), lasting("b", 1, 3, 6)])
    t.put([lasting("c", 1, 12, 7), lasting("c", 2, 6, 8, gone=True), lasting("c", 2, 6, 9)])
    made = t.rollup(as_of="2024-03-03")
    assert made.rows == 6  # 1, 2, 3 and 5 of a, 7 and 9 of c
    assert values(t, 3, 4, 5, 6, 9, 12) == [[5, 9], [3, 9], [2, 9], [2, 7], [1, 7], [1]]
    t.put(lasting("a", 4, 6, 10))
    t.put(lasting("a", 2, 11, 11))  # late
    assert values(t, 3, 4, 5, 6, 9, 11, 12) == [
        [5, 9],
        [9, 10],
        [9, 10],
        [7, 11],
        [7, 11],
        [1, 7],
        [1],
    ]
    assert all(used(t, day(n)) for n in range(3, 13))
    later = t.rollup(as_of="2024-03-06")
    assert later.rows == 3  # 1 and 11 of a, 7 of c
    assert values(t, 6, 11, 12) == [[7, 11], [1, 7], [1]]
    assert lake.verify(deep=True).ok


@pytest.mark.parametrize(
    ("seed", "steps"),
    [(21, 6), *(pytest.param(n, 30, marks=pytest.mark.slow) for n in range(22, 32))],
)
def test_states_that_begin_with_rollups(lake: tidelake.Lake, seed: int, steps: int) -> None:
    t = facts_table(lake)
    chance = Random(seed)
    uses = 0
    for _ in range(3):
        grow(t, chance, steps // 3)
        t.rollup(as_of=chance.choice(MOMENTS))
        t.put(lasting("a", chance.randint(1, 12), chance.choice([None, 9]), 77))
        (*_, now) = lived(t, COLUMNS)
        for moment in MOMENTS:
            uses += used(t, moment)
            assert counted(rows(t.as_of(moment)), COLUMNS) == counted(
                now.held(moment, "until"), COLUMNS
            )
        assert lake.verify(deep=True).ok
    assert uses


def test_files_of_facts_that_have_ended_are_skipped(lake: tidelake.Lake) -> None:
    t = facts_table(lake)
    for n in range(1, 6):
        t.append([lasting(f"k{k}", n, n + 1, n) for k in range(20)])
    plan = t.scan(as_of="2024-03-03").explain()
    assert (plan.files, plan.total_files) == (1, 5)


@pytest.mark.slow
@pytest.mark.spark
def test_on_spark(place: Place, lake: tidelake.Lake, spark: Any) -> None:
    t = facts_table(lake)
    grow(t, Random(5), 15)
    with place.open(engine="spark", spark=spark) as other:
        there = other.table("t")
        for ask in (
            lambda t: t.as_of("2024-03-06"),
            lambda t: t.between("2024-03-02", "2024-03-08"),
            lambda t: t.between().versions(),
            lambda t: t.history("a"),
        ):
            names = ask(t).to_arrow().column_names
            assert counted(rows(ask(there)), names) == counted(rows(ask(t)), names)
