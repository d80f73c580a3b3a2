"""Commands with words at random, most of them wrong: they end with an error in our own words, and
hints name commands."""

from collections.abc import Iterator
from pathlib import Path
from random import Random

import click
import pytest
from click.testing import CliRunner

import tidelake
from tests.cli.test_hints import PYTHON
from tidelake.cli import main

WORDS = """-1|0|99999999999999999999|1e400|'|null|[|nan|a\tb|é|2024-13-01|prices|plain|nosuch|v|eod
now|now - 1h|1m|plain.csv|broken.csv|/nonexistent/x|.|id = 1|symbol=A|price > |1;drop|{}|{"a":1}
a=b=c|=|sqlite:///nope/x.db|delta|day(ts)|main.prices""".replace("\n", "|").split("|")
WORDS += ["", "x" * 400]
ENDLESS = {"serve", "ui", "wait"}
NOT_HERE = {"catalog", "data_path", "watch", "help", "version"}
CODES = (0, 1, 2, 3)


def leaves(group: click.Group, *path: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    for name, command in sorted(group.commands.items()):
        if isinstance(command, click.Group):
            yield from leaves(command, *path, name)
        elif name not in ENDLESS:
            yield (*path, name), command


def words_for(command: click.Command, random: Random) -> Iterator[str]:
    for parameter in command.params:
        if isinstance(parameter, click.Argument):
            if random.random() < 0.9:
                yield random.choice(["prices", "plain", *WORDS])
        elif parameter.name not in NOT_HERE and random.random() < 0.2:
            yield random.choice(parameter.opts)
            if not getattr(parameter, "is_flag", False):
                choices = getattr(parameter.type, "choices", ())
                yield str(random.choice(list(choices) or WORDS))


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plain.csv").write_text("id,s\n1,x\n")
    (tmp_path / "broken.csv").write_text('id,s\n1\n"x')
    with tidelake.connect("sqlite:///lake.db") as lake:
        prices = lake.create_table(
            "prices",
            "symbol VARCHAR, ts TIMESTAMP, price DOUBLE",
            key="symbol",
            event_time="ts",
            entity=["symbol"],
            bucket="1d",
        )
        prices.append([{"symbol": "A", "ts": "2024-01-01", "price": 1.0}])
        lake.create_table("plain", "id INT, s VARCHAR").append([{"id": 1, "s": "x"}])
        lake.create_view("v", "SELECT * FROM plain")
        lake.tag("eod")
    return "sqlite:///lake.db"


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 30))]
)
def test_they_end_with_an_error_of_ours(url, seed):
    random = Random(seed)
    commands = list(leaves(main))
    for _ in range(150):
        path, command = random.choice(commands)
        words = [*path, *words_for(command, random), "--catalog", url]
        done = CliRunner().invoke(main, words)
        told = (words, done.output, done.exception)
        assert isinstance(done.exception, SystemExit | None), told
        assert done.exit_code in CODES, told
        assert "Traceback" not in done.output, told
        hints = [line for line in done.output.splitlines() if line.startswith("hint: ")]
        assert not any(map(PYTHON.search, hints)), told
