"""A dropped table comes back with all that it had, and no snapshot changes for it."""

from collections.abc import Callable
from datetime import datetime
from random import Random
from typing import Any

import duckdb
import pytest

import tidelake
from tests.history.states import state
from tidelake.errors import Invalid, NotFound
from tidelake.testing.place import Place

Agree = Callable[[], None]


def fact(k: int, v: int, day: int = 1) -> dict[str, Any]:
    return {"k": k, "ts": datetime(2024, 3, day), "v": v}


def filled(lake: tidelake.Lake) -> tidelake.Table:
    """A table with everything that a table can have."""
    t = lake.create_table(
        "t",
        "k INT NOT NULL COMMENT 'which', ts TIMESTAMP NOT NULL, v INT",
        partition_by=["k"],
        sort_by=["v DESC"],
        comment="facts",
        key=["k"],
        event_time="ts",
        entity=["k"],
        bucket="1d",
        overlap="allow",
    )
    t.append([fact(n % 3, n) for n in range(60)])
    t.append([fact(7, 7, day=2)])
    t.delete("v < 5 OR v = 7")
    t.append([fact(8, 8, day=3), fact(8, 9, day=5)])
    t.update({"v": 100}, where="v = 30")
    t.delete("v = 31")
    t.evolve(add="w VARCHAR DEFAULT 'w'")
    return t


def declared(table: tidelake.Table) -> Any:
    info = table.info
    return (info.id, info.uuid, info.path, info.schema, info.tags, info.partitioning, info.sorting)


@pytest.mark.parametrize("place", ["sqlite", "duckdb", "postgresql", "mariadb"], indirect=True)
def test_all_of_a_table_comes_back(lake: tidelake.Lake, place: Place, request: Any) -> None:
    t = filled(lake)
    before = state(t), declared(t), t.coverage().covered, t.history(8).to_arrow()
    past = {s.snapshot_id: state(t.known_at(s.snapshot_id)) for s in t.snapshots()}
    gone = lake.drop("t").snapshot_id
    lake.create_table("between", "a INT").append([{"a": 1}])
    done = lake.undrop("t")
    assert done.operation == "undrop"
    assert lake.log()[-1].operation == "undrop"
    t = lake.table("t")
    assert (state(t), declared(t), t.coverage().covered, t.history(8).to_arrow()) == before
    assert t.count() == len(before[0])
    for snapshot_id, rows in past.items():
        assert state(t.known_at(snapshot_id)) == rows
    for snapshot_id in (gone, gone + 2):
        with pytest.raises(NotFound):
            t.known_at(snapshot_id)
    assert lake.verify(deep=True).ok
    t.append([fact(9, 9)])
    t.delete("k = 8")
    assert t.count() == len(before[0]) - 1
    lake.compact()
    assert lake.verify(deep=True).ok
    if place.kind in ("sqlite", "postgresql"):
        request.getfixturevalue("agree")()


@pytest.mark.slow
def test_duckdb_reads_and_writes_what_came_back(
    lake: tidelake.Lake, duck: duckdb.DuckDBPyConnection, agree: Agree
) -> None:
    rows = state(filled(lake))
    duck.execute("DROP TABLE lake.t")
    assert lake.tables() == []
    lake.undrop("t")
    assert state(lake.table("t")) == rows
    assert duck.execute("SELECT count(*) FROM lake.t").fetchall()[0] == (len(rows),)
    agree()
    duck.execute(
        "INSERT INTO lake.t (k, ts, v) SELECT 1, TIMESTAMP '2024-04-01', range FROM range(50)"
    )
    duck.execute("INSERT INTO lake.t (k, ts, v) VALUES (2, TIMESTAMP '2024-04-01', 5)")
    duck.execute("DELETE FROM lake.t WHERE v = 40")
    duck.execute("UPDATE lake.t SET v = 0 WHERE v = 45")
    duck.execute("ALTER TABLE lake.t ADD COLUMN z INT")
    agree()
    duck.execute("CALL ducklake_flush_inlined_data('lake')")
    duck.execute("DROP TABLE lake.t")
    duck.execute("CREATE TABLE lake.between AS SELECT 1 AS a")
    lake.undrop("t")
    duck.execute(
        "INSERT INTO lake.t (k, ts, v) SELECT 1, TIMESTAMP '2024-04-01', range FROM range(9)"
    )
    duck.execute("CALL ducklake_merge_adjacent_files('lake')")
    agree()
    duck.execute("CALL ducklake_expire_snapshots('lake', older_than => now())")
    duck.execute("CALL ducklake_cleanup_old_files('lake', cleanup_all => true)")
    agree()
    assert lake.verify(deep=True).ok


