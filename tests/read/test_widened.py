"""Conditions on columns that were widened, over files from before: DuckDB rounds what they are
compared with to the type in the file, unless it is kept from it."""

from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import pytest

import tidelake

ROWS = [
    {"k": n, "n": n % 3, "x": 0.1, "p": Decimal("0.10"), "d": date(2024, 1, 1)} for n in range(12)
]
WIDER = {"n": "DECIMAL(18, 4)", "x": "DOUBLE", "p": "DECIMAL(18, 4)", "d": "TIMESTAMP"}
CONDITIONS = {
    "n = 0.4": 0,
    "n < 0.4": 4,
    "n <> 0.4": 12,
    "n IN (0.4, 1)": 4,
    "x = 0.1::DOUBLE": 0,
    "x > 0.1::DOUBLE": 12,
    "p = 0.1001": 0,
    "p < 0.1001": 12,
    "p >= 0.1001": 0,
    "d = TIMESTAMP '2024-01-01 12:00:00'": 0,
    "d < TIMESTAMP '2024-01-01 12:00:00'": 12,
}


@pytest.mark.parametrize("forgotten", [False, True])
def test_widened_columns_are_compared_exactly(tmp_path: Path, forgotten: bool) -> None:
    with tidelake.connect(f"sqlite:///{tmp_path}/lake.db") as lake:
        lake.set_option("data_inlining_row_limit", 0)
        t = lake.create_table("t", "k INT, n INT, x FLOAT, p DECIMAL(9, 2), d DATE")
        t.append(ROWS)
        t.evolve(widen=WIDER)
        if forgotten:
            t.append([{"k": 100, "n": 7, "x": 7.0, "p": 7, "d": datetime(2025, 1, 1)}])
            lake.expire(keep_last=1)
        for where, count in CONDITIONS.items():
            old = f"({where}) AND k < 100"
            assert t.scan(where=old).count() == count, where
            assert lake.sql(f"SELECT * FROM t WHERE {old}").to_arrow().num_rows == count, where


@pytest.mark.parametrize("value", ["0.1", "-1e-45", "3.4e38", "inf", "-0.0"])
def test_defaults_of_old_rows_stay_what_they_were(lake: tidelake.Lake, value: str) -> None:
    """0.1 is another DOUBLE than FLOAT: old rows and new ones had the same, and still have."""
    lake.set_option("data_inlining_row_limit", 0)
    t = lake.create_table("t", "k INT, s STRUCT(a INT)")
    t.append([{"k": 1, "s": {"a": 1}}])
    t.evolve(add=f"x FLOAT DEFAULT CAST('{value}' AS FLOAT)")
    t.append([{"k": 2, "s": {"a": 1}}])
    t.evolve(widen={"x": "DOUBLE"})
    shown = "SELECT DISTINCT x = CAST(CAST('{0}' AS FLOAT) AS DOUBLE), x::VARCHAR FROM t"
    assert len(found := lake.sql(shown.format(value)).to_duckdb().fetchall()) == 1
    assert found[0][0]
    t.compact()
    assert lake.sql(shown.format(value)).to_duckdb().fetchall() == found
