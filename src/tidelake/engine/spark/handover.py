"""How Spark hands rows to our Python: in batches of Arrow, few and big.

So that a batch does not grow too large, Spark measures it after every single row, and that takes
about as long as to fill it. Where the types of the columns bound a row, so does a number of rows
for a batch, and nothing has to be measured. A text has no bound: rows are taken to be narrow, each
checked as it passes, and if there is one that is not, it is done once more in Spark's own way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, TypeVar

from pyspark.sql import types as t

from tidelake.engine.spark.settings import setting
from tidelake.plan.spark_literal import backtick

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Answer = TypeVar("Answer")

_ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"
_BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"
_UNMEASURED = str(2**31 - 1)
"""What Spark takes for no limit at all."""
_MOST_ROWS, _MOST_BYTES = 32_768, 64 * 1024 * 1024
_ROWS_WITH_TEXT = 4_096
_NARROW = 65_536
"""Bytes of all texts of a row together."""
_WIDE = "tidelake: a row is too wide to be handed over unmeasured"
_TEXTS = (t.StringType, t.BinaryType)
_FIXED = (
    t.BooleanType,
    t.NumericType,
    t.DateType,
    t.TimestampType,
    t.TimestampNTZType,
    t.TimeType,
    t.DayTimeIntervalType,
    t.YearMonthIntervalType,
    t.NullType,
)
_FIXED_BYTES = 16


def hand_over(frame: DataFrame, run: Callable[[DataFrame], Answer]) -> Answer:
    """What `run` makes of the rows: it has Python go through them, and is run again from the
    beginning if the first attempt fails on a wide row."""
    spark = frame.sparkSession
    texts = _texts(frame)
    if texts is not None:
        rows = _ROWS_WITH_TEXT if texts else _most_rows(len(frame.columns))
        try:
            return _run(spark, lambda: run(_checked(frame, texts)), rows, _UNMEASURED)
        except Exception as error:  # classic and Connect sessions raise very different things here
            if _WIDE not in str(error):
                raise
    return _run(spark, lambda: run(frame), _MOST_ROWS)


@contextmanager
def big_batches(spark: SparkSession) -> Iterator[None]:
    """For queries in which Python goes through rows and that are not handed over here."""
    with setting(spark, _ROWS, str(_MOST_ROWS)):
        yield


def _run(
    spark: SparkSession, work: Callable[[], Answer], rows: int, limit: str | None = None
) -> Answer:
    with ExitStack() as settings:
        settings.enter_context(setting(spark, _ROWS, str(rows)))
        if limit is not None:
            settings.enter_context(setting(spark, _BYTES, limit))
        return work()


def _texts(frame: DataFrame) -> list[str] | None:
    """The columns of texts and blobs, if all others are of a fixed width; else None."""
    found = [field.name for field in frame.schema if isinstance(field.dataType, _TEXTS)]
    others = (field.dataType for field in frame.schema if field.name not in found)
    return found if all(isinstance(kind, _FIXED) for kind in others) else None


def _most_rows(columns: int) -> int:
    return max(1, min(_MOST_ROWS, _MOST_BYTES // (_FIXED_BYTES * max(columns, 1))))


def _checked(frame: DataFrame, texts: list[str]) -> DataFrame:
    """The same rows; the query fails on one that is wide."""
    if not texts:
        return frame
    names = [backtick(name) for name in texts]
    width = " + ".join(f"coalesce(octet_length({name}), 0)" for name in names)
    first = f"IF({width} > {_NARROW}, raise_error('{_WIDE}'), {names[0]}) AS {names[0]}"
    return frame.selectExpr(
        *(first if name == texts[0] else backtick(name) for name in frame.columns)
    )
