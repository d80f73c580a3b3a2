"""`coverage` and `gaps`: pictures for people, JSON for programs, a code for gates."""

import json
import os
import pty
import subprocess
import sys
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import tidelake
from tests.cli.conftest import Tidelake

NOON = datetime(2024, 3, 12, 12)  # a Tuesday


def minutes(*ranges: range) -> list[datetime]:
    return [NOON + timedelta(minutes=n) for some in ranges for n in some]


@pytest.fixture(scope="module")
def bars(tmp_path_factory: pytest.TempPathFactory) -> Tidelake:
    """The program on a lake: ACME has an hour, of BOLT 11 minutes are missing."""
    folder = tmp_path_factory.mktemp("bars")
    url = f"sqlite:///{folder}/lake.db"
    with tidelake.connect(url, f"{folder}/data") as lake:
        columns = "symbol VARCHAR, ts TIMESTAMP"
        t = lake.create_table("bars", columns, entity="symbol", event_time="ts", bucket="1m")
        t.append([{"symbol": "ACME", "ts": each} for each in minutes(range(60))])
        lake.tag("early")
        t.append([{"symbol": "BOLT", "ts": each} for each in minutes(range(20), range(31, 60))])
        pair = {"account": "int64", "name": str, "n": "int64"}
        two = lake.create_table("two", pair, entity=["account", "name"], event_time="n", bucket=10)
        two.append([{"account": 7, "name": "a,b", "n": n} for n in (0, 10, 30)])
        lake.create_table("plain", columns)
    return Tidelake(url)


def test_coverage_as_json(bars: Tidelake) -> None:
    told = bars.json("coverage", "bars")
    each = told.pop("each")
    assert told == {
        "table": "main.bars",
        "bucket": "1m",
        "start": "2024-03-12T12:00:00",
        "end": "2024-03-12T13:00:00",
        "entities": 2,
        "expected": 120,
        "covered": 109,
        "ratio": 109 / 120,
        "complete": False,
        "gaps": 1,
        "longest_gap": {
            "start": "2024-03-12T12:20:00",
            "end": "2024-03-12T12:31:00",
            "buckets": 11,
        },
    }
    assert each[1] == {
        "symbol": "BOLT",
        "start": "2024-03-12T12:00:00",
        "end": "2024-03-12T13:00:00",
        "expected": 60,
        "covered": 49,
        "ratio": 49 / 60,
        "gaps": 1,
        "longest_gap_start": "2024-03-12T12:20:00",
        "longest_gap_end": "2024-03-12T12:31:00",
        "longest_gap_buckets": 11,
    }
    assert each[0]["longest_gap_start"] is None


def test_what_is_asked_for(bars: Tidelake) -> None:
    def covered(*words: str) -> tuple[int, int]:
        told = bars.json("coverage", "bars", *words)
        return told["covered"], told["expected"]

    assert covered("--entity", "BOLT") == (49, 60)
    assert covered("--entity", "BOLT", "--entity", "ACME") == (109, 120)
    assert covered("--all") == (49, 60)
    assert covered("--any") == (60, 60)
    assert covered("--known-at", "early") == (60, 60)
    assert covered("--start", "2024-03-12T12:20:00", "--end", "2024-03-12T12:40:00") == (29, 40)
    assert covered("--weekdays") == (109, 120)
    assert covered("--sessions", "08:30-09:00 America/New_York") == (59, 60)
    assert covered("--sessions", "12:20-12:31") == (11, 22)


def test_holidays_are_listed_in_a_file(bars: Tidelake, tmp_path: Path) -> None:
    (tmp_path / "holidays").write_text("# none is expected\n2024-03-12  # today\n\n")
    told = bars.json("coverage", "bars", "--weekdays", "--holidays", f"{tmp_path}/holidays")
    assert (told["expected"], told["ratio"], told["complete"]) == (0, 1.0, True)


