"""See it work: a year of prices comes in files, and a pipeline makes a lake of them.

Run it with `make demo`. Every step shows the code that did it, what came out, and how long it took.
`python examples/demo.py --help` tells how to run it without Spark, or with less data.
"""

from __future__ import annotations

import argparse
import inspect
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import date, datetime, time, timedelta
from itertools import count
from pathlib import Path
from subprocess import DEVNULL
from textwrap import dedent
from time import perf_counter
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import engines
import pipeline
import questions
from market import DELIVERIES, HOLIDAYS, SYMBOLS, Market
from rich.console import Console
from rich.padding import Padding
from rich.syntax import Syntax
from rich.table import Table

import tidelake

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

console = Console(highlight=False)
Code = Callable[..., Any] | tuple[str, str]
"""A function that is shown, or a text and the language that it is in."""
PIPELINE = (pipeline.run, pipeline.refine, ("-- REFINE" + dedent(pipeline.REFINE), "sql"))
READERS = (questions.of_tidelake, questions.of_duckdb, questions.of_delta)
CLOSINGS = [f"delivery {number}" for number in range(1, DELIVERIES + 1)]
STEPS = count(1)


def main() -> None:
    parser = argparse.ArgumentParser(description="See it work.")
    parser.add_argument("--engine", choices=("auto", "spark", "local"), default="auto")
    parser.add_argument("--symbols", type=int, default=8, help="how many, up to 8")
    parser.add_argument("--days", type=int, default=252, help="of trading, 16 to 252")
    wanted = parser.parse_args()
    began = perf_counter()
    folder = Path(tempfile.mkdtemp(prefix="tidelake-demo-"))
    introduce(wanted.symbols, wanted.days)
    spark = start_spark(wanted.engine, folder)
    market = Market(wanted.symbols, wanted.days)
    catalog, data_path = f"sqlite:///{folder}/lake.db", f"{folder}/data"
    with (
        pipeline.open_lake(catalog, data_path, spark) as lake,
        tidelake.connect(catalog) as desk,  # the same lake, without Spark
    ):
        tell_pipeline(lake, market, folder / "incoming", spark)
        right = tell_questions(desk, market, folder)
    farewell(folder, perf_counter() - began)
    sys.exit(0 if right else 1)


def introduce(symbols: int, days: int) -> None:
    about = (
        f"A vendor sells prices: {symbols} symbols, each minute of {days} days. They come as CSV"
        " files in four deliveries, with the faults of every feed: gaps, doubles, late files,"
        " corrections. A pipeline puts them into a lake, and then the lake is asked. Nine steps"
        " show the code, what came out, and how long it took."
    )
    console.print(Padding(about, (0, 2, 1, 2)))


def start_spark(wanted: str, folder: Path) -> SparkSession | None:
    lacking = engines.missing() if wanted != "local" else "nobody asked for it"
    if lacking is None:
        began = perf_counter()
        spark = engines.session(folder)
        say(f"Spark {spark.version} is up after {perf_counter() - began:.1f} s.")
        return spark
    if wanted == "spark":
        sys.exit(f"There is no Spark. {lacking}.")
    say(f"No Spark: {lacking}. The same pipeline runs in this process, on DuckDB.")
    return None


def tell_pipeline(
    lake: tidelake.Lake, market: Market, incoming: Path, spark: SparkSession | None
) -> None:
    with step(
        "A pipeline takes each delivery",
        "It takes each file once, sets bad records apart, corrects prices, and makes daily bars.",
        *PIPELINE,
    ):
        pipeline.set_up(lake, HOLIDAYS)
        take_all(lake, market, incoming, spark)
        say("A last run finds no new files, and does nothing.")
    with step(
        "Two clocks: what was the price, and what did we think it was?",
        f"Delivery 2 corrects the last hour of {SYMBOLS[0]} in delivery 1. Both answers stay.",
        questions.price_of,
    ):
        show(restated(lake, market.quarter(1)[-1]))


