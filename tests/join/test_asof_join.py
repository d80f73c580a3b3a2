"""Point-in-time joins in this process, against two loops, DuckDB's own ASOF join and pandas."""

import random
from datetime import UTC, date, datetime, timedelta
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tidelake
from tests.join.pairs import Row, flattened, in_order, joined
from tidelake.errors import Denied, Invalid, NotFound, TidelakeError, Unsupported

DAY = datetime(2024, 3, 15)
NAMES = {"ts": "ts_right", "price": "price"}


def at(minutes: float) -> datetime:
    return DAY + timedelta(minutes=minutes)


def test_long_lists_are_sides_in_their_order():
    count = 25_000
    left = [{"k": i % 7, "ts": at(i % 90), "x": i} for i in range(count)]
    right = [{"k": i % 7, "ts": at(i % 60), "price": i} for i in range(count)]
    join = tidelake.asof_join(left, right, "k", "ts", "ts")
    found = join.to_arrow()
    assert found["x"].to_pylist() == list(range(count))
    last = {(row["k"], row["ts"]): row["price"] for row in right}
    asked = [last[row["k"], min(row["ts"], at(59))] for row in left]
    assert found["price"].to_pylist() == asked
    assert join.count() == count  # it can be asked again


SIDES = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", None]),
        st.sampled_from([1, 2, None]),
        st.one_of(st.none(), st.integers(0, 12)),
    ),
    max_size=14,
)


@pytest.mark.parametrize("prices", [[(3, 1)], [(3, 1), (3, 2)]])
@pytest.mark.parametrize("direction", ["backward", "forward", "nearest"])
def test_what_has_no_time_has_no_match(prices, direction):
    """To DuckDB a NULL is the greatest of all times, also where two facts have one time."""
    left = pa.table({"k": ["a", "a"], "ts": [None, at(3)], "x": [1, 2]})
    right = pa.table(
        {
            "k": ["a"] * len(prices),
            "ts": [at(minutes) for minutes, _ in prices],
            "price": [price for _, price in prices],
        }
    )
    found = tidelake.asof_join(left, right, "k", "ts", "ts", direction=direction).to_arrow()
    assert dict(zip(*found.select(["x", "price"]).to_pydict().values(), strict=True))[1] is None
    assert found.num_rows == 2


@pytest.mark.slow
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    mine=SIDES,
    theirs=SIDES,
    direction=st.sampled_from(["backward", "forward", "nearest"]),
    exact=st.booleans(),
    tolerance=st.sampled_from([None, 0, 1, 3]),
    keys=st.sampled_from([["k"], ["k", "n"]]),
)
def test_frames_are_joined_as_by_two_loops(mine, theirs, direction, exact, tolerance, keys):
    left = [
        {"k": k, "n": n, "ts": None if t is None else at(t), "x": i}
        for i, (k, n, t) in enumerate(mine)
    ]
    right = [
        {"k": k, "n": n, "ts": None if t is None else at(t), "price": i}
        for i, (k, n, t) in enumerate(theirs)
    ]
    schema = {"k": pa.string(), "n": pa.int64(), "ts": pa.timestamp("us")}
    found = tidelake.asof_join(
        pa.Table.from_pylist(left, pa.schema({**schema, "x": pa.int64()})),
        pa.Table.from_pylist(right, pa.schema({**schema, "price": pa.int64()})),
        on=keys,
        left_time="ts",
        right_time="ts",
        direction=direction,
        allow_exact_matches=exact,
        tolerance=None if tolerance is None else timedelta(minutes=tolerance),
    )
    expected = joined(
        left,
        right,
        on=[(key, key) for key in keys],
        times=("ts", "ts"),
        direction=direction,
        exact=exact,
        tolerance=None if tolerance is None else timedelta(minutes=tolerance),
    )
    names = NAMES if "n" in keys else {**NAMES, "n": "n_right"}
    assert in_order(found.to_arrow().to_pylist()) == flattened(expected, names)
    assert found.count() == len(left)


CLOCKS = {
    "date": lambda n: date(2024, 3, 15) + timedelta(days=n),
    "timestamp": at,
    "timestamp_s": at,
    "timestamp_ms": at,
    "timestamp_ns": at,
    "timestamptz": lambda n: at(n).replace(tzinfo=UTC),
}
ARROW = {
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "timestamp_s": pa.timestamp("s"),
    "timestamp_ms": pa.timestamp("ms"),
    "timestamp_ns": pa.timestamp("ns"),
    "timestamptz": pa.timestamp("us", "UTC"),
}


