"""Every deletion there ever was, and when, on both engines."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import tidelake
from tests.engine.plans import DuckLake
from tidelake.catalog.read import files
from tidelake.engine.local.engine import LocalEngine
from tidelake.model.file import DataFile

Found = set[tuple[int, int, int]]


def whole_life(lake: DuckLake) -> list[DataFile]:
    with (
        tidelake.connect(f"sqlite:///{lake.catalog}") as opened,
        opened.session.reading() as reader,
    ):
        info = opened.table("t").info
        ids = [row[0] for row in reader.rows("SELECT data_file_id FROM ducklake_data_file")]
        return files.whole_life(reader, info.id, info.path, ids)


def found(engine: Any, life: Sequence[DataFile]) -> Found:
    with engine.job("cannot look") as job:
        job.deletions("gone", life)
        rows = job.rows("SELECT _tidelake_file, _tidelake_position, deleted_at FROM gone")
    assert len(rows) == len({row[:2] for row in rows})
    return set(rows)


@pytest.fixture
def lake(tmp_path: Path) -> DuckLake:
    """Deletes in all their forms: in one file, in one that took another's place, in the catalog,
    flushed, and in a deletion vector."""
    lake = DuckLake(tmp_path, options="DATA_INLINING_ROW_LIMIT 2")
    lake.run(
        "CREATE TABLE t (id INTEGER)",
        "INSERT INTO t SELECT range FROM range(10)",
        "DELETE FROM t WHERE id < 3",
        "DELETE FROM t WHERE id IN (3, 4, 5)",
        "INSERT INTO t SELECT range FROM range(20, 30)",
        "DELETE FROM t WHERE id = 20",
        "CALL ducklake_flush_inlined_data('lake')",
        "DELETE FROM t WHERE id = 21",
        "INSERT INTO t SELECT range FROM range(40, 50)",
        "CALL lake.set_option('write_deletion_vectors', true)",
        "DELETE FROM t WHERE id BETWEEN 40 AND 42",
        "DELETE FROM t WHERE id > 42",
    )
    return lake


def expected(life: Sequence[DataFile]) -> Found:
    one, two, three = (file.id for file in life)
    return {
        *((one, position, 3) for position in (0, 1, 2)),
        *((one, position, 4) for position in (3, 4, 5)),
        (two, 0, 6),
        (two, 1, 8),
        *((three, position, 10) for position in (0, 1, 2)),
    }


def test_locally(lake: DuckLake) -> None:
    life = whole_life(lake)
    assert [file.end_snapshot for file in life] == [None, None, 11]
    assert {delete.format for file in life for delete in file.deletes} == {"parquet", "puffin"}
    assert found(LocalEngine(), life) == expected(life)
    assert found(LocalEngine(), []) == set()


def test_a_second_file_that_repeats_the_first_changes_no_date(lake: DuckLake) -> None:
    """As clients write them that go by the specification: the old one ends, the new one holds
    all positions and no snapshots."""
    life = whole_life(lake)
    path = f"{lake.data}/main/t/again.parquet"
    lake.run(
        f"COPY (SELECT '' AS file_path, range AS pos FROM range(8)) TO '{path}'",
        "USE memory",
        "DETACH lake",
        f"ATTACH '{lake.catalog}' AS catalog (TYPE sqlite)",
        "UPDATE catalog.ducklake_delete_file SET end_snapshot = 11"
        f" WHERE data_file_id = {life[0].id}",
        "INSERT INTO catalog.ducklake_delete_file"
        " SELECT 99, table_id, 11, NULL, data_file_id, 'again.parquet', 1, format, 8, 1, NULL,"
        f" NULL, NULL FROM catalog.ducklake_delete_file WHERE data_file_id = {life[0].id}",
        "DETACH catalog",
    )
    after = whole_life(lake)
    assert len(after[0].deletes) == 2
    more = {(life[0].id, position, 11) for position in (6, 7)}
    assert found(LocalEngine(), after) == expected(life) | more


@pytest.mark.spark
def test_on_spark(lake: DuckLake, spark: Any) -> None:
    from tidelake.engine.spark.engine import SparkEngine

    engine = SparkEngine(spark, LocalEngine())
    life = whole_life(lake)
    assert found(engine, life) == expected(life)
    assert found(engine, []) == set()
