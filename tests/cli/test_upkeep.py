"""`expire`, `cleanup` and `move`: what they say, and that a dry run does nothing."""

from pathlib import Path
from typing import Any

import pytest

import tidelake
from tidelake.errors import Conflict

ORPHAN = "ducklake-01a1e35e-2c00-77fa-aad2-be56f6c3d509.parquet"


@pytest.fixture
def lake(empty: Any, tmp_path: Path) -> Any:
    """The program on a lake with four snapshots, three files, of which one is needed."""
    with tidelake.connect(empty.url, f"{tmp_path}/data") as lake:
        t = lake.create_table("t", "n BIGINT")
        for number in range(3):
            t.overwrite([{"n": number + n} for n in range(20)])
        lake.tag("important", 2)
    return empty


def test_expire(lake: Any) -> None:
    would = lake.json("expire", "--keep-last", "1", "--dry-run")
    assert (would["snapshots"], would["files"], would["dry_run"]) == ([0, 1, 3], 1, True)
    assert would["kept"] == [{"snapshot_id": 2, "tags": ["important"]}]
    assert len(lake.json("log")["snapshots"]) == 5
    text = lake("expire", "--keep-last", "1", "--older-than", "0 seconds").stdout
    assert "expired 3 snapshots" in text
    assert "kept snapshot 2, tagged important" in text
    assert len(lake.json("log")["snapshots"]) == 2


def test_expire_and_consumers(lake: Any) -> None:
    with tidelake.connect(lake.url) as opened, opened.consumer("billing", since=3):
        pass
    refused = lake("expire", "--keep-last", "1", ok=False)
    assert "'billing' (at snapshot 3, 1 behind)" in refused.stderr
    assert Conflict.__name__ in lake("expire", "--keep-last", "1", "--json", ok=False).stderr
    assert lake.json("expire", "--keep-last", "1", "--force")["overtaken"] == ["billing"]


def test_expire_wants_to_know_what(lake: Any) -> None:
    assert "what is to expire" in lake("expire", ok=False).stderr
    assert "soon" in lake("expire", "--older-than", "soon", ok=False).stderr
    lake("expire", "--keep-last", "0", ok=False)


def test_cleanup(lake: Any, tmp_path: Path) -> None:
    (tmp_path / "data" / "main" / "t" / ORPHAN).write_bytes(b"x")
    lake("expire", "--keep-last", "1")
    assert "removed 0 files" in lake("cleanup").stdout
    would = lake("cleanup", "--older-than", "0 seconds", "--dry-run").stdout
    assert "would remove 2 files" in would
    assert ORPHAN in would
    found = lake.json("cleanup", "--older-than", "0 seconds", "--no-orphans")
    assert (found["files"], found["scheduled"], found["orphans"]) == (1, 1, 0)
    assert lake.json("cleanup", "--older-than", "0 seconds")["orphans"] == 1
    assert len(list((tmp_path / "data").rglob("*.parquet"))) == 2


def test_a_minute_that_may_be_a_month_is_refused(lake):
    for command in ("expire", "cleanup"):
        refused = lake(command, "--older-than", "1m", ok=False)
        assert 'write "1min" or "1mo"' in refused.stderr
        lake(command, "--older-than", "1mo")


def test_move(lake: Any, tmp_path: Path) -> None:
    (tmp_path / "data").rename(tmp_path / "moved")
    where = ("--data-path", f"{tmp_path}/moved")
    assert "tidelake move" in lake("count", "t", *where, ok=False).stderr
    assert len(lake.json("scan", "t", *where, "--override-data-path")["rows"]) == 20
    assert "say where" in lake("move", ok=False).stderr
    assert "are not at" in lake("move", "--data-path", f"{tmp_path}/no", ok=False).stderr
    done = lake.json("move", *where)
    assert (done["data_path"], done["missing"]) == (f"{tmp_path}/moved/", 0)
    assert len(lake.json("scan", "t")["rows"]) == 20