@pytest.mark.parametrize("direction", ["backward", "nearest"])
@pytest.mark.parametrize("mine", CLOCKS)
@pytest.mark.parametrize("theirs", CLOCKS)
def test_times_of_all_kinds_meet_in_utc(mine, theirs, direction):
    left = [{"k": 1, "t": CLOCKS[mine](n), "x": n} for n in (0, 1, 2, 5)]
    right = [{"k": 1, "at": CLOCKS[theirs](n), "p": n} for n in (0, 2, 2, 3)]
    found = tidelake.asof_join(
        pa.Table.from_pylist(left, pa.schema({"k": pa.int64(), "t": ARROW[mine], "x": pa.int64()})),
        pa.Table.from_pylist(
            right, pa.schema({"k": pa.int64(), "at": ARROW[theirs], "p": pa.int64()})
        ),
        on="k",
        left_time="t",
        right_time="at",
        direction=direction,
        tolerance="25 hours",
    )
    expected = joined(
        left,
        right,
        on=[("k", "k")],
        times=("t", "at"),
        direction=direction,
        tolerance=timedelta(hours=25),
    )
    got = [
        {**row, "t": _plain(row["t"]), "at": _plain(row["at"])}
        for row in found.to_arrow().to_pylist()
    ]
    assert in_order(got) == flattened(expected, {"at": "at", "p": "p"})


def _plain(value: Any) -> Any:
    return value.to_pydatetime() if isinstance(value, pd.Timestamp) else value


@pytest.mark.parametrize("kinds", [("int32", "int64"), ("uint64", "int8"), ("int64", "int64")])
def test_clocks_that_are_numbers(kinds):
    left = pd.DataFrame({"k": ["a"] * 3, "t": pd.Series([1, 5, 100], dtype=kinds[0])})
    right = pd.DataFrame(
        {"k": ["a"] * 3, "t": pd.Series([1, 2, 90], dtype=kinds[1]), "p": [1, 2, 9]}
    )
    found = tidelake.asof_join(left, right, on="k", left_time="t", right_time="t", tolerance=3)
    assert sorted(found.to_arrow().column("p").to_pylist(), key=str) == [1, 2, None]
    near = tidelake.asof_join(left, right, "k", "t", "t", tolerance=10, direction="nearest")
    assert sorted(near.to_arrow().column("p").to_pylist(), key=str) == [1, 2, 9]


def test_numbers_at_the_end_of_their_range_have_a_distance():
    left = [{"k": 1, "t": 2**63 - 1}]
    right = [{"k": 1, "t": -(2**63) + 1, "p": 1}]
    assert rows(tidelake.asof_join(left, right, "k", "t", "t", tolerance=5))[0]["p"] is None
    assert rows(tidelake.asof_join(left, right, "k", "t", "t", direction="nearest"))[0]["p"] == 1


@pytest.mark.parametrize(
    ("mine", "theirs", "met"),
    [
        (pa.int32(), pa.int64(), True),
        (pa.int64(), pa.float64(), True),
        (pa.uint64(), pa.int8(), True),
        (pa.decimal128(9, 2), pa.int64(), True),
        (pa.string(), pa.large_string(), True),
        (pa.string(), pa.int64(), False),
        (pa.bool_(), pa.int64(), False),
    ],
)
def test_keys_of_other_types_meet_if_they_can_be_equal(mine, theirs, met):
    value = "1" if pa.types.is_string(mine) else mine == pa.bool_() or 1
    other = "1" if pa.types.is_large_string(theirs) else 1
    left = pa.table({"k": pa.array([value], mine), "t": [5]})
    right = pa.table({"k": pa.array([other], theirs), "t": [3], "p": [7]})
    join = tidelake.asof_join(left, right, "k", "t", "t")
    if met:
        assert join.to_arrow().column("p").to_pylist() == [7]
        assert join.to_arrow().schema.field("k").type == pa.table(left).schema.field("k").type
    else:
        with pytest.raises(Invalid, match="never equal"):
            join.to_arrow()


def rows(join: Any) -> list[Row]:
    return join.to_arrow().to_pylist()


