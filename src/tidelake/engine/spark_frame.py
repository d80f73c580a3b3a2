"""Spark's DataFrames, told from other data without importing Spark."""

from __future__ import annotations


def is_spark_frame(data: object) -> bool:
    """Whether it is something of Spark's, classic or Connect."""
    return type(data).__module__.partition(".")[0] == "pyspark"
