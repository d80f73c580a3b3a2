"""Commands that write, as text and as JSON, with DuckDB to read what they wrote."""

import json
from pathlib import Path

import duckdb
import pytest

ROWS = [{"symbol": "ACME", "day": "2024-03-12", "price": 10.5}, {"symbol": "BOLT", "price": 7}]


@pytest.fixture
def lake(empty, tmp_path):
    """An empty lake, and a folder with rows of all kinds to append."""
    empty("init", "--data-path", str(tmp_path / "files"))
    duckdb.sql(
        "SELECT 'S' || i AS symbol, DATE '2024-03-12' + i::INT AS day, i + 0.25 AS price"
        " FROM range(40) r(i)"
    ).write_parquet(str(tmp_path / "a.parquet"))
    (tmp_path / "b.csv").write_text("price,symbol,day\n1.5,X,2024-01-01\n2.5,Y,\n")
    (tmp_path / "c.ndjson").write_text("\n".join(map(json.dumps, ROWS)))
    return empty


def prices(lake, condition="true"):
    query = f"SELECT symbol, day, price FROM prices WHERE {condition} ORDER BY symbol"
    return [tuple(row.values()) for row in lake.json("sql", query)["rows"]]


def test_append_creates_the_table_from_the_data_when_asked(lake, tmp_path, new_duck):
    missing = lake("append", "prices", str(tmp_path / "a.parquet"), ok=False)
    assert "there is no table main.prices" in missing.stderr
    done = lake.json("append", "prices", str(tmp_path / "a.parquet"), "--create")
    assert (done["snapshot_id"], done["inserted"], done["files"]) == (1, 40, 1)
    assert done["bytes"] > 0
    again = lake("append", "prices", str(tmp_path / "a.parquet"), "--create").stdout
    assert again.startswith("snapshot 2: 40 rows inserted, 1 file of ")
    connection = new_duck()
    connection.execute(f"ATTACH 'ducklake:sqlite:{tmp_path}/new.db' AS lake")
    query = "SELECT count(*), min(day)::VARCHAR, sum(price)::VARCHAR FROM lake.prices"
    assert connection.execute(query).fetchall() == [(80, "2024-03-12", "1580.00")]


def test_append_takes_patterns_csv_and_standard_input(lake, tmp_path):
    lake("sql", "CREATE TABLE prices (symbol VARCHAR NOT NULL, day DATE, price DECIMAL(9, 2))")
    assert lake.json("append", "prices", str(tmp_path / "*.csv"))["inserted"] == 2
    piped = "\n".join(map(json.dumps, ROWS)) + "\n"
    text = lake("append", "prices", "-", "--author", "ann", "--message", "by hand", input=piped)
    assert text.stdout == "snapshot 3: 2 rows inserted\n"
    assert prices(lake) == [
        ("ACME", "2024-03-12", "10.50"),
        ("BOLT", None, "7.00"),
        ("X", "2024-01-01", "1.50"),
        ("Y", None, "2.50"),
    ]
    newest = lake.json("log")["snapshots"][0]
    assert (newest["author"], newest["message"]) == ("ann", "by hand")


@pytest.mark.parametrize("name", ["b.csv", "c.ndjson"])
def test_create_finds_the_types_of_text_files(lake, tmp_path, name):
    lake("append", "prices", str(tmp_path / name), "--create")
    columns = lake.json("schema", "show", "prices")["columns"]
    kinds = {column["name"]: column["type"] for column in columns}
    assert kinds == {"symbol": "VARCHAR", "day": "DATE", "price": "DOUBLE"}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"symbol": 1, "nope": 2}', "nope"),
        ('{"symbol": "A", "price": "dear"}', "dear"),
        ('{"price": 1}', "symbol"),
        ('{"symbol": ', "standard input"),
    ],
)
def test_bad_rows_are_refused_as_a_whole(lake, line, said):
    lake("sql", "CREATE TABLE prices (symbol VARCHAR NOT NULL, price DOUBLE)")
    good = '{"symbol": "GOOD"}\n'
    result = lake("append", "prices", "-", input=good + line, ok=False)
    assert result.stderr.startswith("error: ")
    assert said in result.stderr
    assert "Traceback" not in result.stderr
    assert lake.json("log")["snapshots"][0]["snapshot_id"] == 1


def test_merge_updates_and_inserts(lake, tmp_path):
    lake("append", "prices", str(tmp_path / "a.parquet"), "--create")
    newer = '{"symbol": "S3", "price": 99}\n{"symbol": "NEW", "price": 1}\n'
    done = lake.json("merge", "prices", "-", "--on", "symbol", input=newer)
    assert (done["updated"], done["inserted"], done["deleted"]) == (1, 1, 0)
    assert prices(lake, "symbol IN ('S3', 'NEW')") == [
        ("NEW", None, "1.00"),
        ("S3", "2024-03-15", "99.00"),
    ]
    twice = lake("merge", "prices", "-", "--on", "symbol", input=newer * 2, ok=False)
    assert "several rows for one key" in twice.stderr
    assert lake("merge", "prices", "-", "--on", "nope", input=newer, ok=False).exit_code == 1


