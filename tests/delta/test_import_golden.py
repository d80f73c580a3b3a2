"""Delta Acceptance Testing: tables with the rows that they must give, at every version."""

import json
import os
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import tidelake
from tests.delta.logs import lake_at, snapshots_by_version

PLACE = Path(
    os.environ.get("TIDELAKE_GOLDEN", Path(__file__).parents[3] / "shared" / "golden")
).joinpath("dat")
CASES = sorted(place.parent.name for place in PLACE.glob("*/test_case_info.json"))
"""The tables are not part of this repository; TIDELAKE_GOLDEN says where they are."""


def test_the_tables_are_there() -> None:
    if not CASES:
        pytest.skip(f"there are no golden tables at {PLACE}: set TIDELAKE_GOLDEN")
    assert len(CASES) >= 10


@pytest.mark.parametrize("case", CASES)
def test_golden(tmp_path: Path, case: str, new_duck: Any) -> None:
    root = PLACE / case
    reader = new_duck()
    reader.execute("SET timezone = 'UTC'")
    with lake_at(tmp_path) as lake:
        tidelake.import_delta(lake, str(root / "delta"), "fast")
        done = tidelake.import_delta(lake, str(root / "delta"), "whole", mode="full-history")
        assert lake.verify(deep=True).ok
        reader.execute(f"ATTACH 'ducklake:sqlite:{tmp_path}/lake.db' AS l (READ_ONLY)")
        compared = 0
        for place in (root / "expected").iterdir():
            said = json.loads((place / "table_version_metadata.json").read_text())
            for table in ("fast", "whole"):
                at = snapshots_by_version(lake, table)
                compared += compare(lake, reader, table, at.get(said["version"]), expected(place))
            assert said["version"] in at or said["version"] < done.first
        assert compared >= 2


def compare(lake: Any, reader: Any, table: str, at: int | None, wanted: pa.Table) -> int:
    """How many tables were compared: the version may be one that was not imported."""
    if at is None:
        return 0
    ours = lake.table(table).known_at(at).to_arrow()
    theirs = reader.sql(f"FROM l.{table} AT (VERSION => {at})").to_arrow_table()
    assert shown(ours, wanted) == shown(wanted, wanted)
    assert shown(theirs, wanted) == shown(wanted, wanted)
    return 1


def expected(place: Path) -> pa.Table:
    files = f"{place}/table_content.parquet/*.parquet"
    with duckdb.connect() as connection:
        connection.execute("SET timezone = 'UTC'")
        sql = f"FROM read_parquet('{files}', hive_partitioning = false)"
        return connection.sql(sql).to_arrow_table()


def shown(table: pa.Table, like: pa.Table) -> list[str]:
    """Rows in one form: times of old files come without a zone, and are of UTC."""
    assert set(table.column_names) == set(like.column_names)
    rows = table.select(like.column_names).to_pylist()
    return sorted(
        repr([str(value).removesuffix("+00:00") for value in row.values()]) for row in rows
    )
