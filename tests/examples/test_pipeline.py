"""The pipeline of `examples/`, against a plain reading of the same files."""

import csv
import subprocess
import sys
from datetime import datetime
from decimal import Decimal, InvalidOperation

import pytest

import tidelake
from tests.examples.conftest import EXAMPLES

MARKET = (2, 16)


@pytest.fixture
def incoming(tmp_path):
    from market import Market

    folder = tmp_path / "incoming"
    return lambda number: Market(*MARKET).deliver(number, folder) and f"{folder}/*.csv"


def refined(folder):
    """What the files say: per symbol and minute, the plausible price that was sent last."""
    found = {}
    for file in sorted(folder.glob("*.csv")):
        for row in csv.DictReader(file.read_text().splitlines()):
            try:
                price, ts = Decimal(row["price"]), datetime.fromisoformat(row["ts"])
            except (InvalidOperation, TypeError, ValueError):
                continue
            key = row["symbol"], ts
            if price > 0 and 13 <= ts.hour <= 20 and row["sent"] >= found.get(key, ("", 0))[0]:
                found[key] = row["sent"], price
    return {key: price for key, (_, price) in found.items()}


def prices(lake):
    return {(row["symbol"], row["ts"]): row["price"] for row in lake.table("prices").to_dicts()}


def bars(lake):
    return sorted(tuple(row.values()) for row in lake.table("daily").to_dicts())


def bars_of(found):
    days = {}
    for (symbol, ts), price in sorted(found.items()):
        days.setdefault((symbol, ts.date()), []).append(price)
    return sorted((*key, p[0], max(p), min(p), p[-1]) for key, p in days.items())


def check(lake, folder):
    assert prices(lake) == refined(folder)
    assert bars(lake) == bars_of(refined(folder))


def test_a_first_run_may_come_before_the_first_file(tmp_path):
    folder = tmp_path / "incoming"
    folder.mkdir()
    command = [sys.executable, str(EXAMPLES / "pipeline.py"), f"sqlite:///{tmp_path}/lake.db"]
    command += [f"{tmp_path}/data", f"{folder}/*.csv"]

    def run():
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "'files': 0" in run()
    header, sent = "symbol,ts,price,volume,sent", "2024-01-02 22:00:00"
    (folder / "1.csv").write_text(f"{header}\nACME,2024-01-02 15:00:00,n/a,100,{sent}\n")
    assert "'unreadable': 1" in run()
    (folder / "2.csv").write_text(f"{header}\nACME,2024-01-02 15:00:00,10.50,100,{sent}\n")
    assert "'new': 1" in run()
    with tidelake.connect(f"sqlite:///{tmp_path}/lake.db") as lake:
        check(lake, folder)


def test_prices_and_bars_are_what_the_files_say(tmp_path, incoming):
    import pipeline

    with pipeline.open_lake(f"sqlite:///{tmp_path}/lake.db", f"{tmp_path}/data") as lake:
        pipeline.set_up(lake)
        for number in range(1, 5):
            done = pipeline.run(lake, incoming(number))
            lake.tag(f"delivery {number}")
            assert (done["unreadable"], done["rejected"]) == (2, 2)
            assert done["corrected"] == (60 if number > 1 else 0)
            check(lake, tmp_path / "incoming")
        assert lake.table("rejected").count() == 8
        assert lake.mirrored("daily").diff().exit_code == 0
        assert lake.verify(deep=True).ok


def test_it_may_be_run_again_and_goes_on_where_it_was_killed(tmp_path, incoming):
    import pipeline

    with pipeline.open_lake(f"sqlite:///{tmp_path}/lake.db", f"{tmp_path}/data") as lake:
        pipeline.set_up(lake)
        files = incoming(1)
        tidelake.ingest(lake, "raw.ticks", files, types=pipeline.TICKS)  # and no further
        assert pipeline.run(lake, files)["new"] == len(refined(tmp_path / "incoming"))
        before = lake.snapshots()[-1]
        pipeline.set_up(lake)
        assert pipeline.run(lake, files) == {"files": 0, "rows": 0, "unreadable": 0}
        assert lake.snapshots()[-1] == before
        check(lake, tmp_path / "incoming")


def test_it_is_a_program(tmp_path, incoming):
    program = [sys.executable, str(EXAMPLES / "pipeline.py")]
    place = [f"sqlite:///{tmp_path}/lake.db", f"{tmp_path}/data", incoming(1)]
    told = subprocess.run([*program, *place], capture_output=True, text=True, timeout=300)
    assert "'corrected': 0" in told.stdout, told.stderr
    with tidelake.connect(place[0]) as lake:
        check(lake, tmp_path / "incoming")


@pytest.mark.spark
def test_on_spark_it_does_the_same(tmp_path, incoming, spark):
    import pipeline

    with pipeline.open_lake(f"sqlite:///{tmp_path}/lake.db", f"{tmp_path}/data", spark) as lake:
        pipeline.set_up(lake)
        for number in (1, 2):
            done = pipeline.run(lake, incoming(number), spark)
        assert (done["unreadable"], done["rejected"], done["corrected"]) == (2, 2, 60)
    with tidelake.connect(f"sqlite:///{tmp_path}/lake.db") as lake:
        check(lake, tmp_path / "incoming")
