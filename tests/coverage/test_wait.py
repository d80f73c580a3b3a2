"""Waiting until what is expected is there, while others bring it."""

import subprocess
import sys
from datetime import date, timedelta
from threading import Thread
from time import sleep

import pytest

from tests.coverage.days import DAY, between, calendar_of, create, rows, today
from tidelake.errors import Incomplete, Invalid

START = date(2024, 1, 1)
WEEK = between(START, START + 7 * DAY)
END = START + 7 * DAY


@pytest.mark.slow
def test_another_process_brings_what_is_missing(place):
    with place.open() as lake:
        t = create(lake)
        t.append(rows({"a": {*WEEK[:4]}}))
        code = (
            "import sys, time, tidelake\n"
            "t = tidelake.connect(sys.argv[1], sys.argv[2]).table('t')\n"
            "for day in (5, 6, 7):\n"
            "    time.sleep(0.2)\n"
            "    t.append([{'k': 'a', 'day': f'2024-01-0{day}', 'v': 1}])\n"
        )
        other = subprocess.Popen([sys.executable, "-c", code, str(place.url), f"{place.data}/"])
        try:
            found = t.wait_complete(END, "2m", poll=0.05)
        finally:
            assert other.wait(60) == 0
        assert found.is_complete
        assert (found.start, found.end, found.expected) == (START, END, 7)


def test_a_thread_brings_enough(lake):
    t = create(lake)
    t.append(rows({"a": {WEEK[0]}, "b": {WEEK[0]}}))
    t.set_calendar(calendar_of(WEEK[::2]))

    def bring():
        for day in WEEK[1:]:
            sleep(0.02)
            t.append(rows({"a": {day}}))

    thread = Thread(target=bring)
    thread.start()
    found = t.wait_complete(END, timedelta(minutes=2), entity="a", require=0.75, poll=0.02)
    assert found.ratio >= 0.75
    assert found.expected == 4
    thread.join()
    assert t.wait_complete(END, 0, entity="a").is_complete


def test_what_does_not_come_in_time_is_told(lake):
    t = create(lake)
    t.append(rows({"a": {*WEEK} - {WEEK[2]}, "b": {*WEEK}}))
    with pytest.raises(Incomplete) as refused:
        t.wait_complete(END, 0.1, poll=0.03)
    assert refused.value.ratio == 13 / 14
    assert [(gap.entity, gap.start) for gap in refused.value.missing] == [(("a",), WEEK[2])]
    assert t.wait_complete(END, 0, require=0.9).ratio == 13 / 14
    assert t.wait_complete(END, 0, entity="b").is_complete
    with pytest.raises(Incomplete, match="nothing of it at all"):
        t.wait_complete(START - DAY, 0)
    with pytest.raises(Incomplete):
        t.wait_complete(END, 0, entity=["b", "unseen"])


def test_without_until_it_is_what_is_expected_by_now(lake):
    t = create(lake, key="k")
    t.append(rows({"a": {*between(today() - 3 * DAY, today())}}))
    assert t.wait_complete(timeout=0).end == today()
    assert t.as_of(today() - DAY).wait_complete(timeout=0).end == today()
    with pytest.raises(Incomplete):
        t.as_of(today() + DAY).wait_complete(timeout=0)


def test_what_nobody_can_wait_for_is_refused(lake):
    t = create(lake)
    at = lake.log()[-1].snapshot_id
    for pinned in (t.known_at(at), lake.known_at(at).table("t")):
        with pytest.raises(Invalid, match="pinned"):
            pinned.wait_complete(END)
    with lake.transaction() as tx, pytest.raises(Invalid, match="transaction"):
        tx.table("t").wait_complete(END)
    numbers = lake.create_table("n", "i BIGINT", event_time="i", bucket=10)
    with pytest.raises(Invalid, match="no now"):
        numbers.wait_complete()
    numbers.append([{"i": 1}])
    assert numbers.wait_complete(10, 0).is_complete
    for wrong in ({"timeout": -1}, {"timeout": "soon"}, {"poll": "1mo"}, {"timeout": float("nan")}):
        with pytest.raises(Invalid, match="no length of time"):
            t.wait_complete(END, **wrong)
    with pytest.raises(Invalid, match="require="):
        t.wait_complete(END, require=2)
