"""Whatever statement is sent, what comes out is an error of ours with a hint: never one of Python's
from somewhere inside, nor a driver's."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

import tidelake
from tidelake.errors import TidelakeError
from tidelake.sql.query import Query

ARGUMENTS = (
    *("", "NULL", "1", "-1", "'p'", "'nope'", "'n', 0", "'p', 1, 2, 3, 4, 5", "'p', 'x'", "now"),
    *("'p', 99999999999999999999", "'p', x => 1", "'p', key => 'zz'", "'p', {'k': 1}", "[1, 2]"),
    *(
        "'p', DATE '2024-01-01'",
        "(SELECT 1)",
        "$1",
        "?",
        "'p', entity => NULL",
        "'p', as_of => 'x'",
    ),
)
FUNCTIONS = (
    *("history", "changes", "changes_of_belief", "diff", "coverage", "gaps", "missing"),
    *(
        "last_complete_window",
        "snapshots",
        "table_files",
        "complete_through",
        "asof_join",
        "nosuch",
    ),
)
PROCEDURES = (
    *("compact", "rollup", "drop_rollups", "recompute_coverage", "rollback", "end", "undrop"),
    *(
        "set_partitioning",
        "set_sorting",
        "set_coverage",
        "set_event_time",
        "set_calendar",
        "expire",
    ),
    *("set_comment", "cleanup", "tag", "untag", "verify", "sync_mirrors", "set_option", "nosuch"),
)
ODD = """
SELECT | selec * from p | SELECT * FROM | SELECT * FROM p WHERE | FROM p AT | FROM p VERSION AS OF
FROM p AT (VERSION => ) | FROM p AT (VERSION => 'x') | FROM p AT (VERSION => 999)
FROM p AT (TIMESTAMP => 'x') | FROM p FOR VALID_TIME | FROM p FOR VALID_TIME AS OF
FROM p FOR VALID_TIME AS OF 'x' | FROM p FOR VALID_TIME FROM 1 TO 2 | FROM n FOR VALID_TIME ALL
FROM p FOR SYSTEM_TIME AS OF 3.5 | BEGIN | COMMIT | COPY p TO 'x.csv' | INSERT INTO p
INSERT INTO p VALUES (1) | INSERT INTO nope VALUES (1) | INSERT OR REPLACE INTO n VALUES (1, 'a')
UPDATE n SET | UPDATE n SET nope = 1 | UPDATE n SET id = 'x' | DELETE FROM | DELETE FROM nope
MERGE INTO n | CREATE TABLE | CREATE TABLE n (a INT) | CREATE TABLE z (a NOPE)
CREATE TABLE z (a INT, a INT) | DROP TABLE nope | ALTER TABLE n DROP nope | ALTER TABLE n ADD id INT
ALTER TABLE nope RENAME TO x | COMMENT ON TABLE nope IS 'x' | COMMENT ON COLUMN n.nope IS 'x'
SET x = 1 | PRAGMA foo | ATTACH 'x' | INSTALL httpfs | EXPLAIN | EXPLAIN selec | DESCRIBE nope
SUMMARIZE nope | SHOW nope | FROM 'x.parquet' | FROM read_csv('nope.csv') | SELECT :name | SELECT $1
SELECT ? | SELECT * FROM p x JOIN p y | VALUES | WITH x AS | CREATE VIEW | CREATE VIEW v AS
CREATE VIEW v AS SELECT * FROM nope | CREATE MACRO | DROP SCHEMA main | CREATE SCHEMA main
SELECT 'x | /* | 🐟 | SELECT 'a'::INT | SELECT error('x') | SELECT 1; SELECT 2 | (((((
FROM p TABLESAMPLE -1 | FROM n ORDER BY nope | PIVOT n ON nope
DELETE FROM p FOR PORTION OF VALID_TIME
UPDATE p FOR PORTION OF VALID_TIME FROM 'x' TO 'y' SET v = 1 | SELECT * FROM asof_join(n, p)
"""
STATEMENTS = {
    "what is odd": [
        " ",
        ";",
        "\x00",
        *(each for line in ODD.splitlines() for each in line.split(" | ")),
    ],
    "functions": [f"FROM {name}({given})" for name in FUNCTIONS for given in ARGUMENTS],
    "procedures": [f"CALL {name}({given})" for name in PROCEDURES for given in ARGUMENTS],
}
INSIDES = ("site-packages", "Traceback", "<class", "sqlglot", "sqlite3", "_duckdb", "object at 0x")


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[tidelake.Lake]:
    with tidelake.connect(f"sqlite:///{tmp_path}/lake.db") as lake:
        p = lake.create_table(
            "p",
            "k VARCHAR, ts TIMESTAMP, v DOUBLE, gone BOOLEAN",
            key="k",
            event_time="ts",
            tombstone="gone",
            entity="k",
            bucket="1h",
        )
        p.append([{"k": "a", "ts": datetime(2024, 1, 1, hour), "gone": False} for hour in range(9)])
        lake.create_table("n", "id INT, x VARCHAR").append([{"id": 1, "x": "a"}])
        yield lake


@pytest.mark.parametrize("kind", STATEMENTS)
def test_wrong_statements_end_in_errors_of_ours(lake: tidelake.Lake, kind: str) -> None:
    raw = []
    for statement in STATEMENTS[kind]:
        try:
            found = lake.sql(statement)
            if isinstance(found, Query):
                found.to_arrow()
        except TidelakeError as error:
            if error.hint is None or any(each in str(error) for each in INSIDES):
                raw.append((statement, str(error)))
        except Exception as error:
            raw.append((statement, repr(error)))
    assert raw == []


@pytest.mark.parametrize(
    ("statement", "instead"),
    [
        ("UPDATE t SET v = s.v FROM o AS s WHERE t.id = s.id", "SELECT id, v FROM o"),
        ("DELETE FROM t USING o AS s WHERE t.id = s.id", "SELECT id FROM o"),
        ("INSERT OR REPLACE INTO t VALUES (1, 7)", "(1, 7)"),
        ("INSERT INTO t VALUES (1, 7) ON CONFLICT DO NOTHING", "(1, 7)"),
    ],
)
def test_the_merge_that_a_hint_shows_does_it(tmp_path: Path, statement: str, instead: str) -> None:
    with tidelake.connect(f"sqlite:///{tmp_path}/lake.db") as lake:
        t = lake.create_table("t", "id INT, v INT")
        t.append([{"id": 1, "v": 1}, {"id": 2, "v": 2}])
        lake.append("o", [{"id": 1, "v": 9}], create=True)
        with pytest.raises(TidelakeError) as refused:
            lake.sql(statement)
        assert refused.value.hint is not None
        merge = refused.value.hint.replace("SELECT …", instead).replace("VALUES …", "VALUES (1, 7)")
        lake.sql(merge)
        after = {row["id"]: row["v"] for row in t.to_dicts()}
        assert after in ({1: 9, 2: 2}, {2: 2}, {1: 7, 2: 2})


@pytest.mark.parametrize(
    ("statement", "hint"),
    [
        ("DELETE FROM n WHERE id IN (SELECT 1)", "MERGE INTO t USING"),
        ("VACUUM", "CALL compact('t')"),
        ("OPTIMIZE n", "CALL compact('t')"),
        ("RESTORE TABLE n TO VERSION AS OF 1", "CALL rollback('t', 3)"),
        ("DESCRIBE HISTORY n", "FROM snapshots('t')"),
        ("SHOW CREATE TABLE n", "DESCRIBE t"),
        ("FROM 'some.parquet'", "FROM read_parquet('some.parquet')"),
        ("SELECT * FROM 'folder/*.CSV'", "FROM read_csv('folder/*.CSV')"),
        ("FROM information_schema.tables", "SHOW TABLES"),
        ("USE main", "analytics.prices"),
    ],
)
def test_statements_of_other_systems_are_told_what_there_is(
    tmp_path: Path, statement: str, hint: str
) -> None:
    with tidelake.connect(f"sqlite:///{tmp_path}/lake.db") as lake:
        lake.create_table("n", "id INT")
        with pytest.raises(TidelakeError) as refused:
            lake.sql(statement)
        assert hint in str(refused.value.hint)