@pytest.fixture
def lake(tmp_path):
    with tidelake.connect(f"sqlite:///{tmp_path}/lake.db") as lake:
        yield lake


@pytest.fixture
def prices(lake):
    return lake.create_table(
        "prices",
        "symbol VARCHAR NOT NULL, ts TIMESTAMP NOT NULL, price DOUBLE, gone BOOLEAN",
        key=["symbol"],
        event_time="ts",
        tombstone="gone",
    )


def price(symbol: str, minutes: float, value: float | None, gone: bool | None = False) -> Row:
    return {"symbol": symbol, "ts": at(minutes), "price": value, "gone": gone}


def trade(symbol: str | None, minutes: float | None, **more: Any) -> Row:
    return {"symbol": symbol, "ts": None if minutes is None else at(minutes), **more}


def found_prices(join: Any) -> list[float | None]:
    return [row["price"] for row in sorted(rows(join), key=lambda row: (row["symbol"], row["ts"]))]


def test_a_table_knows_its_key_and_its_time(prices):
    prices.append([price("A", 1, 1.0), price("A", 3, 3.0)])
    join = tidelake.asof_join([trade("A", 0), trade("A", 2), trade("A", 3)], prices, left_time="ts")
    assert found_prices(join) == [None, 1.0, 3.0]
    assert join.to_arrow().column_names == ["symbol", "ts", "ts_right", "price"]


def test_a_tombstone_ends_the_key_and_hides_what_was_before(prices):
    prices.append([price("A", 1, 1.0), price("A", 3, 3.0, gone=True), price("A", 5, 5.0)])
    left = [trade("A", n) for n in (2, 3, 4, 5)]
    assert found_prices(tidelake.asof_join(left, prices, left_time="ts")) == [1.0, None, None, 5.0]
    near = tidelake.asof_join(left, prices, left_time="ts", direction="nearest")
    assert found_prices(near) == [1.0, None, None, 5.0]
    narrow = prices.scan(columns=["symbol", "ts", "price"])
    assert found_prices(tidelake.asof_join(left, narrow, left_time="ts")) == [1.0, None, None, 5.0]


def test_of_facts_at_one_time_the_last_to_come_is_found(prices):
    prices.append([price("A", 1, 1.0)])
    prices.append([price("A", 1, 2.0)])
    prices.append([price("A", 2, 9.0), price("A", 1, 3.0)])
    left = [trade("A", 1), trade("A", 1.5)]
    assert found_prices(tidelake.asof_join(left, prices, left_time="ts")) == [3.0, 3.0]
    prices.compact()
    assert found_prices(tidelake.asof_join(left, prices, left_time="ts")) == [3.0, 3.0]
    forward = tidelake.asof_join([trade("A", 0)], prices, left_time="ts", direction="forward")
    assert found_prices(forward) == [3.0]


def test_what_was_found_of_ties_is_not_believed_of_later_snapshots(prices):
    prices.append([price("A", 1, 1.0)])
    join = tidelake.asof_join([trade("A", 1)], prices, left_time="ts")
    assert found_prices(join) == [1.0]
    for value in (2.0, 3.0, 4.0):
        prices.append([price("A", 1, value)])
        assert found_prices(join) == [value]


def test_the_right_side_as_it_was_known(lake, prices):
    first = prices.append([price("A", 1, 1.0)]).snapshot_id
    lake.tag("friday")
    prices.append([price("A", 1, 2.0)])
    left = [trade("A", 1)]
    for moment in (first, "friday", lake.snapshots()[first].time):
        join = tidelake.asof_join(left, prices, left_time="ts", known_at=moment)
        assert found_prices(join) == [1.0]
    assert found_prices(tidelake.asof_join(left, prices.known_at(first), left_time="ts")) == [1.0]
    scan = prices.scan(columns=["symbol", "ts", "price"])
    assert found_prices(tidelake.asof_join(left, scan, left_time="ts", known_at=first)) == [1.0]


def test_a_column_wins_over_a_tag_of_its_name(lake, prices):
    first = prices.append([price("A", 1, 1.0)]).snapshot_id
    lake.tag("seen")
    second = prices.append([price("A", 1, 2.0)]).snapshot_id
    left = [trade("A", 1, seen=second), trade("A", 1, seen=first)]
    join = tidelake.asof_join(left, prices, left_time="ts", known_at="seen")
    assert {row["seen"]: row["price"] for row in rows(join)} == {first: 1.0, second: 2.0}


