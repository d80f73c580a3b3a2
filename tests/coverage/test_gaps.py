"""The arithmetic of gaps, runs and windows, against plain sets of buckets."""

from datetime import UTC, date, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.coverage.naive import Naive, do_not_touch, series, stretches, told, window
from tidelake.coverage.answer import Coverage
from tidelake.coverage.question import Question, _range
from tidelake.coverage.values.bitmaps import Buckets, runs, within
from tidelake.coverage.values.clock import COUNT
from tidelake.coverage.values.extent import Extent
from tidelake.coverage.values.interval import Interval, Range
from tidelake.errors import Invalid

HALF, WHOLE = 1 << 63, 1 << 64
PLACES = [
    (series("timestamp", "1m", "varchar"), HALF),
    (series("timestamptz", "1ms", "varchar"), HALF - 10),
    (series("timestamp", "15m", "varchar"), HALF - 30_000_000),
    (series("date", "1d", "varchar"), HALF - 719_162),
    (series("timestamp", "1m", "varchar"), HALF + 4_223_371_680 - 40),
    (series("timestamp", "1mo", "varchar"), HALF + 96_360 - 40),
    (series("timestamp", "1w", "varchar"), HALF - 3),
    (series("timestamp", "1mo", "varchar"), HALF - 20),
    (series("int64", 7, "varchar"), HALF - 20),
    (series("uint64", 1, "varchar"), 0),
    (series("uint64", 1, "varchar"), WHOLE - 40),
    (series("int64", 1, "varchar"), 0),
]
"""Clocks, and a place on each from where on forty buckets are looked at: around 1970 and long
before it, in the years 1 and 9999, and at both ends of integers."""
SIZE = 40


@st.composite
def asked(draw):
    which, origin = draw(st.sampled_from(PLACES))
    first = draw(st.integers(0, SIZE))
    end = draw(st.integers(first, SIZE))
    some = st.sets(st.integers(first, max(first, end - 1)) if first < end else st.nothing())
    rule = draw(some) if draw(st.booleans()) else None
    allowed = set(range(first, end)) if rule is None else rule
    names = draw(st.lists(st.sampled_from("abc"), unique=True, max_size=3))
    ids = {(name,): {origin + n for n in draw(some) if n in allowed} for name in names}
    moved = None if rule is None else frozenset(origin + n for n in rule)
    return which, Naive(ids, origin + first, origin + end, moved)


@given(asked())
def test_numbers_gaps_and_runs_are_those_of_the_sets(case):
    of, naive = case
    found = naive.coverage(of)
    missing = {entity: stretches(naive.expected - ids) for entity, ids in naive.ids.items()}
    there = {entity: stretches(ids) for entity, ids in naive.ids.items()}

    assert found.covered == sum(len(ids) for ids in naive.ids.values())
    assert found.expected == len(naive.expected) * len(naive.ids)
    assert told(of, found.gaps) == [(e, *each) for e, listed in missing.items() for each in listed]
    assert told(of, found.runs) == [(e, *each) for e, listed in there.items() for each in listed]
    assert do_not_touch(found.gaps)
    assert do_not_touch(found.runs)
    assert found.is_complete is (not found.gaps and (bool(naive.ids) or not naive.expected))
    if found.expected:
        assert found.ratio == found.covered / found.expected
    longest = max((b - a for listed in missing.values() for a, b in listed), default=None)
    assert (found.longest_gap and found.longest_gap.buckets) == longest


def start_of(of, bucket):
    return of.moment(of.clock.number_of(bucket))


@given(asked())
def test_all_any_and_each_are_those_of_the_sets(case):
    of, naive = case
    found = naive.coverage(of)
    sets = list(naive.ids.values())
    every = set.intersection(*sets) if sets else set()
    assert told(of, found.all.runs) == [(None, *each) for each in stretches(every)]
    assert told(of, found.any.runs) == [(None, *each) for each in stretches(set().union(*sets))]
    assert found.all.expected == len(naive.expected)
    assert [each.covered for each in found.each.values()] == [len(ids) for ids in sets]
    assert list(found.each) == found.entities == list(naive.ids)
    firsts = [min(ids) for ids in sets if ids]
    lasts = [max(ids) for ids in sets if ids]
    assert found.first == (start_of(of, min(firsts)) if firsts else None)
    assert found.last == (start_of(of, max(lasts)) if lasts else None)


@given(asked(), st.integers(1, 12))
def test_the_last_complete_window_is_found_as_by_looking_everywhere(case, count):
    of, naive = case
    found = naive.coverage(of).last_complete_window(count)
    sets = list(naive.ids.values())
    wanted = window(set.intersection(*sets) if sets else set(), naive.expected, count)
    if wanted is None:
        assert found is None
        return
    assert found is not None
    assert [each[1:] for each in told(of, [found])] == [wanted]
    assert found.buckets == count
    assert found.entity == (next(iter(naive.ids)) if len(naive.ids) == 1 else None)


