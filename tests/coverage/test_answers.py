"""What a table answers about its coverage: of whom, of which range, as of when, known when."""

from datetime import UTC, date, datetime, timedelta, timezone
from uuid import UUID

import pytest

from tidelake import Calendar, Interval
from tidelake.errors import Denied, Invalid, NotFound

DAY = datetime(2024, 1, 1)
PLUS_TWO = timezone(timedelta(hours=2))


def minutes(symbol, *numbers):
    return [{"symbol": symbol, "ts": DAY + timedelta(minutes=n)} for n in numbers]


@pytest.fixture
def t(lake):
    table = lake.create_table(
        "prices", "symbol VARCHAR, ts TIMESTAMP", entity="symbol", event_time="ts", bucket="1m"
    )
    table.append(minutes("a", 0, 1, 2, 5, 6) + minutes("b", 1, 2, 3, 6, 9))
    return table


def times(found):
    return [(each.start - DAY, each.end - DAY) for each in found]


def m(first, end):
    return timedelta(minutes=first), timedelta(minutes=end)


def test_without_bounds_the_range_is_from_the_first_to_the_last(t):
    found = t.coverage()
    assert (found.start, found.end) == (DAY, DAY + timedelta(minutes=10))
    assert (found.covered, found.expected, found.ratio) == (10, 20, 0.5)
    assert found.entities == [("a",), ("b",)]
    own = t.coverage("b")
    assert (own.start, own.end) == (DAY + timedelta(minutes=1), DAY + timedelta(minutes=10))
    assert (own.covered, own.expected) == (5, 9)
    assert times(t.gaps(entity="b")) == [m(4, 6), m(7, 9)]
    assert t.coverage(["a", "b"]).expected == 20


RANGES = [
    ("2024-01-01", "2024-01-01T00:05:00", 0, 5),
    ("2024-01-01T00:00:59.999999", "2024-01-01T00:05:00.000001", 0, 6),
    (DAY + timedelta(seconds=90), DAY + timedelta(seconds=91), 1, 2),
    (datetime(2024, 1, 1, 2, 1, tzinfo=PLUS_TWO), datetime(2024, 1, 1, 0, 3, tzinfo=UTC), 1, 3),
    (date(2023, 12, 31), date(2024, 1, 2), -1440, 1440),
    (None, DAY + timedelta(minutes=4), 0, 4),
    (DAY + timedelta(minutes=4), None, 4, 7),
    (DAY - timedelta(minutes=4), None, -4, 7),
    (DAY + timedelta(minutes=60), DAY + timedelta(minutes=70), 60, 70),
]


def test_a_range_is_of_the_buckets_that_it_touches(t):
    for start, end, first, stop in RANGES:
        found = t.coverage("a", start, end)
        assert (found.start, found.end) == tuple(DAY + each for each in m(first, stop))
        assert found.expected == stop - first
        assert found.covered == len({0, 1, 2, 5, 6} & set(range(first, stop)))
        assert sum(gap.buckets for gap in found.gaps) == found.expected - found.covered


def test_an_empty_range_is_complete_and_a_reversed_one_is_refused(t):
    for moment in (DAY, DAY + timedelta(seconds=30)):
        found = t.coverage("a", moment, moment)
        assert (found.ratio, found.is_complete, found.expected, found.gaps) == (1.0, True, 0, [])
        assert found.start == found.end
    with pytest.raises(Invalid, match=r"start=.* is after end="):
        t.coverage("a", "2024-01-02", "2024-01-01")
    with pytest.raises(Invalid, match="start='soon' is not a time"):
        t.coverage(start="soon")
    with pytest.raises(Invalid, match="end=5 is not a time"):
        t.gaps(end=5)


