"""A write in a transaction that fails, and whose error somebody catches: nothing of it stays."""

from collections.abc import Callable

import pyarrow as pa
import pytest

import tidelake
from tidelake.errors import Invalid, NotFound
from tidelake.lake.transaction import Transaction
from tidelake.testing.place import Place

Write = Callable[[Transaction], object]
_ROWS = "SELECT range AS id, INTERVAL 1 DAY AS span FROM range(30)"
_UNFIT = "INTERVAL (-1) MONTH"
"""No file can hold it, which shows when the file is written: after rows have left."""

WRITES: dict[str, Write] = {
    "update": lambda tx: tx.table("t").update({"span": _UNFIT}, where="id < 20"),
    "merge": lambda tx: tx.sql(
        f"MERGE INTO t USING (SELECT range AS id FROM range(10, 50)) s ON t.id = s.id"
        f" WHEN MATCHED THEN UPDATE SET span = {_UNFIT} WHEN NOT MATCHED BY SOURCE THEN DELETE"
    ),
    "overwrite": lambda tx: tx.table("t").overwrite(
        tx.sql(f"SELECT range AS id, {_UNFIT} AS span FROM range(20)")
    ),
    "NULLs": lambda tx: tx.table("t").update(values={"id": None}, where="id < 20"),
}


@pytest.fixture(params=[0, 10], ids=lambda n: f"limit {n}")
def filled(lake: tidelake.Lake, request: pytest.FixtureRequest) -> tidelake.Lake:
    lake.create_table("t", "id BIGINT NOT NULL, span INTERVAL")
    lake.sql(f"INSERT INTO t {_ROWS}")
    lake.set_option("data_inlining_row_limit", request.param, table="t")
    return lake


def test_a_write_that_fails_leaves_all_rows(filled: tidelake.Lake) -> None:
    with filled.transaction() as tx:
        tx.table("t").append(pa.table({"id": range(100, 115)}))
        for what, write in WRITES.items():
            with pytest.raises(Invalid):
                write(tx)
            assert tx.table("t").count() == 45, what
        tx.table("t").delete("id = 0")
    assert filled.table("t").count() == 44
    assert filled.verify().ok


def test_definitions_that_fail_leave_the_rows_that_wait(lake: tidelake.Lake) -> None:
    lake.create_table("t", "id BIGINT, v VARCHAR")
    with lake.transaction() as tx:
        for n in range(20):
            tx.table("t").append([{"id": n, "v": str(n)}])
        with pytest.raises(Invalid):
            tx.table("t").evolve(rename={"v": "w"}, widen={"id": "int32"})
        assert tx.table("t").schema.names == ["id", "v"]
        with pytest.raises(NotFound):
            tx.create_table("u", {"a": "int32"}, partition_by="b")
    assert not lake.exists("u")
    assert sorted(lake.table("t").to_pandas()["id"]) == list(range(20))


def test_files_of_a_write_that_fails_are_removed(filled: tidelake.Lake, place: Place) -> None:
    filled.set_option("data_inlining_row_limit", 0, table="t")
    with filled.transaction() as tx:
        before = place.files()
        with pytest.raises(Invalid):
            WRITES["update"](tx)
        assert place.files() == before
