"""The examples run, and say what they should."""

import subprocess
import sys

import pytest

from tests.examples.conftest import EXAMPLES

SAID = {
    "vendor": (
        "reject: main.bars_reject already covers 10 buckets",
        "allow     100 rows, minute 50 costs 11.0",
        "reject     60 rows, minute 50 costs 10.0",
        "skip       90 rows, minute 50 costs 10.0",
        "replace    90 rows, minute 50 costs 11.0",
        "sent twice: 0 rows more",
        "missing after the gap was filled: 0 minutes",
    ),
    "features": (
        "trained on: balance 20.0, risk 0.2",
        "served in March: risk 0.2",
        "served now: risk 0.9",
        "a year later: 20.0",
        "fingerprint: as it was",
    ),
    "audit": (
        "the report said 1012.0, and says 1012.0 again",
        "today it would say 981.0",
        "ACME: 861.0 then, 790.0 now",
        "CRUX: None then, 40.0 now",
        "put by ann: ACME has restated",
        "beliefs about ACME: 2",
        "nobody has changed the past",
    ),
}


@pytest.mark.parametrize("example", SAID)
def test_an_example_says_what_it_should(example):
    command = [sys.executable, str(EXAMPLES / f"{example}.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    lines = [line.strip() for line in done.stdout.splitlines()]
    for said in SAID[example]:
        assert any(line.startswith(said) for line in lines), done.stdout


def test_examples_are_short_enough_to_read():
    """The demo and its market are shown, not copied."""
    shown = {"demo.py", "market.py"}
    lines = {each.name: each.read_text().count("\n") for each in EXAMPLES.glob("*.py")}
    assert {name: n for name, n in lines.items() if n > 160 and name not in shown} == {}


def test_drawings_of_the_documentation_are_as_the_script_draws_them():
    from docs.drawings import DRAWINGS

    pictures = EXAMPLES.parent / "docs" / "pictures"
    for name, draw in DRAWINGS.items():
        assert (pictures / f"{name}.svg").read_text(encoding="utf-8") == draw(), name
