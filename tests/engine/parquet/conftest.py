"""Tables for foreign files."""

from pathlib import Path

import pytest

from tests.engine.parquet.foreign import ForeignTable, Make


@pytest.fixture
def table(tmp_path: Path) -> Make:
    """Makes a table in a new lake: `table("k INTEGER", "ALTER …")`."""
    made = []

    def make(columns: str, *more: str) -> ForeignTable:
        made.append(columns)
        folder = tmp_path / f"lake_{len(made)}"
        return ForeignTable(folder, f"CREATE TABLE t ({columns})", *more)

    return make