def test_sides_of_every_kind(lake, prices):
    prices.append([price("A", 1, 1.0), price("A", 3, 3.0)])
    trades = lake.create_table("trades", "symbol VARCHAR, ts TIMESTAMP, size INTEGER")
    trades.append([trade("A", 2, size=5)])
    lefts = [
        trades,
        trades.scan(where="size > 1"),
        lake.sql("SELECT * FROM trades"),
        lake.sql("SELECT * FROM trades WHERE symbol <> ?", ["it's"]),
        trades.to_pandas(),
        trades.to_polars(),
        trades.to_polars().lazy(),
        trades.to_arrow(),
        trades.to_arrow().to_pylist(),
    ]
    rights = [
        prices,
        prices.scan(),
        lake.sql("SELECT symbol, ts, price FROM prices"),
        prices.to_pandas(),
    ]
    for left in lefts:
        for right in rights:
            join = tidelake.asof_join(left, right, "symbol", "ts", "ts")
            assert found_prices(join) == [1.0], (left, right)
    join = tidelake.asof_join(trades, prices, left_time="ts")
    assert join.to_pandas()["price"].tolist() == [1.0]
    assert join.to_polars()["price"].to_list() == [1.0]
    assert [row["price"] for batch in join.to_batches() for row in batch.to_pylist()] == [1.0]
    assert join.to_duckdb().fetchall()[0][-1] == 1.0
    assert join.count() == 1


def test_a_condition_of_a_scan_chooses_what_is_looked_at(prices):
    prices.append([price("A", 1, 1.0), price("A", 3, 3.0)])
    join = tidelake.asof_join([trade("A", 4)], prices.scan(where="price < 2"), left_time="ts")
    assert found_prices(join) == [1.0]


def test_the_state_as_of_a_moment_can_be_the_right_side(prices):
    prices.append([price("A", 1, 1.0), price("A", 3, 3.0), price("B", 0, 4.0, gone=True)])
    left = [trade("A", 0), trade("A", 5), trade("B", 5)]
    join = tidelake.asof_join(left, prices.as_of(at(2)), left_time="ts")
    assert found_prices(join) == [None, 1.0, None]


def test_a_transaction_joins_with_its_own_writes(lake, prices):
    with lake.transaction() as tx:
        tx.table("prices").append([price("A", 1, 1.0)])
        join = tidelake.asof_join([trade("A", 1)], tx.table("prices"), left_time="ts")
        assert found_prices(join) == [1.0]
        tx.table("prices").append([price("A", 1, 2.0)])
        assert found_prices(join) == [2.0]


def test_two_tables_with_event_times_need_no_names(lake, prices):
    quotes = lake.create_table(
        "quotes", "symbol VARCHAR, seen TIMESTAMP, bid DOUBLE", key="symbol", event_time="seen"
    )
    quotes.append([{"symbol": "A", "seen": at(2), "bid": 7.0}])
    prices.append([price("A", 1, 1.0)])
    assert rows(tidelake.asof_join(quotes, prices)) == [
        {"symbol": "A", "seen": at(2), "bid": 7.0, "ts": at(1), "price": 1.0}
    ]


def test_keys_with_other_names():
    left = [{"id": 1, "kind": "x", "t": 5}]
    right = [{"key": 1, "sort": "x", "t": 4, "p": 1}, {"key": 1, "sort": "y", "t": 5, "p": 2}]
    expected = [{"id": 1, "kind": "x", "t": 5, "t_right": 4, "p": 1}]
    for on in ({"id": "key", "kind": "sort"}, [("id", "key"), ("kind", "sort")]):
        assert rows(tidelake.asof_join(left, right, on, "t", "t")) == expected


def test_names_that_clash_get_a_suffix():
    left = [{"k": 1, "t": 5, "v": 0, "V_then": 0}]
    right = [{"k": 1, "t": 4, "v": 1}]
    assert rows(tidelake.asof_join(left, right, "k", "t", "t")) == [
        {"k": 1, "t": 5, "v": 0, "V_then": 0, "t_right": 4, "v_right": 1}
    ]
    with pytest.raises(Invalid, match="'v_then'"):
        rows(tidelake.asof_join(left, right, "k", "t", "t", suffix="_then"))