def test_delete_counts_first_if_asked(lake, tmp_path):
    lake("append", "prices", str(tmp_path / "a.parquet"), "--create")
    where = "price < 10"
    dry = lake.json("delete", "prices", "--where", where, "--dry-run")
    assert dry == {"dry_run": True, "deleted": 10}
    assert lake("delete", "prices", "--where", where, "--dry-run").stdout == (
        "10 rows would be deleted\n"
    )
    assert lake.json("log")["snapshots"][0]["snapshot_id"] == 1
    done = lake("delete", "prices", "--where", where, "--message", "too cheap")
    assert done.stdout == "snapshot 2: 10 rows deleted\n"
    assert len(prices(lake)) == 30
    assert lake.json("scan", "prices", "--known-at", "1")["row_count"] == 40
    assert lake.json("log")["snapshots"][0]["message"] == "too cheap"


def test_schema_shows_and_evolves(lake, tmp_path):
    lake("append", "prices", str(tmp_path / "a.parquet"), "--create")
    changes = ["--add", "venue varchar default 'XNYS'", "--add", "s STRUCT(a INT)"]
    changes += ["--rename", "day=on day", "--required", "symbol", "--comment", "symbol=who = what"]
    changes += ["--default", "symbol=nobody", "--order", "venue,price"]
    done = lake.json("schema", "evolve", "prices", *changes, "--message", "wider")
    assert done["snapshot_id"] == 2
    lake("schema", "evolve", "prices", "--add", "s.b int64", "--widen", "s.a=int64")
    lake("schema", "evolve", "prices", "--drop", '"on day"', "--nullable", "symbol")
    shown = lake.json("schema", "show", "prices")
    found = {c["name"]: (c["type"], c["nullable"], c["default"]) for c in shown["columns"]}
    assert found == {
        "venue": ("VARCHAR", True, "XNYS"),
        "price": ("DECIMAL(22,2)", True, None),
        "symbol": ("VARCHAR", True, "nobody"),
        "s": ("STRUCT", True, None),
    }
    assert list(found) == ["venue", "price", "symbol", "s"]
    fields = [(field["name"], field["type"]) for field in shown["columns"][3]["fields"]]
    assert fields == [("a", "BIGINT"), ("b", "BIGINT")]
    assert shown["columns"][2]["comment"] == "who = what"
    assert "venue" in lake("schema", "show", "prices").stdout
    assert "venue" not in lake("schema", "show", "prices", "--known-at", "1").stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["schema", "evolve", "prices"], "Nothing to change"),
        (["schema", "evolve", "prices", "--add", "x"], "a name and a type"),
        (["schema", "evolve", "prices", "--rename", "x"], "takes column=…"),
        (["schema", "evolve", "prices", "--drop", "nope"], "nope"),
        (["schema", "evolve", "prices", "--widen", "price=int8"], "price"),
        (["schema", "evolve", "nope", "--drop", "x"], "main.nope"),
        (["delete", "prices"], "Missing option '--where'"),
        (["delete", "prices", "--where", "nope = 1"], "not a column"),
        (["append", "prices"], "Missing argument 'FILES...'"),
        (["append", "prices", "-", "x.csv"], "- stands alone"),
        (["append", "prices", "nope.csv"], "there is no file nope.csv"),
        (["append", "new", "nope.csv", "--create"], "there is no file nope.csv"),
        (["append", "prices", "nope.txt"], "not the path of a file that can be read"),
        (["sql", "DELETE FROM prices", "--known-at", "1"], ""),
        (["sql", "TRUNCATE prices"], "TRUNCATE"),
    ],
)
def test_errors_are_told_and_change_nothing(lake, tmp_path, words, said):
    lake("append", "prices", str(tmp_path / "a.parquet"), "--create")
    result = lake(*words, ok=False)
    assert result.stderr.startswith("error: ")
    assert said in result.stderr.splitlines()[0]
    assert result.stdout == ""
    assert [s["snapshot_id"] for s in lake.json("log")["snapshots"]] == [1, 0]


