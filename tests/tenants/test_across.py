"""One table of all tenants at once: as DuckDB would put them together, and pruned by tenant."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pytest

import tidelake
from tidelake import col
from tidelake.errors import Denied, Invalid, NotFound
from tidelake.tenants.common_schema import common_type
from tidelake.testing.place import Place

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_DECLARED = {
    "acme": "id INTEGER, s STRUCT(x INTEGER), l INTEGER[], amount DECIMAL(10,2), day DATE",
    "bolt": "id BIGINT, what VARCHAR, s STRUCT(y VARCHAR, x BIGINT), l BIGINT[], amount INTEGER",
    "cody": "ID SMALLINT, day TIMESTAMP",
}


@pytest.fixture
def lake(place: Place) -> Iterator[tidelake.Lake]:
    with place.open() as lake:
        for name, declared in _DECLARED.items():
            lake.create_tenant(name).create_table("events", declared)
        lake.create_tenant("dory")
        lake.sql("INSERT INTO acme.events VALUES (1, {x: 1}, [1], 1.5, DATE '2024-01-01')")
        lake.sql("INSERT INTO bolt.events VALUES (2, 'w', {y: 'q', x: 2}, [2, NULL], 7)")
        for start in (0, 1000):
            ids = pa.array(range(start, start + 1000), pa.int16())
            lake.table("cody.events").append(pa.table({"ID": ids}))
        yield lake


_UNION = " UNION ALL BY NAME ".join(
    f"SELECT '{each}' AS tenant, * FROM lake.{each}.events" for each in _DECLARED
)


def _rows(found: pa.Table) -> list[str]:
    return sorted(str([row[name] for name in sorted(row)]).lower() for row in found.to_pylist())


_CONDITIONS = {
    "tenant = 'acme'": {"acme"},
    "tenant IN ('acme', 'cody') AND id < 3": {"acme", "cody"},
    "tenant <> 'acme'": {"bolt", "cody"},
    "tenant LIKE 'b%'": {"bolt"},
    "'acme' = tenant": {"acme"},
    "tenant = 'acme' OR (tenant = 'bolt' AND id > 5)": {"acme", "bolt"},
    "tenant = 'nobody'": set(),
    "NOT (tenant = 'cody')": {"acme", "bolt"},
    "upper(tenant) = 'ACME'": {"acme", "bolt", "cody"},
    "id IN (1, 2, 1999)": {"acme", "bolt", "cody"},
    "s.y = 'q' OR day IS NOT NULL OR amount > 5": {"acme", "bolt", "cody"},
    "day >= '2023-12-31 12:00:00'": {"acme", "bolt", "cody"},
}


@pytest.mark.parametrize("condition", _CONDITIONS)
def test_rows_are_those_of_duckdb(
    lake: tidelake.Lake, duck: duckdb.DuckDBPyConnection, condition: str
) -> None:
    found = lake.across_tenants("events").scan(where=condition)
    truth = duck.sql(f"SELECT * FROM ({_UNION}) WHERE {condition}")
    assert _rows(found.to_arrow()) == _rows(truth.to_arrow_table())
    assert found.count() == len(truth.fetchall())
    told = found.explain()
    assert set(told.tenants) == _CONDITIONS[condition]
    assert set(told.tenants) | set(told.pruned) == set(_DECLARED)


def test_one_schema_for_all(lake: tidelake.Lake) -> None:
    found = lake.across_tenants("events")
    assert [(each.name, each.duckdb_type) for each in found.schema] == [
        ("tenant", "VARCHAR"),
        ("id", "BIGINT"),
        ("s", 'STRUCT("x" BIGINT, "y" VARCHAR)'),
        ("l", "BIGINT[]"),
        ("amount", "DECIMAL(12,2)"),
        ("day", "TIMESTAMP"),
        ("what", "VARCHAR"),
    ]
    assert found.tenants == ("acme", "bolt", "cody")
    assert found.missing == ("dory",)
    assert found.count() == 2002
    assert "1 tenants have no such table" in str(found.explain())


def test_files_are_pruned_where_types_agree(lake: tidelake.Lake) -> None:
    lake.sql("ALTER TABLE cody.events ALTER ID TYPE BIGINT")
    told = lake.across_tenants("events").scan(["id"], where="tenant = 'cody' AND id > 1500")
    assert (told.explain().files, told.explain().total_files) == (1, 2)
    assert told.count() == 499


def test_incompatible_types_are_refused_with_whose_they_are(lake: tidelake.Lake) -> None:
    lake.tenant("dory").create_table("events", "id VARCHAR")
    with pytest.raises(Invalid, match=r"'id' has types .* VARCHAR for dory"):
        lake.across_tenants("events")
    found = lake.across_tenants("events", tenants=["acme", "bolt"])
    assert found.tenants == ("acme", "bolt")
    assert found.count() == 2
    with pytest.raises(NotFound, match="nobody"):
        lake.across_tenants("events", tenants=["nobody"])
    with pytest.raises(NotFound, match="no tenant has a table"):
        lake.across_tenants("nothing")


def test_a_column_of_that_name(lake: tidelake.Lake) -> None:
    lake.tenant("dory").create_table("events", "Tenant VARCHAR")
    with pytest.raises(Invalid, match="dory has a column 'tenant' of its own") as caught:
        lake.across_tenants("events")
    assert "column=" in str(caught.value)
    found = lake.across_tenants("events", column="whose").scan(["whose"], col("whose") == "acme")
    assert found.to_arrow().to_pylist() == [{"whose": "acme"}]
    with pytest.raises(Invalid, match="no rowid"):
        lake.across_tenants("events", column="whose").scan(where="rowid = 1")


def test_one_snapshot_for_all(lake: tidelake.Lake) -> None:
    before = lake.snapshots()[-1].snapshot_id
    found = lake.across_tenants("events")
    with lake.transaction() as tx:
        tx.table("acme.events").delete("true")
        tx.table("bolt.events").delete("true")
    assert found.count() == 2000
    assert lake.across_tenants("events", known_at=before).count() == 2002
    assert lake.known_at(before).across_tenants("events").count() == 2002
    assert found.explain().snapshot_id == before + 1


def test_as_of(lake: tidelake.Lake) -> None:
    for name, price in (("acme", 1), ("bolt", 2)):
        table = lake.tenant(name).create_table(
            "prices",
            "symbol VARCHAR, price INTEGER, ts TIMESTAMP",
            key="symbol",
            event_time="ts",
        )
        table.append(
            [
                {"symbol": "A", "price": price, "ts": "2024-01-01"},
                {"symbol": "A", "price": price * 10, "ts": "2024-02-01"},
            ]
        )
    found = lake.across_tenants("prices", as_of="2024-01-15").scan(["tenant", "price"])
    assert sorted(map(str, found.to_arrow().to_pylist())) == [
        "{'tenant': 'acme', 'price': 1}",
        "{'tenant': 'bolt', 'price': 2}",
    ]
    assert found.count() == 2
    assert "as of 2024-01-15" in str(found.explain())


def test_no_tenant_may(lake: tidelake.Lake) -> None:
    with pytest.raises(Denied, match="whole lake"):
        lake.tenant("acme").across_tenants("events")


@pytest.mark.spark
@pytest.mark.slow
def test_on_spark_the_same_rows(place: Place, lake: tidelake.Lake, spark: "SparkSession") -> None:
    def rows(frame: Any) -> list[str]:
        return sorted(str(sorted(row.asDict(recursive=True).items())) for row in frame.collect())

    with tidelake.connect(place.url, engine="spark", spark=spark) as other:
        for condition in ("id < 3", "tenant = 'acme'", "tenant = 'nobody'"):
            asked = lake.across_tenants("events").scan(where=condition)
            there = other.across_tenants("events").scan(where=condition)
            assert _rows(there.to_arrow()) == _rows(asked.to_arrow())
            assert there.count() == asked.count()
            assert rows(asked.to_spark(spark)) == rows(there.to_spark())


@pytest.mark.parametrize(
    ("kinds", "common"),
    [
        (["int32", "uint32"], "int64"),
        (["int8", "uint64"], "decimal(20,0)"),
        (["float32", "float64"], "float64"),
        (["int32", "float64"], "float64"),
        (["int64", "float64"], None),
        (["decimal(10,2)", "decimal(5,4)"], "decimal(12,4)"),
        (["decimal(38,0)", "decimal(38,2)"], None),
        (["date", "timestamp"], "timestamp"),
        (["timestamp", "timestamptz"], None),
        (["varchar", "int32"], None),
    ],
)
def test_the_narrowest_type_that_holds_all(kinds: list[str], common: str | None) -> None:
    assert common_type(kinds) == common
