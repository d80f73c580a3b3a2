"""`-0.0` beside `0.0` in one column, whoever writes and whoever reads."""

import math
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tidelake.testing.place import Place

VALUES = [0.0, -0.0, 1.5, -1.5, -0.0, 0.0]
ROWS: list[dict[str, Any]] = [
    {"id": n, "v": VALUES[n % 6], "l": [VALUES[n % 6], VALUES[n % 5]]} for n in range(600)
]
SCHEMA = pa.schema([("id", pa.int64()), ("v", pa.float64()), ("l", pa.list_(pa.float64()))])


def signs(rows: list[dict[str, Any]]) -> list[Any]:
    return sorted(
        (row["id"], *((v, math.copysign(1, v)) for v in (row["v"], *row["l"]))) for row in rows
    )


@pytest.mark.parametrize("engine", ["local", pytest.param("spark", marks=pytest.mark.spark)])
def test_both_zeros_come_back(request: pytest.FixtureRequest, place: Place, engine: str) -> None:
    data: Any = pa.Table.from_pylist(ROWS, SCHEMA)
    options: dict[str, Any] = {}
    if engine == "spark":
        spark = request.getfixturevalue("spark")
        options = {"engine": engine, "spark": spark}
        data = spark.createDataFrame(data)
    with place.open(**options) as lake:
        table = lake.create_table("t", "id BIGINT, v DOUBLE, l DOUBLE[]")
        table.append(data)
        assert signs(table.scan().to_arrow().to_pylist()) == signs(ROWS)
    with place.open() as lake:
        table = lake.table("t")
        for where, found in (("v = 0", 400), ("v >= 0", 500), ("v < 0", 100), ("v > 0", 100)):
            assert table.scan(where=where).count() == found
        files = list(place.folder.rglob("ducklake-*.parquet"))
        by_arrow = [row for file in files for row in pq.read_table(file).to_pylist()]
        by_duck = duckdb.sql(f"FROM read_parquet({[*map(str, files)]})").to_arrow_table()
        assert signs(by_arrow) == signs(by_duck.to_pylist()) == signs(ROWS)


def test_what_is_rewritten_keeps_its_zeros(place: Place) -> None:
    with place.open() as lake:
        table = lake.create_table("t", "id BIGINT, v DOUBLE, l DOUBLE[]")
        for start in (0, 300):
            table.append(pa.Table.from_pylist(ROWS[start : start + 300], SCHEMA))
        table.update({"v": "-v"}, where="id < 100")
        table.compact()
        wanted = [{**row, "v": -row["v"]} if row["id"] < 100 else row for row in ROWS]
        assert signs(table.scan().to_arrow().to_pylist()) == signs(wanted)


@pytest.mark.parametrize("partition_by", [[], ["bucket(2, id)"]])
def test_what_is_sorted_by_them_keeps_its_zeros(place: Place, partition_by: list[str]) -> None:
    with place.open() as lake:
        table = lake.create_table(
            "t", "id BIGINT, v DOUBLE, l DOUBLE[]", sort_by=["v", "l"], partition_by=partition_by
        )
        for start in (0, 300):
            table.append(pa.Table.from_pylist(ROWS[start : start + 300], SCHEMA))
        assert signs(table.scan().to_arrow().to_pylist()) == signs(ROWS)
        table.compact()
        assert signs(table.scan().to_arrow().to_pylist()) == signs(ROWS)
        for file in place.folder.rglob("ducklake-*.parquet"):
            values = pq.read_table(file)["v"].to_pylist()
            assert values == sorted(values)


@pytest.mark.parametrize("others", [None, float("nan")], ids=["nothing", "NaN"])
@pytest.mark.parametrize("kind", ["DOUBLE", "FLOAT", "DOUBLE[]"])
def test_in_a_file_where_a_row_group_has_no_number(
    place: Place, kind: str, others: float | None
) -> None:
    """DuckDB tells no bounds of such a file."""
    values = [1.0, -0.0] * 1_024 + [others] * 3_000
    of = {"DOUBLE": pa.float64(), "FLOAT": pa.float32(), "DOUBLE[]": pa.list_(pa.float64())}
    told: list[Any] = [[value] for value in values] if kind == "DOUBLE[]" else values
    data = pa.table({"id": range(len(values)), "v": pa.array(told, of[kind])})
    with place.open() as lake:
        lake.set_option("parquet_row_group_size", 2_048)
        table = lake.create_table("t", f"id BIGINT, v {kind}")
        table.append(data)
        found = table.scan().to_arrow().sort_by("id")["v"]
        assert list(map(repr, found.to_pylist())) == list(map(repr, data["v"].to_pylist()))
        table.update({"id": "id"}, where="true")
        found = table.scan().to_arrow().sort_by("id")["v"]
        assert list(map(repr, found.to_pylist())) == list(map(repr, data["v"].to_pylist()))
