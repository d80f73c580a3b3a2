"""Every command, as text and as JSON."""

import json
from datetime import datetime
from decimal import Decimal

import pytest

import tidelake as package
from tidelake.cli import main


def test_init_makes_a_lake_and_leaves_it_alone_the_second_time(empty, tmp_path):
    first = empty("init", "--data-path", str(tmp_path / "files"))
    assert str(tmp_path / "files") in first.stdout
    again = empty.json("init")
    assert again.pop("catalog").endswith("new.db")
    assert again == {"data_path": f"{tmp_path}/files/", "snapshot_id": 0, "tables": 0}


def test_duckdb_attaches_what_init_made(empty, tmp_path, new_duck):
    empty("init")
    connection = new_duck()
    connection.execute(f"ATTACH 'ducklake:sqlite:{tmp_path}/new.db' AS lake")
    connection.execute("CREATE TABLE lake.t AS SELECT 42 AS i")
    connection.close()
    assert empty.json("scan", "t")["rows"] == [{"i": 42}]


def test_tables_lists_tables_and_views(tidelake):
    assert tidelake.json("tables") == {
        "tables": [
            {"name": "main.prices", "kind": "table"},
            {"name": 'other."odd.name"', "kind": "table"},
            {"name": "main.cheap", "kind": "view"},
        ]
    }
    assert 'other."odd.name"' in tidelake("tables").stdout


def test_tables_of_the_past(tidelake):
    assert tidelake.json("tables", "--known-at", "0") == {"tables": []}
    assert tidelake("tables", "--known-at", "0").stdout == "The lake has no tables.\n"


def test_show_tells_all_about_a_table(tidelake):
    shown = tidelake.json("show", "prices")
    assert [(c["name"], c["type"], c["nullable"]) for c in shown["columns"]] == [
        ("symbol", "VARCHAR", False),
        ("ts", "TIMESTAMP", True),
        ("price", "DECIMAL(10,2)", True),
        ("depth", "STRUCT", True),
    ]
    assert shown["columns"][2]["comment"] == "in dollars"
    assert [field["name"] for field in shown["columns"][3]["fields"]] == ["bid", "ask"]
    assert shown["partitioning"] == ["day(ts)", "bucket(4, symbol)"]
    assert shown["sorting"] == ["ts DESC NULLS LAST"]
    assert shown["comment"] == "ticks [red] as they came"
    assert shown["rows"] == 59
    assert shown["files"] >= 1
    assert shown["bytes"] > 0
    assert "deleted from main.prices" in shown["snapshots"][0]["changes"]


def test_show_draws_nested_columns_as_a_tree(tidelake):
    lines = tidelake("show", "prices").stdout.splitlines()
    assert any(line.startswith("depth ") and "STRUCT" in line for line in lines)
    assert any(line.startswith("  ask ") and "LIST" in line for line in lines)
    assert any(line.startswith("    element ") and "INTEGER" in line for line in lines)
    assert "ticks [red] as they came" in lines


def test_show_the_past(tidelake):
    shown = tidelake.json("show", "prices", "--known-at", "1")
    assert (shown["known_at"], shown["rows"], shown["partitioning"]) == (1, 0, [])


def test_scan_prints_rows(tidelake):
    where = "symbol = 'S1' AND price < 10"
    found = tidelake.json("scan", "prices", "--columns", "price,ts", "--where", where)
    assert found["complete"] is True
    assert found["row_count"] == len(found["rows"]) == 2
    assert [list(row) for row in found["rows"]] == [["price", "ts"]] * 2
    assert sorted(Decimal(row["price"]) for row in found["rows"]) == [
        Decimal("4.25"),
        Decimal("7.25"),
    ]
    text = tidelake("scan", "prices", "--columns", "price,ts", "--where", where).stdout
    assert "2024-03-15T09:34:00" in text
    assert text.endswith("(2 rows)\n")


def test_scan_stops_at_the_limit_and_says_so(tidelake):
    found = tidelake.json("scan", "prices", "--limit", "3")
    assert (found["row_count"], found["complete"]) == (3, False)
    assert (
        "(3 rows; there are more: use --limit)" in tidelake("scan", "prices", "--limit", "3").stdout
    )
    exact = tidelake.json("scan", "prices", "--limit", "59")
    assert (exact["row_count"], exact["complete"]) == (59, True)


def test_text_shows_fifty_rows_and_json_all(tidelake):
    assert "(50 rows; there are more: use --limit)" in tidelake("scan", "prices").stdout
    assert "(59 rows)" in tidelake("scan", "prices", "--limit", "0").stdout
    assert tidelake.json("scan", "prices")["row_count"] == 59


@pytest.mark.parametrize("moment", ["2", "2000-01-01"])
def test_scan_of_the_past(tidelake, moment):
    if moment == "2":
        assert tidelake.json("scan", "prices", "--known-at", moment)["rows"] == []
    else:
        result = tidelake("scan", "prices", "--known-at", moment, ok=False)
        assert "no snapshot at or before 2000-01-01" in result.stderr


