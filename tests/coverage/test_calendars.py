"""Which buckets a calendar expects: sessions, time zones, the days on which clocks change."""

import os
import subprocess
import sys
from datetime import UTC, date, datetime, time, timedelta, timezone
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.coverage.naive import series
from tidelake import Calendar, Interval
from tidelake.coverage.answer import Coverage
from tidelake.coverage.values.bitmaps import Buckets
from tidelake.coverage.values.extent import Extent
from tidelake.coverage.values.interval import Range
from tidelake.errors import Invalid

HALF = 1 << 63


def bounds(of, start, end):
    first = of.clock.id(of.clock.number(of.position(start, "start")))
    return first, of.clock.id(of.clock.ceiling(of.position(end, "end")))


def expected(calendar, start, end, of=None):
    """Stretches that are expected, as pairs of moments."""
    of = of or series("timestamp", "1m")
    first, stop = bounds(of, start, end)
    found = calendar.expected(of, first, stop)
    shown = Coverage(of, Extent({(): found}, Range(first, stop), found))
    return [(run.start, run.end) for run in shown.runs]


def utc(text):
    return datetime.fromisoformat(text)


def aware(text):
    return utc(text).replace(tzinfo=UTC)


def at(day, start, end):
    """A session of a day in UTC."""
    return utc(f"{day}T{start}"), utc(f"{day}T{end}")


def test_weekdays_are_monday_to_friday_without_holidays():
    found = expected(
        Calendar.weekdays(holidays=["2024-01-01", datetime(2024, 1, 3)]), "2023-12-29", "2024-01-08"
    )
    assert found == [
        (utc("2023-12-29"), utc("2023-12-30")),
        (utc("2024-01-02"), utc("2024-01-03")),
        (utc("2024-01-04"), utc("2024-01-06")),
    ]


def test_weekdays_of_a_zone_begin_at_its_own_midnight():
    found = expected(Calendar.weekdays(tz="Asia/Tokyo"), "2024-01-06", "2024-01-09")
    assert found == [(utc("2024-01-07T15:00"), utc("2024-01-09"))]


@pytest.mark.parametrize(
    ("zone", "begin", "close", "day", "sessions"),
    [
        # New York puts its clocks forward on 10 March 2024 at 02:00, and back on 3 November.
        ("America/New_York", "09:30", "16:00", "2024-03-08", [("14:30", "21:00")]),
        ("America/New_York", "09:30", "16:00", "2024-03-11", [("13:30", "20:00")]),
        ("America/New_York", "00:00", "04:00", "2024-03-10", [("05:00", "08:00")]),
        ("America/New_York", "02:15", "02:45", "2024-03-10", []),
        ("America/New_York", "02:30", "05:00", "2024-03-10", [("07:00", "09:00")]),
        ("America/New_York", "00:00", "02:30", "2024-03-10", [("05:00", "07:00")]),
        ("America/New_York", "00:00", "04:00", "2024-11-03", [("04:00", "09:00")]),
        ("America/New_York", "01:00", "01:30", "2024-11-03", [("05:00", "06:30")]),
        ("America/New_York", "01:30", "04:00", "2024-11-03", [("05:30", "09:00")]),
        # London: 31 March 2024 at 01:00, and 27 October at 02:00.
        ("Europe/London", "00:30", "01:30", "2024-03-31", [("00:30", "01:00")]),
        ("Europe/London", "00:30", "02:30", "2024-03-31", [("00:30", "01:30")]),
        ("Europe/London", "01:15", "01:45", "2024-10-27", [("00:15", "01:45")]),
        # Lord Howe changes by half an hour: back on 7 April 2024, forward on 6 October, at 02:00.
        ("Australia/Lord_Howe", "10:00", "11:00", "2024-04-06", [("23:00", "00:00")]),
        ("Australia/Lord_Howe", "10:00", "11:00", "2024-04-08", [("23:30", "00:30")]),
        ("Australia/Lord_Howe", "01:00", "03:00", "2024-04-07", [("14:00", "16:30")]),
        ("Australia/Lord_Howe", "01:45", "01:50", "2024-04-07", [("14:45", "15:20")]),
        ("Australia/Lord_Howe", "02:10", "03:00", "2024-10-06", [("15:30", "16:00")]),
        # In the south, summer time ends in April and begins in September.
        ("Pacific/Auckland", "02:30", "04:00", "2024-04-07", [("13:30", "16:00")]),
        ("Pacific/Auckland", "02:30", "04:00", "2024-09-29", [("14:00", "15:00")]),
        # Samoa left out the 30th of December 2011 altogether.
        ("Pacific/Apia", "09:00", "17:00", "2011-12-30", []),
        # A zone without names, and one that is always the same.
        (timezone(timedelta(hours=-3)), "09:00", "10:00", "2024-03-10", [("12:00", "13:00")]),
        ("UTC", "09:00", "10:00", "2024-03-10", [("09:00", "10:00")]),
    ],
)
def test_sessions_on_days_when_clocks_change(zone, begin, close, day, sessions):
    calendar = Calendar.sessions(begin, close, tz=zone, days="mon-sun")
    only = Calendar.sessions(begin, close, tz=zone, days=[date.fromisoformat(day).weekday()])
    middle = utc(f"{day}T12:00")
    found = expected(only, middle - timedelta(days=2), middle + timedelta(days=2))
    assert [(f"{a:%H:%M}", f"{b:%H:%M}") for a, b in found] == sessions
    assert set(found) <= set(
        expected(calendar, middle - timedelta(days=3), middle + timedelta(days=3))
    )


