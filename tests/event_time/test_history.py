"""The history of a key in both times: rectangles that answer as as_of and known_at do."""

from datetime import UTC, date, datetime, timedelta
from random import Random
from typing import Any
from uuid import UUID

import duckdb
import pytest

import tidelake
from tests.cases import every
from tests.event_time.grid import BOUNDS, around, check_histories, instant, rows
from tests.event_time.growth import Growth, day, fact
from tidelake.errors import Invalid
from tidelake.testing.place import Place

Duck = duckdb.DuckDBPyConnection
ALL = "name VARCHAR, v INTEGER, gone BOOLEAN"


def facts_table(lake: tidelake.Lake, **more: Any) -> tidelake.Table:
    return lake.create_table(
        "t", f"{ALL}, ts TIMESTAMP", key="name", event_time="ts", tombstone="gone", **more
    )


def bounds(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in BOUNDS)


def times(lake: tidelake.Lake) -> list[datetime]:
    return [snapshot.time for snapshot in lake.snapshots()]


def test_a_late_row_a_correction_and_an_end(lake: tidelake.Lake) -> None:
    t = facts_table(lake)
    t.put(fact("a", 1, 10))
    t.put(fact("a", 10, 20))
    t.put(fact("a", 5, 15))
    t.put(fact("a", 10, 21))
    t.end("a", at=day(20))
    t.put(fact("b", 1, 99))
    first, second, late, corrected, ended = times(lake)[2:7]
    found = [(row["v"], *bounds(row)) for row in rows(t.history("a"))]
    assert found == [
        (10, day(1), None, first, second),
        (10, day(1), day(10), second, late),
        (20, day(10), None, second, corrected),
        (10, day(1), day(5), late, None),
        (15, day(5), day(10), late, None),
        (21, day(10), None, corrected, ended),
        (21, day(10), day(20), ended, None),
    ]
    assert rows(t.history({"NAME": "a"})) == rows(t.history("a"))
    assert t.history("a").to_arrow().column_names == ["name", "v", "gone", "ts", *BOUNDS]


def test_deletes_updates_and_rollbacks(lake: tidelake.Lake) -> None:
    t = facts_table(lake)
    t.put([fact("a", 1, 1), fact("a", 3, 3), fact("b", 1, 1)])
    before = lake.snapshots()[-1].snapshot_id
    t.update({"v": "30"}, where="v = 3")
    t.delete("v = 30")
    t.rollback(before)
    came, updated, deleted, back = times(lake)[-4:]
    assert [(row["v"], *bounds(row)) for row in rows(t.history("a"))] == [
        (1, day(1), day(3), came, deleted),
        (3, day(3), None, came, updated),
        (30, day(3), None, updated, deleted),
        (1, day(1), None, deleted, back),
        (1, day(1), day(3), back, None),
        (3, day(3), None, back, None),
    ]


def test_a_row_that_is_given_another_key_leaves_the_one_and_comes_to_the_other(
    lake: tidelake.Lake,
) -> None:
    t = facts_table(lake)
    t.put([fact("a", 1, 1), fact("a", 3, 3)])
    t.update({"name": "'b'"}, where="v = 3")
    came, updated = times(lake)[-2:]
    assert [bounds(row) for row in rows(t.history("b"))] == [(day(3), None, updated, None)]
    assert [bounds(row) for row in rows(t.history("a"))] == [
        (day(1), day(3), came, updated),
        (day(3), None, came, updated),
        (day(1), None, updated, None),
    ]


def test_pinned_it_tells_what_was_known_then_and_for_that_moment(lake: tidelake.Lake) -> None:
    t = facts_table(lake)
    t.put(fact("a", 1, 1))
    t.put(fact("a", 10, 2))
    then = lake.snapshots()[-1]
    t.put(fact("a", 5, 3))
    assert [(row["v"], *bounds(row)[2:]) for row in rows(t.known_at(then.snapshot_id).history("a"))]
    last = rows(t.known_at(then.snapshot_id).history("a"))[-1]
    assert (last["v"], *bounds(last)) == (2, day(10), None, then.time, None)
    assert rows(lake.known_at(then.snapshot_id).table("t").history("a"))[-1] == last
    assert [row["v"] for row in rows(t.as_of("2024-03-07").history("a"))] == [1, 1, 3]
    assert [row["v"] for row in rows(t.as_of("2024-03-10").history("a"))] == [1, 2]
    assert rows(t.as_of("2024-02-28").history("a")) == []
    both = t.as_of("2024-03-07").known_at(then.snapshot_id)
    assert [row["v"] for row in rows(both.history("a"))] == [1, 1]


