"""Leave out the files that cannot hold a row the condition keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from tidelake.model.file import DataFile
from tidelake.model.predicate import Predicate
from tidelake.model.schema import Schema
from tidelake.model.statistics import ColumnStats, matcher
from tidelake.model.table import PartitionSpec
from tidelake.plan.partitioning.matches import partition_matcher
from tidelake.plan.scan import PruneStep

BY_PARTITION = "partition values"
BY_STATISTICS = "column statistics"


def prune(
    files: Sequence[DataFile],
    *,
    predicate: Predicate | None,
    schema: Schema,
    statistics: Mapping[int, Mapping[int, ColumnStats]],
    specs: Mapping[int, PartitionSpec],
    types_then: Mapping[int, Mapping[int, str]] | None = None,
) -> tuple[tuple[DataFile, ...], tuple[PruneStep, ...]]:
    """The files to read, in their order, and what left out the others.

    `statistics` are by file id and column id, `specs` by partition id: all that files of the
    table were ever written with. `types_then`, by partition id and column id, are the
    column types when each was declared.
    """
    if predicate is None:
        return tuple(files), ()
    by_partition = _by_partition(files, predicate, schema, specs, types_then or {})
    may_match = matcher(predicate, schema)
    kept = tuple(f for f in by_partition if may_match(statistics.get(f.id, {})))
    steps = (
        PruneStep(BY_PARTITION, len(files) - len(by_partition)),
        PruneStep(BY_STATISTICS, len(by_partition) - len(kept)),
    )
    return kept, tuple(step for step in steps if step.files)


def _by_partition(
    files: Sequence[DataFile],
    predicate: Predicate,
    schema: Schema,
    specs: Mapping[int, PartitionSpec],
    types_then: Mapping[int, Mapping[int, str]],
) -> list[DataFile]:
    matchers = {
        spec_id: cache(
            partition_matcher(predicate, schema, spec, types_then=types_then.get(spec_id))
        )
        for spec_id, spec in specs.items()
    }
    return [
        file
        for file in files
        if file.partition_id is None
        or file.partition_id not in matchers
        or matchers[file.partition_id](file.partition_values)
    ]