def tell_questions(lake: tidelake.Lake, market: Market, folder: Path) -> bool:
    """The other questions need no Spark. Has everything agreed that should?"""
    days = market.quarter(1)
    with step(
        "Bad records are set apart, each with its reason",
        "Some cannot be read, others cannot be true. Nothing is lost.",
        questions.bad_records,
    ):
        for row in questions.bad_records(lake):
            say(", ".join(str(value) for value in list(row.values())[:-1]))
            say(f"  → {row['reason']}")
    with step(
        "Is it complete, and what came late?",
        "The catalog knows which minutes are there, and the hours of the exchange.",
        questions.what_came_late,
    ):
        show_late(lake, days)
    with step(
        "A training set that leaks nothing",
        "Each label names the snapshot that it could see. Without that, later corrections leak in.",
        questions.training_sets,
    ):
        show(leaks(lake, days))
    with step(
        "A rollup keeps reads fast as history grows",
        "It keeps the last price of each symbol at one moment. Later reads begin there.",
        questions.roll_up,
    ):
        same = show_rollup(lake, market)
    with step(
        "Compaction changes no past, and that is proven",
        "Small files become large ones. A hash of each snapshot is the same before and after.",
        questions.compact_and_prove,
    ):
        proven = show_proof(lake)
    with step(
        "DuckDB and readers of Delta see the same",
        "DuckDB reads the lake by itself, delta-rs the Delta log beside the table.",
        *READERS,
    ):
        agreed = show_agreement(lake, folder)
    with step(
        "The lake in a browser",
        "Both clocks, history, coverage and SQL, on a page of this machine.",
        ("tidelake ui --port 0 --no-browser", "bash"),
    ):
        show_page(folder, days[-1])
    return same and proven and agreed


@contextmanager
def step(title: str, about: str, *code: Code) -> Iterator[None]:
    """A title, what it is about, the code, what is printed meanwhile, and what it took."""
    console.print()
    console.rule(f"[bold]{next(STEPS)} of 9. {title}", align="left")
    say(f"{about}\n")
    for each in code:
        text, language = each if isinstance(each, tuple) else (inspect.getsource(each), "python")
        style = {"theme": "ansi_dark", "background_color": "default", "word_wrap": True}
        console.print(Syntax(text.rstrip() + "\n", language, **style))
    began = perf_counter()
    with console.status("running"):
        yield
    console.print(f"  [dim]took {perf_counter() - began:.1f} s[/]")


def say(what: str) -> None:
    console.print(f"  {what}", soft_wrap=True)


def show(rows: questions.Rows) -> None:
    drawn = Table(box=None, pad_edge=True)
    for name, value in rows[0].items():
        drawn.add_column(name, justify="left" if isinstance(value, str) else "right")
    for row in rows:
        drawn.add_row(*(f"{v:,}" if isinstance(v, int) else str(v) for v in row.values()))
    console.print(drawn, markup=False)


def take_all(
    lake: tidelake.Lake, market: Market, incoming: Path, spark: SparkSession | None
) -> None:
    """Every delivery is told as soon as it is done."""
    names = ("files", "rows", "unreadable", "rejected", "new", "corrected")
    tell("", (*names, "seconds"))
    for number, closing in enumerate(CLOSINGS, start=1):
        market.deliver(number, incoming)
        began = perf_counter()
        done = pipeline.run(lake, f"{incoming}/*.csv", spark)
        lake.tag(closing)
        tell(closing, (*(done[name] for name in names), f"{perf_counter() - began:.1f}"))
    again = pipeline.run(lake, f"{incoming}/*.csv", spark)
    tell("once more", [again.get(name, 0) for name in names])


def tell(name: str, values: Iterable[object]) -> None:
    """A line of a table that grows while somebody looks on."""
    cells = (f"{each:,}" if isinstance(each, int) else str(each) for each in values)
    console.print(f" {name:<10}" + "".join(f"{each:>11}" for each in cells), soft_wrap=True)


def restated(lake: tidelake.Lake, day: date) -> questions.Rows:
    """The last hour of ACME was put right by the next delivery."""
    moment = f"{day} 23:00"
    found = {each: questions.price_of(lake, SYMBOLS[0], moment, each) for each in CLOSINGS[:2]}
    heading = f"{SYMBOLS[0]} as of {day}, known at"
    return [{heading: closing, **row} for closing, row in found.items()]


def show_late(lake: tidelake.Lake, days: list[date]) -> None:
    end = days[-1] + timedelta(days=1)
    there, late = questions.what_came_late(lake, (days[0], end), CLOSINGS[0])
    console.print(there)
    console.print()
    for run in late.runs[:2]:
        say(f"late: {run}")
    say(f"still missing: {there.longest_gap or 'nothing'}")


