"""DuckDB cannot write a MySQL catalog, so a lake it made on SQLite is copied over, row by row.

Both must then tell the same story at every snapshot. The copy also fixes how inlined values are
kept on MySQL: as on SQLite, text for all but integers and blobs.
"""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pymysql
import pytest

import tidelake
from tidelake.catalog.layout import TABLES

if TYPE_CHECKING:
    import duckdb

    from tests.servers.mariadb import MariadbServer

DuckFactory = Callable[[], "duckdb.DuckDBPyConnection"]

HISTORY = [
    "CREATE TABLE t (i INTEGER, s VARCHAR, d DECIMAL(9,2), ts TIMESTAMPTZ, b BLOB, l INTEGER[])",
    "INSERT INTO t SELECT i, 'row ' || i, i / 4, now(), 'x'::BLOB, [i, NULL] FROM range(200) r(i)",
    "INSERT INTO t VALUES (-1, 'ünï ''q'' \"d\" {x}', 1.25, '2024-02-29 12:00:00+02',"
    " '\\x00\\xFF'::BLOB, [1, 2]), (-2, NULL, NULL, NULL, NULL, NULL)",
    "DELETE FROM t WHERE i BETWEEN 10 AND 19",
    "UPDATE t SET s = 'changed' WHERE i = -1",
    "ALTER TABLE t ADD COLUMN n BIGINT DEFAULT 42",
    "INSERT INTO t VALUES (-3, 'new', 3, NULL, NULL, [], 7)",
    "ALTER TABLE t RENAME COLUMN s TO label",
    "DELETE FROM t WHERE i = -2",
    'CREATE SCHEMA "odd schema"',
    'CREATE TABLE "odd schema"."odd.table" AS SELECT 1 AS "select", 2 AS "a:b"',
    'INSERT INTO "odd schema"."odd.table" VALUES (3, 4)',
    "ALTER TABLE t SET PARTITIONED BY (bucket(4, i))",
    "INSERT INTO t SELECT i, 'late', 1, now(), NULL, NULL, i FROM range(300, 400) r(i)",
    "COMMENT ON TABLE t IS 'a comment'",
    "CREATE VIEW v AS SELECT i FROM t WHERE i < 5",
]


@pytest.fixture
def both(
    tmp_path: Path, new_duck: DuckFactory, mariadb_server: "MariadbServer"
) -> tuple[tidelake.Lake, tidelake.Lake]:
    connection = new_duck()
    connection.execute(
        f"ATTACH 'ducklake:sqlite:{tmp_path}/c.db' AS lake (DATA_PATH '{tmp_path}/data/')"
    )
    connection.execute("USE lake")
    for statement in HISTORY:
        connection.execute(statement)
    connection.close()
    url = mariadb_server.new_database()
    tidelake.connect(url, data_path=f"{tmp_path}/data/", share_data_path=True).close()
    copy(tmp_path / "c.db", url)
    original = tidelake.connect(f"sqlite:///{tmp_path}/c.db", read_only=True)
    return original, tidelake.connect(url, read_only=True)


def copy(source: Path, url: str) -> None:
    host, database = url.removeprefix("mysql://root@").split("/")
    name, port = host.split(":")
    old = sqlite3.connect(source)
    new = pymysql.connect(
        host=name, port=int(port), user="root", database=database, charset="utf8mb4"
    )
    with new.cursor() as cursor:
        cursor.execute("SET sql_mode = 'ANSI_QUOTES'")
        tables = "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'ducklake%'"
        for (table,) in old.execute(tables).fetchall():
            columns = old.execute(f'PRAGMA table_info("{table}")').fetchall()
            if table in TABLES:
                cursor.execute(f'DELETE FROM "{table}"')
            else:
                kinds = {"BIGINT": "BIGINT", "BLOB": "LONGBLOB"}
                listed = ", ".join(f'"{c[1]}" {kinds.get(c[2], "LONGTEXT")}' for c in columns)
                cursor.execute(f'CREATE TABLE "{table}" ({listed}) CHARACTER SET utf8mb4')
            rows = old.execute(f'SELECT * FROM "{table}"').fetchall()
            marks = ", ".join(["%s"] * len(columns))
            cursor.executemany(f'INSERT INTO "{table}" VALUES ({marks})', rows)
    new.commit()
    new.close()
    old.close()


def rows(table: Any) -> list[str]:
    return sorted(map(repr, table.to_arrow().to_pylist()))


@pytest.mark.slow
def test_both_tell_the_same_story_at_every_snapshot(
    both: tuple[tidelake.Lake, tidelake.Lake],
) -> None:
    original, copied = both
    assert original.snapshots() == copied.snapshots()
    assert len(original.snapshots()) == len(HISTORY) + 1
    for snapshot in original.snapshots():
        one = original.known_at(snapshot.snapshot_id)
        other = copied.known_at(snapshot.snapshot_id)
        assert one.schemas() == other.schemas()
        assert one.tables() == other.tables()
        assert one.views() == other.views()
        for name in one.tables():
            assert one.table(name).info == other.table(name).info
            assert rows(one.table(name)) == rows(other.table(name))
            assert one.table(name).count() == other.table(name).count()


def test_pruning_agrees(both: tuple[tidelake.Lake, tidelake.Lake]) -> None:
    original, copied = both
    for where in ("i = 350", "label = 'late'", "ts > '2200-01-01'", "d < 1", "n IS NULL"):
        one, other = (lake.table("t").scan(where=where) for lake in both)
        assert one.files() == other.files()
        assert rows(one) == rows(other)
        assert str(one.explain()) == str(other.explain())
    assert len(copied.table("t").scan(where="i = 350").files()) < len(original.table("t").files())
