"""Calendars that a table keeps: written down and made again, versioned, one for each entity."""

import json
from datetime import UTC, date, datetime, time, timedelta, timezone
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cases import every
from tests.coverage.days import DAY, Model, between, calendar_of, create, rows, today
from tests.coverage.naive import series
from tidelake import Calendar
from tidelake.coverage.values.calendar_json import calendar_from, calendar_json
from tidelake.coverage.values.calendars import LARGEST, TAG, Calendars
from tidelake.errors import Corrupt, Denied, Invalid, TidelakeError

START = date(2024, 1, 1)
CATALOGS = ["sqlite", "duckdb", "postgresql", "mariadb"]
ZONES = ["UTC", "Europe/Berlin", "Pacific/Apia", timezone(timedelta(hours=-3, minutes=-30))]
DAYS = st.dates(date(2023, 1, 1), date(2024, 12, 31))
SESSIONS = st.builds(
    Calendar.sessions,
    st.builds(time, st.integers(0, 23), st.integers(0, 59)),
    st.builds(time, st.integers(0, 23), st.integers(0, 59), st.integers(0, 59)),
    tz=st.sampled_from(ZONES),
    days=st.sets(st.integers(0, 6), min_size=1),
    holidays=st.sets(DAYS, max_size=4),
)
INTERVALS = st.lists(st.tuples(DAYS, st.integers(0, 9)), max_size=5).map(
    lambda pairs: Calendar.of([(day, day + DAY * n) for day, n in pairs])
)
IDS = st.sets(st.integers(2**63 + 28_000_000, 2**63 + 28_100_000), min_size=1).map(Calendar.of)
CALENDARS = st.recursive(
    st.one_of(SESSIONS, INTERVALS, IDS, st.just(Calendar.always())),
    lambda inner: st.one_of(
        st.builds(lambda a, b: a & b, inner, inner),
        st.builds(lambda a, b: a | b, inner, inner),
        st.builds(lambda a, b: a - b, inner, inner),
    ),
    max_leaves=4,
)


@given(CALENDARS)
def test_what_is_written_down_is_the_same_calendar(calendar):
    again = calendar_from(json.loads(json.dumps(calendar_json(calendar))))
    assert again == calendar
    of = series("timestamp", "15m")
    first, end = 2**63 + 1_890_000, 2**63 + 1_900_000
    assert again.expected(of, first, end) == calendar.expected(of, first, end)


@settings(max_examples=12, deadline=None)
@given(st.none() | CALENDARS, st.dictionaries(st.text(max_size=3) | st.none(), CALENDARS))
def test_calendars_of_entities_survive_their_tag(default, own):
    of = series("timestamp", "15m", "varchar")
    kept = Calendars(default, {(k,): each for k, each in own.items()})
    again = Calendars.of_tags({TAG: kept.text(of)}, of)
    assert again == kept
    assert bool(again) == (default is not None or bool(own))


def test_buckets_of_another_table_are_kept_with_their_clock(lake):
    t = create(lake)
    t.append(rows({"a": {START, START + 3 * DAY}}))
    kept = Calendar.of(t.coverage())
    assert calendar_from(calendar_json(kept)) == kept
    hours = series("timestamp", "1h")
    found = calendar_from(calendar_json(kept)).expected(hours, 2**63, 2**63 + 10**6)
    assert len(found) == 48


@pytest.mark.parametrize(
    "seed", [*range(2), *(pytest.param(n, marks=pytest.mark.slow) for n in range(2, 30))]
)
def test_random_calendars_of_entities_by_their_rows(lake, seed):
    """Everything that is asked, against days counted one by one; and what is kept says the same as
    what is given."""
    chance = Random(seed)
    model = Model.random(chance, START, 30)
    t = create(lake)
    t.append(rows(model.has))
    model.declare(t)
    for _ in range(6):
        start = START + DAY * chance.randrange(-3, 15)
        end = start + DAY * chance.randrange(1, 25)
        asked = chance.sample("abc", chance.randrange(1, 4))
        found = t.coverage(asked, start, end)
        pairs = [model.counts(k, start, end) for k in asked]
        assert [found.covered, found.expected] == [sum(each) for each in zip(*pairs, strict=True)]
        assert found.ratio == model.ratio(asked, start, end)
        for k in asked:
            gaps = {day for gap in found.each[(k,)].gaps for day in between(gap.start, gap.end)}
            assert gaps == model.missing(k, start, end)
            alone = t.coverage(k, start, end)
            assert alone.to_arrow() == found.each[(k,)].to_arrow()
            own = model.own.get(k, model.default)
            if own is not None:
                by_hand = t.coverage(k, start, end, calendar=calendar_of(own))
                assert by_hand.to_arrow() == alone.to_arrow()
                assert by_hand.gaps == alone.gaps
        everybody = found.all
        lacking = set().union(*(model.missing(k, start, end) for k in asked))
        wanted = set().union(*(model.expected(k, start, end) for k in asked))
        assert (everybody.covered, everybody.expected) == (len(wanted - lacking), len(wanted))
        assert found.any.expected == len(wanted)
        listed = found.to_arrow().to_pylist()
        assert [(r["covered"], r["expected"]) for r in listed] == pairs


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 20))]
)
def test_random_windows_of_entities_with_different_calendars(lake, seed):
    chance = Random(seed)
    model = Model.random(chance, START, 30)
    t = create(lake)
    t.append(rows(model.has))
    model.declare(t)
    for n in (1, 2, 4):
        for asked in (["a"], ["b", "c"], ["a", "b", "c"]):
            end = START + DAY * chance.randrange(5, 40)
            first = min(day for k in asked for day in model.has[k])
            last = max(day for k in asked for day in model.has[k]) + DAY
            found = t.last_complete_window(n, asked, end=end)
            wanted = model.window(asked, first, min(end, last), n)
            assert (found and (found.start, found.end)) == wanted