@pytest.mark.parametrize(
    "entity",
    ['account=7,"name=a,b"', '[7, "a,b"]', '{"name": "a,b", "ACCOUNT": 7}'],
)
def test_entities_of_several_columns(bars: Tidelake, entity: str) -> None:
    words = ("--entity", entity, "--start", "-10", "--end", "40")
    told = bars.json("coverage", "two", *words)
    assert (told["bucket"], told["start"], told["covered"], told["expected"]) == (10, -10, 3, 5)
    assert told["each"][0]["account"] == 7
    gaps = bars.json("gaps", "two", *words)["gaps"]
    assert [(gap["name"], gap["start"], gap["length"]) for gap in gaps] == [
        ("a,b", -10, 10),
        ("a,b", 20, 10),
    ]


def test_gaps(bars: Tidelake) -> None:
    words = ("--start", "2024-03-12T11:55:00", "--end", "2024-03-12T13:00:00")
    told = bars.json("gaps", "bars", *words)
    assert told["table"] == "main.bars"
    assert told["complete"] is True
    assert [(gap["symbol"], gap["buckets"]) for gap in told["gaps"]] == [
        ("ACME", 5),
        ("BOLT", 5),
        ("BOLT", 11),
    ]
    assert told["gaps"][2] == {
        "symbol": "BOLT",
        "start": "2024-03-12T12:20:00",
        "end": "2024-03-12T12:31:00",
        "buckets": 11,
        "length": 660.0,
    }
    for length in ("6", "6m", "360s"):
        assert len(bars.json("gaps", "bars", "--min-length", length, *words)["gaps"]) == 1
    assert bars.json("gaps", "bars", "--limit", "2", *words)["complete"] is False
    text = bars("gaps", "bars", "--limit", "2", *words).stdout
    assert "2024-03-12 11:55" in text
    assert "(2 gaps; there are more: use --limit)" in text
    assert bars("gaps", "bars", "--entity", "ACME").stdout.splitlines()[-1] == "(0 gaps)"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--fail-under", "0.8", "--end", "2024-03-12T13:00"], 0),
        (["--fail-under", "0.9", "--end", "2024-03-12T13:00"], 2),
        (["--fail-under", "0.99", "--end", "2024-03-12T13:00", "--json"], 2),
        (["--fail-under", "1", "--end", "2024-03-12T13:00", "--any"], 0),
        (["--fail-under", "1", "--end", "2024-03-12T13:00", "--entity", "ACME"], 0),
        (["--fail-under", "0.01", "--entity", "NOBODY"], 2),
        (["--fail-under", "0.01"], 2),
        (["--fail-under", "0.01", "--end", "now"], 2),
        (["--fail-under", "0.01", "--end", "now - 7 days"], 2),
        (["--fail-under", "0.01", "--start", "now - 2h", "--end", "NOW-1h"], 2),
        (["--fail-under", "0", "--end", "now"], 0),
        (["--fail-under", "1", "--end", "now - soon"], 1),
        (["--fail-under", "1", "--start", "2024-03-12", "--end", "2024-03-12"], 0),
        (["--fail-under", "1", "--start", "soon"], 1),
        ([], 0),
    ],
)
def test_a_gate(bars: Tidelake, words: list[str], code: int) -> None:
    done = bars("coverage", "bars", *words, ok=code == 0)
    assert done.exit_code == code
    if code == 2:
        assert "is covered, less than" in done.stderr
    if "--json" in words:
        assert json.loads(done.stdout)["covered"] == 109


def test_a_gate_names_the_worst_entity_and_the_range(bars: Tidelake) -> None:
    noon = ["--end", "2024-03-12T13:00"]
    done = bars("coverage", "bars", "--fail-under", "0.9", *noon, ok=False)
    assert done.stderr == (
        "BOLT: 81.6 % of 2024-03-12 12:00 to 2024-03-12 13:00 is covered, less than 90 %\n"
    )
    later = bars("coverage", "bars", "--fail-under", "0.995", "--end", "2024-03-12T14", ok=False)
    assert later.stderr.startswith("BOLT: 40.8 % of ")
    assert later.stderr.endswith("less than 99.5 %; 1 other too\n")