@given(asked(), st.integers(1, 4), st.integers(1, 5))
def test_work_to_do_is_all_that_is_missing_once_in_small_pieces(case, batch, most):
    of, naive = case
    batches = list(naive.coverage(of).missing(batch, most))
    assert all(len(each) == batch for each in batches[:-1])
    assert all(1 <= len(each) <= batch for each in batches[-1:])
    work = [item for each in batches for item in each]
    assert all(entity == found.entity and 1 <= found.buckets <= most for entity, found in work)
    listed = [
        (entity, bucket)
        for entity, first, end in told(of, [found for _, found in work])
        for bucket in range(first, end)
    ]
    assert len(listed) == len(set(listed))
    wanted = {(e, bucket) for e, ids in naive.ids.items() for bucket in naive.expected - ids}
    assert set(listed) == wanted


@given(asked(), st.integers(0, 6))
def test_short_gaps_are_left_out(case, least):
    of, naive = case
    found = naive.coverage(of)
    assert found.gaps_of(least) == [gap for gap in found.gaps if gap.buckets >= least]


CLOCKS = [
    ("timestamp", "1m", 60 * 10**9),
    ("timestamptz", "7m", 60 * 10**9),
    ("date", "1w", 86_400 * 10**9),
    ("timestamp", "1mo", 86_400 * 10**9),
    ("timestamp", "7mo", 86_400 * 10**9),
    ("int64", 1, 1),
    ("int64", 7, 1),
]


@given(
    st.sampled_from(CLOCKS), st.integers(-90, 90), st.integers(0, 90), st.sampled_from([0, 1, 5])
)
def test_a_range_is_of_the_buckets_that_it_touches(kind, start, length, odd):
    """By looking at every bucket near, whether any part of it is in the range."""
    of, unit = series(*kind[:2]), kind[2]
    odd = 0 if unit == 1 else odd * 1000
    begin, stop = start * unit + odd, (start + length) * unit
    if begin > stop:
        return
    given = [shown(of, begin), shown(of, stop)]
    found = _range(of, [], Question(start=given[0], end=given[1]))
    clock = of.clock
    near = range(clock.number(begin) - 2, clock.number(stop) + 3)
    touched = [n for n in near if max(clock.start(n), begin) < min(clock.start(n + 1), stop)]
    assert [clock.number_of(bucket) for bucket in range(found.first, found.end)] == touched


def shown(of, position):
    if of.clock.kind == COUNT:
        return position
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=position // 1000)


@given(st.sets(st.integers(0, SIZE)), st.sampled_from([0, HALF, WHOLE - SIZE - 1]), st.data())
def test_a_part_of_a_bitmap(numbers, origin, data):
    ids = {origin + n for n in numbers}
    first = data.draw(st.integers(origin, min(origin + SIZE + 1, WHOLE)))
    end = data.draw(st.integers(origin, min(origin + SIZE + 1, WHOLE)))
    assert set(within(Buckets(ids), first, end)) == {n for n in ids if first <= n < end}
    assert runs(Buckets(ids)) == stretches(ids)


@pytest.mark.parametrize(
    ("bucket", "length", "least", "most"),
    [
        ("1m", 3, 3, 3),
        ("1m", "15m", 15, 15),
        ("1m", timedelta(hours=1), 60, 60),
        ("15m", "20m", 2, 1),
        ("15m", timedelta(minutes=31), 3, 2),
        ("1h", "1d", 24, 24),
        ("1d", "2w", 14, 14),
        ("1w", "10d", 2, 1),
        ("1mo", "1y", 12, 12),
        ("3mo", "7mo", 3, 2),
    ],
)
def test_lengths_are_told_in_buckets(bucket, length, least, most):
    of = series("timestamp", bucket)
    whole = Coverage(of, Extent({(): Buckets()}, Range(HALF, HALF + 100)))
    gaps = [
        Extent({(): Buckets([HALF + n])}, Range(HALF, HALF + n + 1)) for n in (least, least - 1)
    ]
    assert [len(Coverage(of, each).gaps_of(length)) for each in gaps] == [1, 0]
    assert next(whole.missing(1, length))[0][1].buckets == most


@pytest.mark.parametrize(
    ("kind", "bucket", "length"),
    [
        ("timestamp", "1m", "soon"),
        ("timestamp", "1m", 1.5),
        ("timestamp", "1m", True),
        ("timestamp", "1m", -1),
        ("timestamp", "1m", timedelta(minutes=-1)),
        ("timestamp", "1m", "1mo"),
        ("timestamp", "1mo", timedelta(days=30)),
        ("timestamp", "1mo", "30d"),
        ("int64", 10, "15m"),
        ("int64", 10, timedelta(minutes=1)),
    ],
)
def test_what_is_no_length_here_is_refused(kind, bucket, length):
    found = Coverage(series(kind, bucket), Extent({(): Buckets()}, Range(HALF, HALF + 9)))
    with pytest.raises(Invalid, match="min_length=") as refused:
        found.gaps_of(length)
    assert refused.value.hint
    with pytest.raises(Invalid, match="max_length="):
        found.missing(max_length=length)


