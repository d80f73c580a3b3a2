"""What a transaction promises to those who read in it: at each level what it lets through, and of
the stronger one that every read is noticed and nothing else."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tidelake
from tests.cases import every
from tidelake import col
from tidelake.errors import Conflict, Invalid, NotFound
from tidelake.testing.place import Place

T0 = datetime(2024, 3, 1)
DDL = "k INT NOT NULL, ts TIMESTAMP NOT NULL, v INT, gone BOOLEAN"
SERIALIZABLE = "serializable"
LABELS = pa.table({"k": pa.array([1], pa.int32()), "at": [T0], "known": [datetime(2999, 1, 1)]})
Read = Callable[[tidelake.Lake], Any]


def fact(k: int, v: int, day: int = 1) -> dict[str, Any]:
    return {"k": k, "ts": datetime(2024, 3, day), "v": v, "gone": False}


@pytest.fixture
def lake(tmp_path: Path):
    with Place.at("sqlite", tmp_path).open() as made:
        settings = {"key": ["k"], "event_time": "ts", "tombstone": "gone"}
        made.create_table("t", DDL, entity=["k"], bucket="1d", **settings)
        made.create_table("other", "k INT, v INT")
        made.create_table("target", "n INT")
        made.create_view("w", "SELECT k, v FROM t WHERE k = 1")
        t = made.table("t")
        t.append([fact(1, 10), fact(2, 20)])
        t.append([fact(k, 0) for k in range(100, 200)])
        made.table("other").append([{"k": 1, "v": 1}])
        yield made


READS: dict[str, Read] = {
    "scan": lambda tx: tx.table("t").scan(where="k = 1").to_arrow(),
    "scan by col": lambda tx: tx.table("t").scan(where=col("k") == 1).to_pandas(),
    "opaque condition": lambda tx: tx.table("t").scan(where="k % 7 = 1").to_arrow(),
    "all rows": lambda tx: tx.table("t").to_arrow(),
    "polars": lambda tx: tx.table("t").to_polars(),
    "batches": lambda tx: tx.table("t").to_batches().read_all(),
    "duckdb": lambda tx: tx.table("t").to_duckdb().fetchall(),
    "count": lambda tx: tx.table("t").count(),
    "count of some": lambda tx: tx.table("t").scan(where="k < 5").count(),
    "files": lambda tx: tx.table("t").files(),
    "explain": lambda tx: tx.table("t").scan().explain(),
    "as of": lambda tx: tx.table("t").as_of("2024-03-02").to_arrow(),
    "as of, some keys": lambda tx: tx.table("t").scan(where="k = 1", as_of="2024-03-02").count(),
    "history": lambda tx: tx.table("t").history(1).to_arrow(),
    "changes": lambda tx: tx.table("t").changes().to_arrow(),
    "changes until": lambda tx: tx.table("t").changes(until=tx.result or datetime(2999, 1, 1)),
    "belief": lambda tx: tx.table("t").as_of("2024-03-02").changes_of_belief(since=5).to_arrow(),
    "diff": lambda tx: tx.table("t").diff(5),
    "diff of the lake": lambda tx: tx.diff(5),
    "log of the table": lambda tx: tx.table("t").log(),
    "snapshots of the table": lambda tx: tx.table("t").snapshots(),
    "log": lambda tx: tx.log(),
    "snapshots": lambda tx: tx.snapshots(),
    "coverage": lambda tx: tx.table("t").coverage(1).ratio,
    "gaps": lambda tx: tx.table("t").gaps(),
    "last window": lambda tx: tx.table("t").last_complete_window(1),
    "sql": lambda tx: tx.sql("SELECT max(v) FROM t").to_arrow(),
    "sql, not run": lambda tx: tx.sql("SELECT max(v) FROM t"),
    "sql with a condition": lambda tx: tx.sql("SELECT v FROM t WHERE k = 1").to_arrow(),
    "sql join": lambda tx: tx.sql("SELECT * FROM other JOIN t USING (k)").to_arrow(),
    "sql subquery": lambda tx: tx.sql("SELECT (SELECT max(v) FROM t) AS m FROM other").to_arrow(),
    "sql exists": lambda tx: tx.sql(
        "SELECT 1 FROM other o WHERE EXISTS (FROM t WHERE t.k = o.k)"
    ).to_arrow(),
    "sql cte": lambda tx: tx.sql("WITH c AS (FROM t) SELECT count(*) FROM c").to_arrow(),
    "sql view": lambda tx: tx.sql("SELECT * FROM w").to_arrow(),
    "sql as of": lambda tx: tx.sql(
        "FROM t FOR VALID_TIME AS OF TIMESTAMP '2024-03-02' WHERE k = 1"
    ).to_arrow(),
    "known at the base": lambda tx: tx.table("t").known_at(tx.session.base).count(),
    "lake known at a time": lambda tx: tx.known_at(datetime(2999, 1, 1)).table("t").count(),
    "sql known at a time": lambda tx: tx.sql(
        "SELECT count(*) FROM t TIMESTAMP AS OF '2999-01-01'"
    ).to_arrow(),
    "as-of join": lambda tx: tidelake.asof_join(LABELS, tx.table("t"), left_time="at").to_arrow(),
    "as-of join by what was known": lambda tx: tidelake.asof_join(
        LABELS, tx.table("t"), left_time="at", known_at="known"
    ).to_arrow(),
    "delete": lambda tx: tx.table("t").delete("k = 1 AND v < 1000"),
    "update": lambda tx: tx.table("t").update({"v": 1}, where="k = 1 AND v < 1000"),
    "merge": lambda tx: tx.table("t").merge([fact(1, 1, 9)], on="k"),
    "insert select": lambda tx: tx.sql("INSERT INTO other SELECT k, v FROM t WHERE k = 1"),
}


def disturb(lake: tidelake.Lake, how: str) -> None:
    t = lake.table("t")
    if how == "row in the catalog":
        t.append([fact(1, 99)])
    elif how == "file":
        t.append([fact(1, 99)] * 20)
    elif how == "update":
        t.update({"v": 11}, where="k = 1")
    elif how == "delete":
        t.delete("k = 1")


def committed(tx: Any) -> bool:
    try:
        tx.commit()
    except Conflict as conflict:
        return not conflict.hint
    return True


@pytest.mark.slow
@pytest.mark.parametrize("how", every(2, ["row in the catalog", "file", "update", "delete"]))
def test_every_read_is_noticed(lake: tidelake.Lake, how: str):
    begun = {name: lake.transaction(isolation=SERIALIZABLE) for name in READS}
    for name, tx in begun.items():
        READS[name](tx)
        tx.table("target").append([{"n": 1}])
    disturb(lake, how)
    assert [name for name, tx in begun.items() if committed(tx)] == []
    assert lake.table("target").count() == 0


def _is_missing(lake: tidelake.Lake, name: str) -> None:
    with pytest.raises(NotFound):
        lake.table(name)


DEFINED: dict[str, tuple[Read, Read]] = {
    "tables listed": (lambda tx: tx.tables(), lambda lake: lake.create_table("new", "a INT")),
    "views listed": (lambda tx: tx.views(), lambda lake: lake.drop("w")),
    "schemas listed": (lambda tx: tx.schemas(), lambda lake: lake.create_schema("s")),
    "schema": (lambda tx: tx.table("t").schema, lambda lake: lake.table("t").evolve(add="z INT")),
    "comment": (lambda tx: tx.table("t").comment, lambda lake: lake.table("t").set_comment("x")),
    "rows, then altered": (
        lambda tx: tx.table("t").to_arrow(),
        lambda lake: lake.table("t").evolve(add="z INT"),
    ),
    "rows, then dropped": (
        lambda tx: tx.table("other").to_arrow(),
        lambda lake: lake.drop("other"),
    ),
    "rows, then renamed": (
        lambda tx: tx.sql("FROM other").to_arrow(),
        lambda lake: lake.rename("other", "another"),
    ),
    "a view, then another": (
        lambda tx: tx.sql("FROM w").to_arrow(),
        lambda lake: lake.create_view("w", "SELECT 1 AS k", replace=True),
    ),
    "a view's text": (
        lambda tx: tx.view("w"),
        lambda lake: lake.create_view("w", "SELECT 1 AS k", replace=True),
    ),
    "not there": (
        lambda tx: _is_missing(tx, "new"),
        lambda lake: lake.create_table("new", "a INT"),
    ),
}


@pytest.mark.parametrize("case", DEFINED)
def test_what_was_seen_of_definitions_is_noticed(lake: tidelake.Lake, case: str):
    read, change = DEFINED[case]
    tx = lake.transaction(isolation=SERIALIZABLE)
    read(tx)
    tx.table("target").append([{"n": 1}])
    change(lake)
    assert not committed(tx)


ELSEWHERE: dict[str, tuple[Read, Read]] = {
    "other values in the catalog": (
        lambda tx: tx.table("t").scan(where="k = 1").to_arrow(),
        lambda lake: lake.table("t").append([fact(5, 1)]),
    ),
    "other values in a file": (
        lambda tx: tx.sql("SELECT v FROM t WHERE k = 1").to_arrow(),
        lambda lake: lake.table("t").append([fact(500 + n, 1) for n in range(20)]),
    ),
    "deleted from another file": (
        lambda tx: tx.table("t").scan(where="k = 1").to_arrow(),
        lambda lake: lake.table("t").delete("k = 150"),
    ),
    "later facts": (
        lambda tx: tx.table("t").as_of("2024-03-02").to_arrow(),
        lambda lake: lake.table("t").append([fact(1, 5, day=9)]),
    ),
    "another table": (
        lambda tx: tx.table("t").to_arrow(),
        lambda lake: lake.table("other").append([{"k": 9, "v": 9}]),
    ),
    "the past": (
        lambda tx: tx.table("t").known_at(6).to_arrow(),
        lambda lake: lake.table("t").append([fact(1, 5)]),
    ),
    "compaction": (
        lambda tx: tx.table("t").to_arrow(),
        lambda lake: (lake.compact(), lake.table("t").files()),
    ),
    "blind writes": (
        lambda tx: tx.table("t").append([fact(1, 5)] * 30),
        lambda lake: lake.table("t").append([fact(1, 6)] * 30),
    ),
    "a comment": (
        lambda tx: tx.table("t").to_arrow(),
        lambda lake: lake.table("t").set_comment("no matter"),
    ),
    "a new table": (
        lambda tx: tx.create_table("mine", "a INT").append([{"a": 1}]),
        lambda lake: lake.create_table("yours", "a INT"),
    ),
}


@pytest.mark.parametrize("case", ELSEWHERE)
def test_what_was_not_read_may_change(lake: tidelake.Lake, case: str):
    read, change = ELSEWHERE[case]
    with lake.transaction(isolation=SERIALIZABLE) as tx:
        read(tx)
        tx.table("target").append([{"n": 1}])
        change(lake)
    assert lake.table("target").count() == 1


def test_who_only_reads_needs_no_check(lake: tidelake.Lake):
    with lake.transaction(isolation=SERIALIZABLE) as tx:
        before = tx.table("t").count()
        lake.table("t").append([fact(1, 5)])
        assert tx.table("t").count() == before


def test_its_own_writes_are_no_conflict(lake: tidelake.Lake):
    with lake.transaction(isolation=SERIALIZABLE) as tx:
        t = tx.table("t")
        t.append([fact(7, 7)])
        assert t.scan(where="k = 7").count() == 1
        t.evolve(add="z INT", rename={"v": "value"})
        assert t.schema.names[2] == "value"
        assert t.scan(where="value = 7 AND z IS NULL").count() == 1
        lake.table("other").append([{"k": 2, "v": 2}])
    assert lake.table("t").scan(where="value = 7").count() == 1


def test_a_read_of_what_the_transaction_renamed_is_noticed(lake: tidelake.Lake):
    tx = lake.transaction(isolation=SERIALIZABLE)
    tx.rename("other", "renamed")
    assert tx.table("renamed").scan(where="k = 1").count() == 1
    lake.table("other").append([{"k": 1, "v": 2}])
    with pytest.raises(Conflict):
        tx.commit()


@pytest.mark.slow
def test_many_conditions_count_as_all_rows(lake: tidelake.Lake):
    tx = lake.transaction(isolation=SERIALIZABLE)
    for k in range(250):
        tx.table("other").scan(where=col("k") == k).plan()
    tx.table("target").append([{"n": 1}])
    lake.table("other").append([{"k": 1000, "v": 2}])
    with pytest.raises(Conflict):
        tx.commit()


def test_expired_snapshots_are_a_conflict(lake: tidelake.Lake):
    tx = lake.transaction(isolation=SERIALIZABLE)
    tx.table("t").count()
    tx.table("target").append([{"n": 1}])
    for n in range(3):
        lake.table("other").append([{"k": n, "v": n}])
    lake.expire(keep_last=1)
    with pytest.raises(Conflict, match="expired"):
        tx.commit()


@pytest.mark.parametrize("isolation", ["snapshot", SERIALIZABLE])
def test_reads_see_one_snapshot(lake: tidelake.Lake, isolation: str):
    tx = lake.transaction(isolation=isolation)
    t = tx.table("t")
    asked = [
        lambda: t.count(),
        lambda: t.history(1).to_arrow().num_rows,
        lambda: t.changes().to_arrow().num_rows,
        lambda: str(t.diff(6)),
        lambda: t.coverage(1).covered,
        lambda: len(tx.snapshots()),
        lambda: tx.sql("SELECT count(*) AS n FROM t").to_arrow()["n"][0].as_py(),
    ]
    before = [ask() for ask in asked]
    lake.table("t").append([fact(1, 99, day=2)])
    assert [ask() for ask in asked] == before


def _raced(lake: tidelake.Lake, isolation: str) -> bool:
    """Whether two transactions get through that each read what the other writes."""
    one, two = (lake.transaction(isolation=isolation) for _ in range(2))
    assert one.table("t").scan(where="k = 1").count() == 1
    assert two.table("other").count() == 1
    one.table("other").append([{"k": 5, "v": 5}])
    two.table("t").update({"v": 0}, where="k = 1")
    one.commit()
    try:
        two.commit()
    except Conflict:
        return False
    return True


def test_write_skew_is_let_through_or_not(lake: tidelake.Lake):
    assert _raced(lake, "snapshot")
    assert not _raced_again(lake)


def _raced_again(lake: tidelake.Lake) -> bool:
    lake.table("other").delete("k = 5")
    return _raced(lake, SERIALIZABLE)


def test_a_level_that_is_none_is_refused(lake: tidelake.Lake):
    with pytest.raises(Invalid, match="serialisable") as caught:
        lake.transaction(isolation="serialisable")
    assert "serializable" in str(caught.value.hint)
