"""What each left row could know: random histories of late facts, corrections, deletes, updates,
compaction and DuckDB beside us, against a list of versions."""

import random
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import tidelake
from tests.cases import every
from tests.join.pairs import Row, flattened, in_order, joined
from tidelake.errors import Invalid, TidelakeWarning
from tidelake.testing.duck import duck_connection
from tidelake.testing.place import Place

DAY = datetime(2024, 3, 15)
COLUMNS = "k VARCHAR NOT NULL, t TIMESTAMP NOT NULL, p BIGINT, gone BOOLEAN"


@dataclass
class Versions:
    """A table that tells the truth: every version of every row with its life."""

    table: Any
    chance: random.Random
    rows: list[Row] = field(default_factory=list)

    def alive(self) -> list[Row]:
        return [row for row in self.rows if row["until"] is None]

    def fact(self) -> Row:
        time = DAY + timedelta(minutes=self.chance.randrange(20))
        number = len(self.rows) + 1000 * self.chance.randrange(1, 99)
        return {
            "k": self.chance.choice("ab"),
            "t": time,
            "p": number,
            "gone": self.chance.random() < 0.15,
        }

    def came(self, facts: list[Row], since: int) -> None:
        first = 1 + max((row["uid"] for row in self.rows), default=-1)
        self.rows += [
            {**fact, "uid": first + place, "since": since, "until": None}
            for place, fact in enumerate(facts)
        ]

    def ended(self, number: int, until: int) -> list[Row]:
        gone = [row for row in self.alive() if row["p"] == number]
        for row in gone:
            row["until"] = until
        return gone

    def updated(self, number: int, at: int) -> None:
        self.rows += [
            {**row, "p": number + 1, "since": at, "until": None} for row in self.ended(number, at)
        ]

    def in_order(self) -> list[Row]:
        """Versions by row id; `sorted` keeps those of one row in the order in which they came."""
        return sorted(self.rows, key=lambda row: row["uid"])


def some(versions: Versions) -> int | None:
    alive = versions.alive()
    return versions.chance.choice(alive)["p"] if alive else None


def step(versions: Versions, duck: Any, lake: Any) -> None:
    table, chance = versions.table, versions.chance
    number = some(versions)
    what = chance.choice(["append"] * 3 + ["delete", "update", "compact", "duck", "duck update"])
    if what == "append" or number is None:
        facts = [versions.fact() for _ in range(chance.randrange(1, 4))]
        versions.came(facts, table.append(facts).snapshot_id)
    elif what == "delete":
        versions.ended(number, table.delete(f"p = {number}").snapshot_id)
    elif what == "update":
        versions.updated(number, table.update({"p": "p + 1"}, where=f"p = {number}").snapshot_id)
    elif what == "compact":
        table.compact()
    elif what == "duck":
        fact = versions.fact()
        duck.execute("INSERT INTO lake.facts VALUES ($k, $t, $p, $gone)", fact)
        versions.came([fact], lake.snapshots()[-1].snapshot_id)
    else:
        duck.execute(f"UPDATE lake.facts SET p = p + 1 WHERE p = {number}")
        versions.updated(number, lake.snapshots()[-1].snapshot_id)


@pytest.fixture
def lake(tmp_path) -> Iterator[Any]:
    with Place.at("sqlite", tmp_path).open() as lake:
        lake.create_table("facts", COLUMNS, key="k", event_time="t", tombstone="gone")
        yield lake


@pytest.mark.parametrize("seed", every(3, range(3)))
@pytest.mark.parametrize("limit", [0, 10])
def test_each_row_knows_what_was_committed_by_then(lake, tmp_path, seed, limit):
    lake.set_option("data_inlining_row_limit", limit)
    versions = Versions(lake.table("facts"), random.Random(seed))
    with duck_connection() as duck:
        duck.execute(f"ATTACH 'ducklake:sqlite:{tmp_path}/lake.db' AS lake")
        for _ in range(12):
            step(versions, duck, lake)
    times = {snapshot.snapshot_id: snapshot.time for snapshot in lake.snapshots()}
    left = [
        {"k": key, "t": DAY + timedelta(minutes=minute), "known": known}
        for key in ("a", "b")
        for minute in range(-1, 21, 3)
        for known in (*times, None)
    ]
    for direction in ("backward", "forward", "nearest"):
        tolerance = versions.chance.choice([None, timedelta(minutes=2)])
        options = {"direction": direction, "tolerance": tolerance}
        expected = flattened(
            joined(
                left,
                versions.in_order(),
                on=[("k", "k")],
                times=("t", "t"),
                tombstone="gone",
                visible=was_known,
                **options,
            ),
            {"t": "t_right", "p": "p"},
        )
        join = tidelake.asof_join(left, versions.table, left_time="t", known_at="known", **options)
        assert in_order(join.to_arrow().to_pylist()) == expected
    by_time = [{**row, "known": times.get(row["known"])} for row in left]
    join = tidelake.asof_join(by_time, versions.table, left_time="t", known_at="known", **options)
    number = {time: at for at, time in times.items()}
    told = [{**row, "known": number.get(row["known"])} for row in join.to_arrow().to_pylist()]
    assert in_order(told) == expected


def was_known(mine: Row, theirs: Row) -> bool:
    known, until = mine["known"], theirs["until"]
    return known is not None and theirs["since"] <= known and (until is None or known < until)


def rows(join: Any) -> list[Row]:
    return join.to_arrow().to_pylist()


def fact(minute: int, number: int) -> Row:
    return {"k": "a", "t": DAY + timedelta(minutes=minute), "p": number, "gone": False}


