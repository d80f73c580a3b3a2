"""`-0.0` beside `0.0`, in every place where a file may hold them."""

import math
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest

from tidelake.engine.local.engine import LocalEngine
from tidelake.engine.parquet.writer import write_files
from tidelake.model.change import NewFile
from tidelake.model.names import TableName
from tidelake.model.schema import Column
from tidelake.model.table import PartitionKey, PartitionSpec
from tidelake.plan.target import Target

NAMES = {n: f"old {n}" for n in (1, 2, 3, 4, 5, 15, 16)}
FLOAT, DOUBLE = Column(11, "element", "float32"), Column(12, "value", "float64")
COLUMNS = (
    Column(1, "n", "int64"),
    Column(2, "v", "float64"),
    Column(3, "l", "list", children=(FLOAT,)),
    Column(4, "m", "map", children=(Column(13, "key", "varchar"), DOUBLE)),
    Column(
        5,
        "s",
        "list",
        children=(
            Column(
                14,
                "element",
                "struct",
                children=(Column(15, "a", "float32"), Column(16, "b", "float64")),
            ),
        ),
    ),
)
FLOATS = (2, 11, 12, 15, 16)
ROWS = """
    SELECT i AS n, (CASE i % 3 WHEN 0 THEN '-0.0' WHEN 1 THEN '0.0' ELSE '1.5' END)::DOUBLE AS v,
        [v::FLOAT, NULL, (-v)::FLOAT] AS l, MAP {'a': -v, 'b': v} AS m,
        CASE WHEN i % 5 = 0 THEN NULL ELSE [{'a': v::FLOAT, 'b': -v}] END AS s
    FROM range(3000) AS r(i)
"""


def written(folder: Path, sql: str, **how: Any) -> tuple[NewFile, ...]:
    target = Target(TableName("main", "t"), f"{folder}/", COLUMNS, NAMES, **how)
    return write_files(LocalEngine().workbench(), sql, target, carries_row_ids=False)


def signs(value: Any) -> Any:
    """A value with the signs of its zeros."""
    if isinstance(value, float):
        return (value, math.copysign(1, value))
    if isinstance(value, dict):
        return tuple(map(signs, value.values()))
    return tuple(map(signs, value)) if isinstance(value, list | tuple) else value


@pytest.mark.parametrize(
    "how",
    [{}, {"in_order": True}, {"partitioning": PartitionSpec(1, (PartitionKey(2, "identity"),))}],
    ids=["plain", "in_order", "partitions"],
)
def test_both_zeros_stay(tmp_path: Path, how: dict[str, Any]) -> None:
    files = written(tmp_path, ROWS, **how)
    there = sorted(path.name for path in tmp_path.iterdir())
    assert there == sorted(Path(file.path).name for file in files)
    wanted = sorted(signs(duckdb.sql(ROWS).fetchall()))
    assert sorted(signs(duckdb.sql(f"FROM '{tmp_path}/*.parquet'").fetchall())) == wanted
    by_arrow = [
        list(row.values()) for file in files for row in pq.read_table(file.path).to_pylist()
    ]
    for row in by_arrow:
        row[3] = dict(row[3])
    assert sorted(signs(by_arrow)) == wanted
    for file in files:
        assert file.bytes == Path(file.path).stat().st_size
        lows = [float(f.min) for f in file.columns if f.column_id in FLOATS and f.min]
        assert min(lows) == (
            0 if "partitioning" in how and file.partition_values != ("1.5",) else -1.5
        )


def test_other_low_numbers_are_no_reason_to_write_again(tmp_path: Path) -> None:
    (file,) = written(
        tmp_path, ROWS.replace("'-0.0'", "'-inf'").replace("(-v)", "v").replace("-v", "v")
    )
    column = pq.read_metadata(file.path).row_group(0).column(1)
    assert "PLAIN_DICTIONARY" in column.encodings