def test_odd_names_and_nested_values():
    left = pa.table({'k "0"': [1], "t": [5], "a0": [[1, 2]], "m": [{"x": 9}]})
    right = pa.table({"select": [1], "w": [4], "b0": [{"y": [3]}], "n": ["v"]})
    join = tidelake.asof_join(left, right, {'k "0"': "select"}, "t", "w")
    expected = {
        'k "0"': 1,
        "t": 5,
        "a0": [1, 2],
        "m": {"x": 9},
        "w": 4,
        "b0": {"y": [3]},
        "n": "v",
    }
    assert rows(join) == [expected]


def test_empty_sides(prices):
    assert rows(tidelake.asof_join([trade("A", 1)], prices, left_time="ts"))[0]["price"] is None
    nothing = pa.table(
        {"symbol": pa.array([], pa.string()), "ts": pa.array([], pa.timestamp("us"))}
    )
    prices.append([price("A", 1, 1.0)])
    join = tidelake.asof_join(nothing, prices, left_time="ts")
    assert rows(join) == []
    assert join.count() == 0


LEFT = [{"k": 1, "t": at(1), "n": 1, "f": 1.5}]
RIGHT = [{"k": 1, "t": at(0), "n": 1, "f": 1.5}]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"on": "q"}, "left side has no column 'q'"),
        ({"on": [("k", "q")]}, "right side has no column 'q'"),
        ({"on": []}, "joins by nothing"),
        ({"on": [1]}, "does not name columns"),
        ({"on": [("k", "k", "k")]}, "does not name columns"),
        ({"on": None}, "on is missing"),
        ({"left_time": None}, "left_time is missing"),
        ({"right_time": None}, "right_time is missing"),
        ({"left_time": "q"}, r"no column 'q' \(left_time\)"),
        ({"left_time": "f"}, "is no time"),
        ({"right_time": "n"}, "a time and a number do not compare"),
        ({"direction": "sideways"}, "sideways"),
        ({"tolerance": -1}, "negative"),
        ({"tolerance": 5}, "does not go with times"),
        ({"tolerance": "soon"}, "not a span"),
        ({"tolerance": "1 month"}, "months"),
        ({"tolerance": timedelta(-1)}, "less than nothing"),
        ({"tolerance": 1.5}, "no distance"),
        ({"tolerance": True}, "no distance"),
        ({"suffix": ""}, "no text"),
        ({"known_at": 3}, "only a table of a lake"),
        ({"known_at": "t"}, "right side must be a table"),
        ({"left": None}, "has no rows"),
        ({"left": "rows.parquet"}, "has no rows"),
        ({"left": (row for row in LEFT)}, "again and again"),
        ({"right": pa.Table.from_pylist(RIGHT).to_reader()}, "again and again"),
        ({"right": [{"k": [1], "t": at(0)}]}, "cannot be joined"),
    ],
)
def test_what_makes_no_sense_is_refused(change, message):
    call = {"left": LEFT, "right": RIGHT, "on": "k", "left_time": "t", "right_time": "t", **change}
    with pytest.raises(Invalid, match=message) as refused:
        rows(tidelake.asof_join(**call))
    assert refused.value.hint


def test_a_number_is_no_span_and_a_span_no_number():
    with pytest.raises(Invalid, match="does not go with times of BIGINT"):
        rows(tidelake.asof_join(LEFT, RIGHT, "k", "n", "n", tolerance="5m"))


def test_knowing_row_by_row_takes_the_table_itself(lake, prices):
    prices.append([price("A", 1, 1.0)])
    left = [trade("A", 1, seen=2, word="x")]
    for right in (
        prices.as_of(at(1)),
        prices.scan(where="price > 0"),
        lake.sql("FROM prices"),
    ):
        with pytest.raises(Invalid, match="known_at='seen' is a column"):
            rows(tidelake.asof_join(left, right, "symbol", "ts", "ts", known_at="seen"))
    with pytest.raises(Invalid, match="neither a time nor a snapshot id"):
        rows(tidelake.asof_join(left, prices, left_time="ts", known_at="word"))
    with pytest.raises(NotFound, match="no tag has that name"):
        rows(tidelake.asof_join(left, prices, left_time="ts", known_at="nobody"))


