"""Ranges of both times, against half-open intervals over the rows of every snapshot."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import duckdb
import pytest

import tidelake
from tests.event_time.grid import around, rows
from tests.event_time.growth import Growth, day, fact
from tests.event_time.lived import Then, counted, known, lived, valid, within
from tidelake.errors import Denied, Invalid, NotFound
from tidelake.testing.faces import lake_of
from tidelake.testing.place import Place

Duck = duckdb.DuckDBPyConnection
ALL = "name VARCHAR, v INTEGER, gone BOOLEAN"
MOMENTS = around(day(n) for n in (1, 4, 6, 9))


def facts_table(lake: tidelake.Lake, **more: Any) -> tidelake.Table:
    return lake.create_table(
        "t", f"{ALL}, ts TIMESTAMP", key="name", event_time="ts", tombstone="gone", **more
    )


def some_ranges(past: list[Then], chance: Random) -> Iterator[tuple[Any, Any]]:
    """Between times of snapshots, and between those."""
    step = timedelta(microseconds=1)
    times = [each.start + off for each in past for off in (-step, timedelta(0), step)]
    yield None, None
    yield past[0].start - timedelta(days=1), past[0].start
    for _ in range(4):
        start, end = sorted(chance.choices(times, k=2))
        yield start, end
    middle = chance.choice(past).start
    yield middle, middle
    yield None, middle
    yield middle, None


def check_rows(t: tidelake.Table, past: list[Then], chance: Random) -> None:
    everything = rows(t.versions())
    for then in past:
        assert counted(known(everything, then)) == counted(then.rows)
    for start, end in some_ranges(past, chance):
        found = rows(t.versions(start, end))
        seen = list(within(past, start, end))
        for then in seen:
            assert counted(known(found, then)) == counted(then.rows)
        wanted = [row for row in everything if any(known([row], then) for then in seen)]
        assert counted(found) == counted(wanted)


def check_answers(t: tidelake.Table, past: list[Then], chance: Random) -> None:
    for moment in MOMENTS:
        start, end = chance.choice(list(some_ranges(past, chance)))
        found = rows(t.as_of(moment).versions(start, end))
        seen = list(within(past, start, end))
        for then in seen:
            assert counted(known(found, then)) == counted(then.held(moment))
        assert all(any(known([row], then) for then in seen) for row in found)


def check_rectangles(t: tidelake.Table, past: list[Then], chance: Random) -> None:
    for start, end in some_ranges(past, chance):
        low, high = sorted(chance.choices(MOMENTS, k=2))
        found = rows(t.between(low, high).versions(start, end))
        seen, times = list(within(past, start, end)), [m for m in MOMENTS if low <= m < high]
        for then in seen:
            for moment in times:
                answer = valid(known(found, then), moment)
                assert counted(answer) == counted(then.held(moment))
        assert all(any(known([row], then) for then in seen) for row in found)
        assert low != high or not found


@pytest.mark.parametrize(
    ("seed", "steps"),
    [(2, 6), *(pytest.param(n, 40, marks=pytest.mark.slow) for n in (1, *range(3, 15)))],
)
def test_whatever_happens_to_a_table(
    lake: tidelake.Lake, duck: Duck, seed: int, steps: int
) -> None:
    t = facts_table(lake)
    Growth(t, duck, Random(seed)).go(steps)
    past, chance = lived(t), Random(seed)
    check_rows(t, past, chance)
    check_answers(t, past, chance)
    check_rectangles(t, past, chance)


def test_rows_of_a_table_without_event_time(lake: tidelake.Lake) -> None:
    """As SQL's system-versioned tables have it."""
    t = lake.create_table("t", "a INTEGER, known_to VARCHAR")
    t.append([{"a": 1, "known_to": "x"}, {"a": 2, "known_to": "y"}])
    lake.tag("first")
    t.update({"a": "a + 10"}, where="a = 2")
    t.delete("a = 1")
    came, updated, deleted = (each.time for each in lake.snapshots()[-3:])
    expected = [
        (1, "x", came, deleted),
        (2, "y", came, updated),
        (12, "y", updated, None),
    ]
    found = t.versions().to_arrow()
    assert found.column_names == ["a", "known_to", "known_from", "_known_to"]
    assert [tuple(row.values()) for row in found.to_pylist()] == expected
    clauses = {
        "ALL": expected,
        f"FROM '{came}' TO '{updated}'": expected[:2],
        f"BETWEEN '{came}' AND '{updated}'": expected,
        f"FROM '{updated}' TO '{deleted}'": [expected[0], expected[2]],
        f"FROM '{updated}' TO '{updated}'": [],
        f"BETWEEN '{updated}' AND '{updated}'": [expected[0], expected[2]],
        "FROM 'first' TO NULL": expected,
        "FROM NULL TO 'first'": [],
        "BETWEEN NULL AND 'first'": expected[:2],
        "FROM '2001-01-01' TO '2002-01-01'": [],
        f"FROM '2001-01-01' TO '{came}'": [],
        "FROM 3 TO 99": None,
    }
    for clause, wanted in clauses.items():
        asked = lake.sql(f"FROM t FOR SYSTEM_TIME {clause} AS x")
        if wanted is None:
            with pytest.raises(NotFound):
                asked.to_arrow()
        else:
            got = [tuple(row.values()) for row in asked.to_arrow().to_pylist()]
            assert sorted(got, key=repr) == sorted(wanted, key=repr), clause


