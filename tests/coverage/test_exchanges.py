"""Calendars of exchanges, as the library that knows them has them."""

import subprocess
import sys
from datetime import date
from importlib.machinery import ModuleSpec

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


def asked_of(name: str, start: date, end: date) -> int:
    """How many days an exchange is open on."""
    days = series("date", "1d")
    first, last = (
        days.clock.id(days.clock.number(days.position(each, "start"))) for each in (start, end)
    )
    return len(Calendar.exchange(name).expected(days, first, last))


@pytest.mark.slow
def test_an_exchange_is_known_to_its_last_day():
    """That of some libraries is the last of a year, and a range may end there."""
    import exchange_calendars

    brief = {"start": "2024-03-04", "end": "2024-03-08"}
    last = type(exchange_calendars.get_calendar("XSHG", **brief)).bound_max().date()
    known = exchange_calendars.get_calendar("XSHG", start=str(last - 9 * DAY), end=str(last))
    assert asked_of("XSHG", last - 9 * DAY, last + DAY) == len(known.sessions) > 0
    with pytest.raises(Invalid, match="is known from"):
        asked_of("XSHG", last - 9 * DAY, last + 2 * DAY)


class Failing:
    """A library of exchanges that fails on the way, as it does for some with a newer pandas."""

    __spec__ = ModuleSpec("exchange_calendars", None)
    errors = type("errors", (), {"CalendarError": LookupError})

    def __init__(self, error: Exception) -> None:
        self.error = error

    def get_calendar_names(self) -> list[str]:
        return ["XAAA"]

    def resolve_alias(self, name: str) -> str:
        return name

    def get_calendar(self, *_: object, **__: object) -> None:
        raise self.error


@pytest.mark.parametrize("kind", [NotImplementedError, TypeError, ValueError])
def test_a_library_that_fails_is_quoted_in_short(kind, monkeypatch):
    monkeypatch.setitem(sys.modules, "exchange_calendars", Failing(kind("it fails " * 9_000)))
    with pytest.raises(Invalid, match="cannot tell when XAAA is open: it fails") as refused:
        asked_of("XAAA", date(2024, 3, 4), date(2024, 3, 8))
    assert len(str(refused.value)) < 600
