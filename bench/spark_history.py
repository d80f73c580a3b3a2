"""History and checks on Spark: how long they take on a few million rows, and what the driver's
Python needs for it."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.memory import Peak
from bench.report import Part, Verdict
from bench.timing import seconds

_ROWS = 3_000_000
_MOST_SECONDS = 30
_MOST_MEGABYTES = 500


def run(folder: Path) -> Part:
    import tidelake
    from tests.servers.spark import local_session

    place = folder / "spark_history"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    part = Part("History on Spark", ["what", "seconds", "driver's Python, MB"])
    spark = local_session()
    try:
        with tidelake.connect(f"sqlite:///{place}/lake.db", engine="spark", spark=spark) as lake:
            _history(part, spark, lake)
            _series(part, spark, lake)
    finally:
        spark.stop()
    part.notes = [f"{_ROWS:,} rows of five columns; one run each; the driver's Python at its most"]
    return part


def _frame(spark: Any) -> Any:
    return spark.range(0, _ROWS, 1, 8).selectExpr(
        "id",
        "cast(id % 1000 AS INT) AS g",
        "md5(cast(id AS STRING)) AS s",
        "id * 1.5D AS v",
        "timestamp_ntz '2024-01-01 00:00:00' + make_dt_interval(0, 0, 0, id) AS ts",
    )


def _history(part: Part, spark: Any, lake: Any) -> None:
    rows = _frame(spark)
    table = lake.create_table("t", rows.schema)
    table.append(rows)
    first = table.snapshots()[-1].snapshot_id
    table.merge(rows.selectExpr("id", "g", "s", "v + 1 AS v", "ts"), on="id")
    table.update({"v": "v + 1"}, where="id % 3 = 0")
    table.delete("id % 2 = 0")
    last = table.snapshots()[-1].snapshot_id
    _measure(part, "changes, counted", lambda: table.changes(since=first).count())
    _measure(part, "diff, counted", lambda: table.diff(first, last).counts)
    _measure(part, "verify(deep=True)", lambda: lake.verify(deep=True))
    _measure(part, "rollback", lambda: table.rollback(first))


def _series(part: Part, spark: Any, lake: Any) -> None:
    rows = _frame(spark).select("g", "ts", "v")
    table = lake.create_table(
        "series", rows.schema, entity="g", event_time="ts", bucket="1m", overlap="skip"
    )
    _measure(part, "append of series", lambda: table.append(rows))
    _measure(part, "append of the same under skip", lambda: table.append(rows))


def _measure(part: Part, what: str, call: Callable[[], Any]) -> None:
    with Peak() as peak:
        taken = seconds(call)
    part.rows.append([what, f"{taken:.1f}", f"{peak.megabytes:,.0f}"])
    part.numbers[what] = {"seconds": taken, "driver MB": peak.megabytes}
    part.verdicts += [
        Verdict(f"Spark, {what}", taken, _MOST_SECONDS, unit="s"),
        Verdict(f"Spark, {what}, driver's Python", peak.megabytes, _MOST_MEGABYTES, unit="MB"),
    ]
