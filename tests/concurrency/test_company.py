"""DuckDB and Tidelake in one process, which then has two SQLite libraries: on POSIX systems each
drops the other's locks. Nothing that was acknowledged may be lost by it."""

import sqlite3
from collections import Counter
from collections.abc import Callable
from functools import partial

import pytest

from tests.concurrency import audit, company
from tests.concurrency.company import Span, Told
from tests.concurrency.crowd import together
from tidelake.testing.place import Place

LONG_S = 600
"""How long the long test writes."""


def make(place: Place) -> None:
    with place.open() as lake:
        lake.create_table("t", "who INT, n INT")
        lake.create_table("counters", "id INT, n INT").append([{"id": 0, "n": 0}])


def check(place: Place, told: Told) -> None:
    path = place.url.removeprefix("sqlite:///")
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    with place.open() as lake:
        rows = lake.table("t").to_arrow().to_pylist()
        found = Counter((row["who"], row["n"]) for row in rows)
        assert [each for each in told.written if each not in found] == []
        assert [each for each, count in found.items() if count > 1] == []
        assert lake.table("counters").to_arrow()["n"].to_pylist() == [told.counted]
        assert lake.verify().ok
    audit.check(place, "t", "counters")


@pytest.mark.parametrize(
    "span",
    [
        pytest.param(Span(times=4), id="short"),
        pytest.param(Span(times=4, seconds=20), marks=pytest.mark.slow, id="20s"),
        pytest.param(
            Span(times=4, seconds=LONG_S),
            marks=[pytest.mark.slow, pytest.mark.timeout(LONG_S * 3)],
            id="long",
        ),
    ],
)
def test_nothing_acknowledged_is_lost(new_place: Callable[[str], Place], span: Span) -> None:
    place = new_place("sqlite")
    make(place)
    answers = together(
        partial(company.mixed, place, 10, span),
        partial(company.only_tide, place, 20, span),
        partial(company.duck, place, 30, span),
        seconds=200 + span.seconds * 2,
    )
    told = sum(answers, Told())
    print(len(told.written), "acknowledged,", told.counted, "counted; refused:", told.refused)
    check(place, told)
