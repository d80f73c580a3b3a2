"""`rollup`: one, a policy, a list, and none any more."""

from pathlib import Path
from typing import Any

import pytest

import tidelake


@pytest.fixture
def facts(empty: Any, tmp_path: Path) -> Any:
    """The program on a lake with a table of twenty facts in two months."""
    with tidelake.connect(empty.url, f"{tmp_path}/data") as lake:
        t = lake.create_table("t", "id INTEGER, ts TIMESTAMP", key="id", event_time="ts")
        t.append([{"id": n % 10, "ts": f"2024-0{n // 10 + 1}-{n + 1:02d}"} for n in range(20)])
    return empty


def test_one_rollup(facts: Any) -> None:
    (made,) = facts.json("rollup", "t", "--as-of", "2024-02-01T00:00:00Z")["rollups"]
    assert (made["as_of"], made["rows"], made["files"]) == ("2024-02-01T00:00:00Z", 10, 1)
    (there,) = facts.json("rollup", "t", "--list")["rollups"]
    assert there == made
    assert "2024-02-01T00:00:00Z" in facts("rollup", "t", "--list").stdout
    assert "yes" in facts("rollup", "t", "--list").stdout


def test_a_policy(facts: Any) -> None:
    assert len(facts.json("rollup", "t", "--every", "1w", "--keep", "3")["rollups"]) == 3
    assert facts.json("compact")["rollups_made"] == 0
    assert len(facts.json("rollup", "t", "--drop", "--dry-run")["rollups"]) == 3
    assert facts.json("rollup", "t", "--drop") == {"dropped": 3}
    assert facts.json("compact")["rollups_made"] == 0
    assert facts.json("rollup", "t", "--list") == {"rollups": []}


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--list", "--drop"],
        ["--as-of", "2024-02-01", "--keep", "3"],
        ["--list", "--dry-run"],
        ["--as-of", "soon"],
        ["--every", "often"],
    ],
)
def test_what_makes_no_sense(facts: Any, words: list[str]) -> None:
    assert facts("rollup", "t", *words, ok=False).stderr.startswith("error: ")