def leaks(lake: tidelake.Lake, days: list[date]) -> questions.Rows:
    """Two labels that were made when the first quarter was closed."""
    seen = next(tag.snapshot_id for tag in lake.tags() if tag.name == CLOSINGS[0])
    late, last = days[len(days) // 2], days[-1]
    moments = {
        SYMBOLS[0]: datetime.combine(last, time(20)),
        SYMBOLS[1]: datetime.combine(late, time(19)),
    }
    labels = [{"symbol": each, "at": at, "seen": seen} for each, at in moments.items()]
    honest, leaking = questions.training_sets(lake, labels)
    return [
        {"symbol": one["symbol"], "at": one["at"], "known_at='seen'": one["price"]}
        | {"without": other["price"], "leaks": "no" if one == other else "yes"}
        for one, other in zip(honest, leaking, strict=True)
    ]


def show_rollup(lake: tidelake.Lake, market: Market) -> bool:
    """The state at the end of the year, which begins with that of the third quarter."""
    until, moment = market.quarter(3)[-1], market.quarter(4)[-1]
    found = questions.roll_up(lake, until, moment)
    asked = ("without", f"with one of {until}")
    show(
        [
            {f"state as of {moment}": way, "files": plan.files, "rows in them": plan.rows_in_files}
            for way, (plan, _) in zip(asked, found, strict=True)
        ]
    )
    before, after = (sorted(state.to_pylist(), key=str) for _, state in found)
    say("The state is the same." if before == after else "THE STATE IS ANOTHER ONE.")
    return before == after


def show_proof(lake: tidelake.Lake) -> bool:
    done, report = questions.compact_and_prove(lake)
    say(f"{done.files_before} files became {done.files_after}.")
    if report.ok:
        say(
            f"{report.checked['snapshots']} snapshots, and each holds the rows that it held before."
        )
    else:
        say(str(report))
    return bool(report.ok)


def show_agreement(lake: tidelake.Lake, folder: Path) -> bool:
    told, agreed = [], True
    with questions.duckdb_in(f"{folder}/lake.db") as duck:
        for closing in CLOSINGS:
            found = questions.as_all_see_it(lake, duck, closing)
            told += [{"known at": closing, "read by": who, **row} for who, row in found.items()]
            agreed = agreed and len({tuple(row.values()) for row in found.values()}) == 1
    show(told)
    say("All agree." if agreed else "THEY DO NOT AGREE.")
    return agreed


def show_page(folder: Path, day: date) -> None:
    with questions.page(f"{folder}/lake.db") as address:
        say(f"It answers at {address}, on this machine alone, until the demo ends.")
        asked = {"table": "main.daily", "as_of": f"{day}T23:00:00Z", "key": SYMBOLS[0]}
        if browser := shutil.which("chromium") or shutil.which("google-chrome"):
            picture = folder / "page.png"
            look = ["--headless", "--no-sandbox", "--hide-scrollbars", "--window-size=1280,900"]
            until_drawn = ["--virtual-time-budget=10000", f"--screenshot={picture}"]
            command = [browser, *look, *until_drawn, f"{address}clocks?{urlencode(asked)}"]
            with suppress(subprocess.TimeoutExpired):
                subprocess.run(command, stdout=DEVNULL, stderr=DEVNULL, timeout=10, check=False)
            if picture.exists():
                say(f"A picture of it: {picture}")


def farewell(folder: Path, seconds: float) -> None:
    console.print()
    console.rule(f"[bold]Done in {seconds:.0f} s. The lake is yours now", align="left")
    for line in (
        f"export TIDELAKE_CATALOG=sqlite:///{folder}/lake.db PATH=$PWD/.venv/bin:$PATH",
        "tidelake log",
        "tidelake coverage prices --start 2024-01-01 --end 2024-04-01",
        "tidelake scan daily --as-of 2024-03-28 --known-at 'delivery 1'",
        "tidelake ui",
        f"rm -r {folder}   # when you have seen enough",
    ):
        console.print(f"  {line}", soft_wrap=True, markup=False)
    say("The pipeline to copy is examples/pipeline.py, the questions are in examples/questions.py.")


if __name__ == "__main__":
    main()
