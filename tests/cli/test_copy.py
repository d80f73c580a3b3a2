"""Tables from one lake to another."""

import pytest

import tidelake
from tests.cli.conftest import Tidelake


@pytest.fixture
def lakes(tmp_path):
    """The program on a lake with two tables, the other lake's address, and both opened."""
    here, there = f"sqlite:///{tmp_path}/here.db", f"sqlite:///{tmp_path}/there.db"
    with tidelake.connect(here) as source, tidelake.connect(there) as target:
        yield Tidelake(here), there, source, target


def rows(table):
    return sorted(map(str, table.to_dicts()))


def test_a_table_comes_with_all_that_is_declared(lakes):
    run, there, source, target = lakes
    source.create_schema("raw")
    ddl = 'symbol VARCHAR NOT NULL, "odd name" INTEGER DEFAULT 7, ts TIMESTAMP, d STRUCT(b INT[])'
    made = source.create_table(
        "raw.t",
        ddl,
        key="symbol",
        event_time="ts",
        entity="symbol",
        bucket="1h",
        overlap="replace",
        partition_by=["bucket(4, symbol)", "day(ts)"],
        sort_by="ts DESC",
        comment="as it came",
    )
    made.append(
        [
            {"symbol": s, "odd name": n, "ts": f"2024-01-0{n}T00:00:00", "d": {"b": [n, None]}}
            for s in "ab"
            for n in (1, 2)
        ]
    )
    source.create_table("plain", "i INTEGER").append([{"i": 1}])
    told = run.json("copy", "raw.t", "plain", "--to", there, "--author", "ann")
    assert [(each["name"], each["rows"]) for each in told["tables"]] == [
        ("raw.t", 4),
        ("main.plain", 1),
    ]
    copied = target.table("raw.t")
    assert rows(copied) == rows(made)
    assert [(c.name, c.type, c.nullable, c.default) for c in copied.schema] == [
        (c.name, c.type, c.nullable, c.default) for c in made.schema
    ]
    assert (copied.key, copied.event_time, copied.comment) == (("symbol",), "ts", "as it came")
    assert copied.coverage_settings == made.coverage_settings
    assert copied.sorting == made.sorting
    assert [k.transform for k in copied.partitioning.keys] == ["bucket(4)", "day"]
    assert [(e.snapshot_id, e.author) for e in target.log(1)] == [(told["snapshot_id"], "ann")]


@pytest.mark.parametrize("partition_by", [(), "symbol"])
def test_of_two_facts_the_same_one_holds(lakes, partition_by):
    run, there, source, target = lakes
    columns = "symbol VARCHAR, ts TIMESTAMP, price INTEGER"
    made = source.create_table(
        "q", columns, key="symbol", event_time="ts", partition_by=partition_by, sort_by="price"
    )
    for price in (5, 9, 1, 7):
        made.append(
            [
                {"symbol": s, "ts": "2024-01-01T00:00:00", "price": price + i}
                for i, s in enumerate("ab")
            ]
        )
    made.compact()
    made.append([{"symbol": "a", "ts": "2024-01-01T00:00:00", "price": 3}])
    run("copy", "q", "--to", there)
    assert rows(target.table("q")) == rows(made)
    assert rows(target.table("q").as_of("2024-01-02")) == rows(made.as_of("2024-01-02"))
    assert {row["price"] for row in target.table("q").as_of("2024-01-02").to_dicts()} == {3, 8}


def test_the_past_under_another_name(lakes):
    run, there, source, target = lakes
    made = source.create_table("t", "i INTEGER")
    made.append([{"i": 1}])
    made.append([{"i": 2}])
    told = run("copy", "t", "--to", there, "--as", "before", "--known-at", "2").stdout
    assert "main.t -> main.before: 1 row of snapshot 2" in told
    assert target.table("before").to_dicts() == [{"i": 1}]


def test_all_or_nothing(lakes):
    run, there, source, target = lakes
    source.create_table("a", "i INTEGER").append([{"i": 1}])
    source.create_table("b", "i INTEGER")
    target.create_table("b", "i INTEGER")
    assert "there is a table main.b" in run("copy", "a", "b", "--to", there, ok=False).stderr
    assert target.tables() == ["main.b"]
    assert "no table" in run("copy", "c", "--to", there, ok=False).stderr
    assert (
        "--as is the name of one"
        in run("copy", "a", "b", "--as", "c", "--to", there, ok=False).stderr
    )
    missing = there.replace("there.db", "nowhere.db")
    assert "tidelake init" in run("copy", "a", "--to", missing, ok=False).stderr
