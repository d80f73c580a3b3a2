"""How complete a right side is up to each left row, against counting buckets."""

import random
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

import tidelake
from tests.cases import every
from tidelake import Feature
from tidelake.errors import Invalid, Unsupported
from tidelake.testing.place import Place

START = datetime(2024, 1, 30)


@pytest.fixture
def lake(tmp_path) -> Iterator[Any]:
    with Place.at("sqlite", tmp_path).open() as lake:
        yield lake


WIDTHS = {"1h": timedelta(hours=1), "1d": timedelta(days=1), "7d": timedelta(days=7), "1mo": None}
EPOCH = datetime(1970, 1, 1)


def bucket(width: str, time: datetime) -> int:
    span = WIDTHS[width]
    if span is None:
        return time.year * 12 + time.month
    if width == "7d":
        return (time - EPOCH - timedelta(days=4)) // span
    return (time - EPOCH) // span


def share(width: str, rows: list[dict[str, Any]], key: str, time: datetime) -> float:
    """Of the buckets from the first to that of a time, how many have rows."""
    there = {bucket(width, row["t"]) for row in rows if row["k"] == key}
    there = {each for each in there if each <= bucket(width, time)}
    if not there:
        return 0.0
    return len(there) / (bucket(width, time) - min(there) + 1)


@pytest.mark.parametrize("width", ["1h", "1d", "1mo"])
@pytest.mark.parametrize("seed", every(4, range(4)))
def test_the_share_of_buckets_that_have_rows(lake, width, seed):
    chance = random.Random(seed)
    table = lake.create_table(
        "facts",
        "k VARCHAR, t TIMESTAMP, p BIGINT",
        key="k",
        event_time="t",
        entity="k",
        bucket=width,
    )
    step = {"1h": 1, "1d": 12, "1mo": 24 * 20}[width]
    rows: list[dict[str, Any]] = []
    commits = []
    for _ in range(4):
        some = [
            {
                "k": chance.choice("ab"),
                "t": START + timedelta(hours=step * chance.randrange(30), minutes=5),
                "p": number,
            }
            for number in range(chance.randrange(1, 9))
        ]
        rows = [*rows, *some]
        commits.append((table.append(some).snapshot_id, rows))
    gone = chance.choice(rows)["t"]
    rows = [row for row in rows if row["t"] != gone]
    commits.append((table.delete(f"t = TIMESTAMP '{gone}'").snapshot_id, rows))
    left = [
        {"k": key, "t": START + timedelta(hours=step * n), "seen": at}
        for key in ("a", "b", "c")
        for n in (-1, 0, 7, 13, 40)
        for at, _ in commits
    ]
    join = tidelake.asof_join(left, [table], left_time="t", completeness=True)
    found = join.to_arrow()
    assert found.column_names == ["k", "t", "seen", "facts_t", "facts_p", "facts_completeness"]
    expected = [share(width, rows, row["k"], row["t"]) for row in left]
    assert found["facts_completeness"].to_pylist() == pytest.approx(expected)
    known = dict(commits)
    expected = [share(width, known[row["seen"]], row["k"], row["t"]) for row in left]
    each = tidelake.asof_join(left, [table], left_time="t", completeness=True, known_at="seen")
    assert each.to_arrow()["facts_completeness"].to_pylist() == pytest.approx(expected)
    then, was = commits[1]
    pinned = tidelake.asof_join(left, table, left_time="t", completeness=True, known_at=then)
    expected = [share(width, was, row["k"], row["t"]) for row in left]
    assert pinned.to_arrow()["completeness"].to_pylist() == pytest.approx(expected)
    times = {each.snapshot_id: each.time for each in lake.snapshots()}
    timed = [{**row, "seen": times[row["seen"]]} for row in left]
    each = tidelake.asof_join(timed, table, left_time="t", completeness=True, known_at="seen")
    expected = [share(width, known[row["seen"]], row["k"], row["t"]) for row in left]
    assert each.to_arrow()["completeness"].to_pylist() == pytest.approx(expected)


def test_several_sides_each_with_its_own(lake):
    days = lake.create_table(
        "days", "k BIGINT, t DATE", key="k", event_time="t", entity="k", bucket="1d"
    )
    days.append([{"k": 1, "t": date(2024, 3, n)} for n in (1, 2, 4)])
    counts = lake.create_table("counts", "k BIGINT, t TIMESTAMPTZ, n INT", key="k", event_time="t")
    counts.append([{"k": 1, "t": datetime(2024, 3, 1, tzinfo=UTC), "n": 1}])
    left = [{"k": 1, "at": datetime(2024, 3, n, 12)} for n in (1, 4, 5)]
    join = tidelake.asof_join(
        left,
        [days, Feature(days, name="ahead", direction="forward", columns=["t"]), counts],
        left_time="at",
        age=True,
        completeness=True,
    )
    found = join.to_arrow()
    assert found.column_names == [
        *("k", "at", "days_t", "days_age", "days_completeness"),
        *("ahead_t", "ahead_age", "ahead_completeness"),
        *("counts_t", "counts_n", "counts_age", "counts_completeness"),
    ]
    assert found["days_completeness"].to_pylist() == [1.0, 0.75, 0.6]
    assert found["ahead_completeness"].to_pylist() == [1.0, 0.75, 0.6]
    assert found["counts_completeness"].to_pylist() == [None] * 3
    assert join.count() == 3
    told = lake.sql(
        "SELECT days_completeness FROM asof_join('VALUES (1, TIMESTAMP ''2024-03-04'')',"
        " ['days'], on => {'col0': 'k'}, left_time => 'col1', completeness => true)"
    )
    assert told.to_arrow()["days_completeness"].to_pylist() == [0.75]


