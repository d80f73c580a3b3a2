"""A pipeline to copy: files that come, prices that can be trusted, a bar for each day.

    python examples/pipeline.py sqlite:///lake.db lake_data "incoming/*.csv" --spark

Run it as often as you like: by a scheduler, after a crash, in a loop.

- A file is taken once. A record that cannot be read goes to `raw.ticks_quarantine`, with its line
  and the reason.
- A row is refined once. One commit has the prices, the bars, the rows that were rejected, and how
  far the pipeline has come. After a crash all of it is there, or nothing.
- The tables are made once, by whoever is first: that is what the token `once` is for.

With `--spark` the executors do all of the work, and no row passes through the driver. Without it,
DuckDB does the same in this process.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import tidelake
from tidelake import Calendar
from tidelake.lake.transaction import Transaction

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    Spark = SparkSession | None

TICKS = {
    "symbol": "VARCHAR",
    "ts": "TIMESTAMP",
    "price": "DECIMAL(10,2)",
    "volume": "BIGINT",
    "sent": "TIMESTAMP",
}
BARS = {"symbol": "VARCHAR", "day": "DATE"} | dict.fromkeys(
    ("open", "high", "low", "close"), "DECIMAL(10,2)"
)

ZONE = "America/New_York"

# Both engines run these. What cannot be true is rejected; of the rest, what was sent last counts.
REFINE = """
    SELECT *, row_number() OVER (PARTITION BY symbol, ts, reason ORDER BY sent DESC) AS turn
    FROM (
        SELECT symbol, ts, price, volume, sent,
            CASE WHEN price <= 0 THEN 'a price must be above 0'
                 WHEN hour(ts) NOT BETWEEN 13 AND 20 THEN 'the exchange was closed'
                 ELSE 'ok' END AS reason
        FROM {news}
    ) AS judged
"""
DAYS = "SELECT DISTINCT CAST(ts AS DATE) AS day FROM {news}"
DAILY = """
    SELECT symbol, CAST(ts AS DATE) AS day, min_by(price, ts) AS open, max(price) AS high,
        min(price) AS low, max_by(price, ts) AS close
    FROM {prices} GROUP BY symbol, CAST(ts AS DATE)
"""


def open_lake(catalog: str, data_path: str, spark: Spark = None) -> tidelake.Lake:
    return tidelake.connect(catalog, data_path, engine="spark" if spark else "local", spark=spark)


def set_up(lake: tidelake.Lake, holidays: Iterable[str] = ()) -> None:
    """The tables, and a Delta log that follows the bars; what is there stays as it is."""
    with lake.transaction(author="pipeline", message="the tables", once="set up") as tx:
        if not tx.is_done:
            tx.create_schema("raw")
            tx.create_table("raw.ticks", TICKS)
            ticks = {"key": "symbol", "event_time": "ts", "entity": "symbol", "bucket": "1m"}
            tx.create_table("prices", TICKS, sort_by=["symbol", "ts"], **ticks)
            hours = Calendar.sessions("09:30", "16:00", tz=ZONE, holidays=holidays)
            tx.table("prices").set_calendar(hours)
            tx.create_table("daily", BARS, key="symbol", event_time="day")
            tx.create_table("rejected", TICKS | {"reason": "VARCHAR"})
    lake.mirror("daily", "delta")


def run(lake: tidelake.Lake, files: str, spark: Spark = None) -> dict[str, int]:
    """Take the files that have come, and refine what they brought."""
    taken = tidelake.ingest(lake, "raw.ticks", files)
    done = Counter(files=taken.files, rows=taken.rows)
    done["unreadable"] = taken.bad_records
    with lake.consumer("refine", tables=["raw.ticks"]) as place:
        while batch := place.poll():
            with lake.transaction(author="pipeline") as tx:
                done.update(refine(tx, batch.changes("raw.ticks"), spark))
                place.commit(batch, within=tx)
    return dict(done)


def refine(tx: Transaction, news: Any, spark: Spark) -> dict[str, int]:
    """Reject what cannot be true, upsert the rest, make its days' bars."""
    judged = query(REFINE, spark, news=news)
    bad = judged.filter("reason <> 'ok'").select(*TICKS, "reason")
    good = judged.filter("reason = 'ok' AND turn = 1").select(*TICKS)
    rejected = tx.table("rejected").append(bad)
    done = tx.table("prices").merge(good, on=["symbol", "ts"])
    touched = days_of(tx, query(DAYS, spark, news=news))
    bars = query(DAILY, spark, prices=touched)
    tx.table("daily").merge(bars, on=["symbol", "day"])
    return {"rejected": rejected.rows, "new": done.inserted, "corrected": done.updated}


def query(sql: str, spark: Spark, **table: Any) -> Any:
    """A DataFrame of Spark, or without it a relation of DuckDB."""
    ((name, rows),) = table.items()
    if spark is None:
        return rows.to_duckdb().query(name, sql.format(**{name: name}))
    return spark.sql(sql, **{name: rows.to_spark(spark)})


def days_of(tx: Transaction, days: Any) -> tidelake.Scan:
    """The prices of some days, as the transaction has them by now."""
    found = days.collect() if hasattr(days, "collect") else days.fetchall()
    each = [f"(ts >= '{day}' AND ts < '{day + timedelta(days=1)}')" for (day,) in found]
    return tx.table("prices").scan(["symbol", "ts", "price"], " OR ".join(sorted(each)) or "false")


def main() -> None:
    parser = argparse.ArgumentParser(description="Take the files that have come, and refine them.")
    parser.add_argument("catalog", help="the address of the lake, such as sqlite:///lake.db")
    parser.add_argument("data_path", help="where its files are: a folder, or s3://bucket/prefix")
    parser.add_argument("files", help="what comes: a pattern, in quotes")
    parser.add_argument("--spark", action="store_true", help="run on Spark")
    wanted = parser.parse_args()
    spark = None
    if wanted.spark:
        from tidelake.spark import session

        spark = session("pipeline")
    with open_lake(wanted.catalog, wanted.data_path, spark) as lake:
        set_up(lake)
        print(run(lake, wanted.files, spark))


if __name__ == "__main__":
    main()
