"""Twenty million rows on Spark: the driver's Python stays as small as it was.

Measured in a process of its own, in which nothing else has been done before. `BENCH_ROWS` says how
many rows, if they should be fewer.
"""

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.memory import Peak
from bench.report import Part, Verdict
from bench.timing import in_new_process, seconds

_ROWS = 20_000_000
_MOST_MEGABYTES = 500
_MOST_SECONDS = 120
_HEAP = "4g"
_FACTS_OF_A_KEY = 20


def run(folder: Path) -> Part:
    place = folder / "spark_memory"
    rows = int(os.environ.get("BENCH_ROWS", _ROWS))
    try:
        found = in_new_process(str(place), str(rows), module="bench.spark_memory")
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return report(found, rows)


def report(found: dict[str, dict[str, float]], rows: int) -> Part:
    part = Part("Memory of the driver on Spark", ["what", "seconds", "at its most, MB", "more, MB"])
    part.numbers = dict(found)
    for what, each in found.items():
        numbers = (each["seconds"], each["driver MB"], each["more MB"])
        part.rows.append([what, f"{numbers[0]:.1f}", f"{numbers[1]:,.0f}", f"{numbers[2]:,.0f}"])
        part.verdicts += [
            Verdict(f"Spark, {what}", numbers[0], _MOST_SECONDS, unit="s"),
            Verdict(f"Spark, {what}, driver's Python", numbers[1], _MOST_MEGABYTES, unit="MB"),
        ]
    part.notes = [
        f"{rows:,} rows; one run each; Spark's heap is {_HEAP}",
        "MB: the driver's Python at its most, and how much more that is than it had before",
    ]
    return part


def measure(place: Path, rows: int) -> dict[str, dict[str, float]]:
    """Seconds and MB of each step, in this process."""
    import tidelake
    import tidelake.spark
    from tests.servers.spark import settings

    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    own = {**settings(place, small=False), "spark.driver.memory": _HEAP}
    spark = tidelake.spark.session(master="local[2]", config=own)
    spark.sparkContext.setLogLevel("ERROR")
    steps = _Steps()
    try:
        with tidelake.connect(f"sqlite:///{place}/lake.db", engine="spark", spark=spark) as lake:
            _rows(steps, spark, lake, rows)
            _facts(steps, spark, lake, rows)
    finally:
        spark.stop()
    return steps.found


class _Steps:
    def __init__(self) -> None:
        self.found: dict[str, dict[str, float]] = {}

    def measure(self, what: str, call: Callable[[], Any]) -> None:
        with Peak() as peak:
            taken = seconds(call)
        self.found[what] = {
            "seconds": taken,
            "driver MB": peak.megabytes,
            "more MB": peak.growth,
        }
        print(what, self.found[what], file=sys.stderr, flush=True)


def _rows(steps: _Steps, spark: Any, lake: Any, rows: int) -> None:
    """Rows, of which one in a hundred is updated."""
    table = lake.create_table("t", "id BIGINT, k VARCHAR, v DOUBLE")
    new = spark.range(rows).selectExpr("id", "concat('k', id % 1000) AS k", "id * 0.5D AS v")
    other = spark.range(0, rows, 100).selectExpr("id", "'m' AS k", "id * 0.25D AS v")
    steps.measure("append", lambda: table.append(new))
    first = table.snapshots()[-1].snapshot_id
    steps.measure("merge", lambda: table.merge(other, on="id"))
    steps.measure("diff, counted", lambda: table.diff(first).counts)
    steps.measure("changes, counted", lambda: table.changes(since=first).count())
    steps.measure("verify(deep=True)", lambda: _whole(lake))
    steps.measure("rollback", lambda: table.rollback(to=first))
    assert not table.diff(first).counts


def _facts(steps: _Steps, spark: Any, lake: Any, rows: int) -> None:
    """Facts, each key with as many; every key is an entity that covers hours."""
    keys = max(rows // _FACTS_OF_A_KEY, 1)
    table = lake.create_table(
        "facts", "key BIGINT, ts TIMESTAMP, v DOUBLE", key="key", event_time="ts"
    )
    facts = spark.range(rows).selectExpr(
        f"id % {keys} AS key",
        "timestamp_ntz '2024-01-01 00:00:00' + make_dt_interval(0, 0, 0, id) AS ts",
        "id * 0.5D AS v",
    )
    steps.measure("append of facts", lambda: table.append(facts))
    then = table.as_of("2025-01-01")
    steps.measure("as_of, counted", lambda: then.to_spark().count())
    steps.measure("history of a key", lambda: table.history(7).to_arrow())


def _whole(lake: Any) -> None:
    report = lake.verify(deep=True)
    assert report.ok, report.problems


if __name__ == "__main__":
    print(json.dumps(measure(Path(sys.argv[1]), int(sys.argv[2]))))
