"""What Parquet files call their columns."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tidelake.engine.local.errors import translate_duckdb_errors
from tidelake.model.names import text_literal

if TYPE_CHECKING:
    from tidelake.engine.local.engine import LocalEngine

_OURS = re.compile(r"ducklake-[0-9a-f-]{36}-[0-9a-f]{8}\.parquet")


def is_ours(path: str) -> bool:
    """Whether a file is called as Tidelake calls those that it writes, with the names that columns
    had first."""
    return _OURS.fullmatch(path.rpartition("/")[2]) is not None


def names_by_id(engine: LocalEngine, paths: Sequence[str]) -> dict[str, dict[int, str]]:
    """The names that columns, at any depth, have in files, by field id."""
    work = engine.workbench()
    found: dict[str, dict[int, str]] = defaultdict(dict)
    with translate_duckdb_errors("cannot read footers"):
        work.reach(paths)
        listed = ", ".join(map(text_literal, paths))
        sql = f"SELECT file_name, field_id, name FROM parquet_schema([{listed}])"
        for path, field_id, name in work.connection.execute(sql).fetchall():
            if field_id is not None:
                found[path][field_id] = name
    return found
