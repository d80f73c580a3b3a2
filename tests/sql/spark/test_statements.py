"""SQL on Spark gives the rows, names and types that it gives in this process."""

import math
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import tidelake
from tests.sql.spark.rows import fill
from tests.sql.spark.settings import settings

pytestmark = pytest.mark.spark

STATEMENTS = (Path(__file__).parent / "statements.txt").read_text().splitlines()
SMALL = [(1, "a"), (2, "b"), (3, "x"), (4, "ABC_def%7"), (5, None), (None, "n"), (100, "xx")]


@pytest.fixture(scope="module")
def lakes(
    tmp_path_factory: pytest.TempPathFactory, spark: Any
) -> Iterator[tuple[tidelake.Lake, tidelake.Lake]]:
    url = fill(tmp_path_factory.mktemp("statements"))
    with tidelake.connect(url) as local, tidelake.connect(url, engine="spark", spark=spark) as far:
        local.create_table("small", "id INTEGER, s VARCHAR")
        local.table("small").append([{"id": number, "s": text} for number, text in SMALL])
        yield local, far


def plain(value: Any) -> Any:
    """What two engines must agree in: a HUGEINT is a decimal on Spark."""
    if isinstance(value, float):
        return "nan" if math.isnan(value) else float(f"{value:.12g}") + 0.0
    if isinstance(value, Decimal) and value == value.to_integral_value():
        return int(value)
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    return value


def rows(lake: tidelake.Lake, statement: str) -> tuple[list[str], list[str]]:
    found = lake.sql(statement).to_arrow()
    told = zip(*(column.to_pylist() for column in found.columns), strict=True)
    listed = [repr(plain(row)) for row in told]
    ordered = "ORDER BY" in statement.split(")")[-1]
    return found.column_names, listed if ordered else sorted(listed)


FEW = STATEMENTS[3::9]
REST = [pytest.param(each, marks=pytest.mark.slow) for each in STATEMENTS if each not in FEW]


@pytest.mark.parametrize("statement", [*FEW, *REST])
def test_statement(lakes: tuple[Any, Any], spark: Any, statement: str) -> None:
    local, far = lakes
    zone = ["UTC", "America/New_York", "Asia/Kolkata"][len(statement) % 3]
    with settings(spark, zone, ansi=len(statement) % 2 == 0):
        found = rows(far, statement)
    assert found == rows(local, statement)
