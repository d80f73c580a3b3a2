"""A catalog in SQLite that was put into WAL mode stays so, and loses nothing."""

import sqlite3
import subprocess
import sys
from contextlib import closing

import tidelake

_KILLED = """
import os, sys, tidelake
table = tidelake.connect(sys.argv[1]).table("t")
for n in range(20):
    table.append({"id": n})
os._exit(9)
"""


def test_commits_in_a_write_ahead_log_outlive_the_program(tmp_path, new_duck):
    path = tmp_path / "lake.db"
    url = f"sqlite:///{path}"
    with tidelake.connect(url) as lake:
        lake.create_table("t", "id BIGINT")
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA journal_mode = WAL").fetchall() == [("wal",)]
    done = subprocess.run([sys.executable, "-c", _KILLED, url], check=False)
    assert done.returncode == 9
    with tidelake.connect(url) as lake:
        assert lake.table("t").count() == 20
        duck = new_duck()
        duck.execute(f"ATTACH 'ducklake:sqlite:{path}' AS lake")
        duck.execute("INSERT INTO lake.t VALUES (20)")
        lake.table("t").append({"id": 21})  # from beside DuckDB's SQLite now
        rows = duck.execute("SELECT id FROM lake.t ORDER BY id").fetchall()
        assert rows == [(n,) for n in range(22)]
        assert lake.verify().ok
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchall() == [("wal",)]
