"""A lake with a past: DuckDB writes it, Tidelake reads it at three moments on two engines.

Run it with `make demo`, or `python examples/demo.py`.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import duckdb
from rich.console import Console
from rich.table import Table

import tidelake
from tidelake.testing.duck import duck_connection

DAYS = 4
SYMBOLS = ("ACME", "BOLT", "CRUX")
MINUTES = 240
LATE = "symbol = 'ACME' AND ts = TIMESTAMP '2024-03-12 09:35:00'"
ONE_DAY = "ts >= TIMESTAMP '2024-03-14' AND ts < TIMESTAMP '2024-03-15' AND symbol = 'BOLT'"

console = Console(highlight=False)


def main() -> None:
    started = time.perf_counter()
    folder = Path(tempfile.mkdtemp(prefix="tidelake-demo-"))
    url = f"sqlite:///{folder}/lake.db"
    with (
        attached(folder) as duck,
        tidelake.connect(url) as lake,
    ):
        step("DuckDB writes a lake with a past")
        moments = write_history(duck)
        show_log(lake)

        step("Tidelake reads it at three moments, on both engines")
        spark = spark_session(folder)
        agreed = compare(lake, duck, moments, spark)

        step("A late correction: the same question, asked of two moments")
        show_correction(lake, moments)

        step("Only the files that matter are opened")
        explanation = lake.table("prices").scan(where=ONE_DAY).explain()
        console.print(str(explanation), markup=False, soft_wrap=True)
        if spark is not None:
            spark.stop()
    farewell(folder, url, moments, time.perf_counter() - started)
    sys.exit(0 if agreed else 1)


def step(title: str) -> None:
    console.print()
    console.rule(title, align="left")


def attached(folder: Path) -> duckdb.DuckDBPyConnection:
    """DuckDB with its own ducklake extension, and the lake under the name `lake`."""
    connection = duck_connection()
    connection.execute(
        f"ATTACH 'ducklake:sqlite:{folder}/lake.db' AS lake (DATA_PATH '{folder}/data/')"
    )
    connection.execute("USE lake")
    return connection


def write_history(duck: duckdb.DuckDBPyConnection) -> dict[str, int]:
    """Make the lake; the result names three of its snapshots."""
    duck.execute(
        "CREATE TABLE prices (symbol VARCHAR NOT NULL, ts TIMESTAMP, price DECIMAL(10, 2))"
    )
    duck.execute("ALTER TABLE prices SET PARTITIONED BY (year(ts), month(ts), day(ts))")
    for day in range(DAYS):
        commit(duck, f"prices of day {day + 1}", insert_day(f"2024-03-{12 + day}"))
    moments = {"four days of prices": newest(duck)}

    late = "INSERT INTO prices VALUES ('ACME', '2024-03-12 09:35:00', 999.99)"
    commit(duck, "a price that came three days late", late)
    commit(
        duck, "where was it traded?", "ALTER TABLE prices ADD COLUMN venue VARCHAR DEFAULT 'XNYS'"
    )
    moments["a late row, a new column"] = newest(duck)

    commit(duck, "CRUX is delisted", "DELETE FROM prices WHERE symbol = 'CRUX'")
    for half in ("2024-03-16 09:30:00", "2024-03-16 11:30:00"):
        commit(duck, "day 5, in two deliveries", insert_day(half, minutes=120, venue=", 'XNAS'"))
    duck.execute("CALL ducklake_merge_adjacent_files('lake')")
    moments["after a delete and compaction"] = newest(duck)
    return moments


def insert_day(start: str, *, minutes: int = MINUTES, venue: str = "") -> str:
    at = start if " " in start else f"{start} 09:30:00"
    return f"""
        INSERT INTO prices
        SELECT symbol, TIMESTAMP '{at}' + INTERVAL (i) MINUTE, 100 + (i * 7 % 50) / 4{venue}
        FROM unnest({list(SYMBOLS)}) AS s(symbol), range({minutes}) AS r(i)"""


def commit(duck: duckdb.DuckDBPyConnection, message: str, statement: str) -> None:
    duck.execute("BEGIN")
    duck.execute(statement)
    duck.execute("CALL lake.set_commit_message('demo', ?)", [message])
    duck.execute("COMMIT")


def newest(duck: duckdb.DuckDBPyConnection) -> int:
    row = duck.execute("SELECT max(snapshot_id) FROM lake.snapshots()").fetchone()
    assert row is not None
    return int(row[0])


def show_log(lake: tidelake.Lake) -> None:
    table = Table("snapshot", "message", "changes", box=None, pad_edge=False)
    for snapshot in lake.table("prices").snapshots():
        changes = ", ".join(change.split(":")[0] for change in snapshot.changes)
        table.add_row(str(snapshot.snapshot_id), snapshot.message or "", changes)
    console.print(table)


def compare(
    lake: tidelake.Lake, duck: duckdb.DuckDBPyConnection, moments: dict[str, int], spark: Any
) -> bool:
    """Read each moment with each engine; are all rows those that DuckDB itself gives?"""
    engines: dict[str, Callable[[tidelake.Table], Iterable[tuple[Any, ...]]]] = {
        "local": lambda table: (tuple(row.values()) for row in table.to_arrow().to_pylist())
    }
    if spark is not None:
        engines["spark"] = lambda table: map(tuple, table.to_spark(spark).collect())
    drawn = Table("known at", "what was known", "columns", "rows", box=None, pad_edge=False)
    for name in engines:
        drawn.add_column(f"{name} = DuckDB")
    agreed = True
    for what, snapshot_id in moments.items():
        table = lake.table("prices").known_at(snapshot_id)
        query = f"SELECT * FROM lake.prices AT (VERSION => {snapshot_id})"
        expected = sorted(duck.execute(query).fetchall())
        same = [sorted(read(table)) == expected for read in engines.values()]
        agreed = agreed and all(same)
        answers = ["[green]yes[/]" if each else "[red]NO[/]" for each in same]
        size = str(len(table.schema)), f"{len(expected):,}"
        drawn.add_row(str(snapshot_id), what, *size, *answers)
    console.print(drawn)
    return agreed


def spark_session(folder: Path) -> Any:
    """A small Spark in this process, or None where there is no Java to run it."""
    if not shutil.which("java") and not os.environ.get("JAVA_HOME"):
        console.print("[yellow]no Java here: Spark is left out[/]")
        return None
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


def show_correction(lake: tidelake.Lake, moments: dict[str, int]) -> None:
    table = Table("known at", "prices of ACME for 12 March, 09:35", box=None, pad_edge=False)
    for snapshot_id in list(moments.values())[:2]:
        found = lake.table("prices").scan(where=LATE, known_at=snapshot_id).to_arrow()
        prices = ", ".join(str(price) for price in found.column("price").to_pylist())
        table.add_row(str(snapshot_id), prices)
    console.print(table)


def farewell(folder: Path, url: str, moments: dict[str, int], seconds: float) -> None:
    step(f"Done in {seconds:.0f} s. Look around in the same lake")
    first = next(iter(moments.values()))
    for line in (
        f"export TIDELAKE_CATALOG={url}",
        "export PATH=$PWD/.venv/bin:$PATH",
        "tidelake log",
        "tidelake show prices",
        f"tidelake scan prices --known-at {first} --limit 5",
        'tidelake sql "SELECT symbol, count(*) FROM prices GROUP BY symbol"',
        f"rm -r {folder}   # when you have seen enough",
    ):
        console.print(f"  {line}", soft_wrap=True, markup=False)


if __name__ == "__main__":
    main()
