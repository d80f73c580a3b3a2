"""A Spark session that suits a lake."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pyspark
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession as Builder

from tidelake.errors import Invalid, Unsupported
from tidelake.spark.registration import HIDDEN, PUSHDOWN, REDACTION, TIMES, register

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ZONE = "spark.sql.session.timeZone"
_SETTINGS = {
    "spark.sql.parquet.fieldId.read.enabled": "true",
    TIMES: "true",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "10000",
    PUSHDOWN: "true",
    REDACTION: HIDDEN,
}
"""Columns by field id, times of day, Arrow on the way to pandas, no job that only lists files."""
_NAMES_A_MASTER = ("PYSPARK_GATEWAY_PORT", "SPARK_CONF_DIR", "SPARK_HOME", "SPARK_REMOTE", "MASTER")
"""What is set where spark-submit, a configuration or a server may say where tasks run."""


def session(
    name: str = "tidelake",
    *,
    master: str | None = None,
    remote: str | None = None,
    time_zone: str = "UTC",
    s3: bool = False,
    config: Mapping[str, object] | None = None,
) -> SparkSession:
    """A Spark session for lakes: a new one, or the one that is there with the same settings.

    `remote` is the address of a Spark Connect server (`sc://host:15002`); without it the session is
    in this process, on `master` if one is given. With `s3` the packages of S3A are fetched, so
    that Spark opens `s3://` files by itself. `config` wins over all else. `format("tidelake")` is
    registered. Tasks on this machine run with the Python of this process, unless PYSPARK_PYTHON
    names another.
    """
    _check_version()
    wanted = {**_SETTINGS, _ZONE: _checked_zone(time_zone)}
    if s3:
        wanted["spark.jars.packages"] = _s3_packages(remote)
        wanted["spark.hadoop.fs.s3.impl"] = "org.apache.hadoop.fs.s3a.S3AFileSystem"
    wanted |= {key: str(value) for key, value in (config or {}).items()}
    if remote is not None and master is not None:
        raise Invalid(
            "a session is on a master or on a Connect server, not both", hint="leave one out"
        )
    builder = Builder.builder.remote(remote) if remote else Builder.builder.appName(name)
    if master is not None:
        builder = builder.master(master)
    for key, value in wanted.items():
        builder = builder.config(key, value)
    if remote is None and _is_local(master or wanted.get("spark.master")):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    try:
        found = builder.getOrCreate()
    except PySparkRuntimeError as error:
        if remote is None:
            raise
        raise Invalid(
            f"no session on {remote} can be made here: {error}",
            hint="stop the classic session of this process first, or do without remote=",
        ) from error
    _check_zone(found, wanted[_ZONE])
    register(found)
    return found


def _is_local(master: str | None) -> bool:
    """Whether tasks run on this machine: so they do, too, if nothing names a master."""
    if master is not None:
        return master.startswith("local")
    return not any(name in os.environ for name in _NAMES_A_MASTER)


def _check_version() -> None:
    major, minor = (int(part) for part in pyspark.__version__.split(".")[:2])
    if (major, minor) < (4, 1):
        raise Unsupported(
            f"PySpark {pyspark.__version__} is too old", hint="install pyspark 4.1 or newer"
        )


def _checked_zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, TypeError):
        raise Invalid(
            f"there is no time zone {name!r}", hint="say time_zone='UTC' or 'Europe/Berlin'"
        ) from None
    return name


def _check_zone(spark: SparkSession, wanted: str) -> None:
    found = spark.conf.get(_ZONE)
    if found != wanted:
        raise Invalid(
            f"the session's time zone is {found}, not {wanted}: dates and times in conditions would"
            " mean other moments than on the lake's own engine",
            hint=f"stop the session that is there, or pass time_zone={found!r}",
        )


def _s3_packages(remote: str | None) -> str:
    """As new as the Hadoop that this PySpark has."""
    if remote is not None:
        raise Invalid(
            "a Connect server has the packages that it was started with",
            hint="start it with --packages org.apache.hadoop:hadoop-aws:…, and leave s3 out",
        )
    jars = Path(pyspark.__file__).parent / "jars"
    names = (path.name for path in jars.glob("hadoop-client-api-*.jar"))
    found = next((m[1] for n in names if (m := re.search(r"api-(.+)\.jar", n))), None)
    if found is None:
        raise Unsupported(
            "this PySpark has no Hadoop of its own, so that nobody knows which S3A suits it",
            hint="pass config={'spark.jars.packages': 'org.apache.hadoop:hadoop-aws:…'}",
        )
    return f"org.apache.hadoop:hadoop-aws:{found}"
