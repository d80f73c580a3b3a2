"""`log`, `tag` and `consumers`."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import tidelake
from tests.cli.conftest import Tidelake
from tidelake.cli import main
from tidelake.testing.duck import duck_connection


@pytest.fixture
def lake(tmp_path: Path) -> Tidelake:
    """Snapshot 2 has a thousand rows, snapshot 3 updates two of them."""
    url = f"sqlite:///{tmp_path}/lake.db"
    with tidelake.connect(url) as made:
        table = made.create_table("t", {"i": "int64"})
        table.append([{"i": number} for number in range(1000)])
        with made.transaction(author="ann", message="a correction") as tx:
            tx.table("t").update({"i": "-i"}, where="i BETWEEN 1 AND 2")
    return Tidelake(url)


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


def test_tag_list_and_delete(lake: Tidelake) -> None:
    made = lake.json("tag", "eod", "--known-at", "2", "--author", "ann", "--message", "closed")
    assert (made["name"], made["snapshot_id"], made["author"]) == ("eod", 2, "ann")
    assert lake("tag", "now").stdout == "now: snapshot 3\n"
    assert [t["name"] for t in lake.json("tag", "--list")["tags"]] == ["eod", "now"]
    assert lake.json("tag")["tags"][0] == made
    assert lake("tag", "--list").stdout.splitlines()[2].split()[:2] == ["eod", "2"]
    assert lake.json("scan", "t", "--known-at", "eod", "--where", "i < 0")["row_count"] == 0
    assert "would forget eod" in lake("tag", "eod", "--delete", "--dry-run").stdout
    assert lake("tag", "eod", "--delete").stdout == "forgot eod, of snapshot 2\n"
    assert [t["name"] for t in lake.json("tag")["tags"]] == ["now"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["eod", "--delete"], "there is no tag 'eod'"),
        (["eod", "--delete", "--dry-run"], "there is no tag 'eod'"),
        (["eod", "--delete", "--known-at", "2"], "--delete takes a NAME"),
        (["eod", "--dry-run"], "--dry-run goes with --delete"),
        (["eod", "--list"], "--list takes no NAME"),
        (["--delete"], "not said which tag"),
        (["--known-at", "2"], "not said which tag"),
        (["2024-03-15"], "could be read as a snapshot id or a time"),
    ],
)
def test_tags_that_are_refused(lake: Tidelake, words: list[str], said: str) -> None:
    result = lake("tag", *words, ok=False)
    assert said in result.stderr
    assert lake.json("tag")["tags"] == []


def test_a_tag_whose_snapshot_is_gone_is_told_of_once(lake: Tidelake) -> None:
    lake("tag", "eod", "--known-at", "2")
    with duck_connection() as duck:
        path = lake.url.removeprefix("sqlite:///")
        duck.execute(f"ATTACH 'ducklake:sqlite:{path}' AS lake")
        duck.execute("CALL ducklake_expire_snapshots('lake', versions => [2])")
    told = lake("tag", "new").stderr
    assert told.count("warning: somebody else has expired snapshots") == 1
    assert ".py" not in told
    assert "somebody else" in lake("scan", "t", "--known-at", "eod", ok=False).stderr


def test_consumers_are_listed_and_dropped(lake: Tidelake) -> None:
    assert lake.json("consumers") == {"consumers": []}
    with tidelake.connect(lake.url) as opened:
        opened.consumer("billing", since=1).close()
        with opened.consumer("mail") as mail:
            shown = lake("consumers").stdout.splitlines()
            assert shown[2].split() == ["billing", "1", "2"]
            assert shown[3].split()[:4] == ["mail", "NULL", "4", mail.owner]
            assert "is held by" in lake("consumers", "--drop", "mail", ok=False).stderr
    assert [c["lag"] for c in lake.json("consumers")["consumers"]] == [2, 4]
    assert "would forget billing" in lake("consumers", "--drop", "billing", "--dry-run").stdout
    assert len(lake.json("consumers")["consumers"]) == 2
    assert lake("consumers", "--drop", "billing").stdout.startswith("forgot billing")
    assert [c["name"] for c in lake.json("consumers")["consumers"]] == ["mail"]
    assert "no consumer" in lake("consumers", "--drop", "billing", ok=False).stderr
    assert "goes with --drop" in lake("consumers", "--dry-run", ok=False).stderr


def test_errors_in_json(lake: Tidelake) -> None:
    result = CliRunner().invoke(main, ["tag", "7", "--catalog", lake.url, "--json"])
    assert json.loads(result.stderr)["error"]["kind"] == "Invalid"
