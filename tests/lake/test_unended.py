"""Transactions without a `with`: ended by hand, or lost with a word about it."""

import gc
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import tidelake
from tidelake.errors import Conflict, Invalid, TidelakeWarning
from tidelake.testing.place import Place


@pytest.fixture
def lake(tmp_path: Path):
    with Place.at("sqlite", tmp_path).open() as made:
        made.create_table("t", "a INT")
        yield made


def files(lake: tidelake.Lake) -> list[Path]:
    return list(Path(lake.data_path).rglob("*.parquet"))


def _break_off(lake: tidelake.Lake, body: Callable[[Any], object]) -> None:
    with suppress(KeyError), lake.transaction() as tx:
        body(tx)
        raise KeyError


def test_a_commit_by_hand_is_a_commit(lake: tidelake.Lake):
    tx = lake.transaction()
    tx.table("t").append([{"a": 1}])
    assert lake.table("t").count() == 0
    assert tx.commit().snapshot_id == lake.snapshots()[-1].snapshot_id
    assert lake.table("t").count() == 1


def test_a_rollback_by_hand_leaves_nothing(lake: tidelake.Lake):
    tx = lake.transaction()
    tx.table("t").append([{"a": n} for n in range(100)])
    assert files(lake)
    tx.rollback()
    assert (files(lake), lake.table("t").count()) == ([], 0)


@pytest.mark.parametrize("end", ["commit", "rollback"])
@pytest.mark.parametrize("then", ["commit", "rollback", "append", "read", "drop"])
def test_what_is_over_is_over(lake: tidelake.Lake, end: str, then: str):
    tx = lake.transaction()
    t = tx.table("t")
    t.append([{"a": n} for n in range(100)])
    getattr(tx, end)()
    after = {
        "commit": tx.commit,
        "rollback": tx.rollback,
        "append": lambda: t.append([{"a": 2}]),
        "read": t.count,
        "drop": lambda: tx.drop("t"),
    }
    with pytest.raises(Invalid, match="is over"):
        after[then]()
    tx.close()
    assert lake.table("t").to_arrow().num_rows == (100 if end == "commit" else 0)


def test_the_end_of_a_with_adds_nothing_to_a_commit(lake: tidelake.Lake):
    with lake.transaction() as tx:
        tx.table("t").append([{"a": 1}])
        done = tx.commit()
    assert tx.result == done
    _break_off(lake, lambda tx: (tx.table("t").append([{"a": 2}]), tx.commit()))
    with lake.transaction() as tx:
        tx.table("t").append([{"a": 3}])
        tx.rollback()
    assert sorted(lake.table("t").to_arrow()["a"].to_pylist()) == [1, 2]


def test_a_commit_that_was_a_conflict_is_over(lake: tidelake.Lake):
    tx = lake.transaction()
    tx.table("t").evolve(add="b INT")
    lake.table("t").evolve(add="c INT")
    with pytest.raises(Conflict):
        tx.commit()
    with pytest.raises(Invalid, match="is over"):
        tx.commit()


LOST = {
    "rows": lambda tx: tx.table("t").append([{"a": 1}]),
    "a file": lambda tx: tx.table("t").append([{"a": n} for n in range(100)]),
    "columns": lambda tx: tx.table("t").evolve(add="b INT"),
    "a table dropped": lambda tx: tx.drop("t"),
    "a view": lambda tx: tx.create_view("v", "SELECT 1 AS t"),
    "a schema": lambda tx: tx.create_schema("t_s"),
}


@pytest.mark.parametrize("what", LOST)
def test_lost_writes_are_told(lake: tidelake.Lake, what: str):
    head = lake.snapshots()[-1].snapshot_id
    tx = lake.transaction()
    LOST[what](tx)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        del tx
        gc.collect()
    (warning,) = [each for each in told if each.category is TidelakeWarning]
    assert re.search(r"changed (main\.[tv]|t_s) was never ended", str(warning.message))
    assert lake.snapshots()[-1].snapshot_id == head


def test_files_of_lost_writes_are_swept(lake: tidelake.Lake):
    tx = lake.transaction()
    tx.table("t").append([{"a": n} for n in range(100)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        del tx
        gc.collect()
    lake.cleanup(older_than="0 seconds")
    assert files(lake) == []


def test_nothing_is_told_of_what_lost_nothing(lake: tidelake.Lake):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tx = lake.transaction()
        assert tx.table("t").count() == 0
        del tx
        with lake.transaction() as tx:
            tx.table("t").append([{"a": 1}])
        del tx
        tx = lake.transaction()
        tx.table("t").append([{"a": 1}])
        tx.rollback()
        del tx
        _break_off(lake, lambda tx: tx.table("t").append([{"a": 1}]))
        gc.collect()


@pytest.mark.slow
def test_it_is_told_at_the_end_of_the_program_too(tmp_path: Path):
    program = f"""
import tidelake
lake = tidelake.connect("sqlite:///{tmp_path}/x.db", "{tmp_path}/x/")
lake.create_table("t", "a INT")
tx = lake.transaction()
tx.table("t").append([{{"a": 1}}])
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONWARNINGS": "default"},
    )
    assert "changed main.t was never ended" in done.stderr


def test_a_table_of_the_lake_itself_is_no_part_of_it(lake: tidelake.Lake):
    t = lake.table("t")
    _break_off(lake, lambda tx: (tx.table("t").append([{"a": 1}]), t.append([{"a": 2}])))
    assert lake.table("t").to_arrow()["a"].to_pylist() == [2]
