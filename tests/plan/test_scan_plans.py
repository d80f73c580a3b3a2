"""What a read would look at, planned without an engine: no DuckDB, no Spark, no file."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tidelake
from tidelake import col
from tidelake.model.schema import Column
from tidelake.testing.fake_engine import FakeEngine


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tidelake.Lake]:
    for library in ("duckdb", "pyspark"):
        monkeypatch.setitem(sys.modules, library, None)  # an import of it fails
    with tidelake.connect(f"sqlite:///{tmp_path}/lake.db") as opened:
        opened.session.local = FakeEngine()  # type: ignore[assignment]
        yield opened


@pytest.fixture
def table(lake: tidelake.Lake) -> tidelake.Table:
    """Three snapshots with a file each, of ids 0…99, 100…199 and 200…299."""
    made = lake.create_table("t", [Column(1, "id", "int64"), Column(2, "name", "varchar")])
    for start in (0, 100, 200):
        made.append([{"id": n, "name": f"n{n:03}"} for n in range(start, start + 100)])
    return made


def starts(scan: tidelake.Scan) -> list[str]:
    return [Path(file.path).stem for file in scan.files()]


@pytest.mark.parametrize(
    ("where", "files"),
    [
        (None, ["0", "1", "2"]),
        (col("id") >= 150, ["1", "2"]),
        (col("id") == 150, ["1"]),
        (col("id") > 299, []),
        ((col("id") < 10) | (col("id") > 290), ["0", "2"]),
        ((col("id") < 210) & (col("name") >= "n150"), ["1", "2"]),
        (col("name").is_null(), []),
        (~(col("id") < 200), ["2"]),
    ],
    ids=str,
)
def test_files_that_cannot_have_such_rows_are_left_out(
    table: tidelake.Table, where: Any, files: list[str]
) -> None:
    scan = table.scan(where=where)
    assert starts(scan) == files
    told = scan.explain()
    assert (told.files, told.total_files, told.rows_in_files) == (len(files), 3, 100 * len(files))
    assert scan.count() == 100 * len(files)


def test_the_past_has_the_files_of_then(lake: tidelake.Lake, table: tidelake.Table) -> None:
    first, second, third = [each.snapshot_id for each in lake.snapshots()][-3:]
    assert starts(table.known_at(first).scan()) == ["0"]
    assert starts(table.known_at(second).scan(where=col("id") > 50)) == ["0", "1"]
    assert starts(table.known_at(third).scan(where=col("id") > 150)) == ["1", "2"]
    assert table.known_at(second).scan(where=col("id") > 0).count() == 200


def test_a_plan_reads_what_is_asked_for(table: tidelake.Table) -> None:
    plan = table.scan(columns=["name"], where=col("id") > 250).plan()
    assert plan.output == ("name",)
    assert {column.name for column in plan.columns} == {"id", "name"}


def test_a_column_is_the_same_under_another_name(table: tidelake.Table) -> None:
    before = table.scan().plan().snapshot_id
    table.evolve(rename={"id": "number"})
    assert starts(table.scan(where=col("number") > 250)) == ["2"]
    assert starts(table.known_at(before).scan(where=col("id") > 250)) == ["2"]
    with pytest.raises(tidelake.errors.Invalid):
        table.scan(where=col("id") > 250).plan()


def test_a_transaction_plans_with_files_of_its_own(
    lake: tidelake.Lake, table: tidelake.Table
) -> None:
    with lake.transaction() as tx:
        tx.table("t").append([{"id": n, "name": "new"} for n in range(300, 400)])
        assert starts(tx.table("t").scan(where=col("id") >= 250)) == ["2", "3"]
        assert starts(table.scan(where=col("id") >= 250)) == ["2"]
    assert starts(table.scan(where=col("id") >= 250)) == ["2", "3"]


def test_duckdb_is_really_not_there(table: tidelake.Table) -> None:
    with pytest.raises(ImportError):
        import duckdb  # noqa: F401
    with pytest.raises(AssertionError, match="does not ask an engine"):
        table.to_arrow()
