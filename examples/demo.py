"""One lake, two writers: Tidelake makes it, DuckDB reads and writes it, Tidelake reads on.

Run it with `make demo`, or `python examples/demo.py`; with `--spark`, Spark reads along.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
from rich.console import Console
from rich.table import Table

import tidelake
from tidelake.testing.duck import duck_connection

COMPANIES = {"ACME": "Acme Corporation", "BOLT": "Bolt & Nut", "CRUX": "Crux Mining"}
OPENING = datetime(2024, 3, 12, 9, 30)
NEXT_DAY = timedelta(days=1)
MINUTES = 240
ONE_DAY = "ts >= TIMESTAMP '2024-03-13' AND ts < TIMESTAMP '2024-03-14' AND symbol = 'BOLT'"

console = Console(highlight=False)


def main() -> None:
    started = time.perf_counter()
    folder = Path(tempfile.mkdtemp(prefix="tidelake-demo-"))
    url = f"sqlite:///{folder}/lake.db"
    with tidelake.connect(url, f"{folder}/data") as lake:
        step("Tidelake makes two tables in one transaction, then gets a late correction")
        write_with_tidelake(lake)

        step("DuckDB reads the same lake, and writes to it")
        with attached(folder) as duck:
            write_with_duckdb(duck)

            step("Every snapshot, read by Tidelake and by DuckDB")
            spark = spark_session(folder) if "--spark" in sys.argv else None
            agreed = compare(lake, duck, spark)

        step("Two clocks: what was true at a moment, and what was known of it at another")
        show_two_clocks(lake)

        step("Coverage: is it complete, and what came late?")
        show_coverage(lake)

        step("The same table for readers of Delta")
        show_delta(lake)

        step("Only the files that matter are opened")
        explanation = lake.table("prices").scan(where=ONE_DAY).explain()
        console.print(str(explanation), markup=False, soft_wrap=True)
    farewell(folder, url, time.perf_counter() - started)
    sys.exit(0 if agreed else 1)


def step(title: str) -> None:
    console.print()
    console.rule(title, align="left")


def say(who: str, what: str) -> None:
    console.print(f"  [bold]{who:<9}[/] {what}")


def write_with_tidelake(lake: tidelake.Lake) -> None:
    with lake.transaction(author="tidelake", message="the first day, and who is who") as tx:
        companies = tx.create_table("companies", {"symbol": "varchar not null", "name": str})
        companies.append([{"symbol": s, "name": name} for s, name in COMPANIES.items()])
        prices = tx.create_table(
            "prices",
            "symbol VARCHAR NOT NULL, ts TIMESTAMP, price DECIMAL(10, 2)",
            partition_by=["year(ts)", "month(ts)", "day(ts)"],
            sort_by=["symbol", "ts"],
        )
        prices.append(list(day(OPENING)))
    assert tx.result is not None
    say("Tidelake", f"two tables, {tx.result.rows:,} rows, {tx.result.files} file")

    late = {"symbol": "ACME", "ts": OPENING + timedelta(minutes=5), "price": Decimal("99.50")}
    venue = {"venue": "varchar default 'XNYS'"}
    delete = "DELETE FROM prices WHERE symbol = 'CRUX' AND ts >= '2024-03-13'"
    steps: dict[str, Callable[[tidelake.Lake], Any]] = {
        "the second day": lambda tx: tx.table("prices").append(list(day(OPENING + NEXT_DAY))),
        "a late correction": lambda tx: tx.table("prices").merge([late], on=["symbol", "ts"]),
        "where was it traded?": lambda tx: tx.table("prices").evolve(add=venue),
        "CRUX was suspended": lambda tx: tx.sql(delete),
    }
    for message, write in steps.items():
        with lake.transaction(author="tidelake", message=message) as tx:
            done = write(tx)
        counts = (("inserted", done.inserted), ("updated", done.updated), ("deleted", done.deleted))
        said = ", ".join(
            f"{count} row{'s' * (count > 1)} {what}" for what, count in counts if count
        )
        say("Tidelake", f"{message}: {said or 'no file touched'}")


def day(opening: datetime) -> Iterator[dict[str, Any]]:
    for symbol in COMPANIES:
        for minute in range(MINUTES):
            price = Decimal(100) + Decimal(minute * 7 % 50) / 4
            yield {"symbol": symbol, "ts": opening + timedelta(minutes=minute), "price": price}


def attached(folder: Path) -> duckdb.DuckDBPyConnection:
    """DuckDB with its own ducklake extension, and the lake under the name `lake`."""
    connection = duck_connection()
    connection.execute(f"ATTACH 'ducklake:sqlite:{folder}/lake.db' AS lake")
    connection.execute("USE lake")
    return connection


def write_with_duckdb(duck: duckdb.DuckDBPyConnection) -> None:
    dearest = duck.execute(
        "SELECT name, max(price) FROM prices JOIN companies USING (symbol)"
        " GROUP BY name ORDER BY 2 DESC, 1 LIMIT 1"
    ).fetchone()
    assert dearest is not None
    say("DuckDB", f"joins them: the dearest is {dearest[0]} at {dearest[1]}")
    for message, statement in {
        "a third day": """
            INSERT INTO prices
            SELECT symbol, TIMESTAMP '2024-03-14 09:30' + INTERVAL (i) MINUTE, 110 + i % 9, 'XNAS'
            FROM companies, range(240) AS r(i)""",
        "CRUX is delisted": "DELETE FROM prices WHERE symbol = 'CRUX'",
        "a better name": "UPDATE companies SET name = 'Bolt, Nut & Co' WHERE symbol = 'BOLT'",
    }.items():
        duck.execute("BEGIN")
        duck.execute(statement)
        duck.execute("CALL lake.set_commit_message('duckdb', ?)", [message])
        duck.execute("COMMIT")
        say("DuckDB", message)


def compare(lake: tidelake.Lake, duck: duckdb.DuckDBPyConnection, spark: Any) -> bool:
    """Read each snapshot with each engine; are all rows those that DuckDB itself gives?"""
    engines: dict[str, Callable[[tidelake.Table], Iterable[tuple[Any, ...]]]] = {
        "Tidelake": lambda table: (tuple(row.values()) for row in table.to_arrow().to_pylist())
    }
    if spark is not None:
        engines["Spark"] = lambda table: map(tuple, table.to_spark(spark).collect())
    drawn = Table("snapshot", "author", "message", "rows", box=None, pad_edge=False)
    for name in engines:
        drawn.add_column(f"{name} = DuckDB")
    agreed = True
    for snapshot in lake.snapshots()[1:]:
        number = snapshot.snapshot_id
        then = lake.known_at(number)
        total, same = 0, dict.fromkeys(engines, True)
        for name in then.tables():
            query = f"FROM lake.{name} AT (VERSION => {number})"
            expected = sorted(duck.execute(query).fetchall())
            total += len(expected)
            for engine, read in engines.items():
                same[engine] &= sorted(read(then.table(name))) == expected
        agreed = agreed and all(same.values())
        answers = ["[green]yes[/]" if each else "[red]NO[/]" for each in same.values()]
        drawn.add_row(str(number), snapshot.author, snapshot.message, f"{total:,}", *answers)
    console.print(drawn)
    return agreed


def show_two_clocks(lake: tidelake.Lake) -> None:
    """A restatement, months later, about a day in January."""
    revenue = lake.create_table(
        "revenue",
        "symbol VARCHAR, reported DATE, millions DOUBLE",
        key="symbol",
        event_time="reported",
    )
    revenue.put({"symbol": "ACME", "reported": "2023-10-26", "millions": 812.4})
    revenue.put({"symbol": "ACME", "reported": "2024-01-25", "millions": 861.0})
    say("Tidelake", "ACME reports 812.4 millions on 26 October, 861.0 on 25 January")
    lake.tag("annual review")
    revenue.put({"symbol": "ACME", "reported": "2024-01-25", "millions": 790.5})
    say("Tidelake", "after the annual review ACME corrects January to 790.5\n")

    drawn = Table("ACME's revenue", "known at the review", "known now", box=None, pad_edge=False)
    for day in ("2024-01-24", "2024-01-25", "2024-03-01"):
        known = (revenue.as_of(day).known_at("annual review"), revenue.as_of(day))
        answers = [str(table.to_arrow()["millions"][0]) for table in known]
        drawn.add_row(f"as of {day}", *answers)
    console.print(drawn)


def show_coverage(lake: tidelake.Lake) -> None:
    """A feed that breaks off, and is filled in later."""
    ticks = lake.create_table(
        "ticks", "symbol VARCHAR, ts TIMESTAMP", entity="symbol", event_time="ts", bucket="1m"
    )
    minutes = [OPENING + timedelta(minutes=n) for n in range(MINUTES)]
    lost = minutes[90:150]
    came = [(symbol, ts) for symbol in COMPANIES for ts in minutes]
    ticks.append([{"symbol": s, "ts": ts} for s, ts in came if not (s == "BOLT" and ts in lost)])
    lake.tag("the feed is back")
    console.print(ticks.coverage())
    (gap,) = ticks.gaps(min_length="15m")
    say("Tidelake", f"missing: {gap}\n")
    ticks.append([{"symbol": "BOLT", "ts": ts} for ts in lost[:45]])
    now = ticks.coverage()
    console.print(now)
    (late,) = now.diff("the feed is back").runs
    say("Tidelake", f"came late: {late}")


def show_delta(lake: tidelake.Lake) -> None:
    """A log beside the files, which follows every commit."""
    mirror = lake.mirror("prices", "delta")
    lake.table("prices").delete("symbol = 'BOLT' AND price < 1")
    lake.table("prices").compact()
    found = mirror.diff()
    say("Tidelake", f"published to {mirror.root}_delta_log")
    say("Tidelake", f"version {found.log_version}, {found.log_files} files: {found.status}")


def spark_session(folder: Path) -> Any:
    """A small Spark in this process."""
    # What PySpark thinks of the pandas it found is not part of the show.
    warnings.simplefilter("ignore", FutureWarning)
    from pyspark.sql import SparkSession

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    return (
        SparkSession.builder.master("local[2]")
        .appName("tidelake-demo")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.warehouse.dir", str(folder / "spark-warehouse"))
        .getOrCreate()
    )


def farewell(folder: Path, url: str, seconds: float) -> None:
    step(f"Done in {seconds:.0f} s. Look around in the same lake, and write to it")
    for line in (
        f"export TIDELAKE_CATALOG={url}",
        "export PATH=$PWD/.venv/bin:$PATH",
        "tidelake log",
        "tidelake show prices",
        "tidelake scan prices --known-at 2 --limit 5",
        "tidelake coverage ticks",
        "tidelake scan revenue --as-of 2024-03-01 --known-at 'annual review'",
        "tidelake sql \"UPDATE companies SET name = 'Acme' WHERE symbol = 'ACME'\"",
        f"rm -r {folder}   # when you have seen enough",
    ):
        console.print(f"  {line}", soft_wrap=True, markup=False)


if __name__ == "__main__":
    main()