@pytest.mark.slow
def test_both_clauses_compose(lake: tidelake.Lake) -> None:
    t = facts_table(lake)
    t.put(fact("a", 1, 1))
    t.put(fact("a", 10, 2))
    lake.tag("before")
    t.put(fact("a", 5, 3))
    every = rows(t.between().versions())
    assert [(row["v"], row["valid_from"].day) for row in every] == [
        *((1, 1), (1, 1), (2, 10), (1, 1), (3, 5)),
    ]
    cases = {
        "FOR VALID_TIME ALL FOR SYSTEM_TIME ALL": t.between().versions(),
        "FOR SYSTEM_TIME FROM 'before' TO NULL FOR VALID_TIME FROM '2024-03-04' TO '2024-03-06'": (
            t.between("2024-03-04", "2024-03-06").versions("before")
        ),
        "FOR VALID_TIME AS OF '2024-03-06' FOR SYSTEM_TIME ALL": t.as_of("2024-03-06").versions(),
        "VERSION AS OF 'before' FOR VALID_TIME ALL": t.known_at("before").between(),
        "FOR SYSTEM_TIME BETWEEN 'before' AND 'before'": t.known_at("before").versions("before"),
    }
    for clause, found in cases.items():
        for text in (f"t {clause} AS x", f"t x {clause}"):
            got = lake.sql(f"SELECT * FROM {text}").to_arrow()
            assert got.column_names == found.to_arrow().column_names
            unbounded = [{**row, "known_to": None} for row in rows(lake.sql(f"FROM {text}"))]
            if "BETWEEN" in clause:
                assert counted(unbounded, unbounded[0]) == counted(rows(found), unbounded[0])
            else:
                assert counted(got.to_pylist(), got.column_names) == counted(
                    rows(found), got.column_names
                )


