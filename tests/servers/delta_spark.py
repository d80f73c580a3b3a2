"""Spark with Delta's own reader and writer, in a process of its own.

Delta follows new versions of Spark late, so this is not the Spark of the other tests:
`make test-jvm` installs one that fits, and says where by DELTA_SPARK.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.servers.process import server_folder
from tests.servers.spark import ENVIRONMENT, settings

PACKAGE = "io.delta:delta-spark_4.2_2.13:4.4.0"

_WORKER = """
import datetime, decimal, json, sys

from pyspark.sql import Row, SparkSession

builder = SparkSession.builder.master("local[2]")
for name, value in json.loads(sys.argv[1]).items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
spark.sparkContext.setLogLevel("OFF")


def plain(value):
    if isinstance(value, Row):
        return {name: plain(inner) for name, inner in value.asDict().items()}
    if isinstance(value, dict):
        return sorted([plain(key), plain(inner)] for key, inner in value.items())
    if isinstance(value, list):
        return [plain(inner) for inner in value]
    if isinstance(value, (bytes, bytearray)):
        return bytes(value).hex()
    if isinstance(value, (datetime.date, decimal.Decimal)):
        return str(value)
    return value


print("ready", flush=True)
for line in sys.stdin:
    try:
        rows = spark.sql(json.loads(line)).collect()
        answer = {"rows": [plain(row) for row in rows]}
    except Exception as error:
        answer = {"error": str(error)[:2000]}
    print("answer " + json.dumps(answer), flush=True)
"""

_DELTA = {
    "spark.jars.packages": PACKAGE,
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.databricks.delta.retentionDurationCheck.enabled": "false",
}


class DeltaSparkError(Exception):
    """What Spark said."""


class DeltaSpark:
    """Runs SQL; rows come as plain values, which `plain_rows` makes of Tidelake's as well."""

    def __init__(self) -> None:
        place = os.environ.get("DELTA_SPARK")
        if not place or not Path(place, "pyspark").is_dir():
            raise RuntimeError("Delta's Spark is not installed: run `make test-jvm`")
        folder = server_folder("delta-spark")
        given = json.dumps({**settings(folder), **_DELTA})
        self._process = subprocess.Popen(
            [sys.executable, "-c", _WORKER, given],
            env={
                **os.environ,
                **ENVIRONMENT,
                "PYTHONPATH": str(Path(place).absolute()),
                "TZ": "UTC",
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=(folder / "stderr.log").open("w"),
            text=True,
            cwd=folder,
        )
        self._log = folder / "stderr.log"
        self._line("ready")

    def sql(self, query: str) -> list[dict[str, Any]]:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(query) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._line("answer "))
        if "error" in answer:
            raise DeltaSparkError(answer["error"])
        return answer["rows"]

    def _line(self, begins: str) -> str:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith(begins):
                return line[len(begins) :]
        raise RuntimeError(self._log.read_text()[-3000:])

    def stop(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=60)


def plain_rows(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of Arrow as `DeltaSpark.sql` gives them."""
    return [{name: _plain(value) for name, value in row.items()} for row in rows]


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, list) and value and all(isinstance(each, tuple) for each in value):
        return sorted([_plain(key), _plain(inner)] for key, inner in value)
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    if isinstance(value, bytes):
        return value.hex()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return str(value.replace(tzinfo=None) if hasattr(value, "tzinfo") else value)
