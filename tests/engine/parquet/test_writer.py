"""The order of rows in files."""

from pathlib import Path

import duckdb

from tidelake.engine.local.engine import LocalEngine
from tidelake.engine.parquet.writer import write_files
from tidelake.model.names import TableName
from tidelake.model.schema import Column
from tidelake.model.table import PartitionKey, PartitionSpec, SortKey
from tidelake.plan.target import Target

COLUMNS = (Column(1, "k", "int64"), Column(2, "v", "int64"))


def test_a_partition_is_sorted_within(tmp_path: Path) -> None:
    target = Target(
        TableName("main", "t"),
        f"{tmp_path}/",
        COLUMNS,
        {1: "k", 2: "v"},
        PartitionSpec(1, (PartitionKey(1, "identity"),)),
        (SortKey("v", "DESC", "NULLS_LAST"),),
    )
    rows = "SELECT range % 3 AS k, (hash(range) % 9973)::BIGINT AS v FROM range(30000)"
    files = write_files(LocalEngine().workbench(), rows, target, carries_row_ids=False)
    assert sorted(file.partition_values for file in files) == [("0",), ("1",), ("2",)]
    for file in files:
        found = duckdb.sql(f"SELECT v FROM read_parquet('{file.path}')").fetchall()
        assert found == sorted(found, reverse=True)
