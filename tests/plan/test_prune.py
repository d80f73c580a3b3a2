"""Pruning counts what it leaves out, and why."""

from tidelake.model.file import DataFile
from tidelake.model.predicate import col
from tidelake.model.schema import Column, Schema
from tidelake.model.statistics import ColumnStats
from tidelake.model.table import PartitionKey, PartitionSpec
from tidelake.plan.prune import prune
from tidelake.plan.scan import PruneStep

SCHEMA = Schema((Column(1, "day", "date"), Column(2, "x", "int32")))
SPECS = {
    5: PartitionSpec(5, (PartitionKey(1, "identity"),)),
    6: PartitionSpec(6, (PartitionKey(1, "year"),)),
}


def data_file(number: int, spec: int | None = None, *values: str) -> DataFile:
    return DataFile(
        number, f"{number}.parquet", 1, 1, 1, partition_id=spec, partition_values=values
    )


FILES = [
    data_file(1, 5, "2020-01-01"),
    data_file(2, 5, "2020-01-02"),
    data_file(3, 6, "2020"),
    data_file(4, 6, "2019"),
    data_file(5, 99, "2019"),
    data_file(6),
]
STATISTICS = {
    1: {2: ColumnStats("1", "5", 0, 1)},
    3: {2: ColumnStats("7", "9", 0, 1)},
    6: {2: ColumnStats("7", "9", 0, 1)},
}


def pruned(predicate) -> tuple[list[int], tuple[PruneStep, ...]]:
    kept, steps = prune(
        FILES, predicate=predicate, schema=SCHEMA, statistics=STATISTICS, specs=SPECS
    )
    return [file.id for file in kept], steps


def test_without_a_condition_every_file_is_read():
    assert pruned(None) == ([1, 2, 3, 4, 5, 6], ())


def test_partition_values_speak_under_their_own_partitioning():
    kept, steps = pruned(col("day") == "2020-01-02")
    assert kept == [2, 3, 5, 6]
    assert steps == (PruneStep("partition values", 2),)


def test_statistics_come_second():
    kept, steps = pruned((col("day") == "2020-01-01") & (col("x") > 6))
    assert kept == [3, 5, 6]
    assert steps == (PruneStep("partition values", 2), PruneStep("column statistics", 1))


def test_only_reasons_that_left_out_a_file_are_named():
    assert pruned(col("x") == 6) == ([2, 4, 5], (PruneStep("column statistics", 3),))
