"""What users try by reflex."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import polars
import pyarrow as pa
import pytest

import tidelake
from tidelake import col
from tidelake.errors import Invalid

ROWS = [{"n": 1, "s": "a"}, {"n": 2, "s": None}, {"n": 3, "s": "c"}]


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[tidelake.Lake]:
    with tidelake.connect(f"sqlite:///{tmp_path}/lake.db") as lake:
        lake.create_table("t", "n INT, s VARCHAR").append(ROWS)
        lake.create_table("empty", "n INT, s VARCHAR")
        yield lake


def test_tables_by_name(lake: tidelake.Lake) -> None:
    assert lake["t"].count() == 3
    assert "t" in lake
    assert "main.t" in lake
    assert "other" not in lake
    assert "nowhere.t" not in lake
    lake.create_view("v", "SELECT 1 AS n")
    assert not lake.exists("v")
    with pytest.raises(TypeError):
        list(lake)  # type: ignore[call-overload]
    with lake.transaction() as tx:
        tx.create_table("fresh", "n INT")
        assert "fresh" in tx
        assert "fresh" not in lake
        assert tx["fresh"].count() == 0
    assert "t" not in lake.known_at(0)


def test_rows_as_python_has_them(lake: tidelake.Lake) -> None:
    assert lake["t"].to_dicts() == ROWS
    assert lake["t"].scan(where=col("n").isin([1, 3])).to_dicts() == [ROWS[0], ROWS[2]]
    assert lake.sql("SELECT * FROM t WHERE n = 2").to_dicts() == ROWS[1:2]
    with pytest.raises(Invalid, match="one name"):
        lake.sql("SELECT n, n FROM t").to_dicts()
    assert len(lake["t"]) == 3
    assert len(lake["t"].scan(where="n > 1")) == 2
    assert lake["empty"]
    assert len(lake["empty"]) == 0


def test_others_take_rows_as_they_are(lake: tidelake.Lake) -> None:
    t = lake["t"]
    for rows in (t, t.scan(), lake.sql("SELECT * FROM t")):
        assert pa.table(rows).to_pylist() == ROWS
        assert polars.DataFrame(rows).to_dicts() == ROWS
        assert duckdb.sql("SELECT sum(n) FROM rows").fetchall() == [(6,)]
    assert pa.table(lake["empty"]).column_names == ["n", "s"]


def test_own_writes_take_rows_as_they_are(lake: tidelake.Lake) -> None:
    t, other = lake["t"], lake["empty"]
    other.append(t)
    other.append(t.scan(where="n = 1"))
    other.append(lake.sql("SELECT n + 10 AS n FROM t WHERE n = 3"))
    assert sorted(row["n"] for row in other.to_dicts()) == [1, 1, 2, 3, 13]
    t.append(t)
    assert len(t) == 6
    t.delete("n > 1")
    t.overwrite(t.scan())
    assert t.to_dicts() == [ROWS[0]] * 2
    other.overwrite([{"n": 1, "s": "old"}])
    other.merge(lake.sql("SELECT DISTINCT n, s FROM t"), on="n")
    assert other.to_dicts() == [ROWS[0]]


def test_rows_of_a_transaction_are_taken_in_it(lake: tidelake.Lake) -> None:
    with lake.transaction() as tx:
        tx["t"].append([{"n": 4, "s": "d"}])
        tx["empty"].append(tx["t"])
        assert len(tx["empty"]) == 4
    assert sorted(row["n"] for row in lake["empty"].to_dicts()) == [1, 2, 3, 4]


def test_a_table_is_created_if_it_is_not_there(lake: tidelake.Lake) -> None:
    before = len(lake.snapshots())
    assert lake.create_table("t", "other INT", if_not_exists=True).to_dicts() == ROWS
    assert len(lake.snapshots()) == before
    with pytest.raises(Invalid, match="already"):
        lake.create_table("t", "other INT")
    with lake.transaction() as tx:
        tx.create_table("fresh", "n INT", if_not_exists=True)
        assert tx.create_table("fresh", "m INT", if_not_exists=True).schema.names == ["n"]
    lake.create_view("v", "SELECT 1 AS n")
    with pytest.raises(Invalid, match="view"):
        lake.create_table("v", "n INT", if_not_exists=True)


def test_what_a_table_was_declared_as(lake: tidelake.Lake) -> None:
    t = lake.create_table(
        "p",
        "s VARCHAR, ts TIMESTAMP, x INT",
        key="s",
        event_time="ts",
        entity="s",
        bucket="1h",
        overlap="reject",
    )
    lake["p"].evolve(rename={"s": "symbol"})
    assert (t.key, t.event_time) == (("symbol",), "ts")
    assert t.coverage_settings is not None
    assert t.coverage_settings.entity == ("symbol",)
    assert (t.coverage_settings.bucket, t.coverage_settings.overlap) == ("1h", "reject")
    plain = lake["t"]
    assert (plain.key, plain.event_time, plain.coverage_settings) == ((), None, None)


def test_options_that_hold(lake: tidelake.Lake) -> None:
    name = "data_inlining_row_limit"
    assert lake.options()[name] == "10"
    lake.create_schema("other")
    lake.create_table("other.t", "n INT")
    lake.set_option(name, 20)
    lake.set_option(name, 30, schema="other")
    lake.set_option(name, 40, table="t")
    assert lake.options()[name] == "20"
    assert lake.options(schema="other")[name] == "30"
    assert lake.options(table="other.t")[name] == "30"
    assert lake.options(table="t")[name] == "40"
    assert lake.options(table="empty")[name] == "20"
    assert "encrypted" not in lake.options()
