"""What random histories with DuckDB as the second writer have found, each by itself."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

import tidelake
from tidelake.testing.place import Place

Duck = duckdb.DuckDBPyConnection


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[tidelake.Lake]:
    with Place.at("sqlite", tmp_path).open() as lake:
        yield lake


@pytest.fixture
def attach(new_duck: Callable[[], Duck], tmp_path: Path) -> Callable[[], Duck]:
    def attached() -> Duck:
        connection = new_duck()
        connection.execute(f"ATTACH 'ducklake:sqlite:{tmp_path}/lake.db' AS lake")
        connection.execute("USE lake")
        return connection

    return attached


def _value(duck: Duck, sql: str) -> Any:
    row = duck.execute(sql).fetchall()[0]
    return row[0] if row else None


def _numbers(count: int, start: int = 0) -> list[dict[str, int]]:
    return [{"k": i, "v": i} for i in range(start, start + count)]


def test_values_that_came_after_nulls_are_found(
    lake: tidelake.Lake, attach: Callable[[], Duck]
) -> None:
    """To DuckDB bounds that are NULL mean that there are no values yet."""
    table = lake.create_table("t", "k BIGINT, v BIGINT")
    table.append([{"k": 1, "v": None}])
    table.append([{"k": 2, "v": 1000}])
    duck = attach()
    duck.execute("INSERT INTO t VALUES (3, 5)")
    assert _value(duck, "SELECT k FROM t WHERE v = 1000") == 2
    assert _value(duck, "SELECT max(v) FROM t") == 1000


def test_an_append_finds_a_table_that_duckdb_has_just_made(
    lake: tidelake.Lake, attach: Callable[[], Duck]
) -> None:
    lake.create_table("t", "k BIGINT")
    duck = attach()
    duck.execute("CREATE TABLE u (k BIGINT)")
    lake.table("u").append([{"k": 1}])
    duck.execute("ALTER TABLE u ADD COLUMN n BIGINT")
    lake.table("u").append([{"k": 2, "n": 3}])
    assert duck.execute("FROM u ORDER BY k").fetchall() == [(1, None), (2, 3)]


@pytest.mark.parametrize("kind", ["FLOAT", "DOUBLE"])
def test_one_zero_is_found_as_the_other(
    kind: str, lake: tidelake.Lake, attach: Callable[[], Duck]
) -> None:
    """A bloom filter would know only one of them."""
    table = lake.create_table("t", f"v {kind}")
    table.append([{"v": (-0.0, 1.5)[i % 2]} for i in range(40)])
    assert table.scan(where=f"v = CAST('0.0' AS {kind})").count() == 20
    assert _value(attach(), f"SELECT count(v) FROM t WHERE v = CAST('0.0' AS {kind})") == 20


@pytest.mark.parametrize("whole", ["delete", "overwrite"])
def test_a_row_is_deleted_once_in_duckdbs_feed(
    whole: str, lake: tidelake.Lake, attach: Callable[[], Duck]
) -> None:
    table = lake.create_table("t", "k BIGINT, v BIGINT")
    table.append(_numbers(20))
    table.delete("k = 5")
    done = table.delete("true") if whole == "delete" else table.overwrite(_numbers(1, 100))
    assert done.deleted == 19
    at = done.snapshot_id
    feed = f"ducklake_table_changes('lake', 'main', 't', {at}, {at})"
    deleted = attach().execute(f"SELECT k FROM {feed} WHERE change_type = 'delete'").fetchall()
    assert sorted(deleted) == [(i,) for i in range(20) if i != 5]


def test_row_ids_of_updated_rows_survive_duckdbs_compaction(
    lake: tidelake.Lake, attach: Callable[[], Duck]
) -> None:
    lake.set_option("data_inlining_row_limit", 0)
    table = lake.create_table("t", "k BIGINT, v BIGINT")
    table.append(_numbers(20))
    table.update({"v": "-1"}, where="k < 5")
    table.append(_numbers(5, 20))
    duck = attach()
    before = duck.execute("SELECT rowid, k FROM t ORDER BY k").fetchall()
    duck.execute("CALL ducklake_merge_adjacent_files('lake')")
    assert duck.execute("SELECT rowid, k FROM t ORDER BY k").fetchall() == before


def test_a_session_of_duckdb_survives_a_wider_column(
    lake: tidelake.Lake, attach: Callable[[], Duck]
) -> None:
    table = lake.create_table("t", "k BIGINT, v BIGINT")
    table.append(_numbers(20))
    duck = attach()
    assert _value(duck, "SELECT max(v) FROM t WHERE v >= 3") == 19
    table.evolve(widen={"v": "DECIMAL(38,10)"})
    assert _value(duck, "SELECT max(v) FROM t") == 19
    duck.execute("INSERT INTO t VALUES (100, 2)")
    duck.execute("CALL ducklake_flush_inlined_data('lake')")
    duck.execute("INSERT INTO t VALUES (101, 3)")
    assert _value(duck, "SELECT k FROM t WHERE v = 19") == 19


def test_a_session_with_another_limit_writes_to_the_columns_as_they_are(
    lake: tidelake.Lake, attach: Callable[[], Duck]
) -> None:
    table = lake.create_table("t", "k BIGINT, v BIGINT")
    duck = attach()
    lake.set_option("data_inlining_row_limit", 0)
    table.evolve(order=["v", "k"])
    duck.execute("INSERT INTO t (k, v) VALUES (1, 2)")
    assert table.to_arrow().to_pylist() == [{"v": 2, "k": 1}]
    table.evolve(add={"n": "int64"})
    duck.execute("INSERT INTO t (k, v, n) VALUES (3, 4, 5)")
    assert table.scan(where="k = 3").to_arrow().to_pylist() == [{"v": 4, "k": 3, "n": 5}]