def test_where_there_is_nothing_nothing_is_complete(lake, t):
    empty = lake.create_table("e", "ts TIMESTAMP", event_time="ts", bucket="1h")
    unknown = t.coverage("nobody")
    late = t.coverage(start="2025-01-01")
    early = t.coverage(end="2023-01-01")
    for found in (empty.coverage(), unknown, late, early, empty.coverage(start=DAY)):
        assert (found.ratio, found.is_complete, found.gaps, found.runs) == (0.0, False, [], [])
        assert (found.start, found.end, found.first, found.longest_gap) == (None,) * 4
        assert found.last_complete_window(1) is None
    bounded = t.coverage("nobody", DAY, DAY + timedelta(minutes=3))
    assert (bounded.ratio, bounded.expected, len(bounded.gaps)) == (0.0, 3, 1)
    assert empty.coverage(start=DAY, end=DAY + timedelta(hours=2)).expected == 2
    assert t.coverage([], DAY, DAY + timedelta(minutes=3)).expected == 0
    assert not t.coverage([], DAY, DAY + timedelta(minutes=3)).is_complete


def test_gaps_of_a_length(t):
    assert times(t.gaps(entity="a")) == [m(3, 5)]
    assert [gap.entity for gap in t.gaps()] == [("a",), ("a",), ("b",), ("b",), ("b",)]
    for length in (3, "3m", timedelta(minutes=3), timedelta(seconds=121)):
        assert times(t.gaps(length)) == [m(7, 10)]
    assert t.coverage().longest_gap == t.gaps(3)[0]
    assert [gap.length for gap in t.gaps("3m")] == [timedelta(minutes=3)]


def test_windows(t):
    assert times([t.last_complete_window(2)]) == [m(1, 3)]
    assert t.last_complete_window(3) is None
    assert times([t.last_complete_window(2, "a")]) == [m(5, 7)]
    assert times([t.last_complete_window(3, "a")]) == [m(0, 3)]
    end = DAY + timedelta(minutes=6)
    assert times([t.last_complete_window(1, "a", end)]) == [m(5, 6)]
    for late in (timedelta(microseconds=1), timedelta(seconds=59)):  # its bucket is not over
        assert times([t.last_complete_window(1, "a", end + late)]) == [m(5, 6)]
    assert times([t.last_complete_window(1, "a", end + timedelta(minutes=1))]) == [m(6, 7)]
    assert t.last_complete_window(1, "a", end="9999-12-31") == t.last_complete_window(1, "a")
    assert t.last_complete_window(1, "a", end=DAY) is None
    assert t.last_complete_window(1, ["a", "nobody"]) is None
    assert t.last_complete_window(1, "a").entity == ("a",)
    assert t.last_complete_window(1).entity is None
    with pytest.raises(Invalid, match="n=0"):
        t.last_complete_window(0)


def test_windows_among_the_expected_are_found_over_nights(t):
    here = Calendar.of(
        [(DAY, DAY + timedelta(minutes=3)), (DAY + timedelta(minutes=5), "2024-01-02")]
    )
    found = t.last_complete_window(5, "a", end="9999-01-01", calendar=here)
    assert found == Interval(DAY, DAY + timedelta(minutes=7), 5, ("a",))
    assert t.last_complete_window(5, "a") is None
    nyse = Calendar.sessions("09:30", "16:00", tz="America/New_York")
    assert t.last_complete_window(1, "a", end="9999-01-01", calendar=nyse) is None


def test_a_calendar_is_the_same_for_every_entity(t):
    even = Calendar.of(
        [(DAY + timedelta(minutes=n), DAY + timedelta(minutes=n + 1)) for n in range(0, 10, 2)]
    )
    found = t.coverage(calendar=even)
    assert (found.covered, found.expected) == (5, 10)
    assert times(t.gaps(entity="a", calendar=even)) == [m(4, 5)]
    assert t.first_covered("b", calendar=even) == DAY + timedelta(minutes=2)
    assert t.last_covered("b", calendar=even) == DAY + timedelta(minutes=6)
    weekend = t.coverage("a", "2024-01-06", "2024-01-08", calendar=Calendar.weekdays())
    assert (weekend.ratio, weekend.is_complete, weekend.expected) == (1.0, True, 0)
    of_b = t.coverage("a", calendar=Calendar.of(t.coverage("b")))
    assert (of_b.covered, of_b.expected) == (3, 4)
    with pytest.raises(Invalid, match="no calendar"):
        t.coverage(calendar="mon-fri")


