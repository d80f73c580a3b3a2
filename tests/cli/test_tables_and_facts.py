"""`declare`, `put`, `end`, `option`, `clone`, `rename`, `drop`, `view` and `export`."""

import csv
import io
import json
from decimal import Decimal

import pyarrow as pa
import pytest
from pyarrow import parquet

import tidelake
from tests.cli.conftest import Tidelake


@pytest.fixture
def facts(tmp_path) -> Tidelake:
    url = f"sqlite:///{tmp_path}/lake.db"
    with tidelake.connect(url) as lake:
        lake.create_table("q", "k VARCHAR, ts TIMESTAMP, v DOUBLE, gone BOOLEAN")
        lake.create_table("n", 'i INTEGER, s VARCHAR, d DECIMAL(9, 2), "a,b" INTEGER[]').append(
            [
                {"i": 1, "s": "", "d": Decimal("1.50"), "a,b": [1, None]},
                {"i": 2, "s": None, "d": None, "a,b": None},
                {"i": 3, "s": 'x, "y"\nz', "d": Decimal("2.00"), "a,b": []},
            ]
        )
    return Tidelake(url)


def test_facts_are_declared_put_and_ended_in_one_snapshot_each(facts):
    words = ["--event-time", "ts", "--key", "k", "--tombstone", "gone", "--bucket", "1h"]
    more = ["--entity", "k", "--partition-by", "year(ts)", "--sort-by", "k", "--comment", "c"]
    done = facts.json("declare", "q", *words, *more, "--author", "ann", "--once", "one")
    again = facts.json("declare", "q", *words, *more, "--once", "one")
    assert again["duplicate"]
    assert again["snapshot_id"] == done["snapshot_id"]
    assert facts.json("log")["snapshots"][0]["author"] == "ann"
    facts("put", "q", '{"k": "A", "ts": "2024-01-01T09:00:00", "v": 1.5}', "--message", "m")
    lines = '{"k": "A", "ts": "2024-01-01T10:00:00", "v": 2}\n\n{"k": "B", "ts": "2024-01-01"}\n'
    assert facts.json("put", "q", "-", input=lines)["inserted"] == 2
    facts("end", "q", "A", "--at", "2024-01-01T12:00:00")
    assert facts("count", "q", "--as-of", "2024-01-01T11:00:00").stdout == "2\n"
    assert facts("count", "q", "--as-of", "2024-01-01T12:00:00").stdout == "1\n"
    shown = facts.json("show", "q")
    assert (shown["partitioning"], shown["comment"]) == (["year(ts)"], "c")
    assert facts.json("coverage", "q")["covered"] > 0
    facts("declare", "q", "--no-partitions", "--no-sorting", "--no-coverage", "--comment", "")
    shown = facts.json("show", "q")
    assert (shown["partitioning"], shown["sorting"], shown["comment"]) == ([], [], None)
    facts("declare", "q", "--no-event-time")
    assert facts("scan", "q", "--as-of", "2024-01-01", ok=False).exit_code == 1


def test_a_key_may_stand_alone(facts):
    """For merges; of a table of facts it goes with the event time."""
    facts("declare", "n", "--key", "i", "--message", "m")
    assert facts.json("show", "n")["key"] == ["i"]
    facts("declare", "q", "--key", "k")
    facts("declare", "q", "--event-time", "ts")  # which needs no key any more
    assert facts.json("show", "q")["key"] == ["k"]
    facts("declare", "q", "--event-time", "ts", "--key", "k", "--tombstone", "gone")
    told = facts("declare", "q", "--key", "v", ok=False).stderr
    assert "--key goes with --event-time ts" in told
    assert facts.json("show", "q")["event_time"] == "ts"


def test_an_event_time_without_a_key_is_that_of_the_coverage(facts):
    facts("declare", "q", "--event-time", "ts", "--bucket", "1h", "--entity", "k")
    shown = facts.json("show", "q")
    assert (shown["key"], shown["coverage"]["event_time"]) == ([], "ts")
    facts("declare", "q", "--event-time", "ts", "--key", "k")  # now there are facts
    told = facts("declare", "q", "--event-time", "ts", "--bucket", "1d", ok=False).stderr
    assert "event_time needs a key" in told


