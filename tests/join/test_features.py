"""Point-in-time joins over several right sides: random histories with late facts, against nested
loops, one for each side."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import tidelake
from tests.join.pairs import Row, in_order, joined
from tests.join.test_knowing import DAY, Versions
from tidelake import Feature
from tidelake.errors import Invalid, NotFound
from tidelake.testing.place import Place

COLUMNS = "k VARCHAR NOT NULL, t TIMESTAMP NOT NULL, p BIGINT, gone BOOLEAN"
TOLD = {"ratings": ("t", "p", "gone"), "notes": ("t", "p", "e")}
"""What a join brings of a table, if not its time and number. Facts of notes end by themselves."""
NAMES = ("prices", "ratings", "rates", "notes")
JOINS = 20


@dataclass
class Market:
    """Tables of facts about the same keys, and the truth about each."""

    lake: Any
    chance: random.Random
    tables: dict[str, Versions] = field(default_factory=dict)

    def create(self) -> None:
        for name in NAMES:
            ends = {} if name == "ratings" else {"tombstone": "gone"}
            self.lake.set_option("data_inlining_row_limit", self.chance.choice([0, 10]))
            columns = COLUMNS
            if name == "notes":
                columns, ends["valid_to"] = f"{COLUMNS}, e TIMESTAMP", "e"
            table = self.lake.create_table(name, columns, key="k", event_time="t", **ends)
            self.tables[name] = Versions(table, self.chance)

    def live(self, steps: int) -> None:
        """Facts come late, are corrected, updated and deleted, and files are put together."""
        for _ in range(steps):
            versions = self.tables[self.chance.choice(NAMES)]
            table, alive = versions.table, versions.alive()
            what = self.chance.choice(["append"] * 5 + ["delete", "update", "compact"])
            number = self.chance.choice(alive)["p"] if alive else None
            if what == "append" or number is None:
                facts = [versions.fact() for _ in range(self.chance.randrange(1, 5))]
                if versions is self.tables["notes"]:
                    facts = [{**fact, "e": self.end_of(fact)} for fact in facts]
                versions.came(facts, table.append(facts).snapshot_id)
            elif what == "delete":
                versions.ended(number, table.delete(f"p = {number}").snapshot_id)
            elif what == "update":
                done = table.update({"p": "p + 1"}, where=f"p = {number}")
                versions.updated(number, done.snapshot_id)
            else:
                table.compact()

    def end_of(self, fact: Row) -> datetime | None:
        """Until when a fact holds: some have no end, a few none of the time."""
        minutes = self.chance.choice([None, 0, 1, 3, 3, 8, 8])
        return None if minutes is None else fact["t"] + timedelta(minutes=minutes)

    def labels(self) -> list[Row]:
        return self.labels_of(range(self.lake.snapshots()[-1].snapshot_id + 1))

    def labels_of(self, known: range) -> list[Row]:
        return [
            {
                "k": self.chance.choice("abc"),
                "t": DAY + timedelta(minutes=self.chance.randrange(-1, 22)),
                "known": self.chance.choice([None, *known]),
                "y": place,
            }
            for place in range(12)
        ]


def visible(known: Any) -> Callable[[Row, Row], bool]:
    """Of a version, whether a left row knows it."""

    def is_seen(mine: Row, theirs: Row) -> bool:
        at = mine["known"] if known == "known" else known
        if known is None:
            return theirs["until"] is None
        return (
            at is not None
            and theirs["since"] <= at
            and (theirs["until"] is None or at < theirs["until"])
        )

    return is_seen


def options(chance: random.Random, last: int) -> dict[str, Any]:
    return {
        "direction": chance.choice(["backward"] * 3 + ["forward", "nearest"]),
        "tolerance": chance.choice([None, None, timedelta(minutes=2)]),
        "known_at": chance.choice([None, "known", "known", last, chance.randrange(5, last + 1)]),
        "allow_exact_matches": chance.random() < 0.8,
    }


def expected(market: Market, left: list[Row], wanted: dict[str, dict[str, Any]]) -> list[Row]:
    rows = [dict(row) for row in left]
    for name, asked in wanted.items():
        versions, ends = market.tables[name.partition("2")[0]], not name.startswith("ratings")
        pairs = joined(
            left,
            versions.in_order(),
            on=[("k", "k")],
            times=("t", "t"),
            tombstone="gone" if ends else None,
            end="e" if name == "notes" else None,
            direction=asked["direction"],
            exact=asked["allow_exact_matches"],
            tolerance=asked["tolerance"],
            visible=visible(asked["known_at"]),
        )
        for row, (mine, theirs) in zip(rows, pairs, strict=True):
            for column in TOLD.get(name, ("t", "p")):
                row[f"{name}_{column}"] = theirs and theirs[column]
            row[f"{name}_age"] = theirs and (mine["t"] - theirs["t"]).total_seconds()
    return rows


def one_join(
    market: Market, chance: random.Random, given: Callable[[pa.Table], Any] = lambda labels: labels
) -> tuple[Any, list[Row]]:
    """A join with options at random, of which some are for one side alone, and its answer. The left
    side is what is made of its rows."""
    last = market.lake.snapshots()[-1].snapshot_id
    left, common = market.labels(), options(chance, last)
    names = chance.sample([*NAMES, "prices2"], chance.randrange(1, 5))
    right, wanted = {}, {}
    for name in names:
        own = options(chance, last) if chance.random() < 0.3 else {}
        own = {key: value for key, value in own.items() if value is not None}
        table = market.tables[name.partition("2")[0]].table
        right[name] = Feature(table, **own) if own else table
        wanted[name] = {**common, **own}
    mine = given(pa.Table.from_pylist(left, SCHEMA))
    join = tidelake.asof_join(mine, right, left_time="t", age=True, **common)
    return join, expected(market, left, wanted)


SCHEMA = pa.schema(
    {"k": pa.string(), "t": pa.timestamp("us"), "known": pa.int64(), "y": pa.int64()}
)


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 50))]
)
def test_random_joins_are_nested_loops(tmp_path, seed):
    chance = random.Random(seed)
    with Place.at("sqlite", tmp_path).open() as lake:
        market = Market(lake, chance)
        market.create()
        market.live(12)
        for _ in range(JOINS):
            join, wanted = one_join(market, chance)
            got = join.to_arrow().to_pylist()
            assert [list(row) for row in got[:1]] == [list(row) for row in wanted[:1]]
            assert in_order(got) == in_order(wanted)
            assert [row["y"] for row in got] == list(range(12))


def at(minutes: float) -> datetime:
    return DAY + timedelta(minutes=minutes)


@pytest.fixture
def lake(tmp_path) -> Iterator[Any]:
    with Place.at("sqlite", tmp_path).open() as lake:
        for name in ("prices", "ratings"):
            table = lake.create_table(
                name, "k VARCHAR, t TIMESTAMP, v DOUBLE", key="k", event_time="t"
            )
            table.append([{"k": "a", "t": at(n), "v": n + len(name)} for n in (1, 3)])
        yield lake


LABELS = [{"k": "a", "at": at(2)}, {"k": "a", "at": at(0)}, {"k": "a", "at": at(9)}]


def values(join: Any, *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in names) for row in join.to_arrow().to_pylist()]


def test_columns_begin_with_the_name_of_their_table(lake):
    tables = [lake.table("prices"), lake.table("ratings")]
    join = tidelake.asof_join(LABELS, tables, left_time="at", age=True)
    assert join.to_arrow().column_names == [
        *("k", "at", "prices_t", "prices_v", "prices_age", "ratings_t", "ratings_v", "ratings_age")
    ]
    assert values(join, "prices_v", "ratings_v", "prices_age") == [
        (7.0, 8.0, 60.0),
        (None, None, None),
        (9.0, 10.0, 360.0),
    ]
    assert join.count() == 3


def test_one_side_can_tell_its_age_too(lake):
    join = tidelake.asof_join(LABELS, lake.table("prices"), left_time="at", age=True)
    assert join.to_arrow().column_names == ["k", "at", "t", "v", "age"]
    taken = [{**row, "age": 1} for row in LABELS]
    join = tidelake.asof_join(taken, lake.table("prices"), left_time="at", age=True)
    assert join.to_arrow()["age_right"].to_pylist() == [60.0, None, 360.0]


def test_sides_of_every_kind_by_name(lake):
    prices = lake.table("prices")
    rows = prices.to_arrow().to_pylist()
    for side in (prices.scan(), prices.to_pandas(), prices.to_polars(), prices.to_arrow(), rows):
        features = {"one": side, "two": prices, "three": lake.sql("FROM prices")}
        join = tidelake.asof_join(LABELS, features, on="k", left_time="at", right_time="t")
        found = values(join, "one_v", "two_v", "three_v")
        assert found == [(7.0,) * 3, (None,) * 3, (9.0,) * 3], side
    with pytest.raises(Invalid, match="no name of its own"):
        tidelake.asof_join(LABELS, [prices, prices.to_pandas()])
    with pytest.raises(Invalid, match="two of the right sides are called 'prices'"):
        tidelake.asof_join(LABELS, [prices, prices])


def test_dicts_are_rows_still(lake):
    right = [{"k": "a", "t": at(1), "v": 1}]
    join = tidelake.asof_join(LABELS, right, "k", "at", "t")
    assert join.to_arrow().column_names == ["k", "at", "t", "v"]
    assert values(tidelake.asof_join(LABELS, right[0], "k", "at", "t"), "v") == [
        (1,),
        (None,),
        (1,),
    ]


def test_what_is_asked_of_one_alone(lake):
    left = [{"k": "a", "at": at(9), "key": "a", "late": at(1.5)}]
    features = [
        lake.table("prices"),
        Feature(lake.table("prices"), name="near", tolerance="5m", columns=["v"]),
        Feature(lake.table("ratings"), direction="forward", on={"key": "k"}),
        Feature(lake.table("ratings").scan(), name="first", columns="t", allow_exact_matches=False),
    ]
    join = tidelake.asof_join(left, features, left_time="at", right_time="t")
    names = join.to_arrow().column_names[4:]
    assert names == ["prices_t", "prices_v", "near_v", "ratings_t", "ratings_v", "first_t"]
    assert values(join, *names) == [(at(3), 9.0, None, None, None, at(3))]
    alone = tidelake.asof_join(left, features[1], left_time="at")
    assert alone.to_arrow().column_names[4:] == ["near_v"]


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ({"left": "prices"}, "two columns of the result would be called 'left_v'"),
        ({"x": ("prices", {"columns": ["q"]})}, "q"),
        ({"x": ("prices", {"columns": []})}, "does not name columns"),
        ({"x": ("prices", {"direction": "up"})}, "up"),
        ({"x": ("prices", {"tolerance": 5})}, "x: tolerance=5 does not go"),
        ({"x": ("prices", {"on": "q"})}, "x: the left side has no column 'q'"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(lake, features, message):
    left = [{**row, "left_v": 1} for row in LABELS]
    right = {}
    for name, each in features.items():
        table, own = (each, {}) if isinstance(each, str) else each
        right[name] = (lake.table(table), own)
    with pytest.raises((Invalid, NotFound), match=message):
        tidelake.asof_join(
            left,
            {name: Feature(table, **own) for name, (table, own) in right.items()},
            left_time="at",
        ).to_arrow()


def test_a_suffix_is_for_one_side(lake):
    with pytest.raises(Invalid, match="suffix"):
        tidelake.asof_join(LABELS, [lake.table("prices")], left_time="at", suffix="_r")


@pytest.mark.parametrize(
    ("mine", "theirs", "age"),
    [
        (datetime(2024, 3, 2), datetime(2024, 3, 1, 12), 43200.0),
        (date(2024, 3, 3), date(2024, 3, 1), 172800.0),
        (date(2024, 3, 3), datetime(2024, 3, 2, 23, 59, 59, 1), 0.999999),
        (datetime(2024, 3, 2, tzinfo=UTC), datetime(2024, 3, 1), 86400.0),
        (10, 7, 3.0),
        (pd.Timestamp("2024-03-02T00:00:00.000000500"), pd.Timestamp("2024-03-02"), 5e-7),
    ],
)
def test_ages_of_clocks_of_every_kind(mine, theirs, age):
    left, right = pd.DataFrame({"k": [1], "t": [mine]}), pd.DataFrame({"k": [1], "t": [theirs]})
    join = tidelake.asof_join(left, {"x": right}, "k", "t", "t", age=True)
    assert values(join, "x_age") == [(age,)]


def test_an_age_is_none_where_a_match_is_too_far_or_has_ended(lake):
    join = tidelake.asof_join(
        LABELS, [lake.table("prices")], left_time="at", age=True, tolerance="2m"
    )
    assert values(join, "prices_age") == [(60.0,), (None,), (None,)]


def test_infinity_has_no_age():
    left = [{"k": 1, "t": datetime(2024, 1, 1)}]
    import duckdb

    right = duckdb.sql("SELECT 1 AS k, TIMESTAMP '-infinity' AS t, 5 AS v").to_arrow_table()
    join = tidelake.asof_join(left, {"x": right}, "k", "t", "t", age=True)
    found = join.to_arrow()
    assert (found["x_v"].to_pylist(), found["x_age"].to_pylist()) == ([5], [None])
