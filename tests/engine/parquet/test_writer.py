"""The order of rows in files."""

from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tidelake
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


def test_a_file_of_a_task_is_sorted_within(tmp_path: Path) -> None:
    """Although DuckDB is not asked there to keep the order of rows."""
    names = {1: "k", 2: "v"}
    sorting = (SortKey("v", "DESC", "NULLS_LAST"),)
    target = Target(TableName("main", "t"), f"{tmp_path}/", COLUMNS, names, None, sorting)
    work = LocalEngine().workbench()
    work.is_small = True
    work.connection.execute("SET threads = 1")
    rows = "SELECT range % 3 AS k, (hash(range) % 9973)::BIGINT AS v FROM range(600_000)"
    (file,) = write_files(work, rows, target, carries_row_ids=False)
    found = duckdb.sql(f"SELECT v FROM read_parquet('{file.path}')").fetchall()
    assert found == sorted(found, reverse=True)


def test_row_groups_of_one_file_are_about_equally_large(tmp_path: Path) -> None:
    """Else of two cores that make them one waits for the other."""
    lake = tidelake.connect(f"sqlite:///{tmp_path}/lake.db")
    table = lake.create_table("t", "k BIGINT, v BIGINT")
    for count in (1_000_000, 200_000, 122_880, 122_881, 5_000):
        table.append(pa.table({"k": range(count), "v": range(count)}))
    files = [pq.read_metadata(path) for path in tmp_path.rglob("*.parquet")]
    found = {file.num_rows: list(map(rows_of(file), range(file.num_row_groups))) for file in files}
    assert found == {
        1_000_000: [111_104, *[111_112] * 8],
        200_000: [100_000, 100_000],
        122_880: [122_880],
        122_881: [63_488, 59_393],
        5_000: [5_000],
    }


def rows_of(file: pq.FileMetaData) -> Callable[[int], int]:
    return lambda group: int(file.row_group(group).num_rows)


def test_rows_of_megabytes_take_no_more_memory_than_a_task_has(tmp_path: Path) -> None:
    """DuckDB would keep as many rows as a row group has."""
    columns = (Column(1, "id", "int64"), Column(2, "s", "varchar"))
    target = Target(TableName("main", "t"), f"{tmp_path}/", columns, {1: "id", 2: "s"})
    text = "repeat(md5(id::VARCHAR), 94_000)"
    rows = " UNION ALL ".join(
        f"SELECT id, {text} AS s FROM range({n}, {n + 8}) AS r(id)" for n in range(0, 160, 8)
    )
    work = LocalEngine().workbench()
    work.connection.execute("SET threads = 1; SET memory_limit = '450MB'")
    with pytest.raises(duckdb.OutOfMemoryException):
        write_files(work, rows, target, carries_row_ids=False)
    work.is_small = True
    (file,) = write_files(work, rows, target, carries_row_ids=False)
    told = work.connection.execute(
        "SELECT count(DISTINCT id), bool_and(s[:32] = md5(id::VARCHAR)), sum(len(s))"
        f" FROM read_parquet('{file.path}')"
    )
    assert told.fetchone() == (160, True, 160 * 94_000 * 32)
    order = work.connection.execute("SELECT current_setting('preserve_insertion_order')")
    assert order.fetchone() == (True,)
