"""States as of a moment, found by DuckDB on Spark's executors.

A state that few bytes are read for is found by one task, and nothing is moved. Of more, each task
finds the winners among its own files, which may be beaten by those of others: for each key only
one row of every task is left to choose from.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from tidelake.engine.spark.arrow_reader import SLICE_BYTES, read_plans, slices_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tidelake.engine.local.engine import LocalEngine
    from tidelake.plan.as_of import AsOfPlan
    from tidelake.plan.scan import ScanPlan


def is_small(plan: AsOfPlan) -> bool:
    """Whether one task can find the state."""
    return plan.bytes_after(0) <= SLICE_BYTES


def read_state(spark: SparkSession, local: LocalEngine, plan: AsOfPlan) -> DataFrame:
    """The state, found by one task."""
    lean = replace(plan, pruned=(), parts=tuple(replace(part, pruned=()) for part in plan.parts))
    return read_plans(spark, local, [lean], plan.bytes_after(0))


def read_candidates(spark: SparkSession, local: LocalEngine, plan: AsOfPlan) -> DataFrame:
    """Facts that may hold: the winners of every slice, tombstones included, with the columns that
    the plan's parts give."""
    open_end = replace(
        plan,
        output=plan.wanted,
        where=None,
        predicate=None,
        rollup=None,
        keeps_ended=True,
        pruned=(),
    )
    slices = (each for part in plan.parts for each in slices_of_scan(part))
    plans = [replace(open_end, parts=(each,)) for each in slices]
    return read_plans(spark, local, plans, plan.bytes_after(0))


def slices_of_scan(part: ScanPlan) -> Iterator[ScanPlan]:
    """What tasks read of it, each some files or the rows that the catalog keeps."""
    lean = replace(part, pruned=())
    for files in slices_of(part.files):
        yield replace(lean, files=files, inlined=())
    if any(inlined.rows for inlined in part.inlined):
        yield replace(lean, files=())