ZONES = ["America/New_York", "Europe/London", "Australia/Lord_Howe", "Pacific/Auckland", "UTC"]
TIMES = st.builds(time, st.integers(0, 23), st.sampled_from([0, 10, 15, 30, 45, 50]))


CHANGES = ["1924-04-13", "2024-03-09", "2024-03-30", "2024-04-06", "2024-09-28", "2024-10-05"]
FIVE = timedelta(minutes=5)


@pytest.mark.slow
@given(
    st.sampled_from(ZONES),
    st.tuples(TIMES, TIMES),
    st.sampled_from([*CHANGES, "2024-10-26", "2024-11-02"]),
    st.sets(st.integers(0, 6), min_size=1),
)
def test_sessions_are_those_of_a_clock_on_the_wall(zone, hours, begin, days):
    of = series("timestamp", "5m")
    start = utc(begin)
    first, end = bounds(of, start, start + timedelta(days=3))
    found = Calendar.sessions(*hours, tz=zone, days=days).expected(of, first, end)
    wanted = by_the_wall(start, ZoneInfo(zone), *hours, days)
    assert set(found) == {first + step for step in wanted if 0 <= step < end - first}


def by_the_wall(start, zone, opens, closes, days):
    """Walk through some days in steps of five minutes, and look at the clock on the wall: a step
    is in a session if its local time is. Of times that come twice, all between is in it too."""
    sessions = {}
    for step in range(-600, 1500):
        local = (start + step * FIVE).replace(tzinfo=UTC).astimezone(zone)
        now, day = local.time(), local.date()
        if opens < closes:
            inside = opens <= now < closes
        else:
            inside = now >= opens or now < closes
            day -= timedelta(days=now < opens)
        if inside and day.weekday() in days:
            sessions.setdefault(day, []).append(step)
    return {step for some in sessions.values() for step in range(some[0], some[-1] + 1)}


def test_a_session_over_midnight_belongs_to_the_day_that_it_opens_on():
    globex = Calendar.sessions(
        "18:00", "17:00", tz="America/Chicago", days="sun-thu", holidays=["2024-01-08"]
    )
    assert expected(globex, "2024-01-05", "2024-01-11") == [
        (utc("2024-01-05T00:00"), utc("2024-01-05T23:00")),
        (utc("2024-01-08T00:00"), utc("2024-01-08T23:00")),
        (utc("2024-01-10T00:00"), utc("2024-01-10T23:00")),
    ]


def test_a_bucket_is_expected_if_it_touches_a_session():
    calendar = Calendar.sessions("09:30", "16:00", holidays=["2024-01-02"])
    hours = series("timestamp", "1h")
    assert expected(calendar, "2024-01-01", "2024-01-03", hours) == [
        at("2024-01-01", "09:00", "16:00")
    ]
    days = series("date", "1d")
    assert expected(calendar, "2024-01-01", "2024-01-08", days) == [
        (date(2024, 1, 1), date(2024, 1, 2)),
        (date(2024, 1, 3), date(2024, 1, 6)),
    ]
    months = series("timestamp", "1mo")
    sundays = Calendar.sessions("10:00", "11:00", days="sun", holidays=["2024-06-30"])
    assert expected(sundays, "2024-06-24", "2024-07-01", months) == [
        (utc("2024-06-01"), utc("2024-07-01"))
    ]
    assert expected(sundays, "2024-06-24", "2024-07-01") == []


