"""What our jobs are called where Spark lists them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_DESCRIPTION = "spark.job.description"


@contextmanager
def naming(spark: SparkSession, doing: str) -> Iterator[None]:
    """Jobs that this thread starts meanwhile bear a name: in the UI's column of descriptions on a
    classic session, and as a tag, which Connect has too. `doing` is what an error would begin with:
    `cannot append to main.t` names them `tidelake: append to main.t`."""
    name = f"tidelake: {doing.removeprefix('cannot ')}"
    tag = name.replace(",", " ")
    context = _context(spark)
    before = context.getLocalProperty(_DESCRIPTION) if context else None
    if context:
        context.setJobDescription(name)
    with suppress(Exception):  # a name is not worth a failure
        spark.addTag(tag)
    try:
        yield
    finally:
        with suppress(Exception):
            spark.removeTag(tag)
        if context:
            context.setLocalProperty(_DESCRIPTION, before)


def _context(spark: SparkSession) -> Any:
    """None on Connect."""
    try:
        return spark.sparkContext
    except Exception:  # Connect raises an error of its own here
        return None
