"""A lake on Spark is read by its executors, and the report is that of the local engine."""

from typing import Any

import pytest

from tidelake.testing.place import Place

pytestmark = pytest.mark.spark


def test_executors_read_and_the_report_is_the_same(spark: Any, place: Place) -> None:
    with place.open(engine="spark", spark=spark) as lake:
        table = lake.create_table("t", "id BIGINT, v DOUBLE", partition_by=["bucket(2, id)"])
        table.append(spark.sql("SELECT id, id / 2D AS v FROM range(0, 100, 1, 2)"))
        table.update({"v": "-v"}, where="id % 5 = 0")
        table.delete("id % 7 = 0")
        table.evolve(rename={"v": "w"})
        table.append([{"id": 1000, "w": 1.0}])
        assert lake.verify(deep=True, fingerprint=True).ok
        place.catalog("UPDATE ducklake_data_file SET row_id_start = row_id_start / 2")
        with place.open() as local:
            report = lake.verify(deep=True, fingerprint=True)
            here = local.verify(deep=True, fingerprint=True)
            assert {"row-ids", "fingerprint"} <= {problem.check for problem in report.problems}
            assert set(report.problems) == set(here.problems)
            assert report.checked == here.checked