def asked(known: Any, minute: int = 9) -> list[Row]:
    return [{"k": "a", "t": DAY + timedelta(minutes=minute), "known": known}]


def answer(table: Any, known: Any) -> int | None:
    return rows(tidelake.asof_join(asked(known), table, left_time="t", known_at="known"))[0]["p"]


def test_a_late_fact_does_not_leak(lake):
    table = lake.table("facts")
    first = table.append([fact(1, 1)]).snapshot_id
    late = table.append([fact(5, 5)]).snapshot_id
    assert [answer(table, known) for known in (first, late)] == [1, 5]
    assert answer(table, first - 1) is None


@pytest.mark.parametrize("zone", [UTC, None])
def test_moments_between_commits(lake, zone):
    table = lake.table("facts")
    first = table.append([fact(1, 1)]).snapshot_id
    table.append([fact(5, 5)])
    times = [snapshot.time.replace(tzinfo=zone) for snapshot in lake.snapshots()]
    tick = timedelta(microseconds=1)
    known = [times[first] - tick, times[first], times[first + 1] - tick, times[first + 1] + tick]
    assert [answer(table, moment) for moment in known] == [None, 1, 1, 5]


def test_what_duckdb_rewrote_is_known_since_it_came(lake, tmp_path):
    lake.set_option("data_inlining_row_limit", 0)
    table = lake.table("facts")
    first = table.append([fact(1, 1), fact(2, 2), fact(3, 3)]).snapshot_id
    table.delete("p >= 2")
    with duck_connection() as duck:
        duck.execute(f"ATTACH 'ducklake:sqlite:{tmp_path}/lake.db' AS lake")
        duck.execute("CALL ducklake_rewrite_data_files('lake', delete_threshold => 0.1)")
    assert [answer(table, known) for known in (first, first + 1)] == [3, 1]


def test_a_table_older_than_what_is_left_refuses_to_guess(lake):
    table = lake.table("facts")
    table.append([fact(1, 1)])
    second = table.append([fact(2, 2)]).snapshot_id
    last = table.append([fact(3, 3)]).snapshot_id
    times = {snapshot.snapshot_id: snapshot.time for snapshot in lake.snapshots()}
    lake.tag("kept", second)
    table.append([fact(4, 4)])
    table.append([fact(5, 5)])
    lake.expire(keep_last=1)
    assert [answer(table, known) for known in (second, last + 2)] == [2, 5]
    for lost in (second - 1, last, times[second] + timedelta(microseconds=1)):
        with pytest.raises(Invalid, match="have been expired") as refused:
            answer(table, lost)
        assert "tag" in refused.value.hint
    with (
        pytest.warns(TidelakeWarning, match="every left row is from before"),
        pytest.raises(Invalid, match="have been expired"),
    ):
        answer(table, DAY)
    assert answer(table, times[second]) == 2


def test_a_table_younger_than_what_is_left_knew_nothing_before(lake):
    lake.expire(keep_last=1)
    young = lake.create_table("young", COLUMNS, key="k", event_time="t")
    at = young.append([fact(1, 1)]).snapshot_id
    assert [answer(young, known) for known in (0, at - 1, at, at + 9)] == [None, None, 1, 1]


def test_columns_that_came_later_and_narrow_scans(lake):
    table = lake.table("facts")
    first = table.append([fact(1, 1)]).snapshot_id
    table.evolve(add={"note": "VARCHAR DEFAULT 'none'"})
    table.append([{**fact(1, 2), "note": "new"}])
    narrow = table.scan(columns=["k", "t", "note"])
    left = [*asked(first), *asked(first + 2)]
    join = tidelake.asof_join(left, narrow, left_time="t", known_at="known")
    assert {row["known"]: row["note"] for row in rows(join)} == {first: "none", first + 2: "new"}
    assert join.to_arrow().column_names == ["k", "t", "known", "t_right", "note"]


def test_moments_from_before_the_table_are_warned_of(tmp_path):
    with Place.at("sqlite", tmp_path).open() as lake:
        lake.create_schema("before")
        facts = lake.create_table(
            "facts", "k VARCHAR NOT NULL, ts TIMESTAMP NOT NULL, v INT", key="k", event_time="ts"
        )
        facts.append([{"k": "a", "ts": datetime(2020, 1, 1), "v": 1}])
        early = [{"k": "a", "at": datetime(2024, 1, 1)}, {"k": "a", "at": None}]
        join = tidelake.asof_join(early, facts, on="k", left_time="at", known_at="at")
        with pytest.warns(TidelakeWarning, match="before .* the lake first knew of main.facts"):
            assert join.to_arrow()["v"].to_pylist() == [None, None]
        late = [*early, {"k": "a", "at": datetime(2999, 1, 1)}]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            join = tidelake.asof_join(late, facts, on="k", left_time="at", known_at="at")
            assert join.to_arrow()["v"].to_pylist() == [None, None, 1]
            ids = [{"k": "a", "at": datetime(2024, 1, 1), "id": 0}]
            tidelake.asof_join(ids, facts, on="k", left_time="at", known_at="id").to_arrow()
            tidelake.asof_join(early, facts, on="k", left_time="at").to_arrow()


def test_a_pinned_table_knows_what_was_committed_up_to_its_snapshot(lake):
    table = lake.table("facts")
    first = table.append([fact(1, 1)]).snapshot_id
    second = table.append([fact(2, 2)]).snapshot_id
    late = table.append([fact(5, 5)]).snapshot_id
    table.delete("p = 2")
    asked_at = [first, second, late, late + 1]
    assert [answer(table, known) for known in asked_at] == [1, 2, 5, 5]
    assert [answer(table.known_at(second), known) for known in asked_at] == [1, 2, 2, 2]
