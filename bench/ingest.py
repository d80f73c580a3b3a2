"""Many small files that come: into a table, and by Spark alone into plain Parquet."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.report import Part, Verdict
from bench.timing import medians

_FILES, _LINES = 1000, 1000
_ROUNDS = 3
_TYPES = {"id": "BIGINT", "price": "DECIMAL(10,2)", "ts": "TIMESTAMP", "name": "VARCHAR"}
_SPARK_TYPES = "id BIGINT, price DECIMAL(10,2), ts TIMESTAMP_NTZ, name STRING"


def run(folder: Path) -> Part:
    import tidelake
    from tests.servers.spark import local_session

    place = folder / "ingest"
    shutil.rmtree(place, ignore_errors=True)
    for kind in ("csv", "json"):
        _make(place / kind, kind)
    part = Part(
        "Many small files",
        ["files", "local, s", "on Spark, s", "Spark to Parquet, s", "local", "on Spark"],
    )
    spark = local_session()
    try:
        with (
            tidelake.connect(f"sqlite:///{place}/local.db", f"{place}/local") as local,
            tidelake.connect(
                f"sqlite:///{place}/spark.db", f"{place}/spark", engine="spark", spark=spark
            ) as there,
        ):
            for kind in ("csv", "json"):
                _measure(part, place, kind, {"local": local, "spark": there}, spark)
    finally:
        spark.stop()
    part.notes = [
        f"{_FILES:,} files of {_LINES:,} records; medians of {_ROUNDS} runs in turns, each into a"
        " new table or folder",
        "Spark is told the types; files that have been taken are remembered, values are looked at"
        " one by one, and bad records would be kept",
    ]
    return part


def _make(folder: Path, kind: str) -> None:
    folder.mkdir(parents=True)
    for number in range(_FILES):
        first = number * _LINES
        rows = [
            {
                "id": n,
                "price": n % 1000 / 100,
                "ts": f"2024-01-01 00:{n % 60:02}:00",
                "name": f"n{n}",
            }
            for n in range(first, first + _LINES)
        ]
        if kind == "json":
            text = "\n".join(map(json.dumps, rows))
        else:
            lines = (",".join(map(str, row.values())) for row in rows)
            text = "\n".join(["id,price,ts,name", *lines])
        (folder / f"{number:04}.{kind}").write_text(f"{text}\n")


def _measure(part: Part, place: Path, kind: str, lakes: dict[str, Any], spark: Any) -> None:
    import tidelake

    numbers = iter(range(1000))

    def take(lake: Any) -> Callable[[], Any]:
        return lambda: tidelake.ingest(
            lake, f"{kind}{next(numbers)}", f"{place}/{kind}/", types=_TYPES
        )

    def parquet() -> None:
        reader = spark.read.schema(_SPARK_TYPES).option("header", True)
        getattr(reader, kind)(f"{place}/{kind}").write.parquet(f"{place}/p{kind}{next(numbers)}")

    calls = {name: take(lake) for name, lake in lakes.items()} | {"parquet": parquet}
    for call in calls.values():
        call()
    found = medians(calls, _ROUNDS)
    ratios = {name: found[name] / found["parquet"] for name in lakes}
    part.rows.append(
        [kind, *(f"{each:.2f}" for each in found.values()), *(f"{r:.2f}" for r in ratios.values())]
    )
    part.numbers[kind] = dict(found)
    part.verdicts += [
        Verdict(f"{_FILES:,} {kind} files, {name}, against Spark to Parquet", ratio, 1.5)
        for name, ratio in ratios.items()
    ]
