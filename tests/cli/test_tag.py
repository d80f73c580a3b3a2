"""`tag`: made, listed, refused and forgotten."""

import json

import pytest
from click.testing import CliRunner

from tests.cli.conftest import Tidelake
from tidelake.cli import main
from tidelake.testing.duck import duck_connection


def test_tag_list_and_delete(lake: Tidelake) -> None:
    made = lake.json("tag", "eod", "--known-at", "2", "--author", "ann", "--message", "closed")
    assert (made["name"], made["snapshot_id"], made["author"]) == ("eod", 2, "ann")
    assert lake("tag", "shut").stdout == "shut: snapshot 3\n"
    assert [t["name"] for t in lake.json("tag", "--list")["tags"]] == ["eod", "shut"]
    assert lake.json("tag")["tags"][0] == made
    assert lake("tag", "--list").stdout.splitlines()[2].split()[:2] == ["eod", "2"]
    assert lake.json("scan", "t", "--known-at", "eod", "--where", "i < 0")["row_count"] == 0
    assert "would forget eod" in lake("tag", "eod", "--delete", "--dry-run").stdout
    assert lake("tag", "eod", "--delete").stdout == "forgot eod, of snapshot 2\n"
    assert [t["name"] for t in lake.json("tag")["tags"]] == ["shut"]


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


def test_errors_in_json(lake: Tidelake) -> None:
    result = CliRunner().invoke(main, ["tag", "7", "--catalog", lake.url, "--json"])
    assert json.loads(result.stderr)["error"]["kind"] == "Invalid"