@pytest.mark.slow
def test_a_name_that_is_used_again(place: Place, lake: tidelake.Lake, agree: Agree) -> None:
    first = lake.create_table("t", "a INT")
    one = first.append([{"a": 1}]).snapshot_id
    lake.drop("t")
    lake.create_table("t", "b INT").append([{"b": n} for n in range(2, 40)])
    two = lake.drop("t").snapshot_id - 1
    lake.create_table("t", "c INT").append([{"c": 3}])
    with place.refuses(Invalid, "there is a table main.t already"):
        lake.undrop("t")
    with place.refuses(NotFound, "is another one, which was dropped"):
        lake.table("t").rollback(one)
    lake.undrop("t", as_="second")
    lake.undrop("t", known_at=one, as_="first")
    assert lake.table("first").to_arrow().to_pylist() == [{"a": 1}]
    assert lake.table("second").count() == 38
    assert lake.table("t").to_arrow().to_pylist() == [{"c": 3}]
    assert lake.known_at(one).table("t").to_arrow().to_pylist() == [{"a": 1}]
    assert lake.known_at(two).table("t").count() == 38
    with place.refuses(Invalid, "has not been dropped"):
        lake.undrop("t")
    agree()


@pytest.mark.slow
def test_buckets_are_found_by_duckdb(
    lake: tidelake.Lake, duck: duckdb.DuckDBPyConnection, agree: Agree
) -> None:
    t = lake.create_table("t", "a INT", partition_by=["bucket(4, a)"])
    t.append([{"a": n} for n in range(40)])
    lake.drop("t")
    lake.create_table("between", "a INT")
    lake.undrop("t")
    t.append([{"a": n} for n in range(40)])
    found = duck.execute("SELECT count(*) FROM lake.t WHERE a = 17").fetchall()[0]
    assert found == (2,)
    lake.compact()
    agree()


@pytest.mark.slow
def test_dropped_and_back_again_and_again(lake: tidelake.Lake, agree: Agree) -> None:
    t = lake.create_table("t", "a INT")
    for n in range(4):
        t.append([{"a": n}] * (1 if n % 2 else 20))
        lake.drop("t")
        lake.undrop("t")
    assert t.count() == 42
    assert lake.verify(deep=True).ok
    agree()


@pytest.mark.slow
def test_only_while_its_snapshots_are_kept(place: Place, lake: tidelake.Lake, agree: Agree) -> None:
    for name in ("kept", "lost"):
        lake.create_table(name, "a INT").append([{"a": n} for n in range(20)])
    lake.drop("lost")
    lake.create_table("other", "a INT")
    tagged = lake.tag("before").snapshot_id
    lake.drop("kept")
    lake.create_table("more", "a INT")
    lake.expire(keep_last=1)
    with place.refuses(NotFound, "main.lost"):
        lake.undrop("lost")
    assert tagged == lake.snapshots()[0].snapshot_id
    lake.undrop("kept")
    assert lake.table("kept").count() == 20
    lake.untag("before")
    lake.expire(keep_last=1)
    lake.cleanup(older_than="0 seconds")
    assert lake.table("kept").to_arrow().num_rows == 20
    assert lake.verify(deep=True).ok
    agree()


def test_the_last_snapshot_of_several_is_gone(place: Place, lake: tidelake.Lake) -> None:
    t = lake.create_table("t", "a INT")
    t.append([{"a": 1}])
    lake.tag("early")
    t.append([{"a": 2}])
    lake.drop("t")
    lake.create_table("more", "a INT")
    lake.expire(keep_last=1)
    with place.refuses(NotFound, "the last that had it, has been expired"):
        lake.undrop("t")
    assert t.known_at("early").count() == 1


def test_into_a_schema(place: Place, lake: tidelake.Lake, agree: Agree) -> None:
    lake.create_schema("s")
    lake.create_table("s.t", "a INT").append([{"a": n} for n in range(20)])
    lake.create_table("s.u", "a INT").append([{"a": n} for n in range(20)])
    lake.drop_schema("s", cascade=True)
    with place.refuses(NotFound, "there is no schema s"):
        lake.undrop("s.t")
    lake.undrop("s.t", as_="main.moved")
    lake.create_schema("s")
    lake.undrop("s.u")
    assert lake.tables() == ["main.moved", "s.u"]
    for name in lake.tables():
        assert lake.table(name).to_arrow().num_rows == 20
        lake.table(name).append([{"a": n} for n in range(20)])
    assert lake.verify(deep=True).ok
    agree()


