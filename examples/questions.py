"""What can be asked of the lake that `pipeline.py` makes: `make demo` asks, and shows this code."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any

import deltalake
import pyarrow
from duckdb import DuckDBPyConnection

import tidelake
from tidelake import Lake
from tidelake.testing.duck import duck_connection

Row = dict[str, Any]
Rows = list[Row]
Days = tuple[date, date]


def bad_records(lake: Lake) -> Rows:
    unreadable = lake.table("raw.ticks_quarantine").scan(["raw", "reason"])
    rejected = lake.table("rejected").scan(["symbol", "ts", "price", "reason"])
    return [*unreadable.to_dicts()[:2], *rejected.to_dicts()[:2]]


def price_of(lake: Lake, symbol: str, moment: str, known_at: str) -> Row:
    query = """
        SELECT ts, price FROM prices
        FOR VALID_TIME AS OF $moment FOR SYSTEM_TIME AS OF $known_at
        WHERE symbol = $symbol
    """
    values = {"symbol": symbol, "moment": moment, "known_at": known_at}
    return lake.sql(query, values).to_dicts()[0]


def what_came_late(lake: Lake, days: Days, tag: str) -> tuple[Any, Any]:
    prices = lake.table("prices")
    there = prices.coverage(start=days[0], end=days[1])  # reads no row
    return there, there.diff(known_at=tag)


def roll_up(lake: Lake, until: date, moment: date) -> tuple[Any, Any]:
    prices = lake.table("prices")
    state = prices.scan(as_of=moment)
    before = state.explain(), state.to_arrow()
    prices.rollup(as_of=until)  # the last price of every symbol, in a file
    return before, (state.explain(), state.to_arrow())


def training_sets(lake: Lake, labels: Rows) -> tuple[Rows, Rows]:
    prices = lake.table("prices")
    honest = tidelake.asof_join(labels, prices, left_time="at", known_at="seen")
    leaking = tidelake.asof_join(labels, prices, left_time="at")
    return honest.to_arrow().to_pylist(), leaking.to_arrow().to_pylist()


def compact_and_prove(lake: Lake) -> tuple[Any, Any]:
    lake.verify(fingerprint=True)  # keeps a hash of what every snapshot holds
    done = lake.compact()
    return done, lake.verify(fingerprint=True)  # reads all again, and compares


TOTAL = "SELECT count(*) AS bars, sum(close) AS total, max(high) AS highest FROM "


def of_tidelake(lake: Lake, tag: str) -> Any:
    return lake.known_at(tag).sql(TOTAL + "daily").to_arrow()


def of_duckdb(duck: DuckDBPyConnection, snapshot: int) -> Any:
    query = f"{TOTAL} lake.daily AT (VERSION => {snapshot})"
    return duck.sql(query).to_arrow_table()


def of_delta(folder: str, version: int) -> Any:
    table = deltalake.DeltaTable(folder, version=version)
    delta_rs = deltalake.QueryBuilder().register("daily", table)
    return pyarrow.table(delta_rs.execute(TOTAL + "daily").read_all())


def as_all_see_it(lake: Lake, duck: DuckDBPyConnection, tag: str) -> dict[str, Any]:
    """The same totals of one moment, by who has read them."""
    snapshot = next(each.snapshot_id for each in lake.tags() if each.name == tag)
    version = lake.delta_versions(tag)["main.daily"]
    assert version is not None
    found = {
        "Tidelake": of_tidelake(lake, tag),
        "DuckDB": of_duckdb(duck, snapshot),
        f"delta-rs, version {version}": of_delta(lake.mirrored("daily").root, version),
    }
    return {reader: table.to_pylist()[0] for reader, table in found.items()}


@contextmanager
def duckdb_in(catalog: str) -> Iterator[DuckDBPyConnection]:
    """DuckDB with its own ducklake extension, and the lake under the name `lake`."""
    with duck_connection(extensions=("ducklake", "sqlite_scanner")) as duck:
        duck.execute(f"ATTACH 'ducklake:sqlite:{catalog}' AS lake (READ_ONLY)")
        yield duck


@contextmanager
def page(catalog: str) -> Iterator[str]:
    """`tidelake ui` on a port that is free, as long as it is needed: its address."""
    program = [Path(sys.executable).with_name("tidelake"), "--catalog", f"sqlite:///{catalog}"]
    command = [*program, "ui", "--port", "0", "--no-browser", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        address = json.loads("".join(iter(server.stdout.readline, "}\n")) + "}")["address"]
        try:
            with urllib.request.urlopen(address, timeout=30) as answer:
                assert answer.status == 200
            yield address
        finally:
            server.terminate()