def test_what_is_missing_of_a_universe(t):
    batches = list(
        t.missing(["a", "zz"], DAY, DAY + timedelta(minutes=7), batch=2, max_length="3m")
    )
    assert [[(entity, *times([each])) for entity, each in batch] for batch in batches] == [
        [(("a",), m(3, 5)), (("zz",), m(0, 3))],
        [(("zz",), m(3, 6)), (("zz",), m(6, 7))],
    ]
    assert list(t.missing("a", DAY, DAY + timedelta(minutes=3))) == []
    assert sum(len(batch) for batch in t.missing()) == len(t.gaps())
    with pytest.raises(Invalid, match="batch=0"):
        t.missing(batch=0)


def test_bounds(t):
    assert t.first_covered() == DAY
    assert t.last_covered() == DAY + timedelta(minutes=9)
    assert t.last_covered("a") == DAY + timedelta(minutes=6)
    assert t.last_covered("a", end=DAY + timedelta(minutes=5)) == DAY + timedelta(minutes=2)
    assert t.first_covered("nobody") is None


ODD = [
    "",
    "a",
    'quo"te',
    "it's",
    "back\\slash",
    "ünïcødé 🌊",
    "nul\x00l",
    "[1]",
    "null",
    "a,b",
    " ",
]


@pytest.mark.parametrize(
    ("kind", "values", "other"),
    [
        ("VARCHAR", [*ODD, None], "x"),
        ("BIGINT", [-(2**63), -1, 0, 2**63 - 1, None], 5),
        ("UBIGINT", [0, 2**64 - 1], 5),
        ("TINYINT", [-128, 127], 5),
        ("DATE", [date(1, 1, 1), date(1969, 12, 31), date(9999, 12, 31), None], date(2024, 1, 1)),
        ("UUID", [UUID(int=0), UUID(int=2**128 - 1), UUID(int=2**127), None], UUID(int=5)),
    ],
)
def test_entities_of_every_type(lake, kind, values, other):
    t = lake.create_table(
        "e", f"id {kind}, ts TIMESTAMP", entity="id", event_time="ts", bucket="1h"
    )
    t.append([{"id": value, "ts": DAY + timedelta(hours=n)} for n, value in enumerate(values)])
    found = t.coverage()
    empty = [(None,)] if None in values else []
    assert found.entities == empty + sorted((value,) for value in values if value is not None)
    for n, value in enumerate(values):
        start = DAY + timedelta(hours=n)
        assert found.each[(value,)].runs == [
            Interval(start, start + timedelta(hours=1), 1, (value,))
        ]
        assert t.coverage([value]).first == start
        assert t.coverage({"ID": value}).first == start
        assert t.coverage((value,)).first == start
        if value is not None:
            assert t.coverage(value).first == start
    assert t.coverage(other).first is None
    with pytest.raises(Invalid, match="entity column 'id'"):
        t.coverage(1.5)


def test_dates_and_uuids_may_be_given_as_text(lake):
    t = lake.create_table(
        "e", "d DATE, u UUID, ts TIMESTAMP", entity=["d", "u"], event_time="ts", bucket="1h"
    )
    t.append([{"d": DAY.date(), "u": UUID(int=7), "ts": DAY}])
    assert t.coverage(("2024-01-01", str(UUID(int=7)))).covered == 1
    for wrong in (("soon", UUID(int=7)), (DAY, UUID(int=7)), ("2024-01-01", "7")):
        with pytest.raises(Invalid, match="entity column"):
            t.coverage(wrong)


def test_entities_of_several_columns(lake):
    t = lake.create_table(
        "e",
        "a VARCHAR, b INTEGER, ts TIMESTAMP",
        entity=["b", "a"],
        event_time="ts",
        bucket="1h",
    )
    rows = [("x", 10), ("x", 9), ("y", None), (None, 9)]
    t.append([{"a": a, "b": b, "ts": DAY} for a, b in rows])
    assert t.coverage().entities == [(None, "y"), (9, None), (9, "x"), (10, "x")]
    assert t.coverage((9, "x")).covered == 1
    assert t.coverage({"A": "x", "B": 9}).covered == 1
    assert t.coverage([(9, "x"), {"b": 10, "a": "x"}, (1, "x")]).entities == [
        (9, "x"),
        (10, "x"),
        (1, "x"),
    ]
    for wrong in ("x", (9,), {"a": "x"}, {"a": "x", "c": 9}, ("x", 9)):
        with pytest.raises(Invalid):
            t.coverage(wrong)