def test_ties_of_many_rows_against_duckdb_and_pandas():
    """Enough rows for DuckDB to sort and merge instead of looping; every third has a twin."""
    chance = random.Random(7)
    left = pd.DataFrame(
        {
            "k": [chance.randrange(20) for _ in range(4000)],
            "t": [chance.randrange(9000) for _ in range(4000)],
        }
    )
    right = pd.DataFrame(
        {
            "k": [chance.randrange(20) for _ in range(6000)],
            "t": [chance.randrange(9000) for _ in range(6000)],
        }
    )
    right["p"] = range(6000)
    last = right.groupby(["k", "t"], as_index=False).last()
    assert len(last) < len(right)
    for direction in ("backward", "forward", "nearest"):
        found = tidelake.asof_join(left, right, "k", "t", "t", direction=direction, tolerance=900)
        expected = pd.merge_asof(
            left.sort_values("t", kind="stable"),
            last.rename(columns={"t": "t_right"}).sort_values("t_right", kind="stable"),
            left_on="t",
            right_on="t_right",
            by="k",
            direction=direction,
            tolerance=900,
        )
        given_rows = zip(expected["k"], expected["t"], expected["p"], strict=True)
        wanted = sorted((k, t, -1 if p != p else int(p)) for k, t, p in given_rows)
        assert (
            sorted((r["k"], r["t"], -1 if r["p"] is None else r["p"]) for r in rows(found))
            == wanted
        )
    for frame in (last, right):
        ours = duckdb.from_arrow(tidelake.asof_join(left, frame, "k", "t", "t").to_arrow())
        by_hand = duckdb.sql(
            'SELECT l.k, l.t, r.t, r.p FROM "left" AS l'
            " ASOF LEFT JOIN last AS r ON l.k = r.k AND l.t >= r.t"
        )
        assert sorted(ours.fetchall(), key=repr) == sorted(by_hand.fetchall(), key=repr)


def test_lakes_on_different_engines_do_not_meet(lake, prices, tmp_path):
    with (
        tidelake.connect(f"sqlite:///{tmp_path}/lake.db", engine="spark") as other,
        pytest.raises(Unsupported, match="local engine"),
    ):
        tidelake.asof_join(prices, other.table("prices"))


def test_reading_joins_writes_nothing(prices, tmp_path):
    prices.append([price("A", 1, 1.0)])
    with tidelake.connect(f"sqlite:///{tmp_path}/lake.db", read_only=True) as lake:
        join = tidelake.asof_join(
            [trade("A", 1, seen=2)], lake.table("prices"), left_time="ts", known_at="seen"
        )
        assert found_prices(join) == [1.0]
        with pytest.raises((Denied, TidelakeError)):
            lake.table("prices").append([price("A", 2, 2.0)])


@pytest.mark.parametrize("direction", ["backward", "forward", "nearest"])
@pytest.mark.parametrize("ties", [False, True])
def test_the_rows_of_a_frame_stay_in_their_order(direction, ties):
    rng = random.Random(7)
    keys = [rng.choice("abcd") for _ in range(20_000)]
    left = pd.DataFrame({"k": keys, "ts": [rng.randrange(99) for _ in keys], "x": range(len(keys))})
    times = [*range(50), *([5] if ties else [])]
    right = [
        {"k": k, "ts": t, "price": n}
        for n, (k, t) in enumerate((k, t) for k in "abc" for t in times)
    ]
    join = tidelake.asof_join(
        left, right, on="k", left_time="ts", right_time="ts", direction=direction
    )
    assert join.to_pandas()["x"].tolist() == left["x"].tolist()
    assert join.to_arrow().column_names == ["k", "ts", "x", "ts_right", "price"]
    assert [n for batch in join.to_batches() for n in batch["x"].to_pylist()] == left["x"].tolist()


@pytest.mark.parametrize("direction", ["backward", "forward", "nearest"])
@pytest.mark.parametrize("ties", [False, True])
def test_zero_keeps_the_sign_that_its_left_row_has(direction, ties):
    left = [{"k": key, "ts": at(5), "x": x} for x, key in enumerate([-0.0, 0.0, -0.0, 1.5])]
    right = [{"k": key, "ts": at(5), "price": 1} for key in (0.0, 1.5)] * (2 if ties else 1)
    join = tidelake.asof_join(left, right, "k", "ts", "ts", direction=direction)
    found = [(str(row["k"]), row["x"], row["price"]) for row in join.to_dicts()]
    assert found == [("-0.0", 0, 1), ("0.0", 1, 1), ("-0.0", 2, 1), ("1.5", 3, 1)]
