"""Calendars of exchanges, as the library that knows them has them."""

import subprocess
import sys
from datetime import date

import pytest

import tidelake
from tests.coverage.days import DAY, create, rows, today
from tests.coverage.naive import series
from tidelake import Calendar
from tidelake.coverage.values.calendar_json import calendar_from, calendar_json
from tidelake.errors import Invalid


def test_an_exchange_has_holidays_and_half_days():
    of = series("timestamp", "1m")
    clock = of.clock

    def open_on(name, day):
        first = clock.id(clock.number(of.position(day, "start")))
        found = Calendar.exchange(name).expected(of, first, first + 1440)
        return len(found)

    assert open_on("XNYS", date(2024, 7, 2)) == 390
    assert open_on("NYSE", date(2024, 7, 3)) == 210  # until 13:00
    assert open_on("XNYS", date(2024, 7, 4)) == 0
    assert Calendar.exchange("NYSE") == Calendar.exchange("XNYS")
    assert calendar_from(calendar_json(Calendar.exchange("XNYS"))) == Calendar.exchange("XNYS")


@pytest.mark.slow
def test_an_exchange_may_have_lunch():
    of = series("timestamp", "1m")
    first = of.clock.id(of.clock.number(of.position(date(2024, 7, 2), "start")))
    assert len(Calendar.exchange("XHKG").expected(of, first, first + 1440)) == 330


@pytest.mark.slow
def test_an_exchange_is_open_as_its_library_says():
    import exchange_calendars

    known = exchange_calendars.get_calendar("XTKS", start="2020-01-01", end="2023-12-31")
    days = series("date", "1d")
    first = days.clock.id(days.clock.number(days.position(date(2020, 1, 1), "start")))
    end = days.clock.id(days.clock.number(days.position(date(2024, 1, 1), "end")))
    found = Calendar.exchange("XTKS").expected(days, first, end)
    listed = {days.moment(days.clock.number_of(each)) for each in found}
    assert listed == {each.date() for each in known.sessions}


def test_what_no_exchange_can_tell_is_refused():
    with pytest.raises(Invalid, match="no exchange") as refused:
        Calendar.exchange("XNYX")
    assert "XNYS" in refused.value.hint
    days = series("date", "1d")
    with pytest.raises(Invalid, match="cannot be told of all time"):
        Calendar.exchange("XNYS").expected(days, 0, 2**63)
    early = days.clock.id(days.clock.number(days.position(date(1900, 1, 1), "start")))
    with pytest.raises(Invalid, match="is known from"):
        Calendar.exchange("XHKG").expected(days, early, early + 10)
    with pytest.raises(Invalid, match="times of day"):
        Calendar.exchange("XNYS").expected(series("int64", 5), 0, 10)


@pytest.mark.slow
def test_without_its_library_an_exchange_says_how_to_get_it(tmp_path):
    url = f"sqlite:///{tmp_path}/lake.db"
    with tidelake.connect(url) as lake:
        t = create(lake)
        t.append(rows({"a": {today() - 3 * DAY}}))
        t.set_calendar(Calendar.exchange("XNYS"))
    code = (
        "import sys; sys.modules['exchange_calendars'] = None\n"
        "import tidelake\n"
        f"t = tidelake.connect({url!r}).table('t')\n"
        "for ask in (lambda: tidelake.Calendar.exchange('XNYS'), t.coverage):\n"
        "    try: ask()\n"
        "    except ValueError as error: print(error)\n"
        "print(t.calendars.default, t.count(), t.scan().explain().completeness)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.count("needs the Python package exchange_calendars") == 2
    assert "pip install 'tidelake[calendars]'" in done.stdout
    assert done.stdout.splitlines()[-1].endswith("XNYS')> 1 None")
