"""`log`: what every snapshot did."""

from tests.cli.conftest import Tidelake
from tidelake.testing.duck import duck_connection


def test_log_tells_what_was_done(lake: Tidelake) -> None:
    newest, before, *_ = lake.json("log", "t")["snapshots"]
    assert newest["seconds"] > 0
    del newest["seconds"], newest["time"]
    assert newest == {
        "snapshot_id": 3,
        "author": "ann",
        "message": "a correction",
        "operation": "update",
        "tables": ["main.t"],
        "changes": ["inserted into main.t", "deleted from main.t"],
        "inserted": 0,
        "updated": 2,
        "deleted": 0,
        "files": 0,
        "bytes": 0,
    }
    assert (before["operation"], before["inserted"], before["files"]) == ("append", 1000, 1)
    lines = lake("log").stdout.splitlines()
    words = "snapshot time (UTC) author operation rows files took message"
    assert lines[0].split() == words.split()
    assert lines[2].split()[3:7] == ["ann", "update", "main.t", "~2"]
    assert lines[3].split()[3:7] == ["append", "main.t", "+1,000", "1"]
    assert "created schema main" in lines[5]


def test_what_nobody_knows_is_a_question_mark(lake: Tidelake) -> None:
    with duck_connection() as duck:
        path = lake.url.removeprefix("sqlite:///")
        duck.execute(f"ATTACH 'ducklake:sqlite:{path}' AS lake")
        duck.execute("UPDATE lake.t SET i = 5 WHERE i = 6")
    line = lake("log", "--limit", "1").stdout.splitlines()[2]
    assert line.split()[3:] == ["update", "main.t", "?"]
    assert lake.json("log")["snapshots"][0]["updated"] is None


def test_an_empty_log(lake: Tidelake) -> None:
    assert lake.json("log", "t", "--known-at", "1")["snapshots"][0]["operation"] == "create table"
    assert "older: use --limit" not in lake("log", "--limit", "4").stdout