def test_sql_writes_and_says_what_it_did(lake):
    created = lake("sql", "CREATE TABLE t AS SELECT i FROM range(5) r(i)", "--author", "ann")
    assert created.stdout == "snapshot 1: 5 rows inserted\n"
    assert lake("sql", "ALTER TABLE t ADD COLUMN j INT").stdout == "snapshot 2\n"
    assert lake.json("sql", "-", input="UPDATE t SET j = i WHERE i > 2;")["updated"] == 2
    assert lake.json("sql", "SELECT sum(j)::INT AS n FROM t")["rows"] == [{"n": 7}]
    assert [s["author"] for s in lake.json("log", "t")["snapshots"]] == [None, None, "ann"]


def test_a_write_does_not_create_a_lake(empty, tmp_path):
    for words in (["sql", "CREATE TABLE t (i INT)"], ["delete", "t", "--where", "true"]):
        told = empty(*words, ok=False).stderr
        assert "there is no lake at" in told
        assert "tidelake init" in told
    assert [path for path in Path(tmp_path).iterdir() if "new.db" in path.name] == []


def test_rollback_brings_a_table_back(lake, tmp_path):
    lake("append", "prices", str(tmp_path / "a.parquet"), "--create")
    lake("delete", "prices", "--where", "price < 10")
    before = sorted((tmp_path / "files").rglob("*.parquet"))
    would = lake("rollback", "prices", "--to", "1", "--dry-run").stdout
    assert would == "would make a snapshot: 10 rows inserted\n"
    assert lake.json("rollback", "prices", "--to", "1", "--dry-run")["inserted"] == 10
    assert sorted((tmp_path / "files").rglob("*.parquet")) == before
    assert len(prices(lake)) == 30
    done = lake("rollback", "prices", "--to", "1", "--message", "too many").stdout
    assert done == "snapshot 3: 10 rows inserted\n"
    assert len(prices(lake)) == 40
    refused = lake("rollback", "prices", "--to", "77", ok=False)
    assert "there is no snapshot 77" in refused.stderr


def test_undrop_brings_a_table_back(lake, tmp_path):
    lake("append", "prices", str(tmp_path / "a.parquet"), "--create")
    lake("sql", "DROP TABLE prices")
    gone = lake("count", "prices", ok=False)
    assert "dropped it" in gone.stderr
    done = lake("undrop", "prices", "--message", "not yet").stdout
    assert done.startswith("snapshot 3")
    lake("sql", "DROP TABLE prices")
    lake("append", "prices", str(tmp_path / "b.csv"), "--create")
    taken = lake("undrop", "prices", ok=False)
    assert "there is a table main.prices already" in taken.stderr
    assert lake.json("undrop", "prices", "--known-at", "1", "--as", "old")["snapshot_id"] == 6
    assert lake.json("count", "old")["rows"] == 40


def test_where_nothing_is_to_do_no_snapshot_is_claimed(lake, tmp_path):
    lake("append", "prices", str(tmp_path / "a.parquet"), "--create")
    at = lake.json("log", "--limit", "1")["snapshots"][0]["snapshot_id"]
    said = f"nothing to do; the lake is at snapshot {at}\n"
    assert lake("delete", "prices", "--where", "price < 0").stdout == said
    assert lake("append", "prices", "-", input="").stdout == said
    assert lake("sql", "UPDATE prices SET price = 1 WHERE symbol = 'nobody'").stdout == said
    made = lake("schema", "evolve", "prices", "--add", "x INT").stdout
    assert made == f"snapshot {at + 1}\n"


def test_every_command_that_writes_takes_a_token(lake, tmp_path):
    rows = str(tmp_path / "b.csv")
    commands = [
        ("append", "prices", rows, "--create"),
        ("merge", "prices", rows, "--on", "symbol"),
        ("delete", "prices", "--where", "symbol = 'X'"),
        ("delete", "prices", "--where", "symbol = 'nobody'"),
        ("schema", "evolve", "prices", "--add", "venue varchar"),
        ("sql", "UPDATE prices SET price = price + 1"),
        ("rollback", "prices", "--to", "1"),
        ("sql", "DROP TABLE prices"),
        ("undrop", "prices"),
    ]
    for number, command in enumerate(commands):
        once = ("--once", f"job/{number}")
        first = lake.json(*command, *once, "--message", "the first")
        again = lake.json(*command, *once, "--author", "retry")
        assert (first["duplicate"], again["duplicate"]) == (False, True)
        assert again == first | {"duplicate": True, "attempts": 0, "commit_ms": 0.0}
    assert len(lake.json("log")["snapshots"]) == len(commands)  # and the first, less the empty one
    assert lake(*commands[1], "--once", "job/1").stdout.startswith("done before, at snapshot 2: 2 ")
    wrong = lake("delete", "prices", "--where", "true", "--once", "job/1", ok=False)
    assert "the token 'job/1' was used for merge of main.prices" in wrong.stderr
    late = lake("delete", "prices", "--where", "true", "--expected", "2", ok=False)
    assert "main.prices has changed" in late.stderr