def test_the_sets_of_coverages_with_different_calendars(lake):
    t, other = create(lake), create(lake, "other")
    model = Model.random(Random(5), START, 20)
    model.own = {"a": {START, START + DAY}, "b": None}
    model.default = {START + 2 * DAY}
    t.append(rows(model.has))
    model.declare(t)
    other.append(rows({"a": {START}, "b": {START + DAY}}))
    end = START + 20 * DAY
    both = t.coverage(None, START, end) & other.coverage(None, START, end)
    assert both.each[("a",)].expected == 2
    assert both.each[("b",)].expected == 20
    assert both.each[("c",)].expected == 1
    either = t.coverage(None, START, end) | other.coverage(None, START, end)
    assert either.each[("a",)].expected == 20
    assert (t.coverage(None, START, end) - other.coverage(None, START, end)).each[
        ("c",)
    ].expected == 1
    lake.tag("then")
    t.append(rows({"a": {START, START + DAY}}))
    late = t.coverage(None, START, end).diff("then")
    assert {run.start for run in late.runs} == {START, START + DAY} - model.has["a"]


def test_without_an_end_the_range_goes_to_the_last_bucket_that_is_over(lake):
    t = create(lake)
    t.append(rows({"a": {today() - 10 * DAY, today() - 9 * DAY}, "b": {today() + DAY}}))
    assert t.coverage("a").end == today() - 8 * DAY  # nobody has said that more is expected
    t.set_calendar("always")
    before = today()
    found = t.coverage("a")
    assert found.end in (before, today())
    assert (found.covered, found.expected) == (2, (found.end - found.start).days)
    assert t.gaps(entity="a")[0].end == found.end
    assert t.coverage("b").start is None  # what is not over does not count
    assert t.coverage("a", end=today() + 2 * DAY).expected == (today() - found.start).days + 2
    assert t.coverage("a", start=today() + 5 * DAY).is_complete  # nothing is expected yet
    assert t.coverage("a", calendar=Calendar.always()).expected == 2  # as if none were kept
    assert t.coverage("a", calendar=Calendar.weekdays()).end == today() - 8 * DAY
    t.set_calendar(None)
    assert t.coverage("a").end == today() - 8 * DAY


