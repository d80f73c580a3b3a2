"""Plans that are read together, by tasks that have DuckDB: each reads some files of one plan, and
all of the others, which are small. Nothing is moved."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tidelake.engine.spark.arrow_reader import (
    SLICE_BYTES,
    nullable,
    spread_numbers,
    user_rows,
)
from tidelake.engine.spark.state_tasks import is_small, slices_of_scan
from tidelake.plan.as_of import AsOfPlan
from tidelake.plan.scan import ScanPlan

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from tidelake.engine.spark.plan_frames import PlanFrames
    from tidelake.engine.spark.tasks import PlansQuery

_CATALOG_ROWS = 10_000
"""Of all plans: every task is told of them."""


@dataclass(frozen=True, slots=True)
class Pieces:
    """What tasks read under a name, and beside it; together about so many bytes."""

    name: str
    each: tuple[ScanPlan | AsOfPlan, ...]
    others: Mapping[str, ScanPlan | AsOfPlan]
    bytes: int


def pieces_of(
    frames: PlanFrames,
    name: str,
    plan: ScanPlan | AsOfPlan | None,
    others: Mapping[str, ScanPlan | AsOfPlan | None],
) -> Pieces | None:
    """None if something is no plan, or too large to be read by every task, or only Spark can read
    it."""
    known = {each: other for each, other in others.items() if other is not None}
    if plan is None or len(known) < len(others):
        return None
    parts = [part for each in (plan, *known.values()) for part in _parts(each)]
    in_catalog = sum(len(inlined.rows) for part in parts for inlined in part.inlined)
    if sum(map(_bytes, known.values())) > SLICE_BYTES or in_catalog > _CATALOG_ROWS:
        return None
    if isinstance(plan, AsOfPlan) and not is_small(plan):
        return None
    for part in parts:
        frames.check(part)
    if not frames.tasks_can_read(parts):
        return None
    each = slices_of_scan(plan) if isinstance(plan, ScanPlan) else [_lean(plan)]
    lean = {beside: _lean(other) for beside, other in known.items()}
    return Pieces(name, tuple(each), lean, _bytes(plan))


def read_pieces(spark: SparkSession, query: PlansQuery, pieces: Pieces) -> DataFrame:
    """What the query gives of all pieces, each read by a task."""
    tasks = [pickle.dumps(piece) for piece in pieces.each]
    name, others = pieces.name, pickle.dumps(pieces.others)

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                plans = {name: pickle.loads(tasks[number]), **pickle.loads(others)}
                yield from query.select(plans)

    numbers = spread_numbers(spark, len(tasks), pieces.bytes)
    return user_rows(numbers.mapInArrow(read, nullable(query.columns)), query.columns)


def _parts(plan: ScanPlan | AsOfPlan) -> tuple[ScanPlan, ...]:
    return plan.parts if isinstance(plan, AsOfPlan) else (plan,)


def _bytes(plan: ScanPlan | AsOfPlan) -> int:
    return sum(file.bytes for part in _parts(plan) for file in part.files)


def _lean(plan: ScanPlan | AsOfPlan) -> ScanPlan | AsOfPlan:
    """As tasks need to know it."""
    if isinstance(plan, ScanPlan):
        return replace(plan, pruned=())
    return replace(plan, pruned=(), parts=tuple(replace(part, pruned=()) for part in plan.parts))