@pytest.mark.parametrize(
    ("days", "numbers"),
    [
        ("mon-fri", {0, 1, 2, 3, 4}),
        ("mon,wed", {0, 2}),
        ("sat-mon", {5, 6, 0}),
        ("Monday - Tuesday, SUN", {0, 1, 6}),
        ([0, "fri"], {0, 4}),
        ("tue", {1}),
        (3, {3}),
        (np.array([5, 6]), {5, 6}),
        (range(7), set(range(7))),
    ],
)
def test_days_in_many_spellings(days, numbers):
    calendar = Calendar.sessions("00:00", "00:00", days=days)
    found = expected(calendar, "2024-01-01", "2024-01-08", series("date", "1d"))
    listed = {(a + timedelta(days=n)).weekday() for a, b in found for n in range((b - a).days)}
    assert listed == numbers


@pytest.mark.parametrize(
    ("problem", "make"),
    [
        ("days=", lambda: Calendar.sessions("09:00", "10:00", days="someday")),
        ("days=", lambda: Calendar.sessions("09:00", "10:00", days=[7])),
        ("days=", lambda: Calendar.sessions("09:00", "10:00", days="mo")),
        ("no day", lambda: Calendar.sessions("09:00", "10:00", days=[])),
        ("open=", lambda: Calendar.sessions("nine", "10:00")),
        ("close=", lambda: Calendar.sessions("09:00", 10)),
        ("open=", lambda: Calendar.sessions(time(9, tzinfo=UTC), "10:00")),
        ("tz=", lambda: Calendar.sessions("09:00", "10:00", tz="Mars/Olympus")),
        ("tz=", lambda: Calendar.weekdays(tz="../etc/passwd")),
        ("tz=", lambda: Calendar.weekdays(tz="")),
        ("tz=", lambda: Calendar.weekdays(tz=None)),
        ("holiday", lambda: Calendar.weekdays(holidays=["Christmas"])),
        ("holiday", lambda: Calendar.weekdays(holidays=[datetime(2024, 1, 1, 12)])),
        ("holiday", lambda: Calendar.weekdays(holidays=[datetime(2024, 1, 1, tzinfo=UTC)])),
        ("holiday", lambda: Calendar.weekdays(holidays=None)),
        ("holiday", lambda: Calendar.weekdays(holidays=[pd.NaT])),
        ("days=", lambda: Calendar.sessions("09:00", "10:00", days=None)),
        ("no calendar", lambda: Calendar.of(5)),
        ("no calendar", lambda: Calendar.of("mon-fri")),
        ("no interval", lambda: Calendar.of([("2024-01-01",)])),
        ("after end", lambda: Calendar.of([("2024-01-02", "2024-01-01")])),
        ("start=", lambda: Calendar.of([("soon", "2024-01-01")])),
        ("ids", lambda: Calendar.of([-1])),
    ],
)
def test_what_makes_no_calendar_is_refused(problem, make):
    with pytest.raises(Invalid, match=problem) as refused:
        make()
    assert refused.value.hint