@pytest.mark.parametrize("place", CATALOGS, indirect=True)
def test_of_a_pinned_table_now_is_the_time_of_its_snapshot(place):
    with place.open() as lake:
        t = lake.create_table("s", "ts TIMESTAMP, v INTEGER", event_time="ts", bucket="1ms")
        t.set_calendar("always")
        begin = datetime.now(UTC).replace(tzinfo=None) - timedelta(milliseconds=5)  # a bucket ago
        t.append([{"ts": begin, "v": 1}])
        lake.tag("then")
        t.append([{"ts": begin, "v": 2}])
        snapshot = lake.table("s").snapshots()[-2]
        then = snapshot.time.astimezone(UTC).replace(tzinfo=None)
        wanted = then.replace(microsecond=then.microsecond // 1000 * 1000)
        assert t.coverage(known_at="then").end == wanted
        assert t.known_at("then").coverage().end == wanted
        assert lake.known_at("then").table("s").coverage().end == wanted
        told = lake.sql("FROM coverage('s', known_at => 'then')").to_arrow().to_pylist()
        assert told[0]["end"] == wanted
        assert lake.sql("FROM coverage('s')").to_arrow().to_pylist()[0]["end"] > wanted
        assert t.coverage().end > wanted


def test_every_snapshot_has_the_calendars_of_its_time(lake):
    t = create(lake)
    t.append(rows({"a": {*between(START, START + 7 * DAY)}}))
    plain = lake.tag("plain").snapshot_id
    t.set_calendar(Calendar.weekdays())
    lake.tag("weekdays")
    t.set_calendar("always", entity="a")
    end = START + 14 * DAY
    assert t.coverage("a", START, end).expected == 14
    assert t.coverage("a", START, end, known_at="weekdays").expected == 10
    assert t.known_at("weekdays").calendars == Calendars(Calendar.weekdays())
    assert t.known_at(plain).calendars == Calendars()
    assert not t.known_at(plain).calendars
    assert t.coverage("a", START, known_at=plain).expected == 7
    t.rollback("weekdays")
    assert t.calendars == Calendars(Calendar.weekdays())
    with lake.transaction() as tx:
        inner = tx.table("t")
        inner.set_calendar(None)
        assert inner.coverage("a", START, end).expected == 14
        assert lake.table("t").coverage("a", START, end).expected == 10
    assert t.calendars == Calendars()


def test_calendars_of_single_entities_come_and_go(lake):
    t = create(lake)
    weekdays, always = Calendar.weekdays(), Calendar.always()
    t.set_calendar(weekdays)
    t.set_calendar(always, entity=["a", "b"])
    assert t.calendars == Calendars(weekdays, {("a",): always, ("b",): always})
    t.set_calendar(None, entity="a")
    assert t.calendars.own.keys() == {("b",)}
    assert t.calendars.of(("a",)) == weekdays
    t.set_calendar("09:00-17:00 Europe/Berlin", author="ann")
    assert t.calendars.default == Calendar.sessions("09:00", "17:00", tz="Europe/Berlin")
    assert t.calendars.of(("b",)) == always
    assert t.log()[-1].author == "ann"
    t.evolve(rename={"k": "symbol"})
    assert t.calendars.own.keys() == {("b",)}
    t.set_calendar(None)
    assert not t.calendars


def test_calendars_follow_the_series(lake):
    t = create(lake)
    with pytest.raises(Invalid, match=r"coverage of main\.plain is not kept"):
        lake.create_table("plain", "a INTEGER").set_calendar("weekdays")
    t.set_calendar("weekdays")
    t.set_coverage("1w", entity="k")
    assert t.calendars.default == Calendar.weekdays()
    t.set_calendar("always", entity="a")
    with pytest.raises(Invalid, match="calendars of their own"):
        t.set_coverage("1d")
    t.set_coverage(None)
    assert TAG not in t.tags
    t.set_coverage("1d", entity="k", event_time="day")
    assert not t.calendars
    counts = lake.create_table("counts", "n BIGINT", event_time="n", bucket=10)
    with pytest.raises(Invalid, match="times of day"):
        counts.set_calendar(Calendar.weekdays())
    counts.set_calendar(Calendar.of([(0, 100)]))
    counts.append([{"n": 5}, {"n": 95}])
    assert counts.coverage().expected == 10
    assert counts.coverage(end=500).expected == 10


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (5, "no calendar"),
        ("someday", "no calendar"),
        ([("2024-01-01", "2024-01-02")], "no calendar"),
        (Calendar.of([(1, 2)]), "one of integers"),
        (Calendar.of(range(0, 6 * LARGEST, 3)), "more than"),
    ],
)
def test_what_cannot_be_kept_is_refused(lake, given, problem):
    t = create(lake)
    with pytest.raises(TidelakeError, match=problem) as refused:
        t.set_calendar(given)
    assert refused.value.hint
    assert not t.calendars


def test_who_cannot_be_meant_is_refused(lake):
    t = create(lake)
    with pytest.raises(Invalid, match="not a value"):
        t.set_calendar("weekdays", entity=5)
    with pytest.raises(Denied, match="pinned"):
        t.known_at(lake.log()[-1].snapshot_id).set_calendar("weekdays")
    nobody = lake.create_table("n", "ts TIMESTAMP", event_time="ts", bucket="1d")
    with pytest.raises(Invalid, match="without entity columns"):
        nobody.set_calendar("weekdays", entity="a")


@pytest.mark.parametrize(
    "text",
    every(2, ["{", "[]", '{"default":{"moon":1}}', '{"own":[{}]}', '{"default":{"buckets":"x"}}']),
)
def test_a_tag_that_nobody_can_read_is_told_and_taken_away(lake, text):
    t = create(lake)
    t.set_calendar("weekdays")
    with lake.session.database.writing() as writer:
        writer.execute(
            'UPDATE ducklake_tag SET value = :text WHERE "key" = :tag', text=text, tag=TAG
        )
    lake.session.caches.forget()
    with pytest.raises(Corrupt, match=r"tidelake\.calendar") as refused:
        t.coverage()
    assert "set_calendar(None)" in refused.value.hint
    t.set_calendar(None)
    assert t.coverage().covered == 0


def test_calendars_are_put_together_only_so_deep(lake):
    t = create(lake)
    deep = Calendar.weekdays()
    for _ in range(60):
        deep = deep | Calendar.weekdays()
    with pytest.raises(Invalid, match="put together"):
        t.set_calendar(deep)
