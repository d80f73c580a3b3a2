"""Calendars, completeness and watermarks on Spark: the answers of the local engine."""

from datetime import date

import pytest

from tests.coverage.days import DAY, between, create, rows
from tidelake.errors import Incomplete

pytestmark = pytest.mark.spark

START = date(2024, 1, 1)


def test_spark_says_what_the_local_engine_says(place, spark):
    with place.open() as lake:
        t = create(lake, key="k")
        t.append(rows({"a": {*between(START, START + 9 * DAY)}, "b": {START, START + 2 * DAY}}))
    with place.open(engine="spark", spark=spark) as lake, place.open() as local:
        lake.sql("CALL set_calendar('t', 'weekdays')")
        lake.table("t").set_calendar("always", entity="b")
        t = local.table("t")
        for query in (
            "FROM coverage('t', end => DATE '2024-01-15') ORDER BY k",
            "FROM complete_through('t') ORDER BY k",
            "EXPLAIN SELECT * FROM t FOR VALID_TIME AS OF DATE '2024-01-03'",
        ):
            found, wanted = (each.sql(query).to_arrow().to_pylist() for each in (lake, local))
            assert [{**row, "engine": None} for row in found] == [
                {**row, "engine": None} for row in wanted
            ]
        moment = START + 2 * DAY
        assert lake.table("t").as_of(moment).completeness == t.as_of(moment).completeness == 5 / 6
        assert lake.table("t").scan(as_of=moment, where="k = 'a'", require=1.0).count() == 1
        assert lake.table("t").as_of(moment, require=0.8).to_spark().count() == 2
        with pytest.raises(Incomplete):
            lake.table("t").as_of(moment, require=0.9).to_spark()