def test_clocks_that_are_numbers(lake):
    table = lake.create_table("runs", "k BIGINT, n BIGINT", event_time="n", entity="k", bucket=10)
    table.append([{"k": 1, "n": n} for n in (3, 12, 37)])
    left = [{"k": 1, "n": n} for n in (0, 9, 15, 29, 39, 40)]  # 3 and 0 lie in one bucket
    join = tidelake.asof_join(left, table, "k", "n", "n", completeness=True)
    assert join.to_arrow()["completeness"].to_pylist() == [1.0, 1.0, 1.0, 2 / 3, 0.75, 0.6]


def test_what_cannot_be_told_is_refused(lake):
    table = lake.create_table(
        "facts",
        "k VARCHAR, o VARCHAR, t TIMESTAMP, known TIMESTAMP",
        key=["k"],
        event_time="t",
        entity=["k", "o"],
        bucket="1d",
        knowledge_time="known",
    )
    table.append([{"k": "a", "o": "b", "t": START, "known": START}])
    left = [{"k": "a", "t": START, "o": "b"}]
    with pytest.raises(Invalid, match="kept by 'o'"):
        tidelake.asof_join(left, table, left_time="t", completeness=True).to_arrow()
    with pytest.raises(Unsupported, match="before the lake"):
        tidelake.asof_join(
            left, table, on=["k", "o"], left_time="t", completeness=True, known_at="t"
        ).to_arrow()
    table.set_coverage("1d")
    with pytest.raises(Invalid, match="of no entity"):
        tidelake.asof_join(left, table, left_time="t", completeness=True).to_arrow()


@pytest.mark.parametrize("known_at", [None, "seen"])
@pytest.mark.parametrize("seed", every(8, range(8)))
def test_only_what_the_calendars_expect_counts(lake, seed, known_at):
    """A calendar for all, and one for a single entity, against counting days."""
    chance, first = random.Random(seed), date(2024, 3, 1)
    days = [first + timedelta(days=n) for n in range(40)]
    table = lake.create_table(
        "facts", "k VARCHAR, t DATE", key="k", event_time="t", entity="k", bucket="1d"
    )
    there = {key: set(chance.sample(days[:25], chance.randrange(1, 20))) for key in "abc"}
    table.append([{"k": key, "t": day} for key, some in there.items() for day in some])
    table.set_calendar("weekdays")
    listed = chance.sample(days, 15)
    own = tidelake.Calendar.of([(day, day + timedelta(days=1)) for day in listed])
    table.set_calendar(own, entity="b")
    expects = {"a": {day for day in days if day.weekday() < 5}, "b": set(listed)}
    expects["c"] = expects["a"]
    newest = lake.snapshots()[-1].snapshot_id
    left = [
        {"k": key, "t": datetime(day.year, day.month, day.day, 12), "seen": newest}
        for key in "abcd"
        for day in days
    ]

    def wanted(key: str, day: date) -> float:
        begin = min(there.get(key, days[-1:]))
        if key not in there or day < begin:
            return 0.0
        asked = {each for each in expects[key] if begin <= each <= day}
        return len(asked & there[key]) / len(asked) if asked else 1.0

    join = tidelake.asof_join(left, table, left_time="t", completeness=True, known_at=known_at)
    found = join.to_arrow()["completeness"].to_pylist()
    assert found == pytest.approx([wanted(row["k"], row["t"].date()) for row in left])


def test_a_calendar_is_not_asked_about_for_ever(lake):
    table = lake.create_table(
        "facts", "k BIGINT, t TIMESTAMP", key="k", event_time="t", entity="k", bucket="1s"
    )
    table.append([{"k": 1, "t": START}])
    left = [{"k": 1, "t": datetime(9999, 12, 31)}]
    join = tidelake.asof_join(left, table, left_time="t", completeness=True)
    assert join.to_arrow()["completeness"].to_pylist()[0] < 1e-9
    table.set_calendar("weekdays")
    with pytest.raises(Unsupported, match="9999") as told:
        join.to_arrow()
    assert told.value.hint
