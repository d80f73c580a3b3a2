"""`--watch`: again and again, until Ctrl-C."""

import json
import signal
import subprocess
import sys

import pytest

import tidelake
from tests.cli.conftest import Tidelake
from tests.cli.screen import screen


@pytest.fixture
def url(tmp_path):
    url = f"sqlite:///{tmp_path}/lake.db"
    with tidelake.connect(url) as lake:
        bars = lake.create_table("bars", "ts TIMESTAMP, n INTEGER", event_time="ts", bucket="1h")
        bars.append([{"ts": "2024-01-01T00:00:00", "n": 1}])
        with lake.consumer("billing") as consumer:
            consumer.poll()
    return url


@pytest.mark.parametrize("words", [["coverage", "bars"], ["consumers"], ["mirror", "status"]])
def test_it_is_shown_again_until_it_is_interrupted(url, words):
    command = [sys.executable, "-m", "tidelake", *words, "--watch", "0.1", "--json"]
    with subprocess.Popen(
        [*command, "--catalog", url],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        told = "".join(process.stdout.readline() for _ in range(2 if "mirror" in words else 40))
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
        assert (process.wait(), process.stderr.read()) == (0, "")
    found, at, text = 0, 0, (told + rest).strip()
    while at < len(text):
        _, end = json.JSONDecoder().raw_decode(text, at)
        at = end + (len(text[end:]) - len(text[end:].lstrip()))
        found += 1
    assert found > 1


def test_on_a_terminal_news_take_the_place_of_what_was_there(url, tmp_path):
    words = ("coverage", "bars", "--watch", "0.1", "--catalog", url)
    with screen(*words, env={}, folder=tmp_path) as here:
        here.wait("100")
        with tidelake.connect(url) as lake:
            lake["bars"].append([{"ts": "2024-01-01T03:00:00", "n": 1}])
        here.wait("50")
        assert "100" not in "\n".join(here.display)
        here.type("\x03", end="")
        assert here.end() == 0
        assert "error" not in here.text


def test_what_does_not_go_together(url):
    run = Tidelake(url)
    assert "--watch" in run("consumers", "--drop", "x", "--watch", "1", ok=False).stderr
    gate = ("coverage", "bars", "--fail-under", "1", "--watch", "1")
    assert "--watch" in run(*gate, ok=False).stderr
    assert run("consumers", "--watch", "0", ok=False).exit_code == 1