def clock(lake, kind, bucket, values, name="c"):
    t = lake.create_table(name, f"ts {kind}", event_time="ts", bucket=bucket)
    t.append([{"ts": value} for value in values])
    return t


def test_a_table_without_entities_has_one_without_a_name(lake):
    t = clock(lake, "TIMESTAMP", "1h", [DAY, DAY + timedelta(hours=2)])
    assert t.coverage().entities == [()]
    assert t.coverage().each[()].gaps == t.gaps()
    assert t.coverage(()).gaps == t.gaps()
    assert [entity for batch in t.missing() for entity, _ in batch] == [()]
    with pytest.raises(Invalid, match="without entity columns"):
        t.coverage("a")


def test_times_with_a_zone_come_back_in_utc(lake):
    t = clock(lake, "TIMESTAMPTZ", "1h", [DAY.replace(tzinfo=UTC), DAY.replace(tzinfo=PLUS_TWO)])
    gap = Interval(datetime(2023, 12, 31, 23, tzinfo=UTC), datetime(2024, 1, 1, tzinfo=UTC), 1, ())
    assert t.gaps() == [gap]
    assert t.gaps(start="2023-12-31T23:00:00", end=DAY) == [gap]


def test_dates_and_months_and_long_ago(lake):
    days = clock(lake, "DATE", "1d", [date(1, 1, 1), date(1969, 12, 31), date(9999, 12, 31)], "d")
    found = days.coverage()
    assert (found.start, found.expected) == (date(1, 1, 1), 3_652_059)
    assert found.gaps[0] == Interval(date(1, 1, 2), date(1969, 12, 31), 719_160, ())
    assert days.coverage(start=datetime(1969, 12, 30, 12), end=date(1970, 1, 1)).ratio == 0.5
    assert days.coverage(start="0001-01-01", end="9999-12-31T12:00:00").expected == 3_652_059
    months = clock(lake, "TIMESTAMP", "1mo", [datetime(1969, 2, 28, 23), datetime(1970, 1, 1)], "m")
    assert months.gaps() == [Interval(datetime(1969, 3, 1), datetime(1970, 1, 1), 10, ())]
    assert months.gaps("1y") == []
    assert months.coverage(start="0001-01-01", end="0001-01-01").is_complete
    assert months.coverage(start="0001-01-01", end="9999-12-31").expected == 9999 * 12


def test_all_of_history_in_milliseconds(lake):
    t = clock(lake, "TIMESTAMP", "1ms", [datetime(1, 1, 1), DAY, datetime.max])
    found = t.coverage(start="0001-01-01", end=datetime.max)
    assert found.expected == 315_537_897_600_000
    assert [gap.buckets + 1 for gap in found.gaps] == [63_839_664_000_000, 251_698_233_600_000 - 1]
    assert t.coverage(start="1000-01-01", end="3000-01-01").covered == 1
    assert t.last_complete_window(1, end="9999-01-01").start == DAY


def test_clocks_that_count(lake):
    last = 2**64 - 1
    t = clock(lake, "UBIGINT", 1, [0, last - 1, last], "u")
    assert t.gaps() == [Interval(1, last - 1, last - 2, ())]
    assert t.coverage(start=last - 5, end=last + 1).ratio == 2 / 6
    assert t.last_complete_window(2) == Interval(last - 1, last + 1, 2, ())
    with pytest.raises(Invalid, match="beyond what 'ts' can hold"):
        t.coverage(start=-1)
    with pytest.raises(Invalid, match="beyond what 'ts' can hold"):
        t.coverage(end=last + 2)
    with pytest.raises(Invalid, match="not a value of 'ts'"):
        t.coverage(start=DAY)
    signed = clock(lake, "BIGINT", 10, [-(2**63), -1, 0, 25, 2**63 - 1], "s")
    assert signed.coverage(start=-15, end=21).runs == [
        Interval(-10, 10, 2, ()),
        Interval(20, 30, 1, ()),
    ]
    assert signed.coverage().covered == 5
    assert signed.gaps(10**6)[0].start == -(2**63) // 10 * 10 + 10


