"""`calendar`, `wait`, and what the others say and refuse where a table has calendars."""

import json
from datetime import UTC, datetime, timedelta

import pytest

import tidelake
from tests.cli.conftest import Tidelake

DAY = timedelta(days=1)


@pytest.fixture
def feed(tmp_path) -> Tidelake:
    """The program on a lake with two feeds: of each the last ten days, but b lacks one."""
    url = f"sqlite:///{tmp_path}/lake.db"
    today = datetime.now(UTC).date()
    with tidelake.connect(url) as lake:
        columns = "k VARCHAR, day DATE"
        t = lake.create_table("t", columns, entity="k", key="k", event_time="day", bucket="1d")
        days = [today - n * DAY for n in range(1, 11)]
        t.append([{"k": k, "day": day} for k in "ab" for day in days if (k, day) != ("b", days[4])])
        lake.create_table("plain", columns)
    return Tidelake(url)


def test_a_calendar_is_set_shown_and_dropped(feed, tmp_path):
    assert "nobody has said" in feed("calendar", "t").stdout
    feed("calendar", "t", "--weekdays", "--author", "ann")
    (tmp_path / "days").write_text("2024-12-25\n")
    hours = ("--sessions", "09:30-16:00 America/New_York", "--holidays", f"{tmp_path}/days")
    feed("calendar", "t", *hours, "--entity", "a")
    feed("calendar", "t", "--exchange", "NYSE", "--entity", "b")
    assert feed("calendar", "t").stdout.splitlines() == [
        "all entities: 00:00-00:00 UTC on mon,tue,wed,thu,fri",
        "a: 09:30-16:00 America/New_York on mon,tue,wed,thu,fri, but for 1 holiday",
        "b: when XNYS trades",
    ]
    told = feed.json("calendar", "t")
    assert told["default"]["days"] == [0, 1, 2, 3, 4]
    assert told["own"][1] == {"entity": ["b"], "calendar": {"exchange": "XNYS"}}
    feed("calendar", "t", "--drop", "--entity", "b")
    assert len(feed.json("calendar", "t")["own"]) == 1
    feed("calendar", "t", "--drop")
    assert feed.json("calendar", "t") == {"table": "t", "default": None, "own": []}
    assert feed.json("log", "t")["snapshots"][0]["operation"] == "set calendar"


def test_the_calendar_of_the_table_holds_for_coverage(feed):
    feed("calendar", "t", "--always")
    assert feed.json("coverage", "t")["expected"] == 20
    assert feed.json("coverage", "t", "--entity", "a", "--always")["expected"] == 10
    feed("coverage", "t", "--fail-under", "0.9")
    done = feed("coverage", "t", "--fail-under", "0.95", ok=False)
    assert done.exit_code == 2
    assert done.stderr.startswith("b: 90.0 %")
    feed("coverage", "t", "--fail-under", "1", "--entity", "a")


def test_coverage_as_of_a_moment(feed):
    today = datetime.now(UTC).date()
    early = str(today - 7 * DAY)
    assert feed.json("coverage", "t", "--as-of", early)["end"] == str(today - 6 * DAY)
    feed("coverage", "t", "--as-of", early, "--fail-under", "1")
    done = feed("coverage", "t", "--as-of", str(today - DAY), "--fail-under", "1", ok=False)
    assert done.exit_code == 2
    assert feed("coverage", "plain", "--as-of", early, ok=False).exit_code == 1


def test_a_scan_requires(feed):
    assert len(feed.json("scan", "t", "--require", "0.9")["rows"]) == 19
    done = feed("scan", "t", "--require", "0.99", "--json", ok=False)
    assert done.exit_code == 2
    error = json.loads(done.stderr)["error"]
    assert (error["kind"], error["exit_code"]) == ("Incomplete", 2)
    feed("scan", "t", "--require", "1", "--where", "k = 'a'")
    assert feed("scan", "plain", "--require", "1", ok=False).exit_code == 1
    assert feed("scan", "t", "--require", "7", ok=False).exit_code == 1
    assert feed.json("scan", "t", "--explain")["completeness"] == 0.95


def test_wait(feed):
    assert feed("wait", "t", "--entity", "a", "--timeout", "0").exit_code == 0
    assert "95.0 %" in feed("wait", "t", "--require", "0.9", "--timeout", "1s").stdout
    done = feed("wait", "t", "--timeout", "0.1", "--poll", "0.05", ok=False)
    assert done.exit_code == 2
    assert "b " in done.stderr
    told = feed.json("wait", "t", "--entity", "a", "--until", "now - 3d", "--start", "now - 5d")
    assert (told["expected"], told["complete"]) == (2, True)
    later = str(datetime.now(UTC).date() + 2 * DAY)
    assert feed("wait", "t", "--until", later, "--timeout", "0", ok=False).exit_code == 2


@pytest.mark.parametrize(
    "words",
    [
        ["calendar", "t", "--weekdays", "--drop"],
        ["calendar", "t", "--entity", "a"],
        ["calendar", "t", "--weekdays", "--always"],
        ["calendar", "t", "--exchange", "NOWHERE"],
        ["calendar", "t", "--exchange", "XNYS", "--always"],
        ["calendar", "t", "--holidays", "x"],
        ["calendar", "plain", "--weekdays"],
        ["coverage", "t", "--exchange", "XNYS", "--weekdays"],
        ["wait", "t", "--timeout", "soon"],
        ["wait", "t", "--require", "0"],
        ["wait", "plain"],
    ],
)
def test_what_makes_no_sense(feed, words):
    done = feed(*words, ok=False)
    assert done.exit_code == 1
    assert done.stderr.startswith("error: ")
