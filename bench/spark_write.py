"""Writing on Spark: ten million rows appended, and a merge of one in a hundred."""

import resource
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from bench.report import Part, Verdict
from bench.timing import medians, seconds

_ROWS = 10_000_000
_ROUNDS = 3
_DDL = "id BIGINT, symbol VARCHAR, price DOUBLE, ts TIMESTAMP"


def run(folder: Path) -> Part:
    import tidelake
    from tests.servers.spark import local_session

    place = folder / "spark_write"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    part = Part("Writing on Spark", ["write", "Tidelake, s", "peer, s", "ratio"])
    spark = local_session()
    try:
        with tidelake.connect(f"sqlite:///{place}/lake.db", engine="spark", spark=spark) as lake:
            table = lake.create_table("t", _DDL)
            _append(part, place, lake, _frame(spark, _ROWS))
            table.append(_frame(spark, _ROWS))
            _merge(part, place, spark, table)
    finally:
        spark.stop()
    part.notes = [
        f"append: {_ROWS:,} rows of four columns made by Spark; medians of {_ROUNDS} runs in turns",
        "against df.write.parquet of the same DataFrame",
        f"merge: {_ROWS // 100:,} rows by key, all of one range, against writing the table anew;",
        f"medians of {_ROUNDS} after the first of the session, which is told apart",
    ]
    return part


def _frame(spark: Any, rows: int) -> Any:
    return spark.range(0, rows, 1, 4).selectExpr(
        "id",
        "concat('SYM', lpad(cast(id * 7919 % 5000 as string), 4, '0')) AS symbol",
        "cast(hash(id) % 1000000 as double) / 1000 AS price",
        "timestamp_ntz '2024-01-01 00:00:00' + make_interval(0, 0, 0, 0, 0, 0, id) AS ts",
    )


def _append(part: Part, place: Path, lake: Any, frame: Any) -> None:
    numbers = iter(range(1000))

    def ours() -> Any:
        return lake.create_table(f"a{next(numbers)}", _DDL).append(frame)

    def parquet() -> None:
        frame.write.parquet(str(place / f"plain{next(numbers)}"))

    calls: dict[str, Callable[[], Any]] = {"tidelake": ours, "parquet": parquet}
    for call in calls.values():
        call()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = medians(calls, _ROUNDS)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    ratio = found["tidelake"] / found["parquet"]
    part.rows.append(
        ["append", f"{found['tidelake']:.2f}", f"{found['parquet']:.2f}", f"{ratio:.2f}"]
    )
    part.numbers["append"] = {**found, "driver grew by MB": grown}
    part.verdicts += [
        Verdict("Spark append, against df.write.parquet", ratio, 1.15),
        Verdict("the driver's Python grew by", grown, 50, unit="MB"),
    ]


def _merge(part: Part, place: Path, spark: Any, table: Any) -> None:
    """The first merge of a session, in which Spark compiles all that it runs, and later ones."""
    ours, anew = [], []
    for turn in range(1 + _ROUNDS):
        changed = _frame(spark, _ROWS // 100).withColumn("price", _negated())
        moved = changed.selectExpr(f"id + {turn * _ROWS // 5} AS id", "symbol", "price", "ts")
        ours.append(seconds(partial(table.merge, moved, on="id")))
        path = str(place / f"anew{turn}")
        anew.append(seconds(partial(table.to_spark(spark).write.parquet, path)))
    later = median(ours[1:]), median(anew[1:])
    for what, (merged, written) in {
        "merge of 1 %": later,
        "the first of a session": (ours[0], anew[0]),
    }.items():
        ratio = f"{merged / written:.2f}"
        part.rows.append([what, f"{merged:.2f}", f"{written:.2f}", ratio])
    part.verdicts.append(
        Verdict("Spark merge of 1 %, against writing anew", later[0] / later[1], 0.7)
    )
    touched = sum(1 for file in table.files() if file.has_deletes)
    part.numbers["merge"] = {"tidelake": ours, "rewriting": anew, "files touched": touched}


def _negated() -> Any:
    from pyspark.sql import functions

    return -functions.col("price")