def test_tables_together(lake, t):
    other = clock(
        lake,
        "TIMESTAMPTZ",
        "1m",
        [(DAY + timedelta(minutes=n)).replace(tzinfo=UTC) for n in (2, 3, 5, 6)],
    )
    both = t.coverage() & other.coverage()
    assert times(both.all.runs) == [m(2, 3), m(6, 7)]
    assert (both.start, both.end) == tuple(DAY + each for each in m(2, 7))
    assert times([both.each[("a",)].last_complete_window(2)]) == [m(5, 7)]
    assert (other.coverage() - t.coverage().any).covered == 0
    trades = clock(lake, "TIMESTAMP", "5m", [DAY], "wide")
    with pytest.raises(Invalid, match=r"buckets of 1m .* buckets of 5m"):
        t.coverage() | trades.coverage()


def test_what_came_late(t):
    first = t.append(minutes("a", 3) + minutes("c", 9)).snapshot_id
    t.append(minutes("a", 3, 4) + minutes("d", 8))
    t.delete("symbol = 'b' AND ts < '2024-01-01 00:02:00'")
    late = t.coverage().diff(known_at=first)
    assert [(run.entity, *times([run])) for run in late.runs] == [
        (("a",), m(4, 5)),
        (("d",), m(8, 9)),
    ]
    assert late.expected == t.coverage().expected
    whole = t.coverage("a", DAY, DAY + timedelta(minutes=6)).diff(first - 1)
    assert (times(whole.runs), whole.expected) == ([m(3, 5)], 6)
    odd = Calendar.of(
        [(DAY + timedelta(minutes=n), DAY + timedelta(minutes=n + 1)) for n in (3, 5)]
    )
    assert times(t.coverage("a", calendar=odd).diff(first - 1).runs) == [m(3, 4)]
    assert t.coverage().all.diff(first).covered == 0
    assert t.coverage(["a", "b"]).any.diff(first).covered == 1
    assert t.coverage().each[("d",)].diff(first).covered == 1
    assert t.coverage(known_at=first).diff(first).covered == 0
    assert (t.coverage("a") & t.coverage().any).diff(first).covered == 1


def test_what_came_late_to_a_table_that_was_not_there_or_another(lake, t):
    before = t.snapshots()[0].snapshot_id - 1
    assert t.coverage().diff(before).covered == 10
    with pytest.raises(NotFound):
        t.coverage().diff(known_at=99)
    known = lake.snapshots()[-1].snapshot_id
    t.drop()
    again = lake.create_table(
        "prices", "symbol VARCHAR, ts TIMESTAMP", entity="symbol", event_time="ts", bucket="1m"
    )
    again.append(minutes("a", 0))
    assert again.coverage().diff(known).covered == 1


def test_what_came_late_is_counted_as_the_series_counts_now(lake):
    t = lake.create_table("p", "symbol VARCHAR, ts TIMESTAMP")
    bare = t.append(minutes("a", 0, 1, 2)).snapshot_id
    hourly = t.set_coverage("1h", event_time="ts").snapshot_id
    t.evolve(rename={"ts": "time"})
    t.set_coverage("1m", entity="symbol", event_time="time")
    rows = minutes("a", 2, 3)
    t.append([{"symbol": row["symbol"], "time": row["ts"]} for row in rows])
    for known in (bare, hourly):
        assert times(t.coverage().diff(known).runs) == [m(3, 4)]
    t.overwrite([{"symbol": "a", "time": DAY + timedelta(minutes=9)}])
    assert times(t.coverage().diff(bare).runs) == [m(9, 10)]
    t.evolve(add={"venue": "VARCHAR"})
    t.set_coverage("1m", entity=["symbol", "venue"])
    assert t.coverage().entities == [("a", None)]
    assert times(t.coverage().diff(bare).runs) == [m(9, 10)]


def test_what_came_late_to_a_date_that_became_a_time(lake):
    t = lake.create_table("p", "d DATE", event_time="d", bucket="1d")
    known = t.append([{"d": date(2024, 1, 1)}, {"d": date(2024, 1, 3)}]).snapshot_id
    t.evolve(widen={"d": "TIMESTAMP"})
    t.set_coverage("1h", event_time="d")
    t.append([{"d": datetime(2024, 1, 1, 5)}])
    assert times(t.coverage().diff(known).runs) == [m(300, 360)]
    t.overwrite([{"d": datetime(2024, 1, 3, n)} for n in (0, 5)])
    late = t.coverage().diff(known)
    assert [run.start for run in late.runs] == [datetime(2024, 1, 3, 5)]


