"""Compaction: a thousand files of ten thousand rows become one."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from bench.report import Part, Verdict
from bench.timing import medians, seconds

_FILES = 1_000
_ROWS = 10_000
_ROUNDS = 3
_WARM_FILES = 20
_DDL = "id BIGINT, symbol VARCHAR, price DOUBLE, ts TIMESTAMP"


def run(folder: Path) -> Part:
    import tidelake

    place = folder / "compact"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    part = Part("Compaction", ["engine", "compact, s", "plain copy, s", "ratio"])
    with tidelake.connect(f"sqlite:///{place}/lake.db") as lake:
        tables = [_filled(lake, f"t{n}", _FILES) for n in range(_ROUNDS)]
        _locally(part, place, tables)
        _on_spark(part, place, lake)
    part.notes = [
        f"{_FILES:,} files of {_ROWS:,} rows of four columns, each of its own commit, into one",
        f"locally, medians of {_ROUNDS} tables in turns: against"
        " COPY (FROM read_parquet([…])) TO … with the same DuckDB",
        "on Spark: against spark.read.parquet(…).coalesce(1).write.parquet(…)",
        "a compacted file also holds each row's id and the snapshot that wrote it",
    ]
    return part


def _filled(lake: Any, name: str, files: int) -> Any:
    import pyarrow as pa

    table = lake.create_table(name, _DDL)
    for number in range(files):
        ids = range(number * _ROWS, (number + 1) * _ROWS)
        table.append(
            pa.table(
                {
                    "id": pa.array(ids, pa.int64()),
                    "symbol": pa.array([f"SYM{i * 7919 % 5000:04}" for i in ids]),
                    "price": pa.array([i * 37 % 1000 / 8 for i in ids]),
                    "ts": pa.array([1_700_000_000_000_000 + i for i in ids], pa.timestamp("us")),
                }
            )
        )
    return table


def _locally(part: Part, place: Path, tables: list[Any]) -> None:
    paths = [file.path for file in tables[0].files()]
    waiting: Iterator[Any] = iter(tables)
    calls: dict[str, Callable[[], Any]] = {
        "tidelake": lambda: next(waiting).compact(),
        "copy": lambda: _copy(paths, place / "plain.parquet"),
    }
    _copy(paths, place / "plain.parquet")
    found = medians(calls, _ROUNDS)
    assert all(len(table.files()) == 1 for table in tables)
    _add(part, "local", found["tidelake"], found["copy"])


def _copy(paths: list[str], to: Path) -> None:
    import duckdb

    with duckdb.connect() as connection:
        connection.execute(f"COPY (FROM read_parquet({paths})) TO '{to}' (FORMAT parquet)")


def _on_spark(part: Part, place: Path, lake: Any) -> None:
    import tidelake
    from tests.servers.spark import local_session

    small = _filled(lake, "warm", _WARM_FILES)
    large = _filled(lake, "large", _FILES)
    spark = local_session()
    try:
        with tidelake.connect(f"sqlite:///{place}/lake.db", engine="spark", spark=spark) as there:
            for table in (small, large):
                paths = [file.path for file in table.files()]
                to = str(place / f"spark_{len(paths)}")
                plain = seconds(
                    lambda paths=paths, to=to: (
                        spark.read.parquet(*paths).coalesce(1).write.parquet(to)
                    )
                )
                ours = seconds(lambda name=table.name: there.table(name).compact())
                assert len(table.files()) == 1
    finally:
        spark.stop()
    _add(part, "Spark", ours, plain)


def _add(part: Part, engine: str, ours: float, plain: float) -> None:
    ratio = ours / plain
    part.rows.append([engine, f"{ours:.2f}", f"{plain:.2f}", f"{ratio:.2f}"])
    part.numbers[engine] = {"tidelake": ours, "plain": plain}
    part.verdicts.append(Verdict(f"compaction, {engine}, against a plain copy", ratio, 1.5))