@pytest.mark.parametrize(
    "words",
    [
        ["declare", "n", "--event-time", "s", "--tombstone", "s", "--bucket", "1h"],
        ["declare", "q"],
        ["declare", "q", "--tombstone", "gone"],
        ["declare", "q", "--entity", "k"],
        ["declare", "q", "--bucket", "1h", "--no-coverage"],
        ["put", "q", "{"],
        ["put", "q", "[1]"],
        ["option", "nope", "1"],
        ["export", "n", "--to", "x.txt"],
        ["export", "--to", "x.csv"],
        ["export", "n", "--sql", "SELECT 1", "--to", "x.csv"],
        ["export", "--sql", "DROP TABLE n", "--to", "x.csv"],
        ["export", "n", "--to", "/dev/null", "--format", "csv"],
        ["export", "n", "--to", "nowhere/x.csv"],
        ["export", "n", "--to", "s3://b/x.csv"],
        ["export", "n", "--to", "x" * 400, "--format", "csv"],
        ["drop", "nope", "--dry-run"],
    ],
)
def test_what_makes_no_sense_changes_nothing(facts, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = len(facts.json("log")["snapshots"])
    done = facts(*words, ok=False)
    assert (done.exit_code, done.stderr[:7]) == (1, "error: ")
    assert len(facts.json("log")["snapshots"]) == before
    assert not list(tmp_path.glob("*.csv"))


def test_tables_are_cloned_renamed_and_dropped(facts):
    assert facts.json("clone", "n", "m") == {"name": "main.m", "rows": 3}
    facts("delete", "m", "--where", "i = 1")
    assert facts("count", "n").stdout == "3\n"
    facts("rename", "m", "o", "--message", "another")
    said = facts("drop", "o", "--dry-run").stdout
    assert said == "the table o would be dropped: 2 rows\n"
    facts("view", "w", "SELECT i FROM n", "--columns", "x")
    assert facts("view", "w", "SELECT i FROM n", ok=False).exit_code == 1
    facts("view", "w", "SELECT i FROM n WHERE i > 1", "--columns", "y", "--replace")
    assert facts.json("sql", "SELECT y FROM w ORDER BY y")["rows"] == [{"y": 2}, {"y": 3}]
    assert facts.json("drop", "W", "--dry-run")["kind"] == "view"
    facts("drop", "w")
    facts("drop", "o")
    names = {each["name"] for each in facts.json("tables")["tables"]}
    assert names == {"main.n", "main.q"}


def test_an_option_is_set(facts):
    facts("option", "parquet_compression", "zstd", "--table", "n")
    with tidelake.connect(facts.url) as lake:
        (row,) = [each for each in lake.audit() if each.action == "set option"]
    assert "parquet_compression = zstd" in row.detail


def test_rows_are_exported_in_every_form(facts, tmp_path):
    query = ["--sql", "SELECT * FROM n ORDER BY i"]
    for form in ("csv", "parquet", "jsonl", "arrow"):
        done = facts.json("export", *query, "--to", str(tmp_path / f"x.{form}"))
        assert done["rows"] == 3
        assert done["bytes"] == (tmp_path / f"x.{form}").stat().st_size
    with tidelake.connect(facts.url) as lake:
        wanted = lake.sql("SELECT * FROM n ORDER BY i").to_arrow()
    assert parquet.read_table(tmp_path / "x.parquet").to_pylist() == wanted.to_pylist()
    assert pa.ipc.open_stream(tmp_path / "x.arrow").read_all().equals(wanted)
    raw = (tmp_path / "x.csv").read_bytes().decode()
    assert raw.startswith('i,s,d,"a,b"\r\n1,"",1.50,"[1, null]"\r\n2,,,\r\n')
    assert list(csv.reader(io.StringIO(raw, newline="")))[3] == ["3", 'x, "y"\nz', "2.00", "[]"]
    first = json.loads((tmp_path / "x.jsonl").read_text().splitlines()[0])
    assert first == {"i": 1, "s": "", "d": "1.50", "a,b": [1, None]}
    out = facts("export", "n", "--where", "i = 2", "--columns", "i", "--to", "-", "--format", "csv")
    assert out.stdout.split() == ["i", "2"]


def test_an_export_that_fails_leaves_what_was_there(facts, tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("before")
    facts("export", "--sql", "SELECT error('no') FROM n", "--to", str(path), ok=False)
    assert path.read_text() == "before"
    assert not list(tmp_path.glob(".x.csv*"))


def test_a_decimal_keeps_its_digits(facts):
    facts("sql", "CREATE TABLE p (k VARCHAR, ts TIMESTAMP, d DECIMAL(38, 10), f DOUBLE)")
    facts("declare", "p", "--event-time", "ts", "--key", "k")
    facts("put", "p", '{"k": "A", "ts": "2024-01-01", "d": 12345678901234567890.1, "f": 0.5}')
    (row,) = facts.json("scan", "p")["rows"]
    assert (row["d"], row["f"]) == ("12345678901234567890.1000000000", 0.5)