def test_a_view_comes_back(place: Place, lake: tidelake.Lake, agree: Agree) -> None:
    lake.create_table("t", "a INT").append([{"a": 1}])
    lake.create_view("v", "SELECT a + 1 AS b FROM t", columns=["c"])
    lake.drop("v")
    lake.undrop("v")
    assert lake.sql("FROM v").to_arrow().to_pylist() == [{"c": 2}]
    lake.drop("v")
    lake.drop("t")
    with place.refuses(NotFound):
        lake.undrop("v")
    agree()


def test_what_was_never_there(place: Place, lake: tidelake.Lake) -> None:
    t = lake.create_table("t", "a INT")
    lake.drop("t")
    with place.refuses(NotFound, "no main.nosuch has been dropped"):
        lake.undrop("nosuch")
    with place.refuses(NotFound, "dropped it"):
        t.count()


def test_in_a_transaction_it_is_alone(place: Place, lake: tidelake.Lake) -> None:
    lake.create_table("t", "a INT")
    lake.create_table("other", "a INT")
    lake.drop("t")
    with lake.transaction(author="ann", message="too early") as tx:
        tx.undrop("t")
        with pytest.raises(Invalid, match="a commit of its own"):
            tx.table("other").append([{"a": 1}])
    assert (lake.snapshots()[-1].author, lake.table("t").count()) == ("ann", 0)
    lake.drop("t")
    tx = lake.transaction()
    tx.table("other").append([{"a": 1}])
    with pytest.raises(Invalid, match="a commit of its own"):
        tx.undrop("t")
    tx.rollback()


def test_a_mirror_has_ended_and_goes_on_when_told(lake: tidelake.Lake) -> None:
    t = lake.create_table("t", "a INT")
    t.append([{"a": n} for n in range(20)])
    lake.mirror("t")
    lake.drop("t")
    lake.undrop("t")
    t.append([{"a": n} for n in range(20)])
    assert [m.status for m in lake.mirrors() if m.status != "stopped"] == []
    mirror = lake.mirror("t")
    assert (mirror.status.status, mirror.status.behind) == ("active", 0)
    assert mirror.diff().findings == ()


@pytest.mark.slow
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 25))]
)
def test_random_lives_with_drops(
    lake: tidelake.Lake, duck: duckdb.DuckDBPyConnection, agree: Agree, seed: int
) -> None:
    random = Random(seed)
    by = random.choice([[], ["k"], ["bucket(3, k)"]])
    lake.create_table("t", "k INT, v INT", partition_by=by, sort_by=random.choice([[], ["v"]]))
    lake.create_table("other", "a INT")
    t = lake.table("t")
    for _ in range(random.randint(2, 4)):
        for _ in range(random.randint(1, 5)):
            _change(random, lake, duck)
        before = state(t)
        random.choice([lambda: lake.drop("t"), lambda: duck.execute("DROP TABLE lake.t")])()
        for _ in range(random.randint(0, 2)):
            random.choice(
                [
                    lambda: lake.table("other").append([{"a": 1}] * random.choice([1, 20])),
                    lambda: duck.execute("INSERT INTO lake.other VALUES (2)"),
                    lake.compact,
                    lambda: lake.cleanup(older_than="0 seconds"),
                ]
            )()
        lake.undrop("t")
        assert state(t) == before
        assert t.count() == len(before)
    if random.random() < 0.5:
        lake.expire(keep_last=random.randint(1, 4))
        lake.cleanup(older_than="0 seconds")
        assert state(t) == before
    assert lake.verify(deep=True).ok
    agree()


def _change(random: Random, lake: tidelake.Lake, duck: duckdb.DuckDBPyConnection) -> None:
    t, k = lake.table("t"), random.randint(0, 5)
    random.choice(
        [
            lambda: t.append([{"k": k, "v": n} for n in range(random.randint(1, 4))]),
            lambda: t.append([{"k": n % 6, "v": n} for n in range(30)]),
            lambda: t.delete(f"k = {k} AND v % 2 = 0"),
            lambda: lake.sql(f"UPDATE t SET v = v + 1 WHERE k = {k}"),
            lambda: t.set_comment(f"{k}"),
            lake.compact,
            lambda: duck.execute(f"INSERT INTO lake.t (k, v) VALUES ({k}, 7)"),
            lambda: duck.execute(f"INSERT INTO lake.t (k, v) SELECT {k}, range FROM range(20)"),
            lambda: duck.execute(f"DELETE FROM lake.t WHERE k = {k}"),
            lambda: duck.execute("CALL ducklake_merge_adjacent_files('lake')"),
        ]
    )()