def test_now_is_the_beginning_of_the_bucket_that_is_not_over(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/lake.db"
    today = datetime.now(UTC).date()
    days = [today - timedelta(days=n) for n in (1, 2, 3)]
    with tidelake.connect(url) as lake:
        t = lake.create_table("t", "day DATE", event_time="day", bucket="1d")
        t.append([{"day": day} for day in days])
        again = lake.create_table("again", "n INT", event_time="n", bucket=1)
        again.append([{"n": n} for n in range(5)])
    run = Tidelake(url)
    told = run.json("coverage", "t", "--end", "now", "--fail-under", "0")
    assert told["start"] == days[-1].isoformat()
    assert told["end"] in (today.isoformat(), (today + timedelta(days=1)).isoformat())
    since = run.json("coverage", "t", "--start", "now - 2d", "--end", "now")
    assert since["expected"] == 2
    run("coverage", "again", "--fail-under", "1")
    assert "not a value of 'n'" in run("coverage", "again", "--end", "now", ok=False).stderr


def test_a_column_of_times_is_written_in_one_way(bars: Tidelake) -> None:
    text = bars("gaps", "bars", "--start", "2024-03-12", "--entity", "BOLT").stdout
    assert "2024-03-12 00:00" in text
    assert "2024-03-12 12:20" in text
    assert "81.6 %" in bars("coverage", "bars").stdout


@pytest.mark.parametrize(
    "words",
    [
        ["coverage", "plain"],
        ["coverage", "nothing"],
        ["coverage", "bars", "--fail-under", "99"],
        ["coverage", "bars", "--fail-under", "nan"],
        ["coverage", "bars", "--fail-under", "most"],
        ["coverage", "bars", "--start", "2024-03-13", "--end", "2024-03-12"],
        ["coverage", "bars", "--holidays", "nowhere"],
        ["coverage", "bars", "--weekdays", "--holidays", "nowhere"],
        ["coverage", "bars", "--weekdays", "--holidays", __file__],
        ["coverage", "bars", "--weekdays", "--sessions", "09:00-10:00"],
        ["coverage", "bars", "--sessions", "all day"],
        ["coverage", "bars", "--sessions", "09:00-10:00 Mars/Olympus"],
        ["coverage", "bars", "--sessions", "29:00-30:00"],
        ["coverage", "two", "--entity", "7"],
        ["coverage", "two", "--entity", "[7"],
        ["coverage", "two", "--entity", "[[], {}]"],
        ["coverage", "two", "--entity", "account=seven,name=x"],
        ["coverage", "two", "--start", "noon"],
        ["coverage", "two", "--start", "9" * 30],
        ["gaps", "bars", "--min-length", "long"],
        ["gaps", "bars", "--min-length", "-1"],
        ["gaps", "bars", "--min-length", "1mo"],
        ["gaps", "bars", "--fail-under", "1"],
    ],
)
def test_what_makes_no_sense(bars: Tidelake, words: list[str]) -> None:
    done = bars(*words, ok=False)
    assert done.exit_code == 1
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") <= 2
    assert done.stdout == ""


def test_text_that_goes_elsewhere_is_numbers(bars: Tidelake) -> None:
    heading, names, _, acme, bolt = bars("coverage", "bars").stdout.splitlines()
    assert heading.startswith("main.bars: 2 entities, ")
    assert names.split()[:4] == ["symbol", "start", "end", "expected"]
    assert [acme.split()[0], bolt.split()[0]] == ["ACME", "BOLT"]


def _everything(terminal: int) -> bytes:
    """All that was written to a terminal whose other end is closed."""
    found = b""
    with suppress(OSError):
        while some := os.read(terminal, 10_000):
            found += some
    return found


@pytest.mark.parametrize("kind", ["dumb", "xterm"])
def test_a_terminal_gets_the_picture(bars: Tidelake, kind: str) -> None:
    ours, theirs = pty.openpty()
    size = {"COLUMNS": "52", "LINES": "25"}  # both: a dumb terminal with one of them is 80 wide
    said = {**size, "TERM": kind, "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-m", "tidelake", "coverage", "bars", "--catalog", bars.url]
    subprocess.run(command, stdout=theirs, env={**os.environ, **said}, check=True, timeout=300)
    os.close(theirs)
    told = _everything(ours).decode()
    os.close(ours)
    assert "BOLT " + "█" * 10 + " " * 5 + "▄" + "█" * 14 + "  " in told
