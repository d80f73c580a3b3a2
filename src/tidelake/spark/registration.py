"""Making the data source known to a Spark session."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from tidelake.spark.source import TidelakeSource

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PUSHDOWN = "spark.sql.python.filterPushdown.enabled"
REDACTION = "spark.sql.redaction.options.regex"
TIMES = "spark.sql.timeType.enabled"
HIDDEN = "(?i)url|catalog"
"""Options whose values Spark does not show in plans; an address may have a password in it."""


def register(spark: SparkSession) -> None:
    """Let the session read and write `format("tidelake")`, classic and Connect alike.

    Where the session may be changed, filters are pushed into the skipping of files, times of day
    are allowed, and addresses of catalogs do not show in plans. Nothing else depends on that.
    """
    spark.dataSource.register(TidelakeSource)
    for name, value in ((PUSHDOWN, "true"), (TIMES, "true"), (REDACTION, HIDDEN)):
        with suppress(Exception):  # what a session refuses differs between classic and Connect
            spark.conf.set(name, value)
