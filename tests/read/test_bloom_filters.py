"""Floats that are equal and have other bits, in files with DuckDB's bloom filters."""

from typing import Any

import duckdb
import pytest

import tidelake
from tidelake.testing.place import Place

_ROWS = (
    "SELECT i AS id, CASE i % 2 WHEN 0 THEN CAST('-0.0' AS {0}) ELSE 0.5 END AS zero,"
    " CASE i % 2 WHEN 0 THEN CAST('-nan' AS {0}) ELSE 0.5 END AS nan FROM range(20) AS r(i)"
)
_WHERE = {"zero": ["zero = 0", "zero IN (0)"], "nan": ["nan = 'nan'::DOUBLE"]}


@pytest.fixture(params=["FLOAT", "DOUBLE"])
def table(
    request: pytest.FixtureRequest, lake: tidelake.Lake, duck: duckdb.DuckDBPyConnection
) -> tidelake.Table:
    """A file of DuckDB's."""
    kind = request.param
    lake.set_option("data_inlining_row_limit", 0)
    table = lake.create_table("t", f"id BIGINT, zero {kind}, nan {kind}")
    duck.execute(f"INSERT INTO lake.t {_ROWS.format(kind)}")
    return table


@pytest.mark.parametrize("column", _WHERE)
def test_they_are_found_changed_and_deleted(table: tidelake.Table, column: str) -> None:
    for where in _WHERE[column]:
        assert table.scan(where=where).count() == 10
        assert table.update({"id": "id + 1"}, where=where).updated == 10
    assert table.delete(_WHERE[column][0]).deleted == 10


@pytest.mark.parametrize(("column", "value"), [("zero", 0.0), ("nan", float("nan"))])
def test_a_merge_by_them_makes_none_twice(table: tidelake.Table, column: str, value: float) -> None:
    done = table.merge([{"id": 7, column: value}], on=column)
    assert (done.inserted, done.updated) == (0, 10)


def test_a_join_finds_them(lake: tidelake.Lake, table: tidelake.Table) -> None:
    lake.sql("CREATE TABLE other (v DOUBLE)")
    lake.sql("INSERT INTO other VALUES (0.0)")
    query = lake.sql("SELECT count(*) FROM t JOIN other ON t.zero = other.v")
    assert query.to_duckdb().fetchall() == [(10,)]


def test_in_registered_files(lake: tidelake.Lake, tmp_path: Any) -> None:
    file = tmp_path / "ducklake-01a1e434-0ead-7d71-884f-43ad9396f8e0-0d888306.parquet"
    duckdb.sql(f"COPY ({_ROWS.format('DOUBLE')}) TO '{file}'")
    table = lake.create_table("t", "id BIGINT, zero DOUBLE, nan DOUBLE")
    table.add_files([str(file)])
    assert [table.scan(where=each[0]).count() for each in _WHERE.values()] == [10, 10]


@pytest.mark.spark
@pytest.mark.parametrize("column", _WHERE)
def test_spark_finds_them(spark: Any, place: Place, table: tidelake.Table, column: str) -> None:
    with place.open(engine="spark", spark=spark) as lake:
        for where in _WHERE[column]:
            assert lake.table("t").scan(where=where).count() == 10
            assert lake.sql(f"SELECT * FROM t WHERE {where}").to_spark().count() == 10
