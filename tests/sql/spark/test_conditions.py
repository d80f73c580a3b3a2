"""The same condition keeps the same rows on Spark as in this process, whatever the settings of the
session; never an error of Spark's own."""

from typing import Any

import pytest

import tidelake
from tests.sql.spark.rows import conditions
from tests.sql.spark.settings import ZONES, settings
from tidelake.errors import TidelakeError

pytestmark = pytest.mark.spark

_AT_ONCE = 12


def _here(lake: tidelake.Lake, condition: str) -> list[int] | None:
    """The ids that a condition keeps here; None where it is an error."""
    try:
        found = lake.table("t").scan(columns=["id"], where=condition).to_arrow()
    except TidelakeError:
        return None
    return sorted(found.column(0).to_pylist())


def _there(lake: tidelake.Lake, spark: Any, chosen: list[str]) -> dict[str, list[int]]:
    """The ids that conditions keep on Spark, many in one job."""
    parts = []
    for number, condition in enumerate(chosen):
        frame = lake.table("t").scan(columns=["id"], where=condition).to_spark(spark)
        parts.append(frame.selectExpr(f"{number} AS n", "id"))
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.union(part)
    found: dict[str, list[int]] = {condition: [] for condition in chosen}
    for number, row_id in whole.collect():
        found[chosen[number]].append(row_id)
    return {condition: sorted(ids) for condition, ids in found.items()}


def _check(lake: tidelake.Lake, spark: Any, chosen: list[str]) -> None:
    expected = {condition: _here(lake, condition) for condition in chosen}
    answered = [condition for condition in chosen if expected[condition] is not None]
    for start in range(0, len(answered), _AT_ONCE):
        group = answered[start : start + _AT_ONCE]
        found = _there(lake, spark, group)
        assert found == {condition: expected[condition] for condition in group}


@pytest.mark.parametrize(
    "zone",
    [each if "New" in each else pytest.param(each, marks=pytest.mark.slow) for each in ZONES],
)
def test_some(lake: tidelake.Lake, spark: Any, zone: str) -> None:
    place = ZONES.index(zone)
    with settings(spark, zone, ansi=place == 2):
        _check(lake, spark, conditions()[place::45])


@pytest.mark.slow
@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("ansi", [True, False])
def test_all(lake: tidelake.Lake, spark: Any, zone: str, ansi: bool) -> None:
    with settings(spark, zone, ansi):
        _check(lake, spark, conditions())


@pytest.mark.slow
def test_what_is_an_error_here_is_one_of_ours_there(lake: tidelake.Lake, spark: Any) -> None:
    for condition in ("CAST(s AS INT) = 12", "bo + 1 = 2", "i + b > 0"):
        assert _here(lake, condition) is None
        plan = lake.table("t").scan(columns=["id"], where=condition).plan()
        with pytest.raises(TidelakeError):
            lake.session.spark_engine(spark).read(plan).to_arrow()