def test_a_machine_without_time_zones_is_told_what_it_lacks():
    code = (
        "import sys; sys.modules['tzdata'] = None\n"
        "from tidelake import Calendar\n"
        "Calendar.weekdays(tz='UTC')\n"
        "try: Calendar.weekdays(tz='Europe/London')\n"
        "except ValueError as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONTZPATH": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "tz='Europe/London' is no time zone that is known here" in done.stdout
    assert "pip install tzdata" in done.stdout


def test_of_intervals_in_all_their_spellings():
    noon = Interval(datetime(2024, 1, 1, 12), datetime(2024, 1, 1, 13), 60)
    plus_one = timezone(timedelta(hours=1))
    pair = (datetime(2024, 1, 2, 1, tzinfo=plus_one), "2024-01-02T02:00:30")
    calendar = Calendar.of([noon, pair, (date(2024, 1, 3), date(2024, 1, 3))])
    assert expected(calendar, "2024-01-01", "2024-01-05") == [
        at("2024-01-01", "12:00", "13:00"),
        at("2024-01-02", "00:00", "02:01"),
    ]
    assert expected(Calendar.of([]), "2024-01-01", "2024-01-05") == []


def test_of_integers_for_clocks_that_count():
    of = series("uint64", 10)
    assert expected(Calendar.of([(5, 21), (2**64 - 1, 2**64)]), 0, 2**64, of) == [
        (0, 30),
        (2**64 - 6, 2**64 + 4),
    ]
    with pytest.raises(Invalid, match="one of time"):
        expected(Calendar.of([("2024-01-01", "2024-01-02")]), 0, 10, of)
    with pytest.raises(Invalid, match="one of integers"):
        expected(Calendar.of([(1, 2)]), "2024-01-01", "2024-01-02")
    with pytest.raises(Invalid, match="times of day") as refused:
        expected(Calendar.weekdays(), 0, 10, of)
    assert "Calendar.of" in refused.value.hint


def test_of_ids_as_bitmaps_have_them():
    wanted = [(datetime(1970, 1, 1, 0, 1), datetime(1970, 1, 1, 0, 3))]
    listed = [HALF + 1, HALF + 2]
    for ids in (listed, np.array(listed, "u8"), Buckets([*listed, 7])):
        assert expected(Calendar.of(ids), "1970-01-01", "1970-01-02") == wanted


def covering(of, *numbers):
    ids = Buckets(of.clock.id(n) for n in numbers)
    return Coverage(of, Extent({(): ids}, Range(ids.min(), ids.max() + 1)))


def test_of_what_another_table_covers_also_in_other_buckets():
    minutes = covering(series("timestamp", "1m"), 0, 1, 59, 120)
    assert expected(Calendar.of(minutes), "1970-01-01", "1970-01-01T02:00") == [
        at("1970-01-01", "00:00", "00:02"),
        at("1970-01-01", "00:59", "01:00"),
    ]
    hours = series("timestamptz", "1h")
    assert expected(Calendar.of(minutes), "1969-12-31", "1970-01-02", hours) == [
        (aware("1970-01-01T00:00"), aware("1970-01-01T01:00")),
        (aware("1970-01-01T02:00"), aware("1970-01-01T03:00")),
    ]
    days = covering(series("date", "1d"), -1, 5)
    assert expected(Calendar.of(days), "1969-12-01", "1970-01-07") == [
        (utc("1969-12-31"), utc("1970-01-01")),
        (utc("1970-01-06"), utc("1970-01-07")),
    ]
    months = covering(series("timestamp", "1mo"), 0)
    assert expected(Calendar.of(months), "1969-12-30", "1970-03-01", series("date", "1d")) == [
        (date(1970, 1, 1), date(1970, 2, 1))
    ]
    with pytest.raises(Invalid, match="one of time"):
        expected(Calendar.of(days), 0, 10, series("int64", 5))
    assert Calendar.of(Calendar.of(days)).expected(series("date", "1d"), HALF, HALF + 9) == Buckets(
        [HALF + 5]
    )


def test_calendars_are_put_together_bucket_by_bucket():
    week, mornings = Calendar.weekdays(), Calendar.sessions("00:00", "12:00", days="mon-sun")
    closed = Calendar.of([("2024-01-05T06:00", "2024-01-05T18:00")])
    assert expected(week & mornings, "2024-01-05", "2024-01-07") == [
        at("2024-01-05", "00:00", "12:00")
    ]
    assert expected(week - closed, "2024-01-05", "2024-01-07") == [
        (utc("2024-01-05"), utc("2024-01-05T06:00")),
        (utc("2024-01-05T18:00"), utc("2024-01-06")),
    ]
    assert expected((week | mornings) - closed, "2024-01-05", "2024-01-07") == [
        (utc("2024-01-05"), utc("2024-01-05T06:00")),
        (utc("2024-01-05T18:00"), utc("2024-01-06T12:00")),
    ]
    with pytest.raises(TypeError):
        week & "mon"


@pytest.mark.slow
def test_centuries_are_listed_and_all_of_history_is_refused():
    nyse = Calendar.sessions("09:30", "16:00", tz="America/New_York")
    of = series("timestamp", "1m")
    assert len(nyse.expected(of, *bounds(of, "1870-01-01", "2070-01-01"))) > 20_000_000
    with pytest.raises(Invalid, match="too many to be listed") as refused:
        nyse.expected(of, *bounds(of, "0001-01-01", "9999-12-31"))
    assert "start and an end" in refused.value.hint
    fine = series("timestamp", "1ms")
    with pytest.raises(Invalid, match="too many to be listed"):
        Calendar.of([("0001-01-01", "9999-12-31")]).expected(
            fine, *bounds(fine, "1000-01-01", "9000-01-01")
        )


@pytest.mark.parametrize("bucket", ["1h", "1d", "1w", "1mo", "7mo"])
@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/New_York", "UTC"])
@pytest.mark.parametrize(
    ("start", "end"), [("0001-01-01", "0001-01-10"), ("9999-12-20", "9999-12-31T23:59:59.999999")]
)
def test_the_first_and_the_last_days_of_all(bucket, zone, start, end):
    of = series("timestamp", bucket)
    first, stop = bounds(of, start, end)
    always = Calendar.sessions("00:00", "00:00", tz=zone, days="mon-sun")
    found = always.expected(of, first, stop)
    if zone == "UTC":
        assert list(found) == list(range(first, stop))
    assert stop - first - 24 <= len(found) <= stop - first
