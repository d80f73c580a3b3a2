"""The data source `tidelake` against native reads, and streams through it, batch by batch."""

import shutil
import statistics
from collections.abc import Callable
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from bench.report import Part, Verdict
from bench.timing import medians

_ROWS = 3_000_000
_ROUNDS = 3
_BATCH = 10_000
_BATCHES = 15
_WARM = 5
"""So many batches do not count: Java and Python start meanwhile."""
_MOST_SECONDS = 120


def run(folder: Path) -> Part:
    import tidelake
    from tests.servers.spark import local_session

    place = folder / "spark_source"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    part = Part("The data source of Spark", ["what", "data source", "beside it", "ratio", "unit"])
    url = f"sqlite:///{place}/lake.db"
    spark = local_session()
    try:
        tidelake.spark.register(spark)
        spark.sparkContext.setLogLevel("OFF")  # streams end in the middle of a batch
        with tidelake.connect(url, engine="spark", spark=spark) as lake:
            _reads(part, spark, lake, url)
            _sink(part, place, spark, lake, url)
            _source(part, place, spark, lake, url)
    finally:
        spark.stop()
    part.notes = [
        f"reads: {_ROWS:,} rows of six columns; medians of {_ROUNDS} runs in turns; beside"
        " to_spark(), which Spark's own Parquet reader reads",
        f"streams: batches of {_BATCH:,} rows of six columns, medians of {_BATCHES} after {_WARM}"
        " that do not count; time of a batch as Spark tells it (triggerExecution)",
        "our own time: what a batch takes longer than the same batch into Spark's noop sink, or"
        " out of Spark's rate source",
    ]
    return part


def _columns(number: str) -> list[str]:
    return [
        f"{number} AS id",
        f"cast({number} % 1000 AS INT) AS g",
        f"cast(hash({number}) AS BIGINT) AS h",
        f"concat('sym', {number} % 5000) AS s",
        f"cast({number} AS DOUBLE) / 8 AS v",
        f"timestamp_ntz '2024-01-01 00:00:00' + make_dt_interval(0, 0, 0, {number}) AS ts",
    ]


def _reads(part: Part, spark: Any, lake: Any, url: str) -> None:
    rows = spark.range(0, _ROWS, 1, 8).selectExpr(*_columns("id"))
    table = lake.create_table("t", rows.schema)
    table.append(rows)
    first = _ROWS // 2

    def source(columns: str) -> Any:
        reader = spark.read.format("tidelake").option("catalog", url)
        return reader.option("columns", columns).load("t")

    def whole(frame: Any) -> Any:
        return frame.selectExpr("sum(h)", "max(s)", "sum(v)", "max(ts)").collect()

    def groups(frame: Any) -> Any:
        found = frame.groupBy("g").agg({"v": "sum", "h": "max"})
        return found.selectExpr("count(*)", "sum(`sum(v)`)").collect()

    def few(frame: Any) -> Any:
        chosen = frame.where(f"id BETWEEN {first} AND {first + _ROWS // 100}")
        return chosen.selectExpr("sum(v)").collect()

    for what, columns, query in (
        ("scan", "h, s, v, ts", whole),
        ("group by", "g, v, h", groups),
        ("selective filter", "id, v", few),
    ):
        _compare(
            part,
            what,
            lambda query=query, columns=columns: query(source(columns)),
            lambda query=query: query(table.to_spark()),
        )


def _compare(part: Part, what: str, ours: Callable[[], Any], native: Callable[[], Any]) -> None:
    calls = {"source": ours, "native": native}
    first, second = (str(call()) for call in calls.values())
    assert first == second, (first, second)
    found = medians(calls, _ROUNDS)
    ratio = found["source"] / found["native"]
    part.rows.append(
        [what, f"{found['source']:.2f}", f"{found['native']:.2f}", f"{ratio:.2f}", "s"]
    )
    part.numbers[what] = found
    part.verdicts.append(Verdict(f"data source, {what}, against to_spark()", ratio, 3))


def _sink(part: Part, place: Path, spark: Any, lake: Any, url: str) -> None:
    """The same stream into a table, into plain Parquet, and into nothing."""
    source = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", _BATCH)
    rows = source.load().selectExpr(*_columns("value"))
    lake.create_table("stream", rows.schema)

    def into(sink: str, target: str | None = None) -> dict[str, float]:
        writer = rows.writeStream.format(sink).option("catalog", url)
        writer = writer.option("checkpointLocation", str(place / f"to-{sink}"))
        return _batches(lambda: writer.start(target) if target else writer.start())

    ours = into("tidelake", "stream")
    nothing = into("noop")
    parquet = into("parquet", str(place / "parquet"))
    own = ours["triggerExecution"] - nothing["triggerExecution"]
    _stream_row(part, "batch into a table, beside noop", ours, nothing)
    _stream_row(part, "batch into a table, beside Parquet", ours, parquet)
    part.numbers["sink"] = {"tidelake": ours, "noop": nothing, "parquet": parquet}
    part.verdicts.append(Verdict(f"stream of {_BATCH:,} rows a batch, sink", own, 300, unit="ms"))


def _source(part: Part, place: Path, spark: Any, lake: Any, url: str) -> None:
    """A table that got a batch of rows in each snapshot, as a stream of one snapshot a batch."""
    rows = spark.range(0, _BATCH, 1, 1).selectExpr(*_columns("id"))
    table = lake.create_table("feed", rows.schema)
    begin = lake.snapshots()[-1].snapshot_id
    kept = rows.toArrow()
    for _ in range(_BATCHES + _WARM + 2):
        table.append(kept)
    stream = spark.readStream.format("tidelake").option("catalog", url)
    stream = stream.option("startingAt", begin).option("maxSnapshotsPerTrigger", 1).load("feed")
    rate = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", _BATCH).load()

    def into_nothing(frame: Any, name: str) -> dict[str, float]:
        writer = frame.writeStream.format("noop")
        return _batches(writer.option("checkpointLocation", str(place / name)).start)

    ours = into_nothing(stream, "of-table")
    theirs = into_nothing(rate.selectExpr(*_columns("value")), "of-rate")
    own = ours["triggerExecution"] - theirs["triggerExecution"]
    _stream_row(part, "batch out of a table, beside rate", ours, theirs)
    part.numbers["source"] = {"tidelake": ours, "rate": theirs}
    part.verdicts.append(Verdict(f"stream of {_BATCH:,} rows a batch, source", own, 300, unit="ms"))


def _batches(start: Callable[[], Any]) -> dict[str, float]:
    """The median time of each phase of a batch, in milliseconds."""
    query = start()
    found: dict[int, Any] = {}
    try:
        until = monotonic() + _MOST_SECONDS
        while len(found) < _BATCHES + _WARM:
            if (error := query.exception()) is not None:
                raise error
            assert monotonic() < until, f"{len(found)} batches in {_MOST_SECONDS} s"
            sleep(0.1)
            done = [each for each in query.recentProgress if each["numInputRows"] == _BATCH]
            found |= {each["batchId"]: each["durationMs"] for each in done}
    finally:
        query.stop()
    warm = [found[number] for number in sorted(found)][_WARM:]
    return {
        phase: statistics.median(each.get(phase, 0) for each in warm) for phase in dict(warm[0])
    }


def _stream_row(part: Part, what: str, ours: dict[str, float], theirs: dict[str, float]) -> None:
    times = ours["triggerExecution"], theirs["triggerExecution"]
    ratio = times[0] / times[1]
    part.rows.append([what, f"{times[0]:.0f}", f"{times[1]:.0f}", f"{ratio:.2f}", "ms"])
