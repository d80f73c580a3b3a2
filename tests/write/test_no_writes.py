"""Lakes and transactions that take no writes, or no more of them."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import tidelake
from tidelake.errors import Denied, Invalid, TidelakeError
from tidelake.testing.faces import lake_of
from tidelake.testing.place import Place

Agree = Callable[[], None]
Write = Callable[[tidelake.Table], Any]
DROP = "x'); DROP TABLE ducklake_snapshot; --"
MANY = 100


@pytest.fixture
def t(lake: tidelake.Lake) -> tidelake.Table:
    t = lake.create_table(
        "t", "id BIGINT NOT NULL, v VARCHAR, n INTEGER, d DECIMAL(10, 2), ts TIMESTAMP, b BOOLEAN"
    )
    t.append(pa.table({"id": range(MANY), "v": ["x"] * MANY}))
    t.append([{"id": 1000, "v": "row"}])
    return t


WRITES: dict[str, Callable[[Any], Any]] = {
    "create_schema": lambda lake: lake.create_schema("s2"),
    "drop_schema": lambda lake: lake.drop_schema("main"),
    "create_table": lambda lake: lake.create_table("u", "a BIGINT"),
    "create_view": lambda lake: lake.create_view("w", "SELECT 1 AS a"),
    "rename": lambda lake: lake.rename("t", "u"),
    "drop": lambda lake: lake.drop("t"),
    "set_option": lambda lake: lake.set_option("data_inlining_row_limit", 5),
    "transaction": lambda lake: lake.transaction(),
    "append": lambda lake: lake.table("t").append([{"id": 1}]),
    "append many": lambda lake: lake.table("t").append(pa.table({"id": range(MANY)})),
    "overwrite": lambda lake: lake.table("t").overwrite([{"id": 1}]),
    "delete": lambda lake: lake.table("t").delete("true"),
    "update": lambda lake: lake.table("t").update({"v": "'x'"}),
    "merge": lambda lake: lake.table("t").merge([{"id": 1}], on="id"),
    "merge_builder": lambda lake: (
        lake.table("t").merge_builder([{"id": 1}], on="id").when_matched_delete().execute()
    ),
    "add_files": lambda lake: lake.table("t").add_files("x.parquet"),
    "evolve": lambda lake: lake.table("t").evolve(add={"x": "int32"}),
    "set_partitioning": lambda lake: lake.table("t").set_partitioning("v"),
    "set_sorting": lambda lake: lake.table("t").set_sorting("v"),
    "set_comment": lambda lake: lake.table("t").set_comment("x"),
    "table.drop": lambda lake: lake.table("t").drop(),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES.keys())
def test_a_lake_that_takes_no_writes(
    place: Place, t: tidelake.Table, write: Callable[[Any], Any]
) -> None:
    with place.refuses(Denied, "pinned"):
        write(lake_of(t).known_at(1))
    with place.open(read_only=True) as read_only, place.refuses(Denied, "read-only"):
        write(read_only)
    closed = place.open()
    closed.close()
    with place.refuses(Invalid, "closed"):
        write(closed)
    tx = lake_of(t).transaction()
    tx.rollback()
    with place.refuses(Invalid):
        write(tx)


def test_a_transaction_that_is_over(place: Place, t: tidelake.Table) -> None:
    with lake_of(t).transaction() as tx:
        mine = tx.table("t")
        mine.append([{"id": 1}])
    for use in (
        lambda: mine.append([{"id": 2}]),
        lambda: mine.count(),
        lambda: tx.table("t"),
        tx.commit,
        lambda: tx.sql("SELECT 1 FROM t").to_arrow(),
    ):
        with place.refuses(Invalid, "over"):
            use()


def test_a_transaction_inside_another(place: Place, t: tidelake.Table) -> None:
    with lake_of(t).transaction() as tx, place.refuses(Invalid):
        tx.transaction()
    with lake_of(t).transaction() as tx, place.refuses(Invalid):
        tx.set_option("data_inlining_row_limit", 5)


def test_a_closed_lake_under_an_open_transaction(place: Place, t: tidelake.Table) -> None:
    lake = place.open()
    tx = lake.transaction()
    tx.table("t").append(pa.table({"id": range(MANY)}))
    lake.close()
    with pytest.raises(TidelakeError) as caught:
        tx.commit()
    assert caught.value.hint
    assert t.count() == MANY + 1