@pytest.mark.parametrize(
    ("seed", "steps"),
    [(1, 12), *(pytest.param(n, 40, marks=pytest.mark.slow) for n in (2, 3, 4, 5, 6))],
)
def test_the_answer_at_every_time_and_snapshot(
    lake: tidelake.Lake, duck: Duck, seed: int, steps: int
) -> None:
    t = facts_table(lake)
    since = lake.snapshots()[-1].snapshot_id
    Growth(t, duck, Random(seed)).go(steps)
    moments = around(day(n) for n in (1, 4, 6, 9))
    assert check_histories(t, {n: n for n in "abc"}, moments, since) > 10


def test_compaction_and_flushes_are_invisible(lake: tidelake.Lake, duck: Duck) -> None:
    t = facts_table(lake)
    for n in range(1, 9):
        t.append([fact("a", n, n), fact("b", n, n)] * 8)
    t.delete("v = 3")
    before = rows(t.history("a"))
    duck.execute("CALL ducklake_flush_inlined_data('lake')")
    duck.execute("CALL ducklake_merge_adjacent_files('lake')")
    duck.execute("CALL ducklake_rewrite_data_files('lake', delete_threshold => 0.01)")
    t.compact()
    assert rows(t.history("a")) == before


@pytest.mark.slow
def test_rows_of_expired_snapshots_are_known_since_the_oldest_that_is_left(
    lake: tidelake.Lake, duck: Duck
) -> None:
    t = facts_table(lake)
    t.put(fact("a", 1, 1))
    t.put(fact("a", 5, 5))
    lake.tag("kept")
    kept = lake.snapshots()[-1]
    t.put(fact("a", 3, 3))
    t.delete("v = 3")
    t.update({"v": "55"}, where="v = 5")
    t.compact()
    t.put(fact("a", 7, 7))
    lake.expire(keep_last=1)
    assert [s.snapshot_id for s in lake.snapshots()] == [
        kept.snapshot_id,
        last := lake.snapshots()[-1].snapshot_id,
    ]
    now = times(lake)[-1]
    assert [(row["v"], *bounds(row)) for row in rows(t.history("a"))] == [
        (1, day(1), day(5), kept.time, None),
        (5, day(5), None, kept.time, now),
        (55, day(5), day(7), now, None),
        (7, day(7), None, now, None),
    ]
    moments = around(day(n) for n in (1, 3, 5, 7))
    assert check_histories(t, {"a": "a"}, moments, kept.snapshot_id) == 4
    lake.untag("kept")
    lake.expire(keep_last=1)
    assert {row["known_from"] for row in rows(t.history("a"))} == {now}
    assert check_histories(t, {"a": "a"}, moments, last) == 3


KEYS = {
    "VARCHAR": ("it's", "é"),
    "INTEGER": (5, -1),
    "BIGINT": (2**40, 0),
    "UUID": (UUID(int=7), str(UUID(int=8))),
    "DATE": (date(2024, 1, 1), "2024-01-02"),
    "DECIMAL(9,2)": (1, 2),
    "BLOB": (b"\x00a", b"b"),
    "FLOAT": (0.1, 2),
    "TIMESTAMPTZ": (datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 1, 2)),
}
TIMES = ["DATE", "TIMESTAMPTZ", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMP"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", every(2, KEYS))
def test_all_kinds_of_keys_and_times(lake: tidelake.Lake, kind: str) -> None:
    key, time = kind, TIMES[list(KEYS).index(kind) % len(TIMES)]
    t = lake.create_table("t", f'"the key" {key}, part INTEGER, {ALL}, ts {time}')
    t.set_event_time("ts", key=["the key", "part"], tombstone="gone")
    since = lake.snapshots()[-1].snapshot_id
    moment = date if time == "DATE" else datetime
    keys = {}
    for n, value in enumerate(KEYS[key]):
        keys[f"k{n}"] = {"the key": value, "part": n}
        shared = {**keys[f"k{n}"], "name": f"k{n}", "gone": False}
        t.put({**shared, "ts": moment(2024, 3, 1), "v": 1})
        t.append([{**shared, "ts": moment(2024, 3, 5), "v": 5}] * 11)
        t.put({**shared, "ts": moment(2024, 3, 3), "v": 3})
    t.end(keys["k0"], at="2024-03-07")
    moments = [instant(day(n)) for n in (1, 3, 5, 7)]
    if time != "DATE":
        moments.append(moments[1] - timedelta(microseconds=1))
    assert check_histories(t, keys, moments, since) == 11
    assert t.history({"the key": KEYS[key][0], "part": 1}).count() == 0