def test_where_a_range_of_system_time_can_stand(lake: tidelake.Lake) -> None:
    t = facts_table(lake)
    t.put(fact("a", 1, 1))
    lake.tag("then")
    t.put(fact("a", 2, 2))
    lake.create_view("seen", "SELECT name, v FROM t")
    lake.create_view("fixed", "SELECT name, v FROM t FOR SYSTEM_TIME AS OF 'then'")
    ask = lambda sql, **more: lake.sql(sql, **more).count()  # noqa: E731
    assert ask("FROM seen FOR SYSTEM_TIME ALL") == 2
    assert ask("FROM fixed FOR SYSTEM_TIME ALL") == 1
    assert ask("FROM t FOR SYSTEM_TIME ALL", known_at="then") == 2
    assert ask("FROM t FOR SYSTEM_TIME ALL", as_of="2024-03-09") == 2
    assert ask("FROM t FOR SYSTEM_TIME FROM ? TO ?", parameters=["then", None]) == 2
    joined = "FROM t FOR SYSTEM_TIME ALL a JOIN t FOR VALID_TIME AS OF now() b USING (name)"
    assert ask(joined) == 2
    with lake.transaction() as tx:
        tx.table("t").put(fact("b", 1, 1))
        assert tx.sql("FROM t FOR SYSTEM_TIME ALL").count() == 2
        tx.rollback()
    pinned = lake.known_at("then")
    assert pinned.sql("FROM t FOR SYSTEM_TIME ALL").count() == 1
    with pytest.raises(Denied):
        pinned.sql(f"FROM t FOR SYSTEM_TIME FROM 1 TO {lake.snapshots()[-1].snapshot_id}").count()
    assert t.known_at("then").versions().to_arrow()["known_to"].to_pylist() == [None]


@pytest.mark.parametrize(
    ("start", "end"), [(5, 3), ("2025-01-01", "2024-01-01"), (1.5, None), (None, b"x")]
)
def test_what_is_no_range(lake: tidelake.Lake, start: Any, end: Any) -> None:
    t = facts_table(lake)
    with pytest.raises(Invalid) as told:
        t.versions(start, end)
    assert told.value.hint


def test_snapshots_that_are_gone(lake: tidelake.Lake) -> None:
    t = facts_table(lake)
    t.put(fact("a", 1, 1))
    lake.tag("kept")
    t.put(fact("a", 2, 2))
    t.delete("v = 2")
    t.put(fact("a", 3, 3))
    lake.expire(keep_last=1)
    kept, now = (each.time for each in lake.snapshots())
    assert [(row["v"], row["known_from"], row["known_to"]) for row in rows(t.versions())] == [
        (1, kept, None),
        (3, now, None),
    ]


def test_in_every_form(lake: tidelake.Lake) -> None:
    t = facts_table(lake)
    t.put([fact("a", 1), fact("a", 2)])
    for found in (t.versions(), t.as_of("2024-03-09").versions(), t.between().versions()):
        assert found.count() == len(found.to_pandas()) == len(found.to_polars())
        assert found.to_batches().read_all() == found.to_arrow()
        assert found.count() > 0
    with pytest.raises(Invalid, match="no key and event time"):
        lake.create_table("plain", "a INTEGER").between()


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("steps", [3, pytest.param(15, marks=pytest.mark.slow)])
def test_on_spark(place: Place, lake: tidelake.Lake, duck: Duck, spark: Any, steps: int) -> None:
    t = facts_table(lake)
    Growth(t, duck, Random(7)).go(steps)
    past = lived(t)
    start, end = past[len(past) // 3].start, past[-2].start
    with place.open(engine="spark", spark=spark) as on_spark:
        asked = {
            f"FROM '{start}' TO '{end}'": t.versions(start, end),
            f"FROM '{start}' TO NULL FOR VALID_TIME AS OF '2024-03-06'": (
                t.as_of("2024-03-06").versions(start)
            ),
            "ALL FOR VALID_TIME FROM '2024-03-02' TO '2024-03-07'": (
                t.between("2024-03-02", "2024-03-07").versions()
            ),
        }
        for clause, here in list(asked.items())[-1 if steps < 9 else 0 :]:
            names = here.to_arrow().column_names
            got = rows(on_spark.sql(f"SELECT * FROM t FOR SYSTEM_TIME {clause}"))
            assert counted(got, names) == counted(rows(here), names), clause


def test_times_with_zones(lake: tidelake.Lake) -> None:
    t = facts_table(lake)
    t.put(fact("a", 1, 1))
    time = lake_of(t).snapshots()[-1].time
    assert t.versions(time, time.replace(tzinfo=None) + timedelta(seconds=1)).count() == 1
    assert t.versions(time.astimezone(UTC), time.replace(tzinfo=None)).count() == 0
    assert t.versions(datetime(2001, 1, 1), time).count() == 0
