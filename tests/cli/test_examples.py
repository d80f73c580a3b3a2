"""The examples of `--help` can be pasted: each runs, on a lake that has what they speak of."""

import os
import shutil
import subprocess
import textwrap
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import tidelake
from tests.servers.commands import Commands
from tests.test_docs import SCRIPTS
from tidelake.cli import main

ELSEWHERE = ("s3://", "postgresql://")
"""What is on a store or a server is tried where these are: tests/store and tests/catalog."""

ENDLESS = ("--watch", "tidelake ui", "tidelake serve", "--tls-cert")
"""What goes on until Ctrl-C: tests/cli/test_watch.py, tests/web."""

GATES = ("--fail-under",)
"""These may end with 2."""

BEFORE = {
    "copy": "tidelake init --catalog sqlite:///other.db",
    "import": "tidelake mirror start analytics.prices\nmkdir old\n"
    "cp -r lake_data/analytics/prices old/prices",
    "mirror accept": "tidelake mirror start prices",
    "mirror diff": "tidelake mirror start prices",
    "mirror reject": "tidelake mirror start prices",
    "mirror status": "tidelake mirror start prices",
    "mirror stop": "tidelake mirror start prices",
    "recover": "tidelake mirror start prices",
    "rename": 'tidelake sql "CREATE SCHEMA archive"',
    "restore": "tidelake backup backups/lake-2024-03-15",
    "share": "tidelake tenants --create acme",
    "tag": "tidelake tag eod-2024-03-15 --delete",
    "tokens list": "tidelake tokens add ann",
    "tokens remove": "tidelake tokens add ann",
    "undrop": "tidelake drop prices\ntidelake drop quotes",
}
"""What has been done before the examples of a command."""

_PATIENCE_S = 600
"""Nothing here waits for anything: an example that does would for ever."""

REFUSED = {
    "mirror accept": "nobody else has written to the log",
    "mirror reject": "nobody else has written to the log",
}
"""Where that is the right answer here: tests/delta has others who write."""

HOURS = [f"2024-03-{day:02}T{hour:02}:00:00" for day in range(12, 16) for hour in range(24)]


def every(group: click.Group, before: str = "") -> Iterator[tuple[str, click.Command]]:
    for name, command in group.commands.items():
        yield f"{before}{name}", command
        if isinstance(command, click.Group):
            yield from every(command, f"{before}{name} ")


def examples(command: click.Command) -> list[str]:
    text = textwrap.dedent((command.help or "").partition("Example:")[2]).strip()
    return text.replace("\\\n", " ").splitlines()


@pytest.fixture(scope="module")
def commands() -> Iterator[Commands]:
    commands = Commands()
    yield commands
    commands.stop()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a lake of 20 snapshots and more, and files for it."""
    folder = tmp_path_factory.mktemp("examples")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        Path("tidelake.toml").write_text('catalog = "sqlite:///lake.db"\ndata_path = "lake_data"\n')
        with tidelake.connect() as lake:
            _tables(lake)
        _files()
    return folder


def _tables(lake: tidelake.Lake) -> None:
    columns = "symbol VARCHAR, ts TIMESTAMP, price DECIMAL(10, 2), volume INTEGER"
    facts = {"key": "symbol", "event_time": "ts"}
    prices = lake.create_table("prices", columns, entity="symbol", bucket="1h", **facts)
    prices.append([{"symbol": s, "ts": at} for s in ("ACME", "BOLT") for at in HOURS])
    lake.create_schema("analytics")
    lake.create_table("analytics.prices", columns).append([{"symbol": "ACME", "price": 9}])
    quotes = "symbol VARCHAR, ts TIMESTAMP, bid DOUBLE, gone BOOLEAN"
    lake.create_table("quotes", quotes, tombstone="gone", **facts).put(
        {"symbol": "ACME", "ts": "2024-03-12T09:00:00", "bid": 9.5}
    )
    positions = "account INTEGER, symbol VARCHAR, ts TIMESTAMP, gone BOOLEAN"
    lake.create_table(
        "positions", positions, key=["account", "symbol"], event_time="ts", tombstone="gone"
    ).put({"account": 7, "symbol": "ACME", "ts": "2024-03-11T09:00:00"})
    lake.create_table("bars", "symbol VARCHAR, ts TIMESTAMP, price DOUBLE")
    lake.create_table("users", "email VARCHAR").append([{"email": "kim@example.org"}])
    lake.create_table("customers", "id INTEGER, name VARCHAR").append([{"id": 1, "name": "Kim"}])
    for number in range(12):
        prices.append([{"symbol": "ACME", "ts": HOURS[number], "price": number}])
    lake.tag("eod-thursday", 13)
    for name in ("eod", "eod-friday", "eod-2024-03-15"):
        lake.tag(name)
    with lake.consumer("billing") as consumer:
        consumer.poll()


def _files() -> None:
    header = "symbol,ts,price,volume\n"
    for name in ("exports/a.csv", "incoming/a.csv", "corrections.csv"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(f"{header}DUNE,2024-03-14T09:00:00,3.5,10\n")
    Path("customers.ndjson").write_text('{"id": 1, "name": "Kim L."}\n{"id": 2, "name": "Lee"}\n')
    Path("report.py").write_text("print('a report')\n")
    Path(".config/fish/completions").mkdir(parents=True)
    with tidelake.connect() as lake:
        import pyarrow.parquet as pq

        for name in ("march.parquet", "april.parquet"):
            pq.write_table(lake.table("prices").scan(where="symbol = 'BOLT'").to_arrow(), name)


@pytest.mark.parametrize(("name", "command"), list(every(main)), ids=lambda each: str(each)[:40])
def test_each_example_runs(name, command, made, commands, tmp_path):
    listed = examples(command)
    assert listed, "a command has an example"
    folder = shutil.copytree(made, tmp_path / "here")
    place = {"data_path": folder / "lake_data", "override_data_path": True}
    with tidelake.connect(f"sqlite:///{folder}/lake.db", **place) as lake:
        lake.move(folder / "lake_data")
    path = os.pathsep.join([str(commands.folder), str(SCRIPTS), os.environ["PATH"]])
    known = {**os.environ, "PATH": path, "HOME": str(folder)}
    known.pop("TIDELAKE_CATALOG", None)
    for line in [*BEFORE.get(name, "").splitlines(), *listed]:
        if any(word in line for word in (*ELSEWHERE, *ENDLESS)):
            continue
        done = subprocess.run(
            ["bash", "-e", "-u", "-o", "pipefail", "-c", line],
            cwd=folder,
            env=known,
            capture_output=True,
            text=True,
            timeout=_PATIENCE_S,
        )
        if name in REFUSED and line in listed:
            assert REFUSED[name] in done.stderr
            continue
        allowed = (0, 2) if any(word in line for word in GATES) else (0,)
        assert done.returncode in allowed, f"{line}\n{done.stdout}{done.stderr}"