def test_a_renamed_table_remembers_what_it_was(lake, t):
    known = lake.snapshots()[-1].snapshot_id
    lake.rename("prices", "quotes")
    lake.table("quotes").append(minutes("a", 4))
    assert times(lake.table("quotes").coverage().diff(known).runs) == [m(4, 5)]


def test_the_past_as_it_was_known(lake, t):
    known = lake.snapshots()[-1].snapshot_id
    t.append(minutes("a", 3, 4))
    assert t.coverage("a").is_complete
    for asked in (t.coverage("a", known_at=known), t.known_at(known).coverage("a")):
        assert times(asked.gaps) == [m(3, 5)]
    assert times(t.gaps(entity="a", known_at=known)) == [m(3, 5)]
    assert times([t.last_complete_window(3, "a", known_at=known)]) == [m(0, 3)]
    assert t.first_covered("c", known_at=known) is None
    assert len(next(t.missing("a", known_at=known))) == 1
    with pytest.raises(NotFound):
        t.coverage(known_at=99)
    with pytest.raises(Denied):
        lake.known_at(known).table("prices").coverage().diff(known + 1)
    with pytest.raises(Invalid, match="not kept"):
        lake.create_table("plain", "ts TIMESTAMP").coverage()


@pytest.fixture
def facts(lake):
    t = lake.create_table(
        "facts",
        "id VARCHAR, ts TIMESTAMP, v INTEGER",
        key="id",
        event_time="ts",
        entity="id",
        bucket="1h",
    )
    t.append([{"id": "a", "ts": DAY + timedelta(hours=n), "v": n} for n in (0, 1, 4)])
    return t


def test_was_the_answer_complete(facts):
    known = facts.snapshots()[-1].snapshot_id
    at = DAY + timedelta(hours=2, minutes=30)
    found = facts.as_of(at).coverage()
    assert (found.start, found.end) == (DAY, DAY + timedelta(hours=3))
    assert (found.covered, found.expected, found.is_complete) == (2, 3, False)
    assert facts.as_of(DAY + timedelta(hours=2)).coverage().expected == 3
    assert facts.as_of(DAY + timedelta(hours=1, minutes=59)).coverage().is_complete
    assert facts.as_of(at).coverage(end="2025-01-01").expected == 3
    assert facts.as_of(at).coverage(end=DAY + timedelta(hours=2)).expected == 2
    assert facts.as_of(at).last_covered() == DAY + timedelta(hours=1)
    assert facts.as_of(at).last_complete_window(1).start == DAY + timedelta(hours=1)
    assert facts.as_of(at).gaps()[0].start == DAY + timedelta(hours=2)
    assert not facts.as_of("2023-01-01").coverage().is_complete
    with pytest.raises(Invalid, match="as of which is asked"):
        facts.as_of(at).coverage(start=DAY + timedelta(hours=3))
    facts.append([{"id": "a", "ts": DAY + timedelta(hours=2), "v": 2}])
    assert facts.as_of(at).coverage().is_complete
    assert not facts.as_of(at).known_at(known).coverage().is_complete
    assert not facts.known_at(known).as_of(at).coverage().is_complete
    assert facts.as_of(at).coverage().diff(known).covered == 1


def test_a_transaction_sees_what_it_does(lake, t):
    known = lake.snapshots()[-1].snapshot_id
    with lake.transaction() as tx:
        mine = tx.table("prices")
        mine.append(minutes("a", 3, 4))
        mine.delete("symbol = 'b'")
        assert mine.coverage().is_complete
        assert mine.coverage().entities == [("a",)]
        assert times(mine.coverage().diff(known).runs) == [m(3, 5)]
        assert times([mine.last_complete_window(7)]) == [m(0, 7)]
        assert t.coverage().entities == [("a",), ("b",)]
        new = tx.create_table("n", "ts TIMESTAMP", event_time="ts", bucket="1m")
        new.append([{"ts": DAY}])
        assert new.coverage().is_complete
        assert new.coverage().diff(known).covered == 1
    assert t.coverage().is_complete