def test_only_files_that_may_hold_the_key_are_read(lake: tidelake.Lake) -> None:
    t = facts_table(lake)
    for name in "abcdef":
        t.append([fact(name, n, n) for n in range(1, 21)])
    t.delete("name = 'b' AND v = 5")
    assert len(t.files()) == 6
    assert len(t.history("b").files()) == 1
    assert t.history("b").count() == 21
    assert t.history("bb").files() == []


def test_columns_of_the_same_names_and_columns_that_come_later(lake: tidelake.Lake) -> None:
    t = lake.create_table("t", "valid_from DATE, VALID_TO DATE, name VARCHAR", key="name")
    with pytest.raises(Invalid, match="event time"):
        t.history("a")
    t.set_event_time("valid_from", key="name")
    t.put({"name": "a", "valid_from": date(2024, 1, 1)})
    t.evolve(add={"more": "INTEGER"}, rename={"name": "label"})
    found = rows(t.history("a"))
    assert list(found[0]) == [
        *("valid_from", "VALID_TO", "label", "more"),
        *("_valid_from", "_valid_to", "known_from", "known_to"),
    ]
    assert found[0]["_valid_from"] == date(2024, 1, 1)


@pytest.mark.parametrize("key", [["a"], ("a",), 5, None, {"v": 1}, {"name": "a", "v": 1}, {}])
def test_keys_that_are_none(lake: tidelake.Lake, key: Any) -> None:
    t = facts_table(lake)
    with pytest.raises(Invalid) as error:
        t.history(key)
    assert error.value.hint
    with pytest.raises(Invalid, match="no value for 'name'"):
        t.history()


def test_facts_that_duckdb_left_without_a_time(lake: tidelake.Lake, duck: Duck) -> None:
    t = facts_table(lake)
    t.put(fact("a", 1))
    duck.execute("ALTER TABLE t ALTER COLUMN ts DROP NOT NULL")
    assert t.history("a").count() == 1
    duck.execute("INSERT INTO t(name) VALUES ('a')")
    with pytest.raises(Invalid, match="1 row without a key or event time"):
        t.history("a").count()


def test_one_value_is_no_key_of_two_columns(lake: tidelake.Lake) -> None:
    t = lake.create_table("t", f"{ALL}, ts DATE", key=["name", "v"], event_time="ts")
    with pytest.raises(Invalid, match="name, v"):
        t.history("a")


def test_in_every_form(lake: tidelake.Lake) -> None:
    t = facts_table(lake)
    t.put([fact("a", 1), fact("a", 2)])
    found = t.history("a")
    assert found.count() == len(found.to_pandas()) == len(found.to_polars()) == 2
    assert found.to_batches().read_all() == found.to_arrow()
    assert found.to_duckdb().fetchall()[0][0] == "a"
    with lake.transaction() as tx:
        tx.table("t").put(fact("a", 3))
        assert tx.table("t").history("a").count() == 2


@pytest.mark.slow
@pytest.mark.spark
def test_on_spark(place: Place, lake: tidelake.Lake, duck: Duck, spark: Any) -> None:
    t = facts_table(lake)
    since = lake.snapshots()[-1].snapshot_id
    t.append([fact(n, d, d) for n in "ab" for d in range(1, 9)])
    t.put(fact("a", 5, 55))
    t.delete("v = 2")
    t.update({"v": "70"}, where="v = 7")
    t.end("a", at=day(8))
    t.compact()
    moments = [instant(day(n)) for n in (1, 5, 8)]
    assert check_histories(t, {"a": "a"}, moments, since, spark) == 11
    with place.open(engine="spark", spark=spark) as other:
        found = other.table("t").as_of("2024-03-05T10:00").history("a")
        assert rows(found) == rows(t.as_of("2024-03-05T10:00").history("a"))
