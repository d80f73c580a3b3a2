"""A lake to which everything has happened that expiry must know of."""

from pathlib import Path
from typing import Any

import duckdb

import tidelake


def by_tidelake(lake: tidelake.Lake, folder: Path) -> None:
    """Files, rows in the catalog, deletes of both kinds, renames, drops; all on any catalog."""
    t = lake.create_table("t", "i BIGINT, s VARCHAR")
    t.append(many(0, 100))
    t.delete("i < 30")
    t.delete("i BETWEEN 30 AND 33")
    t.append([{"i": 200, "s": "few"}])
    t.update({"s": "'changed'"}, where="i = 200")
    t.delete("i = 200")
    t.delete("i < 60")
    lake.drop("t")
    lake.create_schema("s")
    u = lake.create_table("s.u", "a BIGINT", comment="one")
    u.append([{"a": 1}, {"a": 2}])
    u.set_comment("two")
    lake.rename("s.u", "s.v")
    v = lake.table("s.v")
    v.evolve(add={"b": "BIGINT"})
    v.evolve(rename={"b": "bb"})
    v.append([{"a": 3, "bb": 4}])
    v.delete("a = 1")
    v.set_partitioning(["a"])
    v.append([{"a": n % 3, "bb": n} for n in range(60)])
    v.delete("bb = 4")
    v.delete("a = 1")
    v.set_sorting(["bb"])
    lake.create_view("w", "SELECT 1 AS x")
    lake.create_view("w", "SELECT 2 AS x", replace=True)
    lake.drop("w")
    lake.create_schema("gone")
    lake.create_table("gone.g", "a BIGINT").append([{"a": n} for n in range(50)])
    lake.drop_schema("gone", cascade=True)
    r = lake.create_table("r", "a BIGINT, b VARCHAR")
    r.append([{"a": n, "b": "x"} for n in range(50)])
    r.overwrite([{"a": n, "b": "y"} for n in range(40)])
    registered = foreign(folder / "found.parquet")
    r.add_files(registered)
    r.delete("a = 7")


def by_duckdb(duck: duckdb.DuckDBPyConnection, folder: Path) -> None:
    """What only DuckDB does, and some of what it does in its own way."""
    for sql in (
        "CREATE TABLE d(a BIGINT, b VARCHAR)",
        "INSERT INTO d SELECT i, 'x' FROM range(50) t(i)",
        "DELETE FROM d WHERE a < 20",
        "CALL ducklake_rewrite_data_files('lake', 'd', delete_threshold => 0.01)",
        "INSERT INTO d VALUES (1, 'few')",
        "UPDATE d SET b = 'changed' WHERE b = 'few'",
        "CALL ducklake_flush_inlined_data('lake', table_name => 'd')",
        "INSERT INTO d SELECT i, 'y' FROM range(70) t(i)",
        "CALL ducklake_merge_adjacent_files('lake', 'd')",
        "CREATE MACRO m(a) AS a + 1",
        "CREATE OR REPLACE MACRO m(a, b := 2) AS a + b",
        "DROP MACRO m",
        "COMMENT ON COLUMN d.a IS 'which'",
        "COMMENT ON COLUMN d.a IS 'what'",
        f"CALL ducklake_add_data_files('lake', 'd', '{foreign(folder / 'other.parquet')}')",
        "CREATE TABLE e(a BIGINT, b VARCHAR)",
        f"CALL ducklake_add_data_files('lake', 'e', '{foreign(folder / 'gone.parquet')}')",
        "DROP TABLE e",
        "CREATE TABLE vv(v VARIANT)",
        "INSERT INTO vv SELECT {'a': i}::VARIANT FROM range(20) t(i)",
        "DELETE FROM vv",
        "ALTER TABLE d SET SORTED BY (a)",
        "ALTER TABLE d RESET SORTED BY",
        "CREATE TABLE last(a BIGINT)",
    ):
        duck.execute(sql).fetchall()


def many(first: int, count: int) -> list[dict[str, Any]]:
    return [{"i": n, "s": f"a{n}"} for n in range(first, first + count)]


def foreign(path: Path) -> str:
    """A Parquet file that neither DuckDB nor Tidelake wrote into the lake."""
    path.parent.mkdir(parents=True, exist_ok=True)
    duckdb.sql("SELECT 7::BIGINT AS a, 'f' AS b").write_parquet(str(path))
    return str(path)
