"""The locks on an SQLite file stay held, whatever the other library in the process does."""

import subprocess
import sys
from pathlib import Path

import pytest

BEGIN = """
import sqlite3, subprocess, sys
from pathlib import Path
import tidelake
from tidelake.testing.duck import duck_connection

path = Path("lake.db").absolute()
lake = tidelake.connect(f"sqlite:///{path}")
table = lake.create_table("t", "a INT")
table.append([{"a": 1}])
duck = duck_connection()

OTHER = '''
import sqlite3, sys
try:
    sqlite3.connect(sys.argv[1], isolation_level=None, timeout=0).execute("BEGIN IMMEDIATE")
    print("free")
except sqlite3.OperationalError as error:
    print(error)
'''

def seen_by_others():
    run = subprocess.run([sys.executable, "-c", OTHER, path], capture_output=True, text=True)
    return run.stdout.strip()
"""

OURS = """
with lake.session.database.writing() as writer:
    writer.execute("UPDATE ducklake_metadata SET value = value")
    writer.rows("SELECT 1")
    print(seen_by_others())
    duck.execute(f"ATTACH 'ducklake:sqlite:{path}' AS lake (READ_ONLY)")
    duck.execute("SELECT * FROM lake.t").fetchall()
    duck.execute("DETACH lake")
    print(seen_by_others())
"""

DUCKDBS = """
duck.execute(f"ATTACH '{path}' AS other (TYPE sqlite)")
duck.execute("BEGIN")
duck.execute("UPDATE other.ducklake_metadata SET value = value")
print(seen_by_others())
lake.table("t").count()
lake.close()
with tidelake.connect(f"sqlite:///{path}", read_only=True) as again:
    again.tables()
del lake, table, again
print(seen_by_others())
"""


@pytest.mark.parametrize("script", [OURS, DUCKDBS], ids=["ours", "duckdbs"])
def test_a_lock_outlives_what_the_other_closes(tmp_path: Path, script: str) -> None:
    run = subprocess.run(
        [sys.executable, "-c", BEGIN + script], cwd=tmp_path, capture_output=True, text=True
    )
    assert run.stdout == "database is locked\n" * 2, run.stderr
