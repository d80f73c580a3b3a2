"""Tables with more columns than a database takes: their rows go to files, however few."""

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import tidelake
from tidelake.catalog.database.backends import BACKENDS
from tidelake.testing.agreement import assert_same_now
from tidelake.testing.place import Place

KINDS = {"sqlite": "sqlite", "duckdb": "duckdb", "postgresql": "postgresql", "mariadb": "mysql"}


def wide(count: int, kind: str) -> dict[str, str]:
    return {f"c{n}": kind for n in range(count)}


@pytest.mark.slow
@pytest.mark.parametrize("place", ["sqlite", "postgresql", "mariadb"], indirect=True)
def test_as_many_columns_as_the_catalog_takes(place: Place, lake: tidelake.Lake) -> None:
    """With values that need as much room as any."""
    most = BACKENDS[KINDS[place.kind]].dialect.widest
    assert most is not None
    values = {"VARCHAR": "x" * 40, "DECIMAL(38, 10)": Decimal("9" * 28 + "." + "9" * 10)}
    for count, inlined in ((most, True), (most + 1, False)):
        for kind, value in values.items() if count < 1000 else [("VARCHAR", "x" * 40)]:
            t = lake.create_table("t", wide(count, kind))
            row = {f"c{n}": value for n in range(count)}
            t.append([row])
            assert bool(t.scan().files()) != inlined
            assert set(t.to_arrow().to_pylist()[0].values()) == {value}
            t.evolve(add={"more": "INTEGER"})
            t.append([{"more": 1}])
            assert t.count() == 2
            lake.drop("t")


@pytest.mark.slow
@pytest.mark.parametrize("place", KINDS, indirect=True)
def test_ten_thousand_columns(place: Place, lake: tidelake.Lake) -> None:
    columns = wide(10_000, "INTEGER")
    t = lake.create_table("t", columns)
    t.append([dict.fromkeys(columns, 1)])
    t.append(pa.table({name: pa.array([2] * 20, pa.int32()) for name in columns}))
    t.update({"c9999": "3"}, where="c1 = 1")
    assert t.delete("c0 = 2").deleted == 20
    found = t.scan(columns=["c0", "c9999"]).to_arrow().to_pylist()
    assert found == [{"c0": 1, "c9999": 3}]
    assert t.to_arrow().num_columns == 10_000
    assert lake.verify().ok


def test_duckdb_reads_wide_tables(lake: tidelake.Lake, duck: Any) -> None:
    columns = wide(2_100, "INTEGER")
    t = lake.create_table("t", columns)
    t.append([dict.fromkeys(columns, 1)])
    t.evolve(add={"more": "VARCHAR"})
    t.append([{"more": "x"}])
    assert_same_now(lake, duck)
