"""Settings of a Spark session that a read or a write asks for, where the session lets it: a
declarative pipeline and some servers do not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tidelake.errors import Unsupported

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tidelake.model.schema import Column

FIELD_IDS = "spark.sql.parquet.fieldId.read.enabled"
_TIMES = "spark.sql.timeType.enabled"
_LISTING_TASKS = "spark.sql.sources.parallelPartitionDiscovery.parallelism"
_FEW_PATHS = 32
_PATHS_OF_A_TASK = 64


def switch_on(spark: SparkSession, name: str) -> bool:
    """Whether the setting is on now."""
    return is_on(spark, name) or (_set(spark, name, "true") and is_on(spark, name))


def is_on(spark: SparkSession, name: str) -> bool:
    return _get(spark, name) == "true"


def allow_times(spark: SparkSession, columns: Iterable[Column], place: object) -> None:
    """Let the session have times of day, which are switched off by default."""
    timed = [c.name for c in columns if any(below.type == "time" for below in c.walk())]
    if timed and not switch_on(spark, _TIMES):
        raise Unsupported(
            f"{place}: column {timed[0]!r} holds times of day, which this Spark session has"
            " switched off and does not let us switch on",
            hint=f"start the session with {_TIMES}=true, or leave the column out with columns=[…]",
        )


@contextmanager
def listing(spark: SparkSession, paths: int) -> Iterator[None]:
    """While Spark looks at so many paths: with more than a few it does so in a job, of a task for
    each, which takes seconds for a thousand. Connect looks at them later, and again with every
    query, so there the setting stays."""
    tasks = str(max(16, paths // _PATHS_OF_A_TASK))
    if paths <= _FEW_PATHS:
        yield
    elif is_connect(spark):
        if int(_get(spark, _LISTING_TASKS) or 0) != int(tasks):
            _set(spark, _LISTING_TASKS, tasks)
        yield
    else:
        with setting(spark, _LISTING_TASKS, tasks):
            yield


def is_connect(spark: SparkSession) -> bool:
    return type(spark).__module__.startswith("pyspark.sql.connect")


@contextmanager
def setting(spark: SparkSession, name: str, value: str) -> Iterator[None]:
    """The setting as it should be while something runs, if the session lets us."""
    before = _get(spark, name)
    changed = before != value and _set(spark, name, value)
    try:
        yield
    finally:
        if changed:
            _restore(spark, name, before)


def _get(spark: SparkSession, name: str) -> str | None:
    try:
        return spark.conf.get(name, None)
    except Exception:  # classic and Connect sessions raise very different things here
        return None


def _set(spark: SparkSession, name: str, value: str) -> bool:
    try:
        spark.conf.set(name, value)
    except Exception:  # whoever refuses has an error of his own for it
        return False
    return True


def _restore(spark: SparkSession, name: str, before: str | None) -> None:
    if before is None:
        spark.conf.unset(name)
    else:
        spark.conf.set(name, before)
