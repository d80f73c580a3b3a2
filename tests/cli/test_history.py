"""`history` and `diff --late`."""

import json
from pathlib import Path

import pytest

import tidelake as library
from tests.cli.conftest import Tidelake


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> Tidelake:
    folder: Path = tmp_path_factory.mktemp("facts")
    url = f"sqlite:///{folder}/lake.db"
    with library.connect(url, f"{folder}/data/") as lake:
        t = lake.create_table(
            "prices",
            "symbol VARCHAR, ts TIMESTAMP, price DECIMAL(9,2), gone BOOLEAN",
            key="symbol",
            event_time="ts",
            tombstone="gone",
        )
        t.put({"symbol": "ACME", "ts": "2024-03-01", "price": 10})
        lake.tag("friday")
        t.put({"symbol": "ACME", "ts": "2024-03-05", "price": 11})
        t.put({"symbol": "ACME", "ts": "2024-03-03", "price": 12})
        t.put({"symbol": "a=b", "ts": "2024-03-03", "price": 1})
        held = lake.create_table(
            "held", "account INTEGER, part DECIMAL(9,2), day DATE", key=["account", "part"]
        )
        held.set_event_time("day", key=["account", "part"])
        held.put({"account": 7, "part": 2, "day": "2024-03-01"})
        lake.create_table("plain", "i INTEGER")
    return Tidelake(url)


def test_history(facts: Tidelake) -> None:
    found = facts.json("history", "prices", "ACME")["rows"]
    assert [row["price"] for row in found] == ["10.00", "10.00", "11.00", "10.00", "12.00"]
    assert found[-1]["valid_from"] == "2024-03-03T00:00:00"
    assert found[-1]["valid_to"] == "2024-03-05T00:00:00"
    assert found[-1]["known_to"] is None
    assert "(5 rows)" in facts("history", "prices", "ACME").stdout
    late = facts.json("history", "prices", "symbol=ACME", "--as-of", "2024-03-04")["rows"]
    assert [row["price"] for row in late] == ["10.00", "10.00", "12.00"]
    then = facts.json("history", "prices", "ACME", "--known-at", "friday")["rows"]
    assert [(row["price"], row["known_to"]) for row in then] == [("10.00", None)]
    assert len(facts.json("history", "prices", "a=b")["rows"]) == 1
    assert facts.json("history", "prices", "UNKNOWN")["rows"] == []


def test_a_key_of_several_columns(facts: Tidelake) -> None:
    assert len(facts.json("history", "held", "account=7", "PART=2.00")["rows"]) == 1
    assert facts.json("history", "held", "account=8", "part=2")["rows"] == []
    assert "account=… part=…" in facts("history", "held", "7", ok=False).stderr
    assert "hint" in facts("history", "held", "account=7", ok=False).stderr
    wrong = facts("history", "held", "account=seven", "part=2", "--json", ok=False).stderr
    assert "not an integer" in json.loads(wrong)["error"]["message"]


def test_tables_without_event_time(facts: Tidelake) -> None:
    error = facts("history", "plain", "1", ok=False).stderr
    assert "no key and event time" in error
    assert "tidelake declare TABLE" in error


def test_what_is_thought_otherwise(facts: Tidelake) -> None:
    asked = ("diff", "prices", "--late", "--as-of", "2024-03-04")
    found = facts.json(*asked, "--since", "friday")["rows"]
    assert [(row["symbol"], row["change"]) for row in found] == [
        ("ACME", "changed"),
        ("a=b", "appeared"),
    ]
    assert (found[0]["price_before"], found[0]["price_after"]) == ("10.00", "12.00")
    assert facts.json(*asked, "--since", "friday", "--known-at", "3")["rows"] == []
    assert "(2 rows)" in facts(*asked, "--since", "friday").stdout
    for words in (
        ("diff", "prices", "--late"),
        asked,
        ("diff", "prices", "2", "--late", "--since", "1", "--as-of", "2024-03-04"),
        ("diff", "1", "2", "--since", "1"),
    ):
        assert "--help" in facts(*words, ok=False).stderr