def test_scan_explains_itself(tidelake):
    where = "ts < TIMESTAMP '2000-01-01'"
    told = tidelake.json("scan", "prices", "--where", where, "--explain")
    assert told["table"] == "main.prices"
    assert told["files"] == 0
    assert sum(step["files"] for step in told["pruned"]) == told["total_files"] > 0
    assert "pruned" in tidelake("scan", "prices", "--where", where, "--explain").stdout


def test_column_names_may_hold_commas(empty, tmp_path, new_duck):
    connection = new_duck()
    connection.execute(
        f"ATTACH 'ducklake:sqlite:{tmp_path}/new.db' AS lake (DATA_PATH '{tmp_path}/data/')"
    )
    connection.execute('CREATE TABLE lake.t AS SELECT 1 AS "a,b", 2 AS c')
    connection.close()
    assert empty.json("scan", "t", "--columns", 'c, "a,b"')["rows"] == [{"c": 2, "a,b": 1}]


def test_log_is_newest_first_and_in_words(tidelake):
    told = tidelake.json("log")["snapshots"]
    assert [each["snapshot_id"] for each in told] == list(range(len(told)))[::-1]
    words = [change for each in told for change in each["changes"]]
    for expected in (
        "created main.prices",
        "inserted into main.prices",
        "deleted from main.prices",
        "altered main.prices",
        "created schema other",
        'created other."odd.name"',
        "dropped main.gone",
        "created view main.cheap",
    ):
        assert expected in words
    corrected = next(each for each in told if each["author"])
    assert (corrected["author"], corrected["message"]) == ("ann", "a late correction")
    assert datetime.fromisoformat(corrected["time"]).utcoffset() is not None


def test_log_of_one_table_and_its_limit(tidelake):
    told = tidelake.json("log", "prices")["snapshots"]
    assert all("main.prices" in " ".join(each["changes"]) for each in told)
    assert len(tidelake.json("log", "--limit", "2")["snapshots"]) == 2
    assert "older: use --limit" in tidelake("log", "--limit", "2").stdout
    assert "a late correction" in tidelake("log", "prices").stdout


def test_log_of_the_past(tidelake):
    assert [s["snapshot_id"] for s in tidelake.json("log", "--known-at", "1")["snapshots"]] == [
        1,
        0,
    ]


def test_sql_runs_a_select(tidelake):
    query = "SELECT count(*) AS n FROM cheap"
    assert tidelake.json("sql", query)["rows"][0]["n"] > 0
    found = tidelake.json("sql", "SELECT count(*) AS n FROM prices AT (VERSION => 1)")
    assert found["rows"] == [{"n": 0}]


def test_sql_from_standard_input(tidelake):
    assert tidelake.json("sql", "-", input="SELECT 7 AS n")["rows"] == [{"n": 7}]


def test_options_stand_before_or_after_the_command(lake_url):
    from click.testing import CliRunner

    before = CliRunner().invoke(main, ["--catalog", lake_url, "--json", "tables"])
    after = CliRunner().invoke(main, ["tables", "--json", "--catalog", lake_url])
    assert json.loads(before.stdout) == json.loads(after.stdout)


def test_the_lake_may_come_from_the_environment(lake_url, monkeypatch):
    from click.testing import CliRunner

    monkeypatch.setenv("TIDELAKE_CATALOG", lake_url)
    assert "main.prices" in CliRunner().invoke(main, ["tables"]).stdout


def test_version():
    from click.testing import CliRunner

    assert package.__version__ in CliRunner().invoke(main, ["--version"]).stdout


def test_reading_writes_nothing(tidelake, lake_url):
    from pathlib import Path

    folder = Path(lake_url.removeprefix("sqlite:///")).parent
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    for words in (["tables"], ["show", "prices"], ["scan", "prices"], ["log"], ["sql", "SELECT 1"]):
        tidelake(*words)
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before


def test_several_conditions_must_all_be_true(tidelake):
    both = ["--where", "price > 10 -- dear", "--where", "symbol = 'S0' OR symbol = 'S1'"]
    count = tidelake.json("count", "prices", *both)["rows"]
    one = "price > 10 AND (symbol = 'S0' OR symbol = 'S1')"
    assert count == tidelake.json("count", "prices", "--where", one)["rows"] > 0
    assert tidelake.json("scan", "prices", *both)["row_count"] == count
    assert tidelake.json("delete", "prices", *both, "--dry-run")["deleted"] == count
    changes = tidelake.json("changes", "prices", *both, "--where", "change_type = 'insert'")
    assert changes["row_count"] == count


def test_several_lists_of_columns_add_up(tidelake):
    words = ["--columns", "price,symbol", "--columns", "ts", "--limit", "1"]

    def names(command):
        return [each["name"] for each in tidelake.json(command, "prices", *words)["columns"]]

    assert names("scan") == ["price", "symbol", "ts"]
    assert {"price", "symbol", "ts"} < set(names("changes"))
    assert "depth" not in names("changes")


def test_a_difference_to_now(tidelake):
    newest = tidelake.json("log", "--limit", "1")["snapshots"][0]["snapshot_id"]
    assert tidelake("diff", "2").stdout == tidelake("diff", "2", str(newest)).stdout
