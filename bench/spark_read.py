"""Reading on Spark, against Spark's own reader on the same rows as plain Parquet."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.report import Part, Verdict
from bench.timing import medians, seconds

_ROWS = 10_000_000
_ROUNDS = 5
_SMALL_FILES = 1000


def run(folder: Path) -> Part:
    import tidelake
    from tests.servers.spark import local_session

    place = folder / "spark_read"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    part = Part("Reading on Spark", ["read", "Tidelake, s", "Parquet, s", "ratio"])
    spark = local_session()
    try:
        with tidelake.connect(f"sqlite:///{place}/lake.db", engine="spark", spark=spark) as lake:
            _scans(part, place, spark, lake)
            _small_files(part, place, spark, lake)
    finally:
        spark.stop()
    part.notes = [
        f"{_ROWS:,} rows of seven columns, an aggregate of six; medians of {_ROUNDS} runs in turns",
        "Parquet: df.write.parquet of the same DataFrame, read by Spark; with rows deleted against"
        " all of them",
        f"small files: {_SMALL_FILES:,} of 100 rows each; Parquet reads their folder; planning is"
        " to_spark() alone",
    ]
    return part


def _frame(spark: Any, rows: int) -> Any:
    return spark.range(0, rows, 1, 8).selectExpr(
        "id",
        "cast(id % 100000 AS INT) AS g",
        "cast(hash(id) AS BIGINT) AS h",
        "concat('sym', id % 5000) AS s",
        "cast(id AS DOUBLE) / 7 AS v",
        "timestamp_ntz '2024-01-01 00:00:00' + make_dt_interval(0, 0, 0, id) AS ts",
        "cast(id % 97 AS DECIMAL(10, 2)) AS price",
    )


def _aggregate(frame: Any) -> Any:
    return frame.selectExpr(
        "count(*)", "sum(h)", "max(s)", "sum(v)", "max(ts)", "sum(price)"
    ).collect()


def _scans(part: Part, place: Path, spark: Any, lake: Any) -> None:
    frame = _frame(spark, _ROWS)
    table = lake.create_table("t", frame.schema)
    table.append(frame)
    frame.write.parquet(str(place / "plain"))

    def plain() -> Any:
        return spark.read.parquet(str(place / "plain"))

    def few(rows: Any) -> Any:
        return rows.where("id BETWEEN 5000000 AND 5100000").selectExpr("sum(v)").collect()

    _compare(part, "scan", 1.05, lambda: _aggregate(table.to_spark()), lambda: _aggregate(plain()))
    _compare(part, "selective filter", 1.1, lambda: few(table.to_spark()), lambda: few(plain()))
    table.delete("id % 1000 = 3")
    _compare(
        part,
        "scan, 0.1 % of rows deleted",
        1.3,
        lambda: _aggregate(table.to_spark()),
        lambda: _aggregate(plain()),
    )


def _small_files(part: Part, place: Path, spark: Any, lake: Any) -> None:
    rows = _frame(spark, 100 * _SMALL_FILES).repartition(_SMALL_FILES)
    table = lake.create_table("small", rows.schema)
    ours = seconds(lambda: table.append(rows))
    theirs = seconds(lambda: rows.write.parquet(str(place / "small")))
    _add(part, "append by 1,000 tasks", 1.5, ours, theirs)
    planning = medians({"plan": table.to_spark}, _ROUNDS)["plan"]
    part.rows.append(["planning 1,000 files", f"{planning:.2f}", "-", "-"])
    part.verdicts.append(Verdict("to_spark() of 1,000 small files", planning, 1, unit="s"))

    def parquet() -> Any:
        return spark.read.schema(rows.schema).parquet(str(place / "small"))

    _compare(
        part,
        "1,000 small files",
        1.5,
        lambda: _aggregate(table.to_spark()),
        lambda: _aggregate(parquet()),
    )


def _compare(
    part: Part, what: str, target: float, ours: Callable[[], Any], theirs: Callable[[], Any]
) -> None:
    calls = {"tidelake": ours, "parquet": theirs}
    for call in calls.values():
        call()
    found = medians(calls, _ROUNDS)
    _add(part, what, target, found["tidelake"], found["parquet"])


def _add(part: Part, what: str, target: float, ours: float, theirs: float) -> None:
    part.rows.append([what, f"{ours:.2f}", f"{theirs:.2f}", f"{ours / theirs:.2f}"])
    part.numbers[what] = {"tidelake": ours, "parquet": theirs}
    part.verdicts.append(Verdict(f"Spark, {what}, against plain Parquet", ours / theirs, target))