def test_a_bucket_cannot_be_divided():
    found = Coverage(series("timestamp", "1h"), Extent({(): Buckets()}, Range(HALF, HALF + 9)))
    with pytest.raises(Invalid, match="shorter than a bucket, which is 1h"):
        found.missing(max_length="30m")
    for batch in (0, -1, True, "10"):
        with pytest.raises(Invalid, match="batch="):
            found.missing(batch=batch)
    assert found.last_complete_window(np.int64(1)) is None
    for n in (0, -1, True, 1.0, None, np.True_):
        with pytest.raises(Invalid, match="n="):
            found.last_complete_window(n)


def test_all_of_history_in_milliseconds_takes_no_time():
    of = series("timestamp", "1ms")
    ids = [
        of.clock.id(of.clock.number(of.position(each, "at")))
        for each in (
            "0001-01-01",
            "1969-12-31T23:59:59.999",
            "1970-01-01",
            "9999-12-31T23:59:59.999",
        )
    ]
    found = Coverage(of, Extent({(): Buckets(ids)}, Range(ids[0], ids[-1] + 1)))
    other = Coverage(of, Extent({(): Buckets(ids[:1])}, Range(ids[0], ids[1])))
    assert found.covered == 4
    assert found.expected == 315_537_897_600_000
    assert [gap.buckets for gap in found.gaps] == [ids[1] - ids[0] - 1, ids[3] - ids[2] - 1]
    assert found.longest_gap == found.gaps[1]
    assert found.last_complete_window(2) == Interval(
        datetime(1969, 12, 31, 23, 59, 59, 999_000), datetime(1970, 1, 1, 0, 0, 0, 1000), 2, ()
    )
    assert found.last_complete_window(10**30) is None
    assert len(next(found.missing(1000, 3))) == 1000
    assert [(found & other).covered, (found | other).covered, (found - other).covered] == [1, 4, 3]
    assert (found | other).expected == found.expected
    assert len(within(Buckets(ids), ids[1], ids[3])) == 2


def of_type(kind, bucket):
    return Coverage(series(kind, bucket), Extent({(): Buckets([HALF])}, Range(HALF, HALF + 1)))


def test_moments_are_values_of_the_column():
    assert of_type("timestamp", "1d").first == datetime(1970, 1, 1)
    assert of_type("timestamp_ns", "1d").start == datetime(1970, 1, 1)
    assert of_type("timestamptz", "1d").end == datetime(1970, 1, 2, tzinfo=UTC)
    found = of_type("date", "1mo")
    assert (type(found.start), found.end) == (date, date(1970, 2, 1))
    assert found.runs[0].length == timedelta(days=31)
    assert of_type("int32", 10).runs == [Interval(0, 10, 1, ())]
    assert of_type("int32", 10).runs[0].length == 10
    assert [of_type("int32", 10).bucket, found.bucket] == [10, "1mo"]


def test_an_interval_is_read_as_it_is_written():
    gap = Interval(date(2024, 1, 1), date(2024, 1, 3), 2, ("a", 1))
    assert str(gap) == "2024-01-01 to 2024-01-03 of a, 1, 2 buckets"
    assert str(Interval(5, 6, 1)) == "5 to 6, 1 bucket"


def test_it_says_what_it_is():
    of = series("timestamp", "1h", "varchar")
    ids = {("a",): Buckets([HALF]), ("b",): Buckets()}
    text = repr(Coverage(of, Extent(ids, Range(HALF, HALF + 2)), table="t"))
    assert text.startswith("<Coverage t: 2 entities, 1970-01-01")
    assert "25.0 % of 4 buckets of 1h, 2 gaps" in text


NARROW = (series("timestamp_ns", "1500 nanoseconds", "varchar"), HALF - 20)


@pytest.mark.parametrize(("told_by", "origin"), [*PLACES, NARROW])
def test_many_moments_are_those_of_each(told_by, origin):
    """Also where buckets are no whole microseconds, and where Python's calendar ends."""
    bounds = [origin + step for step in (0, 1, 3, 4, 11, SIZE - 1)]
    numbers = [told_by.clock.number_of(bound) for bound in bounds]
    lengths = [step + 1 for step in range(len(bounds))]
    ends = [first + length for first, length in zip(bounds, lengths, strict=True)]
    starts, stops = told_by.moments_of(bounds, ends, lengths)
    assert starts == [told_by.moment(number) for number in numbers]
    assert stops == [told_by.moment(told_by.clock.number_of(end)) for end in ends]
    assert told_by.moments_of([], [], []) == ([], [])
