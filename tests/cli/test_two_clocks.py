"""`scan`, `count` and `sql` at moments of both clocks."""

from pathlib import Path

import pytest

import tidelake as library
from tests.cli.conftest import Tidelake

ROWS = [
    [("ACME", "2024-01-01", 1), ("BOLT", "2024-01-02", 2), ("ACME", "2024-01-03", 3)],
    [("ACME", "2024-01-02", 20), ("BOLT", "2024-01-03", None)],
]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Tidelake:
    folder: Path = tmp_path_factory.mktemp("clocks")
    url = f"sqlite:///{folder}/lake.db"
    with library.connect(url, data_path=f"{folder}/data") as made:
        columns = "symbol VARCHAR NOT NULL, day DATE NOT NULL, price INTEGER, gone BOOLEAN"
        facts = made.create_table(
            "prices", columns, key=["symbol"], event_time="day", tombstone="gone"
        )
        for rows in ROWS:
            facts.append(
                [{"symbol": s, "day": d, "price": p, "gone": p is None} for s, d, p in rows]
            )
        made.tag("late-news")
    return Tidelake(url)


def prices(found: dict[str, list[dict[str, object]]]) -> dict[object, object]:
    return {row["symbol"]: row["price"] for row in found["rows"]}


THEN = ("--as-of", "2024-01-02T12:00:00Z")


def test_scan(lake: Tidelake) -> None:
    assert prices(lake.json("scan", "prices", *THEN)) == {"ACME": 20, "BOLT": 2}
    assert prices(lake.json("scan", "prices", *THEN, "--known-at", "2")) == {"ACME": 1, "BOLT": 2}
    assert prices(lake.json("scan", "prices", "--as-of", "2024-01-09")) == {"ACME": 3}
    found = lake.json("scan", "prices", *THEN, "--where", "price < 20", "--known-at", "late-news")
    assert prices(found) == {"BOLT": 2}
    assert "2024-01-02T12:00:00" in lake("scan", "prices", *THEN, "--explain").stdout


def test_count(lake: Tidelake) -> None:
    assert lake("count", "prices").stdout == "5\n"
    assert lake.json("count", "prices", "--known-at", "2") == {"table": "prices", "rows": 3}
    assert lake.json("count", "prices", *THEN)["rows"] == 2
    assert lake.json("count", "prices", *THEN, "--where", "price = 1")["rows"] == 0
    assert (
        lake.json("count", "prices", "--where", "price = 1", *THEN, "--known-at", "2")["rows"] == 1
    )


def test_sql(lake: Tidelake) -> None:
    query = "SELECT symbol, price FROM prices"
    assert prices(lake.json("sql", query, *THEN)) == {"ACME": 20, "BOLT": 2}
    assert prices(lake.json("sql", query, *THEN, "--known-at", "2")) == {"ACME": 1, "BOLT": 2}
    own = f"{query} FOR VALID_TIME AS OF '2024-01-01' VERSION AS OF 3"
    assert prices(lake.json("sql", own, *THEN, "--known-at", "2")) == {"ACME": 1}
    chosen = f"{query} FOR VALID_TIME AS OF $t WHERE symbol = $s AND price > $low::INTEGER"
    words = ("--param", "t=2024-01-02", "--param", "s=ACME", "--param", "low=5")
    assert prices(lake.json("sql", chosen, *words)) == {"ACME": 20}
    evil = lake.json("sql", "SELECT $x AS x", "--param", "x='; DROP TABLE prices; -- = {}")
    assert evil["rows"] == [{"x": "'; DROP TABLE prices; -- = {}"}]


def test_sql_that_writes_what_it_reads(lake: Tidelake) -> None:
    made = "CREATE TABLE state AS SELECT symbol, price FROM prices WHERE symbol <> $no"
    lake("sql", made, *THEN, "--known-at", "2", "--param", "no=BOLT", "--author", "ann")
    assert prices(lake.json("scan", "state")) == {"ACME": 1}
    lake("sql", "DROP TABLE state")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["scan", "prices", "--as-of", "soon"], "--as-of 'soon' is not a time"),
        (["count", "prices", "--where", "nothing > 1"], "nothing"),
        (["count", "nowhere"], "there is no table main.nowhere"),
        (["sql", "SELECT 1", *THEN], "no table of the query has an event time"),
        (["sql", "SELECT $a"], "no value for a"),
        (["sql", "SELECT $a", "--param", "a"], "--param a is not NAME=VALUE"),
        (["sql", "DELETE FROM prices", "--known-at", "1"], "known_at= given to DELETE"),
        (["sql", "UPDATE prices SET price = 1", *THEN], "as_of= given to UPDATE"),
        (["sql", "DROP TABLE prices", "--param", "a=1"], "DROP TABLE takes no parameters"),
    ],
)
def test_what_makes_no_sense_changes_nothing(
    lake: Tidelake, words: list[str], message: str
) -> None:
    assert message in lake(*words, ok=False).stderr
    assert lake("count", "prices").stdout == "5\n"


def test_sql_calls_what_the_lake_can_do(lake: Tidelake) -> None:
    kept = lake.json("sql", "CALL freeze('march', 'FROM prices')")
    assert (kept["name"], kept["rows"]) == ("march", 5)
    assert lake.json("sql", "CALL clone('prices', 'copied')") == {"table": "main.copied"}
    assert lake.json("sql", "CALL compact('prices', dry_run => true)")["dry_run"] is True
