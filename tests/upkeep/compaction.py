"""Rows to compact, and what a compaction did."""

from typing import Any

import pyarrow as pa


def many(first: int, count: int = 50) -> pa.Table:
    numbers = list(range(first, first + count))
    return pa.table({"a": pa.array(numbers, pa.int64()), "b": [f"v{n}" for n in numbers]})


def kinds(result: Any) -> list[str]:
    return [action.kind for action in result.actions]
